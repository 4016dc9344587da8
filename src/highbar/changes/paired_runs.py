"""A metric in two runs of the same scenarios → head minus base, with bounds that use the pairing.

- A share of scenarios: Tango's score interval if every scenario has one trial that passed or failed; otherwise the
  wider of Bonett and Price's interval and of the bounds of a share. So has a mean of values with limits.
  Against several pooled runs, Bonett and Price's bound alone shows a decline of passes.
- A sum of shares, such as a composite: the same, by what each scenario adds to the sum.
- Anything else that has bounds in each run: the bounds of both runs, combined (MOVER). Only for a percentile is the
  correlation of the runs known to hold; it is 0 otherwise, which is too wide if the same scenarios are hard in both.
- A ratio of sums without limits (tokens, cost): the jackknife of its logarithm. It is shown, and decides no rule with
  confidence: what is rare and large may be missing from both runs.

Swapping the runs mirrors every interval.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Literal

from msgspec import Struct

from highbar.changes.record_sums import RecordSums
from highbar.measure.intervals import FormulaBounds
from highbar.measure.parts import Node, is_share, parts_of, shares_in_sum
from highbar.model import Doubt, Percentile, Ratio
from highbar.model.comparison import Factor
from highbar.statistics.interval import Interval
from highbar.statistics.paired import (
    bounds_of_difference,
    bounds_of_moves,
    paired_bounds,
    pearson_correlation,
    single_trial_bounds,
)
from highbar.statistics.ratio import log_ratio_difference

UNBOUNDED = Interval(-math.inf, math.inf)
_ONE = Fraction(1)


class PairedRuns(Struct, frozen=True, dict=True):  # with a dict, so that bounds are computed once, on demand
    """Two runs of the same scenarios in the same order, and the accepted one-sided error."""

    base: RecordSums
    head: RecordSums
    alpha: float

    @cached_property
    def _own(self) -> tuple[FormulaBounds, FormulaBounds]:
        """The bounds in the base and in the head, each on its own."""
        base, head = (FormulaBounds(run.group, self.alpha, ends=run.ends) for run in (self.base, self.head))
        return base, head

    def doubt(self, root: Node) -> Doubt | None:
        """Why no interval of the difference is known to be valid; None if one is."""
        found = (own.doubt(root) for own in reversed(self._own))
        return next((one for one in found if one is not None), None)

    def bounds(self, root: Node, share: Fraction = _ONE) -> tuple[Interval, Factor | None]:
        """The bounds of head - share · base, and the factor head / base if the bounds come from it."""
        if isinstance(root, Ratio) and not is_share(root) and self.doubt(root) is not None:
            factor = self.mean_factor(root)
            if factor is not None:
                return self._by_factor(root, factor, float(share)), factor
        paired = self._of_pairs(root)
        if paired is None:
            return self._of_both(root, float(share)), None
        return self._less_of_base(root, paired, 1 - share), None

    def _of_pairs(self, root: Node) -> Interval | None:
        """The bounds of head - base of a sum of shares, and of a rest; None without a share that can be paired."""
        if isinstance(root, Ratio) and not is_share(root):
            return self._mean_bounds(root)
        shares, rest = shares_in_sum(root)
        if not shares or not all(self._weighs_the_same(one) for one in shares):
            return None
        if len(shares) == 1:
            ((one, factor),) = shares.items()
            ends = [float(factor) * end for end in self._mean_bounds(one) or UNBOUNDED]
        else:
            ends = list(self._sum_bounds(shares))
        others = self._of_both(rest, 1.0)
        return Interval(min(ends) + others.low, max(ends) + others.high)

    def _mean_bounds(self, ratio: Ratio) -> Interval | None:
        """The bounds of a share, or of a mean of values with limits.

        None for anything else, and if a scenario has different weights in the two runs.
        """
        known = [own.limits_of_mean(ratio) for own in self._own]
        if known[0] is None or known[1] is None or not self._weighs_the_same(ratio):
            return None
        low, high = known[0]
        weights = self.head.linear(ratio.d)
        after, before = self.head.linear(ratio.z), self.base.linear(ratio.z)
        if low or high != 1:
            after, before = (
                [(part - low * weight) / (high - low) for part, weight in zip(parts, weights, strict=True)]
                for parts in (after, before)
            )
        counts = self._single_trial_counts(before, after, weights)
        if counts is not None:
            found = single_trial_bounds(*counts, self.alpha) if counts[-1] else UNBOUNDED
        else:
            differences = self.head.by_unit([a - b for a, b in zip(after, before, strict=True)])
            weight = self.head.by_unit(weights)
            units = [(differences[unit], weight[unit]) for unit in weight]
            found = paired_bounds(units, self.alpha, self._pooled_side(before, after, weights)) or UNBOUNDED
        return Interval(*(float(high - low) * end for end in found))

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

    def _sum_bounds(self, shares: Mapping[Ratio, Fraction]) -> Interval:
        """The bounds of head - base of Σ factor · share, by what each scenario adds to it."""
        moved: dict[Hashable, float] = {}
        weights: dict[Hashable, float] = {}
        for share, factor in shares.items():
            after, before, of = self.head.linear(share.z), self.base.linear(share.z), self.head.linear(share.d)
            each = float(factor / sum(of)) if any(of) else 0.0
            for unit, number in self.head.by_unit([a - b for a, b in zip(after, before, strict=True)]).items():
                moved[unit] = moved.get(unit, 0.0) + each * float(number)
            for unit, number in self.head.by_unit(of).items():
                weights[unit] = weights.get(unit, 0.0) + abs(each) * float(number)
        found = bounds_of_moves([(moved[unit], weights[unit]) for unit in weights], self.alpha) or UNBOUNDED
        whole = math.fsum(weights.values())
        return Interval(*(whole * end for end in found))

    def _less_of_base(self, root: Node, same: Interval, part: Fraction) -> Interval:
        """The bounds of head - base + `part` · base, from those of head - base: both distances are added."""
        if not part:
            return same
        ends = [float(part) * end for end in self._own[0].of(root)]
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

    def _of_both(self, root: Node, share: float) -> Interval:
        """The bounds of head - share · base from those of both runs."""
        (before, others), (after, ends) = (own.value_and_bounds(root) for own in self._own)
        parts = parts_of(root)
        alike = self._correlation(parts[0]) if len(parts) == 1 and isinstance(parts[0], Percentile) else 0.0
        base = (share * before, Interval(share * others.low, share * others.high))
        below, above = bounds_of_difference((after, ends), base, alike)
        return Interval(after - base[0] - below, after - base[0] + above)

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

    def _correlation(self, percentile: Percentile) -> float:
        """The correlation between the runs of how many trials of each unit are at or below the percentile."""
        columns = [_below(run, percentile) for run in (self.base, self.head)]
        units = list(dict.fromkeys(unit for column in columns for unit in column))
        first, second = ([column.get(unit, 0.0) for unit in units] for column in columns)
        return pearson_correlation(first, second)


def _below(run: RecordSums, percentile: Percentile) -> dict[Hashable, float]:
    """For each unit, how many of its trials are at or below the percentile's value, minus the expected number."""
    at = run.ranks[percentile].value
    share = float(percentile.share)
    found: dict[Hashable, float] = {}
    for value, unit in run.ranked(percentile):
        inside = value is not None and (at is None or value <= at)
        found[unit] = found.get(unit, 0.0) + inside - share
    return found
