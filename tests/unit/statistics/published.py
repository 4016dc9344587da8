"""Methods that the product does not use, written down so that published numbers can be checked beside ours."""

from __future__ import annotations

import math

from scipy import optimize, special, stats

from highbar.statistics.distributions import normal_quantile
from highbar.statistics.interval import Interval
from highbar.statistics.ratio import student_quantile


def wald(passed: int, total: int, alpha: float) -> Interval:
    rate = passed / total
    half = normal_quantile(1 - alpha) * math.sqrt(rate * (1 - rate) / total)
    return Interval(rate - half, rate + half)


def student(passed: int, total: int, alpha: float) -> Interval:
    rate = passed / total
    half = student_quantile(1 - alpha, total - 1) * math.sqrt(rate * (1 - rate) / (total - 1))
    return Interval(rate - half, rate + half)


def wilson(passed: int, total: int, alpha: float) -> Interval:
    z = normal_quantile(1 - alpha)
    rate, scale = passed / total, 1 + z * z / total
    middle = (rate + z * z / (2 * total)) / scale
    half = z * math.sqrt(rate * (1 - rate) / total + (z / (2 * total)) ** 2) / scale
    return Interval(max(middle - half, 0.0), min(middle + half, 1.0))


def wilson_corrected(passed: int, total: int, alpha: float) -> Interval:
    z = normal_quantile(1 - alpha)
    rate, failed = passed / total, 1 - passed / total
    scale = 2 * (total + z * z)
    below = z * math.sqrt(z * z - 2 - 1 / total + 4 * rate * (total * failed + 1))
    above = z * math.sqrt(z * z + 2 - 1 / total + 4 * rate * (total * failed - 1))
    low = (2 * total * rate + z * z - 1 - below) / scale
    high = (2 * total * rate + z * z + 1 + above) / scale
    return Interval(0.0 if passed == 0 else max(0.0, low), 1.0 if passed == total else min(1.0, high))


def agresti_coull(passed: int, total: int, alpha: float) -> Interval:
    z = normal_quantile(1 - alpha)
    size = total + z * z
    rate = (passed + z * z / 2) / size
    half = z * math.sqrt(rate * (1 - rate) / size)
    return Interval(rate - half, rate + half)


def jeffreys(passed: int, total: int, alpha: float) -> Interval:
    law = stats.beta(passed + 0.5, total - passed + 0.5)
    return Interval(
        0.0 if passed == 0 else float(law.ppf(alpha)), 1.0 if passed == total else float(law.ppf(1 - alpha))
    )


def uniform_prior(passed: int, total: int, alpha: float) -> Interval:
    law = stats.beta(passed + 1, total - passed + 1)
    return Interval(float(law.ppf(alpha)), float(law.ppf(1 - alpha)))


def mid_p(passed: int, total: int, alpha: float) -> Interval:
    def middle(rate: float) -> float:
        below = special.bdtr(passed - 1, total, rate) if passed else 0.0
        return float(below + special.bdtr(passed, total, rate)) / 2

    low = 0.0 if passed == 0 else optimize.brentq(lambda rate: 1 - middle(rate) - alpha, 1e-12, 1 - 1e-12)
    high = 1.0 if passed == total else optimize.brentq(lambda rate: middle(rate) - alpha, 1e-12, 1 - 1e-12)
    return Interval(low, high)


def newcombe_difference(first: tuple[int, int], second: tuple[int, int], alpha: float) -> Interval:
    """Two independent rates: method 10 of Newcombe's second paper of 1998."""
    p, q = first[0] / first[1], second[0] / second[1]
    one, other = wilson(*first, alpha), wilson(*second, alpha)
    low = p - q - math.hypot(p - one.low, other.high - q)
    return Interval(low, p - q + math.hypot(one.high - p, q - other.low))


def newcombe_paired(cells: tuple[int, int, int, int], alpha: float, *, corrected: bool) -> Interval:
    """Two paired rates: method 10 (corrected) and method 8 of Newcombe's third paper of 1998."""
    a, b, c, d = cells
    total = a + b + c + d
    p, q = (a + b) / total, (a + c) / total
    one, other = wilson(a + b, total, alpha), wilson(a + c, total, alpha)
    phi = _phi(cells, corrected=corrected)
    down, up = p - one.low, other.high - q
    low = p - q - math.sqrt(down**2 - 2 * phi * down * up + up**2)
    down, up = q - other.low, one.high - p
    return Interval(low, p - q + math.sqrt(down**2 - 2 * phi * down * up + up**2))


def _phi(cells: tuple[int, int, int, int], *, corrected: bool) -> float:
    a, b, c, d = cells
    product = (a + b) * (c + d) * (a + c) * (b + d)
    if product == 0:
        return 0.0
    excess: float = a * d - b * c
    if corrected and excess > 0:
        excess = max(excess - (a + b + c + d) / 2, 0.0)
    return excess / math.sqrt(product)


def wald_paired(better: int, worse: int, total: int, alpha: float) -> Interval:
    value = (better - worse) / total
    half = normal_quantile(1 - alpha) * math.sqrt(better + worse - (better - worse) ** 2 / total) / total
    return Interval(value - half, value + half)


def mcnemar_asymptotic(better: int, worse: int) -> float:
    return math.erfc(abs(better - worse) / math.sqrt(better + worse) / math.sqrt(2))


def bonferroni(p_values: list[float], level: float) -> list[bool]:
    return [p * len(p_values) <= level for p in p_values]


def holm(p_values: list[float]) -> list[float]:
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
