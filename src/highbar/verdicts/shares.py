"""What each scenario adds to the share that a sequential rule is about.

Only a share of scenarios, or of their trials, has such parts: a rate, a mean score, precision, an F-measure, or the
share of trials below a latency limit. Everything else is judged by looks at its interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.catalogue import YES_OR_NO
from highbar.changes.record_sums import sums_of
from highbar.columns import BOUNDED
from highbar.gate.sequential import SharesSeen, Unit
from highbar.measure.parts import counts_scenarios, is_weighted, of_metric, share_behind
from highbar.model import BaselineRule, Metric, Percentile, Policy, Ratio, Term, ThresholdRule
from highbar.model.records import ScenarioRecord
from highbar.statistics.betting import UnitShare

_EXCLUSIVE = frozenset({"tp", "fp", "fn"})
"""Columns of which at most one is 1 in a trial."""
_NO_PART: UnitShare = (Fraction(0), Fraction(0))
_ALL: UnitShare = (Fraction(1), Fraction(1))
_NONE: UnitShare = (Fraction(0), Fraction(1))

Records = tuple[ScenarioRecord, ...]


class Seen(Struct, frozen=True):
    """The scenarios that a rule is about: those in the prefix, with undecided trials at their worst and best; and all.

    `planned` has the records of all of them, of which only the descriptive columns may be used, not the results;
    `trials` is the planned number of trials of each.
    """

    worst: Records
    best: Records
    planned: Records
    trials: Mapping[str, int]

    @property
    def single(self) -> bool:
        """Whether every scenario is run once."""
        return all(self.trials[record.id] == 1 for record in self.planned)


def shares_seen(rule: ThresholdRule, policy: Policy, seen: Seen) -> SharesSeen | None:
    """The share that the rule is about; None if it is not about a share."""
    metric = policy.metrics[rule.metric]
    better = 1 if metric.better == "higher" else -1
    threshold = rule.threshold.less(rule.demand.margin, metric.better)
    bar, perfect = threshold.value, threshold.is_perfection(metric.better)
    root = of_metric(policy, metric, rule.where)
    if isinstance(root, Percentile):
        return _below(rule, metric, root, bar, seen)
    found = share_behind(root)
    if found is None or (threshold.operator in ("=", "!=") and not perfect):
        return None
    ratio, factor = found
    largest = _largest(ratio, policy, seen)
    if largest is None or (factor != 1 and better < 0):
        return None
    # The threshold of the share behind an F-measure; a plain share has the factor 1 and keeps its own.
    bar = bar / (factor - (factor - 1) * bar)
    sides = [_parts(ratio, policy, records, largest, turned=better < 0) for records in (seen.worst, seen.best)]
    return SharesSeen(
        tuple(Unit(worst, best) for worst, best in zip(*sides, strict=True)),
        threshold=bar if better > 0 else 1 - bar,
        strict=threshold.operator in (">", "<"),
        binary=seen.single and _is_binary(ratio) and _is_even(ratio, policy, seen),
        of_all=ratio.d[0][0].column == "scenario",
        in_suite=policy.population == "suite",
        settled=policy.is_settled_by_one_run,
        perfect=perfect,
    )


def is_countable(ratio: Ratio, policy: Policy, seen: Seen) -> bool:
    """Whether every scenario that has the share counts as 1, so that failed scenarios can be counted."""
    columns = {term.column for term, _ in ratio.d}
    whole = _is_mean(ratio) or (seen.single and columns <= _EXCLUSIVE)
    return whole and _is_even(ratio, policy, seen)


def pairs_seen(rule: BaselineRule, policy: Policy, seen: Seen, base: Mapping[str, ScenarioRecord]) -> SharesSeen | None:
    """For each pair (difference + 1) / 2, which is between 0 and 1; None if the rule is judged by looks instead."""
    metric = policy.metrics[rule.metric]
    root = of_metric(policy, metric, rule.where)
    if rule.relative or rule.margin >= 1 or not isinstance(root, Ratio) or share_behind(root) is None:
        return None
    before = tuple(base[record.id] for record in seen.planned)
    single = seen.single and all(record.trials == 1 for record in before)
    if not _is_mean(root) or is_weighted(root) or (single and _is_binary(root)):
        return None
    earlier = tuple(base[record.id] for record in seen.worst)
    turned = metric.better == "lower"
    sides = [_parts(root, policy, records, Fraction(1), turned=turned) for records in (seen.worst, seen.best, earlier)]
    # The mean of (difference + 1) / 2 is at least (1 - margin) / 2 exactly if the mean difference is at least -margin.
    units = tuple(_pair(*pair) for pair in zip(*sides, strict=True))
    return SharesSeen(units, threshold=(1 - rule.margin) / 2)


def _pair(worst: UnitShare, best: UnitShare, base: UnitShare) -> Unit:
    if not base[1]:
        return Unit(_NO_PART, _NO_PART)
    if not worst[1] or not best[1]:  # the baseline has a value that the run lost: it may be anything
        return Unit(_NONE, _ALL)
    return Unit(*((Fraction(side[0] - base[0] + 1) / 2, Fraction(1)) for side in (worst, best)))


def _parts(ratio: Ratio, policy: Policy, records: Records, largest: Fraction, *, turned: bool) -> list[UnitShare]:
    """What each scenario adds to the numerator and the denominator, at most 1; `turned` if lower is better."""
    sums = sums_of(policy, records)
    above, below = sums.linear(ratio.z), sums.linear(ratio.d)
    return [((d - z if turned else z) / largest, d / largest) for z, d in zip(above, below, strict=True)]


def _largest(ratio: Ratio, policy: Policy, seen: Seen) -> Fraction | None:
    """The most that a scenario of the plan can add to the denominator; None if nothing bounds it."""
    bounds = [_most(term, seen.planned) for term, _ in ratio.d]
    if any(bound is None for bound in bounds):
        return None
    parts = [factor * bound for (_, factor), bound in zip(ratio.d, bounds, strict=True) if bound is not None]
    # A trial is only one of tp, fp and fn, so the largest of them bounds their sum.
    exclusive = {term.column for term, _ in ratio.d} <= _EXCLUSIVE
    most = max(parts) if exclusive else sum(parts, Fraction(0))
    return most * max(_weights(policy, seen), default=Fraction(1)) if is_weighted(ratio) else most


def _most(term: Term, planned: Sequence[ScenarioRecord]) -> Fraction | None:
    """The most that one scenario can add to a term, without its weight; None if nothing bounds it."""
    if counts_scenarios(term) or term.column in BOUNDED:
        return Fraction(1)
    if term.column != "expected":  # the number of expected behaviors is known before the run
        return None
    return max((record.values.get("expected", Fraction(0)) for record in planned), default=Fraction(0)) or Fraction(1)


def _weights(policy: Policy, seen: Seen) -> list[Fraction]:
    sums = sums_of(policy, seen.planned)
    return [part for part in sums.parts(Term("scenario", weighted=True)) if part is not None]


def _is_even(ratio: Ratio, policy: Policy, seen: Seen) -> bool:
    return not is_weighted(ratio) or len(set(_weights(policy, seen))) <= 1


def _is_binary(ratio: Ratio) -> bool:
    """Whether a scenario with one trial has a share of either 0 or 1."""
    return len(ratio.z) == 1 and ratio.z[0][0].column in YES_OR_NO and _is_mean(ratio)


def _is_mean(ratio: Ratio) -> bool:
    return len(ratio.d) == 1 and counts_scenarios(ratio.d[0][0])


def _below(
    rule: ThresholdRule, metric: Metric, percentile: Percentile, limit: Fraction, seen: Seen
) -> SharesSeen | None:
    """The share of trials below a limit: a percentile is below the limit exactly if enough trials are."""
    if metric.better != "lower" or rule.threshold.operator not in ("<", "<="):
        return None
    most = max(seen.trials[record.id] for record in seen.planned)
    sides = [
        [_within(record, percentile.column, limit, rule.threshold.operator, most) for record in records]
        for records in (seen.worst, seen.best)
    ]
    return SharesSeen(
        tuple(Unit(worst, best) for worst, best in zip(*sides, strict=True)),
        threshold=percentile.share,
        binary=seen.single,
    )


def _within(record: ScenarioRecord, column: str, limit: Fraction, operator: str, most: int) -> UnitShare:
    ranked = record.ranked(column)
    below = sum(value is not None and (value < limit or (operator == "<=" and value == limit)) for value in ranked)
    return Fraction(below, most), Fraction(len(ranked), most)
