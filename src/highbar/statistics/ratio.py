"""Bounds of a ratio of two unbounded sums (tokens, cost), and of its change: the jackknife with Student's t.

Each scenario is left out once; how far that moves the ratio is the scenario's influence. A few expensive failures skew
the influences and make Student's interval too short on the side of the long tail; Hall's correction for skewness (1992)
makes up for about half of that. No interval is valid without a limit on what one scenario can cost: this one is shown,
but decides no rule with confidence (`bench/coverage.py` has the figures).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.statistics.distributions import beta_pair_quantile
from highbar.statistics.interval import Estimate, Interval, Real

_NO_SKEWNESS = 1e-9  # below it the correction is smaller than the rounding of its own formula


class RatioSums(Struct, frozen=True):
    """Sums over scenarios of a numerator q and a denominator t, their squares and product, and the largest t."""

    scenarios: int
    q: Real
    t: Real
    qq: Real
    qt: Real
    tt: Real
    t_max: Real


class ThirdSums(Struct, frozen=True):
    """Sums over scenarios of the triple products of the numerator q and the denominator t."""

    qqq: Real
    qqt: Real
    qtt: Real
    ttt: Real


def ratio_bounds_from_sums(sums: RatioSums, alpha: float) -> Interval | None:
    """The bounds of Σq / Σt from sums alone: never narrower than those from the individual scenarios.

    An influence is (q - r t) / (Σt - t). Putting the largest t into every denominator can only enlarge it, and leaving
    the mean of the influences in can only widen the bounds. The excess width is a share of about 2 t_max / Σt. None
    with fewer than two scenarios, or if one of them has all of Σt.
    """
    found = _ratio_and_squares(sums)
    if found is None:
        return None
    ratio, squares = found
    half = student_quantile(1 - alpha, sums.scenarios - 1) * _deviation(sums, squares)
    return Interval(float(ratio) - half, float(ratio) + half)


def skewed_ratio_bounds(sums: RatioSums, thirds: ThirdSums, alpha: float) -> Interval | None:
    """The bounds of Σq / Σt, corrected for the skewness of the influences (Hall 1992, "transformed" form).

    The standard deviation and the degrees of freedom are those of `ratio_bounds_from_sums`.
    """
    found = _ratio_and_squares(sums)
    if found is None:
        return None
    (ratio, squares), count = found, sums.scenarios
    cubes = Fraction(thirds.qqq) - 3 * ratio * Fraction(thirds.qqt)
    cubes += 3 * ratio * ratio * Fraction(thirds.qtt) - ratio**3 * Fraction(thirds.ttt)
    skewness = float(cubes) / count / (float(squares) / count) ** 1.5 if squares else 0.0
    quantile, deviation = student_quantile(1 - alpha, count - 1), _deviation(sums, squares)
    low = float(ratio) - deviation * _without_skewness(quantile, skewness, count)
    high = float(ratio) - deviation * _without_skewness(-quantile, skewness, count)
    return Interval(low, high)


def _ratio_and_squares(sums: RatioSums) -> tuple[Fraction, Fraction] | None:
    """The ratio r, and Σ(q - r t)²; None with fewer than two scenarios, or if one of them has all of Σt."""
    if sums.scenarios <= 1 or Fraction(sums.t) <= Fraction(sums.t_max):
        return None
    ratio = Fraction(sums.q) / Fraction(sums.t)
    squares = Fraction(sums.qq) - 2 * ratio * Fraction(sums.qt) + ratio * ratio * Fraction(sums.tt)
    return ratio, max(squares, Fraction(0))


def _deviation(sums: RatioSums, squares: Fraction) -> float:
    """The standard deviation of the ratio, with the largest t in the denominator of every influence."""
    rest = Fraction(sums.t) - Fraction(sums.t_max)
    return math.sqrt(Fraction(sums.scenarios - 1, sums.scenarios) * squares / rest**2)


def _without_skewness(quantile: float, skewness: float, count: int) -> float:
    """The studentized value that Hall's transformation takes to a quantile: T + uT²/3 + u²T³/27 + u/6, u = γ/√n."""
    u = skewness / math.sqrt(count)
    if abs(u) < _NO_SKEWNESS:
        return quantile
    return 3 / u * (math.cbrt(1 + u * (quantile - u / 6)) - 1)


def log_ratio_difference(rows: Iterable[tuple[Real, Real, Real, Real]], alpha: float) -> Estimate | None:
    """By what factor Σq / Σt changed on the same scenarios, from (base q, base t, head q, head t) of each.

    It jackknifes the logarithm, so that swapping base and head inverts the bounds. None with fewer than two scenarios,
    or if a sum is not above 0, with all scenarios or without one of them. With every t = 1 it compares means.
    """
    listed = [(float(a), float(b), float(c), float(d)) for a, b, c, d in rows]
    whole = [math.fsum(column) for column in zip(*listed, strict=True)]
    rests = [[total - part for total, part in zip(whole, row, strict=True)] for row in listed]
    if len(listed) <= 1 or any(part <= 0 for rest in [whole, *rests] for part in rest):
        return None
    value = _log_change(whole)
    half = _half_width([value - _log_change(rest) for rest in rests], alpha)
    return Estimate(math.exp(value), Interval(math.exp(value - half), math.exp(value + half)))


def _log_change(sums: Sequence[float]) -> float:
    base_q, base_t, head_q, head_t = sums
    return math.log(head_q / head_t) - math.log(base_q / base_t)


def _half_width(influences: Sequence[float], alpha: float) -> float:
    """Student's quantile times the jackknife's standard deviation, √((G-1)/G Σ(x - mean)²)."""
    count = len(influences)
    mean = math.fsum(influences) / count
    squares = math.fsum((x - mean) ** 2 for x in influences)
    return student_quantile(1 - alpha, count - 1) * math.sqrt((count - 1) / count * squares)


def student_quantile(p: float, freedom: float) -> float:
    """The t with P(T ≤ t) = p."""
    if p > 1.0 - p:
        return -student_quantile(1.0 - p, freedom)
    x, y = beta_pair_quantile(2 * p, freedom / 2, 0.5)
    return -math.sqrt(freedom * y / x) if x > 0.0 else -math.inf
