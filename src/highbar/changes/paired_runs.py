"""A metric in two runs of the same scenarios → head minus base, with bounds that use the pairing.

- A share of scenarios: Tango's score interval if every scenario has one trial that passed or failed; otherwise the
  wider of Bonett and Price's interval and of the bounds of a share. Against several pooled runs, Bonett and Price's
  alone shows a decline.
- A ratio of other sums (tokens, cost): the jackknife of its logarithm.
- A percentile: the bounds of both runs, combined.
- A formula: linearized. The influence of a scenario is what it adds by the gradient of the formula in the head, minus
  the same in the base.

A rare and large influence makes the jackknife too short, linearized or not: only the bounds of shares and percentiles
are known to hold. The others are shown, and decide no rule with confidence.

Swapping the runs mirrors every interval.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from highbar.changes.record_sums import RecordSums
from highbar.language.formula import operations
from highbar.measure.intervals import FormulaBounds, doubt_of_trials, doubt_of_weights, weights_differ
from highbar.measure.parts import Node, Size, counts_scenarios, is_share, is_weighted, parts_of
from highbar.model import Doubt, Percentile, Ratio
from highbar.model.comparison import Factor
from highbar.statistics.bounds import effective_clusters
from highbar.statistics.interval import Interval
from highbar.statistics.paired import (
    bounds_of_difference,
    least_half_width,
    paired_bounds,
    pearson_correlation,
    single_trial_bounds,
)
from highbar.statistics.ratio import influence_difference, log_ratio_difference, ratio_influences

UNBOUNDED = Interval(-math.inf, math.inf)
_ONE = Fraction(1)
_UNKNOWN = "no interval is known to hold for the change of such sums or formulas between two runs"
_Leaf = Node
"""A ratio, or the largest node of a formula that depends on one percentile and on nothing else that varies."""


class PairedRuns(Struct, frozen=True):
    """Two runs of the same scenarios in the same order, and the accepted one-sided error."""

    base: RecordSums
    head: RecordSums
    alpha: float

    def bounds(self, root: Node, share: Fraction = _ONE) -> tuple[Interval, Factor | None]:
        """The bounds of head - share · base, and the factor head / base if the bounds come from it."""
        if isinstance(root, Ratio):
            if is_share(root):
                same = self._share_bounds(root)
                if same is not None:
                    return self._less_of_base(root, same, 1 - share), None
            else:
                factor = self.mean_factor(root)
                if factor is not None:
                    return self._by_factor(root, factor, float(share)), factor
        return self._by_gradient(root, float(share)), None

    def _share_bounds(self, ratio: Ratio) -> Interval | None:
        """The bounds of a share; None if a scenario has different weights in the two runs."""
        if not self._weighs_the_same(ratio):
            return None
        weights = self.head.linear(ratio.d)
        after, before = self.head.linear(ratio.z), self.base.linear(ratio.z)
        counts = self._single_trial_counts(before, after, weights)
        if counts is not None:
            return single_trial_bounds(*counts, self.alpha) if counts[-1] else UNBOUNDED
        differences = self.head.by_unit([a - b for a, b in zip(after, before, strict=True)])
        weight = self.head.by_unit(weights)
        units = [(differences[unit], weight[unit]) for unit in weight]
        return paired_bounds(units, self.alpha, self._pooled_side(before, after, weights)) or UNBOUNDED

    def _pooled_side(
        self, before: Sequence[Fraction], after: Sequence[Fraction], weights: Sequence[Fraction]
    ) -> Literal["base", "head"] | None:
        """The run that has at least twice as many trials of every scenario as the other, if all trials pass or fail."""
        trials = [(one.trials, other.trials) for one, other in zip(self.base.records, self.head.records, strict=True)]
        counted = all(weight in (0, 1) for weight in weights) and all(
            (b * n).denominator == (a * m).denominator == 1 for b, a, (n, m) in zip(before, after, trials, strict=True)
        )
        if counted and all(n >= 2 * m for n, m in trials):
            return "base"
        return "head" if counted and all(m >= 2 * n for n, m in trials) else None

    def _less_of_base(self, ratio: Ratio, same: Interval, part: Fraction) -> Interval:
        """The bounds of head - base + `part` · base, from those of head - base: both distances are added."""
        if not part:
            return same
        ends = [float(part) * end for end in FormulaBounds(self.base.group, self.alpha).of(ratio)]
        return Interval(same.low + min(ends), same.high + max(ends))

    def _weighs_the_same(self, ratio: Ratio) -> bool:
        """Whether scenarios weigh the same in both runs; else a change of weights looks like one of values."""
        return self.base.linear(ratio.d) == self.head.linear(ratio.d)

    def _single_trial_counts(
        self, before: Sequence[Fraction], after: Sequence[Fraction], weights: Sequence[Fraction]
    ) -> tuple[int, int, int] | None:
        """The scenarios that only the head passed, those that only the base passed, and all: three counts.

        None unless every scenario is an independent unit of weight 0 or 1 with one trial in each run, whose value is 0
        or 1.
        """
        run = self.base
        once = all(one.trials == 1 for records in (run.records, self.head.records) for one in records)
        plain = all(weight in (0, 1) for weight in weights) and all(part in (0, 1) for part in (*before, *after))
        if not once or not plain or len(set(run.units)) < len(run.units):
            return None
        better = sum(b < a for b, a in zip(before, after, strict=True))
        worse = sum(b > a for b, a in zip(before, after, strict=True))
        return better, worse, int(sum(weights))

    def doubt(self, root: Node) -> Doubt | None:
        """Why no interval of the difference is known to be valid; None if one is."""
        for part in parts_of(root):
            found = self._doubt_of(part)
            if found is not None:
                return found
        return None if self._is_known_to_hold(root) else Doubt("sums", _UNKNOWN)

    def _is_known_to_hold(self, root: Node) -> bool:
        if isinstance(root, Ratio) and parts_of(root):
            return is_share(root) and _is_given(root) and self._weighs_the_same(root)
        return _is_leaf(root) or not parts_of(root)

    def _doubt_of(self, part: Ratio | Percentile) -> Doubt | None:
        if isinstance(part, Percentile):
            found = (doubt_of_trials(run.ranks[part]) for run in (self.base, self.head))
            return next((one for one in found if one is not None), None)
        if is_share(part) and is_weighted(part) and weights_differ(part, self.head.group):
            totals = self.head.ratios[part]
            return doubt_of_weights(effective_clusters(totals.sums), totals.largest / float(totals.sums.d))
        return None

    def mean_factor(self, ratio: Ratio) -> Factor | None:
        """Head divided by base of a ratio of two sums, by the paired jackknife of its logarithm; None if unbounded."""
        sides = [self.base.by_unit(self.base.linear(side)) for side in (ratio.z, ratio.d)]
        sides += [self.head.by_unit(self.head.linear(side)) for side in (ratio.z, ratio.d)]
        rows = [tuple(float(side[unit]) for side in sides) for unit in sides[0]]
        # Units without any data are no observations: they would only raise the degrees of freedom.
        there = [(a, b, c, d) for a, b, c, d in rows if b or d or a or c]
        try:
            change = log_ratio_difference(there, self.alpha)
        except OverflowError:
            return None  # too wide for a float
        known = change is not None and change.bounds.low > 0 and change.bounds.high < math.inf
        return Factor(change.value, *change.bounds) if change is not None and known else None

    def _by_factor(self, ratio: Ratio, factor: Factor, share: float) -> Interval:
        """The bounds of the difference from those of the factor, with the geometric mean of both runs fixed.

        head - base = √(base·head) · 2 sinh(log(head / base) / 2), which changes only its sign if the runs are swapped.
        """
        base, head = (float(run.ratios[ratio].sums.value) for run in (self.base, self.head))
        middle = 2 * math.sqrt(base * share * head)
        low, high = (-math.inf if end is None else math.log(end / share) for end in (factor.low, factor.high))
        return Interval(middle * math.sinh(low / 2), middle * math.sinh(high / 2))

    def _by_gradient(self, root: Node, share: float) -> Interval:
        before, slopes_before = _value_and_gradient(root, self._values(self.base, root), self.base)
        after, slopes_after = _value_and_gradient(root, self._values(self.head, root), self.head)
        value = after - share * before
        influences: dict[Hashable, float] = {}
        floor = below = above = 0.0
        for leaf in _leaves(root):
            slope, other = slopes_after.get(leaf, 0.0), share * slopes_before.get(leaf, 0.0)
            if slope == 0 and other == 0:
                continue
            if not isinstance(leaf, Ratio):
                reach = self._percentile(leaf, slope, other)
                below, above = below + reach[0], above + reach[1]
                continue
            if not self._influence(influences, leaf, slope, other):
                return UNBOUNDED
            # Two runs without any difference have influences of 0: a share is still not known more precisely than this.
            if is_share(leaf):
                units = min(run.ratios[leaf].sums.clusters for run in (self.base, self.head))
                floor += (max(abs(slope), abs(other)) * least_half_width(units, self.alpha)) ** 2
        half = 0.0
        if influences:
            found = influence_difference(value, list(influences.values()), self.alpha)
            if found is None:
                return UNBOUNDED
            half = max(found.bounds.high - value, math.sqrt(floor))
        return Interval(value - half - below, value + half + above)

    def _influence(self, found: dict[Hashable, float], ratio: Ratio, slope: float, other: float) -> bool:
        """Add the influence of each unit on the formula through one ratio; False if it cannot be computed."""
        for run, gradient in ((self.head, slope), (self.base, -other)):
            z, d = run.by_unit(run.linear(ratio.z)), run.by_unit(run.linear(ratio.d))
            units = [unit for unit in d if d[unit] or z[unit]]
            influences = ratio_influences([(float(z[unit]), float(d[unit])) for unit in units])
            if influences is None:
                return False
            for unit, influence in zip(units, influences, strict=True):
                found[unit] = found.get(unit, 0.0) + gradient * influence
        return True

    def _values(self, run: RecordSums, root: Node) -> dict[_Leaf, float]:
        return {leaf: self._value(run, leaf) for leaf in _leaves(root)}

    def _value(self, run: RecordSums, leaf: _Leaf) -> float:
        if isinstance(leaf, Ratio):
            return float(run.ratios[leaf].sums.value)
        percentile = _percentile_in(leaf)
        at = run.ranks[percentile].value
        return _value_and_gradient(leaf, {percentile: math.inf if at is None else float(at)}, run)[0]

    def _percentile(self, leaf: _Leaf, slope: float, other: float) -> tuple[float, float]:
        """How far down and up the uncertainty of a percentile, or of a function of one, may move the difference."""
        percentile = _percentile_in(leaf)
        sides = []
        for run, gradient in ((self.head, slope), (self.base, other)):
            value, ends = self._value(run, leaf), FormulaBounds(run.group, self.alpha).of(leaf)
            reach = (gradient * (ends.low - value), gradient * (ends.high - value)) if gradient else (0.0, 0.0)
            sides.append((0.0, Interval(min(reach), max(reach))))
        return bounds_of_difference(sides[0], sides[1], self._correlation(percentile))

    def _correlation(self, percentile: Percentile) -> float:
        """The correlation between the runs of how many trials of each unit are at or below the percentile."""
        columns = [_below(run, percentile) for run in (self.base, self.head)]
        units = list(dict.fromkeys(unit for column in columns for unit in column))
        first, second = ([column.get(unit, 0.0) for unit in units] for column in columns)
        return pearson_correlation(first, second)


def _is_given(share: Ratio) -> bool:
    """Whether the suite alone says what a share is of: scenarios, expectations, or positives. Answers cannot add to it.

    Two runs of precision may happen to have as many predictions, but the next ones need not.
    """
    counted = {term.column for term, _ in share.d if not counts_scenarios(term)}
    return counted <= {"expected"} or counted == {"tp", "fn"}


# --- the gradient of a formula ----------------------------------------------------------------


def _leaves(root: Node) -> tuple[_Leaf, ...]:
    """Every leaf of a formula, without repetitions."""
    found: dict[_Leaf, None] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if _is_leaf(node):
            found[node] = None
        elif isinstance(node, operations.Operation):
            waiting.extend(node.operands)
    return tuple(found)


def _is_leaf(node: Node) -> bool:
    """Whether linearization stops at this node."""
    if isinstance(node, Ratio | Percentile):
        return True
    parts = parts_of(node)
    return len(parts) == 1 and isinstance(parts[0], Percentile)


def _value_and_gradient(
    root: Node, values: Mapping[_Leaf, float], run: RecordSums
) -> tuple[float, Mapping[_Leaf, float]]:
    """The value of a formula at these values of its leaves, and its derivative by each leaf."""

    def known(node: Node) -> float | None:
        if isinstance(node, Size):
            return float(run.ratios[node.ratio].sums.d)
        if isinstance(node, Ratio) and node.z == node.d:
            return 1.0  # a count over itself does not vary, so it is not a leaf
        return values.get(node)

    return operations.value(root, known), {leaf: operations.derivative(root, leaf, known) for leaf in values}


def _percentile_in(leaf: Node) -> Percentile:
    parts: Sequence[object] = parts_of(leaf)
    found = parts[0]
    if not isinstance(found, Percentile):
        raise TypeError(f"{leaf} holds no percentile")
    return found


def _below(run: RecordSums, percentile: Percentile) -> dict[Hashable, float]:
    """For each unit, how many of its trials are at or below the percentile's value, minus the expected number."""
    at = run.ranks[percentile].value
    share = float(percentile.share)
    found: dict[Hashable, float] = {}
    for value, unit in run.ranked(percentile):
        inside = value is not None and (at is None or value <= at)
        found[unit] = found.get(unit, 0.0) + inside - share
    return found
