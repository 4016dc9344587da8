"""What a later baseline or file of labels demands less than an earlier one: worse metrics, missing scenarios or labels.

Whoever can remove labels can make any judge look right; more labels are no weakening. The policy at the ref is judged
with the files at the ref in any case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from highbar.language.digits import amount
from highbar.language.phrases import count, some_and_more
from highbar.model import BaselineRule, NewFailuresRule, Policy, StepRule, Value, Weakening
from highbar.model.baseline import Baseline
from highbar.policy import matches
from highbar.store import baseline_reading


def weakened_baseline(policy: Policy, before: Path | None, now: Path | None) -> tuple[Weakening, ...]:
    """What the baseline in the file `now` demands less than the one in `before`.

    Only metrics that a rule of the `policy` compares: among many, some are always lower by chance.
    """
    # If the policy no longer compares, `weakened` already lists the rules that it lost.
    if before is None or not before.exists() or now is None:
        return ()
    old = baseline_reading.read_baseline(before)
    if not now.exists():
        return (Weakening(now.name, "removed", f"{len(old.scenarios)} scenarios"),)
    new = baseline_reading.read_baseline(now)
    return (*_metrics(policy, old, new, now.name), *_scenarios(policy, old, new, now.name))


def _metrics(policy: Policy, before: Baseline, now: Baseline, name: str) -> Iterator[Weakening]:
    compared = {rule.metric for rule in policy.rules if isinstance(rule, BaselineRule | StepRule)}
    for metric, old in before.metrics.items():
        new = now.metrics.get(metric)
        if metric in compared and old.value is not None and (new is None or _worse(new, old)):
            shown = "undefined" if new is None or new.value is None else amount(new.value, new.unit)
            yield Weakening(f"{name}: {metric}", "lowered", amount(old.value, old.unit), shown)


def _worse(new: Value, old: Value) -> bool:
    if new.value is None or old.value is None:
        return old.value is not None
    return new.value < old.value if old.better == "higher" else new.value > old.value


def _scenarios(policy: Policy, before: Baseline, now: Baseline, name: str) -> Iterator[Weakening]:
    gone = {each.id for each in before.scenarios} - {each.id for each in now.scenarios}
    if gone:
        yield Weakening(f"{name}: scenarios", "removed", some_and_more(sorted(gone)))
    patterns = [each for rule in policy.rules if isinstance(rule, NewFailuresRule) for each in rule.patterns]
    passed, passes = ({each.id for each in side.scenarios if each.all_passed} for side in (before, now))
    # `new_failures` protects only scenarios that passed in the baseline, so losing one there drops its protection.
    lost = {each for each in passed - passes - gone if any(matches(pattern, each) for pattern in patterns)}
    if lost:
        yield Weakening(f"{name}: scenarios that passed", "removed", some_and_more(sorted(lost)))


# --- labels ------------------------------------------------------------------------------------


def weakened_labels(before: Policy, now: Policy) -> Iterator[Weakening]:
    """The labels that the policy `before` had, and the policy `now` does not."""
    old, new = (None if policy.judge is None else policy.judge.labels for policy in (before, now))
    if old is None:
        return
    if new is None:
        yield Weakening("judge.labels", "removed", Path(old).name)
        return
    # Compares whole lines: a label that is written differently is a label that somebody changed.
    earlier, later = (_lines(path) for path in (old, new))
    gone = (earlier - later).total()
    if gone:
        known = count(earlier.total(), "label")
        yield Weakening(f"judge.labels: {Path(new).name}", "changed", known, f"{gone} of them changed or removed")


def _lines(path: str) -> Counter[bytes]:
    return Counter(line.strip() for line in Path(path).read_bytes().splitlines() if line.strip())
