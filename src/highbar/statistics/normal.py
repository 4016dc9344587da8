"""The standard normal distribution."""

from __future__ import annotations

import math
from functools import lru_cache

_ROOT_TWO_PI = math.sqrt(2 * math.pi)


def normal_cdf(z: float) -> float:
    """P(Z ≤ z), accurate in the lower tail, where the standard library's NormalDist is not."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


@lru_cache(maxsize=256)
def normal_quantile(p: float) -> float:
    """The z with P(Z ≤ z) = p; infinite at p = 0 and p = 1."""
    if p <= 0.0 or p >= 1.0:
        return -math.inf if p <= 0.0 else math.inf
    # Only the lower half is solved for, because `normal_cdf` is accurate in the lower tail.
    if p > 1.0 - p:
        return -normal_quantile(1.0 - p)
    r = math.sqrt(-2.0 * math.log(p))
    z = (2.515517 + r * (0.802853 + r * 0.010328)) / (1 + r * (1.432788 + r * (0.189269 + r * 0.001308))) - r
    for _ in range(3):
        # The rational start (Abramowitz & Stegun 26.2.23) is good to 4.5e-4; each of Halley's steps triples the digits.
        step = (normal_cdf(z) - p) * _ROOT_TWO_PI * math.exp(0.5 * z * z)
        z -= step / (1 + 0.5 * z * step)
    return z
