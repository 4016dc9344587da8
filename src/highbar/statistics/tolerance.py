"""Thresholds of 100 %: no number of scenarios can show that a failure is impossible, only that it is rare."""

from __future__ import annotations

import math
from typing import Literal

from highbar.statistics.interval import Real


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


def clusters_to_exclude(rate: Real, alpha: float) -> int:
    """How many clusters without a failure exclude a failure rate of `rate`: 59 for 5 % and 299 for 1 % at alpha 0.05.

    A rate of 1 or more needs one; a rate of 0 cannot be excluded by any number, and is refused.
    """
    if rate <= 0:
        raise ValueError(f"tolerate is {rate}, and no number of scenarios excludes it; wanted a rate above 0")
    if rate >= 1:
        return 1
    clusters = math.ceil(math.log(alpha) / math.log1p(-float(rate)))
    # The quotient of two rounded logarithms may sit on the wrong side of a whole number.
    while clusters > 1 and (1 - rate) ** (clusters - 1) <= alpha:
        clusters -= 1
    while (1 - rate) ** clusters > alpha:
        clusters += 1
    return clusters
