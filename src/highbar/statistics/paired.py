"""Two versions on the same scenarios: bounds of the difference of their shares, and tests of it.

`better` counts the scenarios that only the head passed, `worse` those that only the base passed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

from highbar.statistics.bounds import Sums, monotone_bounds, share_bounds
from highbar.statistics.distributions import at_most, normal_quantile
from highbar.statistics.interval import Interval, Real
from highbar.statistics.search import turning_point


def bonett_price(scenarios: int, difference: Real, squares: Real, alpha: float) -> Interval:
    """The bounds of the mean of differences d in [-1, 1], from their number, sum and sum of squares.

    One difference of 1 and one of -1 are added. For one binary trial on either side it is the interval of Bonett and
    Price (2012); for scores and repeated trials it rests on simulation. It contains the mean at any alpha.
    """
    count, value = scenarios + 2, float(difference) / scenarios
    middle = float(difference) / count
    variance = ((float(squares) + 2) / count - middle * middle) / count
    half = normal_quantile(1 - alpha) * math.sqrt(max(variance, 0.0))
    return Interval(min(max(middle - half, -1.0), value), max(min(middle + half, 1.0), value))


def bonett_price_units(units: Iterable[tuple[Real, Real]], alpha: float) -> Interval | None:
    """The same for units of unequal weight: Σx / Σd from (x, d) of each, with x from -d to d. None without weight.

    A unit is a scenario with its weight, or scenarios that pass or fail together. One unit of typical weight,
    Σd² / Σd, is added at either end. With every weight 1 it is `bonett_price`.
    """
    listed = [(float(x), float(d)) for x, d in units if d > 0]
    if not listed:
        return None
    weight, total = math.fsum(d for _, d in listed), math.fsum(x for x, _ in listed)
    typical = math.fsum(d * d for _, d in listed) / weight
    count, value = weight + 2 * typical, total / weight
    middle = total / count
    squares = math.fsum((x - middle * d) ** 2 for x, d in listed) + 2 * typical**2 * (1 + middle * middle)
    half = normal_quantile(1 - alpha) * math.sqrt(squares) / count
    return Interval(min(max(middle - half, -1.0), value), max(min(middle + half, 1.0), value))


def paired_bounds(
    units: Iterable[tuple[Real, Real]], alpha: float, pooled: Literal["base", "head"] | None = None
) -> Interval | None:
    """The bounds for scores, repeated trials, weights and clusters: Σx / Σd from (x, d) of each unit; None without any.

    At each end the wider of Bonett and Price's bound and the pseudo-cluster Beta bound of (difference + 1) / 2. If only
    a few scenarios changed, all in one direction, the former alone is too short: see `bench/paired_exact.py`.

    `pooled` is the side whose passes are pooled over several runs. Bonett and Price's bound alone shows that the other
    side is worse, if it excludes 0: a scenario that breaks widens it, too (`bench/memory.py`).
    """
    listed = [(float(x), float(d)) for x, d in units if d > 0]
    by_price = bonett_price_units(listed, alpha)
    if by_price is None:
        return None
    # Both ends use the lower bound, which no broken trial can raise; swapping base and head gives the upper end.
    low, high = (_lower([((sign * x + d) / 2, d) for x, d in listed], alpha) for sign in (1, -1))
    wide = Interval(min(by_price.low, 2 * low - 1), max(by_price.high, 1 - 2 * high))
    if pooled == "base" and by_price.high < 0:
        return Interval(wide.low, by_price.high)
    if pooled == "head" and by_price.low > 0:
        return Interval(by_price.low, wide.high)
    return wide


def bounds_of_moves(units: Sequence[tuple[Real, Real]], alpha: float) -> Interval | None:
    """The bounds for what scenarios add to a sum of shares: the wider of `paired_bounds` and of those of both moves.

    If all that changed got worse, the loss is a share with exact bounds, and `paired_bounds` a little too short: up to
    6 % where 5 % is promised. If some got better, the bounds of loss and gain are combined (MOVER).
    """
    found = paired_bounds(units, alpha)
    if found is None:
        return None
    largest = max(d for _, d in units)
    sides = [Sums.of((max(sign * x, 0), d) for x, d in units) for sign in (1, -1)]
    gain, loss = ((float(side.value), monotone_bounds(side, alpha, largest)) for side in sides)
    below, above = bounds_of_difference(gain, loss, 0.0)
    value = gain[0] - loss[0]
    return Interval(min(found.low, value - below), max(found.high, value + above))


def _lower(units: Sequence[tuple[float, float]], alpha: float) -> float:
    """The lower bound of Σz / Σd from (z, d) of each unit; the pseudo-cluster weighs as much as the heaviest unit."""
    sums = Sums(
        clusters=len(units),
        d=math.fsum(d for _, d in units),
        z=math.fsum(z for z, _ in units),
        zz=math.fsum(z * z for z, _ in units),
        zd=math.fsum(z * d for z, d in units),
        dd=math.fsum(d * d for _, d in units),
    )
    found = share_bounds(sums, alpha, max(d for _, d in units))
    return found.low if found else 0.0


def bounds_of_difference(
    head: tuple[float, Interval], base: tuple[float, Interval], correlation: float
) -> tuple[float, float]:
    """How far below and above the difference of two values its bounds are, from the bounds of each (MOVER).

    Infinite if an end is unbounded.
    """
    (after, ends), (before, others) = head, base
    return (
        _distance(after - ends.low, others.high - before, correlation),
        _distance(ends.high - after, before - others.low, correlation),
    )


def pearson_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """The correlation of two columns; 0 if one of them does not vary."""
    count = len(first)
    if not count:
        return 0.0
    mean, other = math.fsum(first) / count, math.fsum(second) / count
    product = math.fsum((a - mean) * (b - other) for a, b in zip(first, second, strict=True))
    scale = math.sqrt(math.fsum((a - mean) ** 2 for a in first) * math.fsum((b - other) ** 2 for b in second))
    return max(-1.0, min(1.0, product / scale)) if scale > 0 else 0.0


def _distance(one: float, two: float, correlation: float) -> float:
    if math.isinf(one) or math.isinf(two):
        return math.inf
    return math.sqrt(max(one * one + two * two - 2 * correlation * one * two, 0.0))


def tango_z(better: int, worse: int, scenarios: int, difference: float) -> float:
    """Tango's score of the hypothesis that head minus base is `difference`; large if the data are above it."""
    excess = better - worse - scenarios * difference
    linear = -better - worse + (2 * scenarios - better + worse) * difference
    constant = -worse * difference * (1 - difference)
    root = math.sqrt(max(linear * linear - 8 * scenarios * constant, 0.0))
    share = (root - linear) / (4 * scenarios)
    variance = scenarios * (2 * share + difference * (1 - difference))
    if variance <= 0:
        return 0.0 if excess == 0 else math.copysign(math.inf, excess)
    return excess / math.sqrt(variance)


def tango_interval(better: int, worse: int, scenarios: int, alpha: float) -> Interval:
    """The differences that Tango's score does not reject, for one binary trial on either side."""
    z = normal_quantile(1 - alpha)
    middle = (better - worse) / scenarios
    low = turning_point(-1.0, middle, lambda difference: tango_z(better, worse, scenarios, difference) > z)
    high = turning_point(middle, 1.0, lambda difference: tango_z(better, worse, scenarios, difference) >= -z)
    return Interval(low, high)


def single_trial_bounds(better: int, worse: int, scenarios: int, alpha: float) -> Interval:
    """The bounds for one binary trial on either side: Tango's score interval.

    If scenarios changed in one direction only, or not at all, its end near 0 is too short (`bench/paired_exact.py`):
    each end is then the wider of Tango's and of Bonett and Price's.
    """
    found = tango_interval(better, worse, scenarios, alpha)
    if better and worse:
        return found
    by_price = bonett_price(scenarios, better - worse, better + worse, alpha)
    return Interval(min(found.low, by_price.low), max(found.high, by_price.high))


def mcnemar_exact(better: int, worse: int) -> float:
    """The exact two-sided p-value of no difference, from the scenarios on which the versions disagree."""
    return min(1.0, 2 * at_most(min(better, worse), better + worse, 0.5))


def mcnemar_mid_p(better: int, worse: int) -> float:
    """The exact p-value minus the probability of the observed counts, which brings the error close to its level.

    The exact test errs far less often than its level allows. If as many got better as worse, it is 1 minus half of that
    probability (Fagerland et al. 2013); if none changed, 1.
    """
    total = better + worse
    if not total:
        return 1.0
    seen: float = math.comb(total, better) / 2**total
    return 1.0 - seen / 2 if better == worse else mcnemar_exact(better, worse) - seen
