"""The bounds of a formula's value, from sums: `low` and `high`, each at the policy's confidence.

A share has the pseudo-cluster Beta bound, and so have a sum of shares and a ratio whose sums have limits. Any other
ratio has the jackknife, corrected for skewness. A percentile has the values at the bounds of the share below it. Any
other formula whose parts all pull the same way is at its worst when all of them are, so breaking a trial never improves
it. If parts pull against each other, they are combined through the gradient with their correlation (MOVER).

For some formulas no interval is known to hold (`bench/coverage.py` has the measurements). Sums without a limit (cost,
tokens) may miss a scenario that costs more than all others. Weights may correlate with difficulty: the bound for that
needs enough scenarios of equal worth. And if slow scenarios were tried more often than others, the trials of a
percentile are not a sample of the trials that users see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import combinations

from highbar.columns import BOUNDED, EXTRA, recorded_column
from highbar.language.formula import operations
from highbar.language.formula.operations import Operation, derivative
from highbar.measure.doubts import doubt_of_weights
from highbar.measure.limits import ROUNDING, STEPS
from highbar.measure.parts import (
    Node,
    Part,
    Size,
    counts_scenarios,
    distinct_pieces,
    divisors,
    fixed_totals,
    goodness,
    is_given,
    is_share,
    is_weighted,
    parts_of,
    per_scenario,
    shares_in_sum,
    weights_differ,
)
from highbar.measure.undefined import limit_of
from highbar.model import Doubt, Ends, Percentile, Ratio, Term
from highbar.model.reduction import Group
from highbar.statistics.bounded_ratio import BoundedRatio, bounded_ratio_bounds
from highbar.statistics.bounds import MOST_UNEQUAL, effective_clusters, share_bounds
from highbar.statistics.composite import Addend, BoundedTerm, CrossSums, bounds_of_sum, combine, correlation
from highbar.statistics.interval import Interval
from highbar.statistics.ratio import RatioSums, ratio_bounds_from_sums, skewed_ratio_bounds
from highbar.statistics.trials import TrialNoise, noisy_suite_bounds

UNBOUNDED = Interval(-math.inf, math.inf)
Limits = tuple[Fraction, Fraction]
"""The smallest and the largest value that a scenario can have in a column."""
EarlierNoise = Callable[[Ratio], TrialNoise | None]
COUNTED: Limits = (Fraction(1), Fraction(1))
"""The limits of a number of scenarios."""


class FormulaBounds:
    """The bounds of any formula over one group, each at the one-sided error `alpha`.

    `trial_noise`: the scenarios are the whole population, and only their trials vary. `ends` has the limits of columns;
    None if there is no policy, and so no limit. `earlier_noise` returns what earlier runs say of the noise of a share's
    trials, for scenarios that were not repeated in this run.
    """

    def __init__(
        self,
        group: Group,
        alpha: float,
        *,
        trial_noise: bool = False,
        ends: Mapping[str, Ends] | None = None,
        earlier_noise: EarlierNoise | None = None,
    ) -> None:
        self.group = group
        self.alpha = alpha
        self.trial_noise = trial_noise
        self.ends = ends
        self.earlier_noise = earlier_noise
        self._known: dict[Part, Interval] = {}  # a cache: formulas share their parts

    def of(self, formula: Node) -> Interval:
        """The bounds of a formula's value."""
        return self.value_and_bounds(formula)[1]

    def limits_of_mean(self, ratio: Ratio) -> Limits | None:
        """The least and the most that any run could measure, for a mean over the same scenarios; None for others."""
        if is_share(ratio):
            return (Fraction(0), Fraction(1)) if is_given(ratio) else None
        (low, high), under = self._single_limits(ratio) or ((0, 0), None)
        factor = ratio.z[0][1] / ratio.d[0][1]
        return (factor * low, factor * high) if under == COUNTED else None

    def doubt(self, formula: Node) -> Doubt | None:
        """The first reason to doubt the interval of a formula; None if there is none."""
        found = (self._doubt_of_part(part) for part in parts_of(formula))
        return next((one for one in found if one is not None), None)

    def value_and_bounds(self, node: Node) -> tuple[float, Interval]:
        """The value of a node in floats, and its bounds."""
        if isinstance(node, Fraction):
            return float(node), Interval(float(node), float(node))
        if isinstance(node, Ratio | Percentile):
            return self._value(node), self._cached_part(node)
        parts = parts_of(node)
        if len(parts) <= 1:
            return self._of_one_part(node, parts)
        if isinstance(node, Operation) and node.operator in ("min", "max"):
            return self._of_choice(node)
        return self._of_several_parts(node)

    def _of_choice(self, node: Operation[Part | Size]) -> tuple[float, Interval]:
        """A min or max: each end is the smallest or largest of the operands' ends."""
        choose = min if node.operator == "min" else max
        known = [self.value_and_bounds(operand) for operand in node.operands]
        ends = [interval for _, interval in known]
        return choose(value for value, _ in known), Interval(choose(e.low for e in ends), choose(e.high for e in ends))

    def _value(self, part: Part) -> float:
        if isinstance(part, Percentile):
            value = self.group.ranks[part].value
            return math.nan if value is None else float(value)
        return float(self.group.ratios[part].sums.value)

    def _cached_part(self, part: Part) -> Interval:
        if part not in self._known:
            self._known[part] = self._part_bounds(part)
        return self._known[part]

    def _part_bounds(self, part: Part) -> Interval:
        if isinstance(part, Percentile):
            rank = self.group.ranks[part]
            return Interval(
                -math.inf if rank.low is None else float(rank.low), math.inf if rank.high is None else float(rank.high)
            )
        return self._share_bounds(part) if is_share(part) else self._ratio_bounds(part)

    def _share_bounds(self, ratio: Ratio) -> Interval:
        totals = self.group.ratios[ratio]
        if self.trial_noise and totals.trials > 0:
            noise = totals.noise or (self.earlier_noise(ratio) if self.earlier_noise else None)
            return noisy_suite_bounds(totals.sums.value, Fraction(totals.trials), self.alpha, noise)
        # Unequal weights may correlate with difficulty, which the largest weight allows for. Equal ones stay exact.
        largest = Fraction(totals.largest) if is_weighted(ratio) and weights_differ(ratio, self.group) else None
        return share_bounds(totals.sums, self.alpha, largest) or Interval(0.0, 1.0)

    def _ratio_bounds(self, ratio: Ratio) -> Interval:
        within = self._within_limits(ratio)
        if within is not None:
            return within
        totals, (means, _) = self.group.ratios[ratio], per_scenario(ratio)
        # Scenarios that add nothing to the lower sum (no pass) count too: their cost is in the upper one.
        counted = self.group.ratios.get(means)
        sums = totals.sums
        units = sums.clusters if counted is None else max(sums.clusters, counted.sums.clusters)
        jackknife = RatioSums(units, sums.z, sums.d, sums.zz, sums.zd, sums.dd, totals.largest)
        if totals.thirds is None:
            return ratio_bounds_from_sums(jackknife, self.alpha) or UNBOUNDED
        return skewed_ratio_bounds(jackknife, totals.thirds, self.alpha) or UNBOUNDED

    def _within_limits(self, ratio: Ratio) -> Interval | None:
        """The bounds of a ratio of two columns that both have limits; None for anything else."""
        found = self._single_limits(ratio)
        if found is None:
            return None
        return self._mean(ratio, found[0]) if found[1] == COUNTED else self._ratio_of(ratio, *found)

    def _single_limits(self, ratio: Ratio) -> tuple[Limits, Limits] | None:
        """The limits of the columns above and below; None if there are several, or one has none."""
        if len(ratio.z) > 1 or len(ratio.d) > 1 or ratio.z[0][1] <= 0 or ratio.d[0][1] <= 0:
            return None
        limits, under = self._limits(ratio.z[0][0]), self._limits(ratio.d[0][0])
        return None if limits is None or under is None or limits[0] == limits[1] else (limits, under)

    def _mean(self, ratio: Ratio, limits: Limits) -> Interval | None:
        """The bounds of a mean of values between two ends."""
        low, high = (ratio.z[0][1] / ratio.d[0][1] * end for end in limits)
        bounds = share_bounds(self.group.ratios[ratio].sums.between(low, high), self.alpha)
        return bounds and Interval(*(float(low) + end * float(high - low) for end in bounds))

    def _ratio_of(self, ratio: Ratio, limits: Limits, under: Limits) -> Interval | None:
        """The bounds of one sum over another, if each goes from 0 to a limit; else None."""
        above, below = per_scenario(ratio)
        cross = self.group.crosses.get((above, below))
        if cross is None or limits[0] != 0 or under[0] != 0 or not self.group.ratios[below].sums.z:
            return None
        most, most_below = limits[1] * ratio.z[0][1], under[1] * ratio.d[0][1]
        parts = BoundedRatio(
            self.group.ratios[above].sums.over(most),
            self.group.ratios[below].sums.over(most_below),
            Fraction(cross.zz) / (most * most_below),
        )
        scale = float(most / most_below)
        return Interval(*(end * scale for end in bounded_ratio_bounds(parts, self.alpha)))

    def _limits(self, term: Term) -> Limits | None:
        """The range of what one scenario can add to a sum, by nature or by the policy.

        None if nothing bounds it, or if a recorded value is beyond the limit.
        """
        if self.ends is None:
            return None
        if counts_scenarios(term):
            return COUNTED
        if term.column in BOUNDED or term.column.startswith(("pass_at_", "pass_hat_")):
            return Fraction(0), Fraction(1)
        ends = self.ends.get(recorded_column(term.column))
        if ends is None or ends.worst is None or ends.best is None or self._is_beyond(term):
            return None
        return min(ends.worst, ends.best), max(ends.worst, ends.best)

    def _is_beyond(self, term: Term) -> bool:
        """Whether a recorded value is beyond the limit in the policy."""
        total = self.group.totals.get(term)
        return total is not None and total.beyond > 0

    def _doubt_of_part(self, part: Part) -> Doubt | None:
        if isinstance(part, Percentile):
            # The trials of a percentile may not be a sample of all trials.
            rank = self.group.ranks[part]
            counts = f"scenarios have from {rank.fewest} to {rank.most} trials, and if these differ more than threefold"
            uneven = rank.most > MOST_UNEQUAL * rank.fewest
            return Doubt("trials", f"{counts} no interval is known to hold") if uneven else None
        if not is_share(part):
            return self._doubt_of_sums(part)
        if not self.trial_noise and is_weighted(part) and weights_differ(part, self.group):
            totals = self.group.ratios[part]
            return doubt_of_weights(effective_clusters(totals.sums), totals.largest / float(totals.sums.d))
        return None

    def _doubt_of_sums(self, ratio: Ratio) -> Doubt | None:
        for term, _ in (*ratio.z, *ratio.d):
            if self._limits(term) is None:
                name, limit = recorded_column(term.column).removeprefix(EXTRA), limit_of(recorded_column(term.column))
                beyond = f"a recorded `{name}` is beyond {limit}, so no interval is known to hold"
                absent = f"`{name}` has no limit, so no interval is known to hold; {limit} would give one"
                return Doubt("sums", beyond if self._is_beyond(term) else absent)
        if len(ratio.z) > 1 or len(ratio.d) > 1:
            return Doubt("sums", "no interval is known to hold for a ratio of such sums")
        return None

    def _of_one_part(self, node: Node, parts: tuple[Part, ...]) -> tuple[float, Interval]:
        """A node of one part: evaluated at many points of the part's interval, since it may turn between the ends."""
        if not parts:
            value = self._at(node, {})
            return value, Interval(value, value)
        part = parts[0]
        value = self._at(node, {part: self._value(part)})
        points = self._points(part)
        for divisor in divisors(node):
            numbers = [self._at(divisor, {part: point}) for point in points]
            # The divisor changes its sign inside the interval, so the quotient has no bound.
            if min(numbers) < 0 <= max(numbers):
                return value, UNBOUNDED
        found = [value, *(self._at(node, {part: point}) for point in points)]
        return value, Interval(min(found), max(found))

    def _points(self, part: Part) -> list[float]:
        """Both ends of a part's interval and points between them, from 0 if the part cannot be negative."""
        low, high = self._cached_part(part)
        if isinstance(part, Percentile) and not part.column.startswith(EXTRA):
            low = max(low, 0.0)
        if math.isinf(low) or math.isinf(high):
            return [low, self._value(part), high]
        return [low + (high - low) * step / STEPS for step in range(STEPS)] + [high]

    def _of_several_parts(self, node: Node) -> tuple[float, Interval]:
        """A node of several parts: the intervals of its pieces, combined through the gradient."""
        pieces = distinct_pieces(node)
        known = {piece: self.value_and_bounds(piece) for piece in pieces}
        values = {piece: value for piece, (value, _) in known.items()}
        values |= {fixed: self._at(fixed, {}) for fixed in fixed_totals(node)}
        value = self._at(node, values)
        together = self._together(node, known, values)
        if together is not None:
            summed = self._of_sum(node) or together
            low, high = max(together.low, summed.low), min(together.high, summed.high)
            return value, Interval(min(low, value), max(high, value))
        terms, parts, signs = [], [], []
        for piece in pieces:
            low, high = known[piece][1]
            inside = parts_of(piece)
            part = inside[0] if len(inside) == 1 else None
            alone = part is None or isinstance(part, Percentile)
            terms.append(BoundedTerm(values[piece], low, high, derivative(node, piece, values.get), alone))
            parts.append(part)
            signs.append(1 if part is None else self._direction(piece, part))
        matrix = [
            [self._correlation(terms[i], terms[j], parts[i], parts[j], signs[i] * signs[j]) for j in range(len(parts))]
            for i in range(len(parts))
        ]
        return value, combine(value, terms, matrix)

    def _together(
        self, node: Node, known: Mapping[Node, tuple[float, Interval]], values: Mapping[Node, float]
    ) -> Interval | None:
        """The formula with all its pieces at their worse ends, and at their better ends.

        None if the pieces pull in different directions. Uses no correlation: an estimated one drops when a trial breaks
        in one metric only, and could narrow the interval by more than the value drops.
        """
        slopes = {piece: derivative(node, piece, values.get) for piece in known}
        better = {piece: self._goodness(piece) for piece, (_, ends) in known.items() if ends.low != ends.high}
        directions = {math.copysign(1, slopes[piece]) * good for piece, good in better.items() if slopes[piece]}
        if len(directions) != 1 or 0 in directions or 0 in better.values():
            return None
        direction = directions.pop()
        corners = []
        for end in (0, 1):  # each piece at the end that makes the formula lowest, then highest
            at = {piece: known[piece][1][end if better[piece] * direction > 0 else 1 - end] for piece in better}
            corner = {**values, **at}
            number = self._at(node, corner)
            turned = any(derivative(node, piece, corner.get) * better[piece] * direction < 0 for piece in better)
            if turned or math.isnan(number):
                return None
            corners.append(number)
        low, high = corners
        return Interval(low, high) if low <= self._at(node, values) <= high else None

    def _of_sum(self, node: Node) -> Interval | None:
        """The bounds of a sum of several shares, by what each scenario adds to it, and of its rest; None for others."""
        shares, rest = shares_in_sum(node)
        if len(shares) < 2 or self.trial_noise:
            return None
        totals = [self.group.ratios[share] for share in shares]
        addends = [Addend(factor, one.sums, one.largest) for factor, one in zip(shares.values(), totals, strict=True)]
        crosses = {(i, j): self._cross(first, second) for (i, first), (j, second) in combinations(enumerate(shares), 2)}
        known = {pair: cross for pair, cross in crosses.items() if cross is not None}
        if len(known) < len(crosses) or not all(one.sums.d for one in totals):
            return None
        found, others = bounds_of_sum(addends, known, self.alpha), self.of(rest)
        return Interval(found.low + others.low, found.high + others.high)

    def _goodness(self, piece: Node) -> int:
        """Whether a piece rises (1) or falls (-1) as the results get better; 0 if unknown."""
        parts = parts_of(piece)
        if len(parts) == 1:
            return self._direction(piece, parts[0]) * goodness(parts[0])
        if isinstance(piece, Operation) and piece.operator in ("min", "max"):
            inside = {self._goodness(operand) for operand in piece.operands if parts_of(operand)}
            return inside.pop() if len(inside) == 1 else 0
        return 0

    def _direction(self, piece: Node, part: Part) -> int:
        """Whether a single-part node rises (1) or falls (-1) with its part."""
        low, high = (self._at(piece, {part: end}) for end in self._cached_part(part))
        return -1 if low > high else 1

    def _correlation(
        self, one: BoundedTerm, two: BoundedTerm, first: Part | None, second: Part | None, sign: int
    ) -> float:
        """The correlation of two terms; the worst case if it is unknown."""
        if not isinstance(first, Ratio) or not isinstance(second, Ratio):
            return 0.0
        if first == second:
            return float(sign)
        same_sign = 1.0 if one.gradient * two.gradient >= 0 else -1.0
        cross = self._cross(first, second)
        # Unknown: assume the correlation that makes the interval widest.
        if cross is None:
            return same_sign
        sums, others = self.group.ratios[first].sums, self.group.ratios[second].sums
        found = sign * correlation(sums, others, cross)
        # Terms that never differed would give their difference an interval of width 0. Few scenarios cannot show that.
        units = min(sums.clusters, others.clusters)
        always_same = abs(found) > 1 - ROUNDING and found * same_sign < 0
        return found * units / (units + 1) if always_same else found

    def _cross(self, first: Ratio, second: Ratio) -> CrossSums | None:
        """The products of two ratios; None if they were not summed."""
        cross = self.group.crosses.get((first, second))
        turned = self.group.crosses.get((second, first))
        if cross is None and turned is not None:
            cross = CrossSums(turned.zz, turned.dz, turned.zd, turned.dd)
        return cross

    def _at(self, node: Node, values: Mapping[Node, float]) -> float:
        """The value of a node as a float, with `values` for some of the nodes inside."""

        def known(inner: Node) -> float | None:
            if inner in values:
                return values[inner]
            if isinstance(inner, Size):
                return float(self.group.ratios[inner.ratio].sums.d)
            return self._value(inner) if isinstance(inner, Ratio | Percentile) else None

        return operations.value(node, known)


def rounded_end(end: float) -> float:
    """An end of an interval to twelve digits, to which sums in any order agree."""
    return float(f"{end:.12g}")
