"""Student's t law, through the incomplete beta function."""

from __future__ import annotations

import math

from highbar.statistics.beta import beta_pair_quantile


def student_quantile(p: float, freedom: float) -> float:
    """The t with P(T ≤ t) = p."""
    if p > 1.0 - p:
        return -student_quantile(1.0 - p, freedom)
    x, y = beta_pair_quantile(2 * p, freedom / 2, 0.5)
    return -math.sqrt(freedom * y / x) if x > 0.0 else -math.inf
