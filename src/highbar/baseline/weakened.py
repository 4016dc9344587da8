"""Two baselines in, what the later one demands less of out: metrics that are worse there, scenarios that it lacks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from highbar.baseline import reading
from highbar.baseline.document import Baseline
from highbar.digits import amount
from highbar.model import Value, Weakening

_MOST_IDS = 10


def weakened_baseline(before: Path, now: Path | None) -> tuple[Weakening, ...]:
    """What the baseline in the file `before` demands more of than the one in `now`, if there is still one."""
    if not before.exists() or now is None:  # a policy that compares no more has lost its rules, and they are listed
        return ()
    old = reading.read(before)
    if not now.exists():
        return (Weakening(now.name, "removed", f"{len(old.scenarios)} scenarios"),)
    return tuple(_differences(old, reading.read(now), now.name))


def _differences(before: Baseline, now: Baseline, name: str) -> Iterator[Weakening]:
    for metric, old in before.metrics.items():
        new = now.metrics.get(metric)
        if old.value is not None and (new is None or _worse(new, old)):
            shown = "undefined" if new is None or new.value is None else amount(new.value, new.unit)
            yield Weakening(f"{name}: {metric}", "lowered", amount(old.value, old.unit), shown)
    gone = sorted({each.id for each in before.scenarios} - {each.id for each in now.scenarios})
    if gone:
        rest = len(gone) - _MOST_IDS
        shown = ", ".join(gone[:_MOST_IDS]) + (f" and {rest} more" if rest > 0 else "")
        yield Weakening(f"{name}: scenarios", "removed", shown)


def _worse(new: Value, old: Value) -> bool:
    if new.value is None or old.value is None:
        return old.value is not None
    return new.value < old.value if old.better == "higher" else new.value > old.value
