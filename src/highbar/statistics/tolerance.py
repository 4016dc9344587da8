"""Thresholds of 100 %: no number of scenarios can show that a failure is impossible, only that it is rare."""

from __future__ import annotations

import math
from typing import Literal

from highbar.statistics.binomial import at_most
from highbar.statistics.interval import Real
from highbar.statistics.search import first

LARGEST = 1_000_000_000
"""As many scenarios are as good as none: what would need more cannot be shown."""


def zero_tolerance(
    failures: Real, clusters: int, tolerate: Real, alpha: float
) -> Literal["pass", "fail", "inconclusive"]:
    """Fail at any failure, pass at none in enough clusters to exclude the tolerated rate, else inconclusive."""
    if failures > 0:
        return "fail"
    return "pass" if clusters >= clusters_to_exclude(tolerate, alpha) else "inconclusive"


def failure_bound(clusters: int, alpha: float) -> float:
    """The largest failure rate that no failure in so many clusters leaves possible: 1 - alpha^(1/G); 1 without any."""
    return -math.expm1(math.log(alpha) / clusters) if clusters else 1.0


def clusters_to_exclude(rate: Real, alpha: float, failures: int = 0) -> int:
    """How many clusters with so few failures exclude a failure rate of `rate`: 59 without any for 5 % at alpha 0.05.

    A rate of 0, or one so small that it would take a billion, gives a billion: it cannot be excluded.
    """
    high = max(16, 2 * (failures + 1))
    while high < LARGEST and at_most(failures, high, float(rate)) > alpha:
        high *= 2
    return first(failures + 1, min(high, LARGEST), lambda size: at_most(failures, size, float(rate)) <= alpha)
