"""Statistics from the scenarios themselves. The product computes them from sums; the tests hold the two together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import comb

from highbar.statistics.bounds import suite_bounds
from highbar.statistics.distributions import at_least
from highbar.statistics.interval import Interval, Real
from highbar.statistics.ratio import student_quantile
from highbar.statistics.trials import VarianceSplit, variance_split_from_sums


def count_bounds(passed: int, total: int, alpha: float) -> Interval:
    """The bounds of Clopper and Pearson for `passed` of `total` independent trials; `total` is at least 1."""
    return suite_bounds(Fraction(passed, total), total, alpha)


def ratio_influences(pairs: Sequence[tuple[Real, Real]]) -> list[float] | None:
    """How far Σq / Σt would fall without each scenario: (q - r t) / (Σt - t). None if Σt without one would be 0."""
    q_sum, t_sum = math.fsum(q for q, _ in pairs), math.fsum(t for _, t in pairs)
    if len(pairs) <= 1 or any(t_sum - t <= 0 for _, t in pairs):
        return None
    return [float((q - q_sum / t_sum * t) / (t_sum - t)) for q, t in pairs]


def ratio_bounds(pairs: Iterable[tuple[Real, Real]], alpha: float) -> Interval | None:
    """The bounds of Σq / Σt from one (q, t) for each scenario: the jackknife with Student's t.

    None if they do not exist: below two scenarios, or if one of them holds the whole denominator.
    """
    listed = list(pairs)
    influences = ratio_influences(listed)
    if influences is None:
        return None
    count, mean = len(influences), math.fsum(influences) / len(influences)
    deviation = math.sqrt((count - 1) / count * math.fsum((x - mean) ** 2 for x in influences))
    half = student_quantile(1 - alpha, count - 1) * deviation
    value = math.fsum(q for q, _ in listed) / math.fsum(t for _, t in listed)
    return Interval(value - half, value + half)


def variance_split(counts: Iterable[tuple[int, int]]) -> VarianceSplit | None:
    """The split from (passed, trials) of each scenario; None below two scenarios, or if none has two trials."""
    rates = [(Fraction(passed, trials), trials) for passed, trials in counts]
    return variance_split_from_sums(
        scenarios=len(rates),
        freedom=sum(trials - 1 for _, trials in rates),
        within=sum(trials * rate * (1 - rate) for rate, trials in rates),
        rate=sum(rate for rate, _ in rates),
        rate_squares=sum(rate * rate for rate, _ in rates),
        inverse_trials=sum(Fraction(1, trials) for _, trials in rates),
    )


def pass_at(k: int, trials: int, passed: int) -> Fraction | None:
    """How likely at least one of k trials passes, unbiased from more of them; None below k trials."""
    if trials < k:
        return None
    return 1 - Fraction(comb(trials - passed, k), comb(trials, k))


def pass_hat(k: int, trials: int, passed: int) -> Fraction | None:
    """How likely all of k trials pass, unbiased from more of them; None below k trials."""
    if trials < k:
        return None
    return Fraction(comb(passed, k), comb(trials, k))


def point_gate_chance(scenarios: int, threshold: Real, rate: float) -> float:
    """How likely an agent of this true rate shows at least the threshold on so many scenarios; exact."""
    return at_least(_needed(scenarios, threshold), scenarios, rate)


def _needed(scenarios: int, threshold: Real) -> int:
    """The fewest passes that reach the threshold, which is read as it was written: 17 of 20 reach 0.85."""
    exact = Fraction(str(threshold)) if isinstance(threshold, float) else Fraction(threshold)
    return math.ceil(exact * scenarios)
