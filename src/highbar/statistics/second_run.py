"""How a gate that compares the bare estimate judges the same agent twice."""

from __future__ import annotations

import math
from fractions import Fraction

from highbar.statistics.binomial import at_least
from highbar.statistics.interval import Real
from highbar.statistics.normal import normal_cdf, normal_quantile

_LARGEST_EXACT = 5000  # beyond it the sum takes milliseconds and the normal law is as good


def point_gate_chance(scenarios: int, threshold: Real, rate: float) -> float:
    """How likely an agent of this true rate shows at least the threshold on so many scenarios; exact."""
    return at_least(_needed(scenarios, threshold), scenarios, rate)


def disagreement(chance: float) -> float:
    """How likely two runs are judged differently, if each passes with this chance: 2P(1 - P)."""
    return 2.0 * chance * (1.0 - chance)


def second_run_differs(passed: int, scenarios: int, threshold: Real) -> float:
    """How likely a second run is judged differently by `≥ threshold`, after this many passes in the first.

    The predictive law of a second run: beta-binomial, from Jeffreys' prior. So ten of ten is no certainty.
    """
    needed = _needed(scenarios, threshold)
    a, b = passed + 0.5, scenarios - passed + 0.5
    if scenarios > _LARGEST_EXACT:
        rate = a / (a + b)
        gap = (needed - 0.5) / scenarios - rate
        below = normal_cdf(gap / math.sqrt(2 * rate * (1 - rate) / scenarios))
    else:
        below = math.fsum(
            math.exp(_log_predictive(count, scenarios, a, b)) for count in range(min(needed, scenarios + 1))
        )
    return min(1.0, below) if passed >= needed else max(0.0, 1.0 - below)


def second_run_differs_by_width(value: Real, low: float, high: float, threshold: Real, alpha: float) -> float:
    """The same for any metric, from its interval: two runs differ by √2 times what one differs from the truth."""
    gap = abs(float(value) - float(threshold))
    width = float(value) - low if float(value) >= float(threshold) else high - float(value)
    if gap == 0 or math.isinf(width):
        return 0.5
    return normal_cdf(-gap * normal_quantile(1 - alpha) / (math.sqrt(2) * width)) if width > 0 else 0.0


def _needed(scenarios: int, threshold: Real) -> int:
    """The fewest passes that reach the threshold, which is read as it was written: 17 of 20 reach 0.85."""
    exact = Fraction(str(threshold)) if isinstance(threshold, float) else Fraction(threshold)
    return math.ceil(exact * scenarios)


def _log_predictive(count: int, scenarios: int, a: float, b: float) -> float:
    choose = math.lgamma(scenarios + 1) - math.lgamma(count + 1) - math.lgamma(scenarios - count + 1)
    joint = math.lgamma(count + a) + math.lgamma(scenarios - count + b) - math.lgamma(scenarios + a + b)
    return choose + joint + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
