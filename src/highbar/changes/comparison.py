"""Two runs and a policy → a Comparison: every metric, every slice, what broke and what was fixed, and the rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from msgspec.structs import replace

from highbar import gate
from highbar import policy as policies
from highbar.changes.differences import Differences
from highbar.changes.pairing import Pairs, pair_up
from highbar.changes.scored_run import ScoredRun, measured
from highbar.changes.since import Changes, change_warnings, since
from highbar.errors import InputError, Problem
from highbar.language import digits
from highbar.language.phrases import count
from highbar.load.run_folders import not_whole, stopped_early
from highbar.model import BaselineRule, Policy, RuleResult, Source
from highbar.model.comparison import Change, Comparison, Difference, MetricChange, PassChange, SliceChange
from highbar.statistics.paired import mcnemar_mid_p
from highbar.statistics.slices import FALSE_DISCOVERIES, adjusted_p_values

COMPARED = "pass_rate"
FEW_PAIRS = 30
"""With fewer pairs, the jackknife interval of sums with heavy tails is too narrow by a point or two."""
MOST_NAMED = 10
"""Scenarios in one warning, or in the list of undecided trials of a rule."""
_MOST_SLICES = 1000
"""Slices by one column, as many as a verdict has."""


def compare_runs(policy: Policy, base: ScoredRun, head: ScoredRun, slices: Sequence[str]) -> Comparison:
    """Everything that changed between two runs that the user named.

    Raises InputError if they share no scenario, if different judges judged them (the difference may be that of the
    judges), or if a rule compares them and one of them stopped early.
    """
    if base.judges and head.judges and base.judges != head.judges:
        raise InputError(_other_judge(base, head))
    not_run = base.not_run | head.not_run
    if not_run and policy.comparing and not policy.advisory:
        raise InputError(*_stopped_early(base, head))
    if not_run:
        base, head = base.without(not_run), head.without(not_run)
    if {record.id for record in base.records}.isdisjoint(record.id for record in head.records):
        raise InputError(_nothing_in_common(base, head))
    if policy.advisory:  # no policy was given: the typical thresholds only advise
        return comparison_of(policies.without_rules(policy), base, head, slices=slices)
    return comparison_of(policy, base, head, slices=slices, source=policy.source)


def _stopped_early(base: ScoredRun, head: ScoredRun) -> Iterator[Problem]:
    """The problem of each run that stopped early: where it stops depends on its results, which biases every rule."""
    for folder in dict.fromkeys(stopped_early(one.file for one in run.about.sources) for run in (base, head)):
        if folder is not None:
            yield not_whole(folder, "rules that compare are judged over all scenarios")


def _not_run_warning(base: ScoredRun, head: ScoredRun) -> tuple[str, ...]:
    """A warning with the number of scenarios that are left out because a run stopped before them."""
    number = len(base.not_run | head.not_run)
    if not number:
        return ()
    who = " and ".join(name for name, run in (("base", base), ("head", head)) if run.not_run)
    left_out = "is left out because it was" if number == 1 else "are left out because they were"
    why = f"the {who} stopped when the verdict was certain"
    # Measured for two runs of one agent: one of them seems better in up to 7.6 % of comparisons, instead of 5 %.
    return (
        f"{count(number, 'scenario')} {left_out} not run: {why}, so that a difference seems clear a little too often",
    )


def _other_judge(base: ScoredRun, head: ScoredRun) -> Problem:
    judges = (" and ".join(run.judges) for run in (base, head))
    message = "two judges judged them, so nothing can be compared: {} the base, {} the head".format(*judges)
    return Problem(
        "judge.several",
        message,
        hint="let one judge judge both: highbar grade RESULTS --suite SUITE --fresh -o NEW.jsonl",
    )


def _nothing_in_common(base: ScoredRun, head: ScoredRun) -> Problem:
    not_run = base.not_run | head.not_run
    shown = [", ".join(record.id for record in run.records[:3]) or "none" for run in (base, head)]
    message = f"no scenario is in both runs, so nothing can be compared: {shown[0]} in the base, {shown[1]} in the head"
    hint = "the same scenario must have the same id in both runs"
    return Problem(
        "results.nothing-in-common",
        message,
        hint=f"{hint}; highbar run --resume DIR --run-all runs the rest" if not_run else hint,
    )


def comparison_of(
    policy: Policy, base: ScoredRun, head: ScoredRun, *, slices: Sequence[str] = (), source: Source | None = None
) -> Comparison:
    """Everything that changed from base to head; `source` is the file of the policy, if there is one."""
    # Worst case: undecided trials at their best in the base and at their worst in the head. Best case: the reverse.
    changes = since(policy, base.at_best(), head)
    best = since(policy, base, head.at_best()) if base.best or head.best else None
    other = best.differences if best is not None else None
    rules = _rules(changes, best)
    margins = _margins(policy)
    # A scenario counts as broken, or fixed, only if it is so however its undecided trials turn out.
    pairs, pairs_at_best = changes.pairs, (best or changes).pairs
    return Comparison(
        verdict=gate.decide(rules) if rules else None,
        pairs=len(pairs.base),
        metrics=_metrics(changes.differences, list(policy.metrics), margins, other),
        slices=_slices(changes, slices, margins, best),
        passes=_passes(pairs, pairs_at_best),
        broken=pairs_at_best.broken,
        fixed=pairs.fixed,
        flaky=pair_up(base.records, head.records).flaky if best else pairs.flaky,
        only_in_base=pairs.only_in_base,
        only_in_head=pairs.only_in_head,
        rules=rules,
        base=base.about,
        head=head.about,
        warnings=(
            *policy.notes,
            *change_warnings(changes),
            *_not_run_warning(base, head),
            *_undecided_warnings(base, head),
            *_missing_slices(changes, slices),
            *_few_pairs_warning(pairs),
        ),
        policy=source,
        confidence=policy.confidence,
        latency=changes.differences.latency(),
    )


def _rules(changes: Changes, best: Changes | None) -> tuple[RuleResult, ...]:
    policy = changes.policy
    compared = policy.comparing
    if not compared:
        return ()
    whole = measured(policy, changes.head)
    evidence = gate.Evidence(whole, policy.metrics, {}, None, float(1 - policy.confidence), changes)
    if best is not None:
        at_best = replace(evidence, measured=whole.at_best() or whole, baseline=best, at_best=True)
        trials = (*best.base.undecided, *changes.head.undecided)[:MOST_NAMED]
        evidence = replace(evidence, best=at_best, undecided={rule.name: trials for rule in compared})
    return tuple(gate.judge(rule, evidence) for rule in compared)


def _undecided_warnings(base: ScoredRun, head: ScoredRun) -> list[str]:
    """Warnings about the scenarios with undecided trials."""
    found = []
    for name, side in (("base", base), ("head", head)):
        ids = [id_ for id_, _ in side.undecided]
        if ids:
            some = ", ".join(ids[:MOST_NAMED]) + (", …" if len(ids) > MOST_NAMED else "")
            found.append(
                f"the {name} has undecided trials in {len(ids)} scenario{'' if len(ids) == 1 else 's'}: {some};"
                " what they could be is part of every interval"
            )
    return found


def _margins(policy: Policy) -> Mapping[str, BaselineRule]:
    """The rule with the margin of each metric over all scenarios; of several margins of one kind, the narrowest."""
    found: dict[str, BaselineRule] = {}
    for rule in policy.rules:
        if isinstance(rule, BaselineRule) and not rule.where:
            known = found.get(rule.metric)
            if known is None or (known.relative == rule.relative and rule.margin < known.margin):
                found[rule.metric] = rule
    return found


def _metrics(
    differences: Differences,
    names: Sequence[str],
    margins: Mapping[str, BaselineRule],
    best: Differences | None = None,
) -> dict[str, MetricChange]:
    found = {name: _change(differences, name, margins.get(name)) for name in names}
    if best is None:
        return found
    return {name: _span_undecided(change, _change(best, name, margins.get(name))) for name, change in found.items()}


def _span_undecided(worst: MetricChange, best: MetricChange) -> MetricChange:
    """The worst change, with an interval and an outcome that hold however undecided trials turn out."""
    one, two = worst.difference, best.difference
    outcome: Change = worst.outcome if worst.outcome == best.outcome else "cannot_tell"
    if one.value is None or two.value is None or (one.value, one.low, one.high) == (two.value, two.low, two.high):
        return replace(worst, outcome=outcome)
    low = None if one.low is None or two.low is None else min(one.low, two.low)
    high = None if one.high is None or two.high is None else max(one.high, two.high)
    return replace(worst, difference=replace(one, low=low, high=high, factor=None), outcome=outcome)


def _change(differences: Differences, name: str, rule: BaselineRule | None) -> MetricChange:
    difference = differences.difference(name)
    if difference.value is None:
        return MetricChange(difference, "cannot_tell", None if rule is None else _margin_text(rule, difference))
    sign = 1 if difference.head.better == "higher" else -1
    worst, best = _signed_ends((difference.low, difference.high), sign)
    # A relative margin is a share of the base, which varies, too: it needs the bounds of head - (1 ∓ margin) · base.
    spare_worst, spare_best = worst, best
    if rule and rule.relative:
        share = 1 - sign * rule.margin
        ends = differences.bounds(name, (), share)
        spare_worst, spare_best = _signed_ends(tuple(None if abs(end) == math.inf else end for end in ends), sign)
    elif rule:
        spare_worst, spare_best = worst + rule.margin, best + rule.margin
    outcome = change_of(worst, spare_worst, spare_best)
    if rule is None:
        return MetricChange(difference, outcome)
    of = difference.base.value if rule.relative else 1
    return MetricChange(
        difference, outcome, _margin_text(rule, difference), None if of is None else -sign * rule.margin * of
    )


def change_of(worst: Fraction | float, spare_worst: Fraction | float, spare_best: Fraction | float) -> Change:
    """The outcome of a change by the ends of its interval, all with positive numbers as better.

    `worst` is the worse end of the difference; `spare_worst` and `spare_best` are both ends plus the margin. Better if
    the worse end is above 0; worse if even the better end is beyond the margin; within it if even the worse end is.
    """
    if worst > 0:
        return "better"
    if spare_best < 0:
        return "worse"
    return "within_margin" if spare_worst >= 0 else "cannot_tell"


def _signed_ends(ends: Sequence[float | None], sign: int) -> tuple[Fraction | float, Fraction | float]:
    """The worse and the better end, with positive numbers as better; infinite if an end is None."""
    low, high = (_exact(end, side) for end, side in zip(ends, (-1, 1), strict=True))
    return (low, high) if sign > 0 else (-high, -low)


def _exact(end: float | None, side: int) -> Fraction | float:
    return side * math.inf if end is None else Fraction(end)


def _margin_text(rule: BaselineRule, difference: Difference) -> str:
    if rule.relative:
        return f"{digits.amount(rule.margin, 'ratio')} of the baseline"
    return digits.gap(rule.margin, difference.head.unit)


def _passes(pairs: Pairs, pairs_at_best: Pairs) -> PassChange:
    broken, fixed = len(pairs_at_best.broken), len(pairs.fixed)
    return PassChange(broken, fixed, mcnemar_mid_p(fixed, broken))


def _slices(
    changes: Changes, columns: Sequence[str], margins: Mapping[str, BaselineRule], best: Changes | None
) -> tuple[SliceChange, ...]:
    """The change of each slice: the scenarios that have the same value of a column in both runs."""
    named = list(dict.fromkeys((*changes.policy.slices, *columns))) or ["category"]
    pairs = changes.pairs
    parts: list[tuple[tuple[str, str], Differences, Differences | None]] = []
    for column in named:
        found = [
            value if (value := before.columns.get(column)) == after.columns.get(column) else None
            for before, after in zip(pairs.base, pairs.head, strict=True)
        ]
        values = sorted({value for value in found if value is not None})[:_MOST_SLICES]
        for value in values:
            chosen = [one == value for one in found]
            other = None if best is None else best.differences.over(chosen)
            parts.append(((column, value), changes.differences.over(chosen), other))
    passes = [_passes(part.pairs, (other or part).pairs) for _, part, other in parts]
    # Without the correction, every tenth slice of an unchanged agent would stand out by chance.
    adjusted = adjusted_p_values([change.p_value for change in passes])
    names = [name for name in changes.policy.metrics if name == COMPARED or name in margins]
    return tuple(
        SliceChange(
            by=by,
            pairs=len(part.pairs.base),
            metrics=_metrics(part, names, margins, other),
            passes=change,
            adjusted=p_value,
            stands_out=p_value <= FALSE_DISCOVERIES,
        )
        for (by, part, other), change, p_value in zip(parts, passes, adjusted, strict=True)
    )


def _missing_slices(changes: Changes, columns: Sequence[str]) -> tuple[str, ...]:
    """A warning for each requested slice column that no pair has."""
    found = {column for record in (*changes.pairs.base, *changes.pairs.head) for column in record.columns}
    named = dict.fromkeys((*changes.policy.slices, *columns))
    return tuple(f"no scenario of both runs has a value for the slice {name}" for name in named if name not in found)


def _few_pairs_warning(pairs: Pairs) -> tuple[str, ...]:
    units = len(set(pairs.units))
    if units >= FEW_PAIRS:
        return ()
    return (f"only {units} independent pairs: the bounds of tokens, costs and times are rough below {FEW_PAIRS}",)
