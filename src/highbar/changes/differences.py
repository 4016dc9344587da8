"""Pairs and a policy → the difference of any metric, over any scenarios; each is computed once, on demand."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property

from msgspec import Struct

from highbar import catalogue, measure
from highbar.changes.paired_runs import UNBOUNDED, PairedRuns
from highbar.changes.pairing import Pairs
from highbar.changes.record_sums import Computed, RecordSums, sums_of
from highbar.measure.doubts import Weighed, doubt_of_classes
from highbar.measure.parts import Node, of_metric, parts_of, ratios
from highbar.model import Doubt, Percentile, Policy, Ratio, Term, Value, Where
from highbar.model.comparison import Difference, Factor
from highbar.model.number import Number
from highbar.statistics.interval import Interval

_ONE = Fraction(1)
_LATENCY = Ratio(((Term("latency_ms"), _ONE),), ((Term("latency_ms", "count"), _ONE),))


class Differences(Struct, frozen=True, dict=True):  # with a dict, so that differences are computed once, on demand
    """What changed between two runs, metric by metric.

    A metric is compared over the pairs that have it in both runs. A scenario that has it in one run only shows nothing
    about a difference; such scenarios are counted.
    """

    policy: Policy
    pairs: Pairs

    def difference(self, metric: str, where: Where = ()) -> Difference:
        """The metric in both runs over the scenarios that `where` selects, and head minus base."""
        return self._differences[metric, where]

    @cached_property
    def _differences(self) -> Mapping[tuple[str, Where], Difference]:
        return Computed(self._compare)

    def bounds(self, metric: str, where: Where, share: Fraction) -> Interval:
        """The bounds of head - share · base, for a metric that is defined in both runs."""
        formula = self._formula(metric, where)
        _, _, pair = self._at(self._mask(formula)[0])
        try:
            low, high = pair.bounds(formula, share)[0]
        except OverflowError:
            return UNBOUNDED
        return UNBOUNDED if math.isnan(low) or math.isnan(high) else Interval(low, high)

    def over(self, mask: Sequence[bool]) -> Differences:
        """The differences over the pairs whose entry is true."""
        return Differences(self.policy, self.pairs.over(mask))

    def latency(self) -> Factor | None:
        """The factor by which the mean latency changed, over pairs in which all trials completed; None if unknown."""
        mask, _ = self._mask(_LATENCY)
        for i, pair in enumerate(zip(self.pairs.base, self.pairs.head, strict=True)):
            mask[i] = mask[i] and not any("latency_ms" in record.valueless for record in pair)
        return self._at(mask)[2].mean_factor(_LATENCY) if any(mask) else None

    def _formula(self, metric: str, where: Where) -> Node:
        return of_metric(self.policy, self.policy.metrics[metric], where)

    def _compare(self, metric_and_where: tuple[str, Where]) -> Difference:
        metric, where = metric_and_where
        formula = self._formula(metric, where)
        mask, lost = self._mask(formula)
        before, after, pair = self._at(mask)
        base, head = before.value(metric, where), after.value(metric, where)
        missing, pairs = len(mask) - sum(mask), min(base.scenarios, head.scenarios)
        if base.value is None or head.value is None:
            side, reason = ("head", head.reason) if head.value is None else ("base", base.reason)
            return Difference(base, head, None, None, None, pairs, missing, lost, f"undefined in the {side}: {reason}")
        change = head.value - base.value
        try:
            interval, factor = pair.bounds(formula)
            low, high = _bounds_around(interval, float(change), base)
        except OverflowError:
            low, high, factor = None, None, None  # beyond every float: the value is exact, but has no bounds
        doubt = pair.doubt(formula) or self._doubt_of_classes(formula, metric, where)
        return Difference(base, head, Number(change), low, high, pairs, missing, lost, factor=factor, doubt=doubt)

    def _doubt_of_classes(self, formula: Node, metric: str, where: Where) -> Doubt | None:
        narrowed = catalogue.narrow(where, self.policy.metrics[metric].where)
        return doubt_of_classes(self.policy, formula, Weighed(self.pairs.head, self.pairs.base), narrowed)

    def _mask(self, formula: Node) -> tuple[list[bool], int]:
        """Which pairs have the metric in both runs or in neither, and how many have it in the base only."""
        base, head = self._runs
        mask = [True] * len(self.pairs.base)
        lost = [False] * len(mask)
        for term in _terms(formula):
            before, after = base.has(term), head.has(term)
            if before != after:
                for i, (old, new) in enumerate(zip(before, after, strict=True)):
                    mask[i] = mask[i] and old == new
                    lost[i] = lost[i] or (old and not new)
        return mask, sum(lost)

    @cached_property
    def _runs(self) -> tuple[RecordSums, RecordSums]:
        return self._sums_of(self.pairs)

    def _sums_of(self, pairs: Pairs) -> tuple[RecordSums, RecordSums]:
        return sums_of(self.policy, pairs.base, pairs.units), sums_of(self.policy, pairs.head, pairs.units)

    def _at(self, mask: Sequence[bool]) -> tuple[measure.Measured, measure.Measured, PairedRuns]:
        return self._sides[bytes(mask)]

    @cached_property
    def _sides(self) -> Mapping[bytes, tuple[measure.Measured, measure.Measured, PairedRuns]]:
        return Computed(self._both_sides)

    def _both_sides(self, mask: bytes) -> tuple[measure.Measured, measure.Measured, PairedRuns]:
        """The metrics of both runs over the pairs whose byte is 1."""
        # Most metrics use all pairs: these share their sums, instead of computing them again for each metric.
        base, head = self._runs if all(mask) else self._sums_of(self.pairs.over([bool(one) for one in mask]))
        return (
            measure.Measured(self.policy, base.group),
            measure.Measured(self.policy, head.group),
            PairedRuns(base, head, base.alpha),
        )


def _terms(formula: Node) -> Iterable[Term | Percentile]:
    found: dict[Term | Percentile, None] = {}
    for ratio in ratios(formula):
        found.update(dict.fromkeys(term for term, _ in (*ratio.z, *ratio.d)))
    found.update(dict.fromkeys(part for part in parts_of(formula) if isinstance(part, Percentile)))
    return found


def _bounds_around(interval: Interval, value: float, metric: Value) -> tuple[float | None, float | None]:
    """The bounds, limited to what a difference of the metric can be, and always containing the difference itself."""
    low, high = interval
    if math.isnan(low) or math.isnan(high):
        return None, None
    if metric.unit == "ratio":
        low, high = max(low, -1.0), min(high, 1.0)
    return _round_end(min(low, value)), _round_end(max(high, value))


def _round_end(end: float) -> float | None:
    """An end rounded to twelve digits, which do not depend on the order of summation; None if it is infinite."""
    return float(f"{end:.12g}") if math.isfinite(end) else None
