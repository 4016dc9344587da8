"""Thresholds of 100 %: no number of scenarios can show that a failure is impossible, only that it is rare."""

from __future__ import annotations

from highbar.statistics.binomial import at_most
from highbar.statistics.interval import Real
from highbar.statistics.search import first

LARGEST = 1_000_000_000
"""As many scenarios are as good as none: what would need more cannot be shown."""


def clusters_to_exclude(rate: Real, alpha: float, failures: int = 0) -> int:
    """How many clusters with so few failures exclude a failure rate of `rate`: 59 without any for 5 % at alpha 0.05.

    A rate of 0, or one so small that it would take a billion, gives a billion: it cannot be excluded.
    """
    high = max(16, 2 * (failures + 1))
    while high < LARGEST and at_most(failures, high, float(rate)) > alpha:
        high *= 2
    return first(failures + 1, min(high, LARGEST), lambda size: at_most(failures, size, float(rate)) <= alpha)
