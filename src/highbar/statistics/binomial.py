"""Tails of the binomial law."""

from __future__ import annotations

from highbar.statistics.beta import beta_cdf, beta_survival


def at_most(k: int, n: int, p: float) -> float:
    """P(X ≤ k) for n trials that pass with probability p."""
    if k < 0:
        return 0.0
    return beta_survival(p, k + 1, n - k) if k < n else 1.0


def at_least(k: int, n: int, p: float) -> float:
    """P(X ≥ k) for n trials that pass with probability p."""
    if k <= 0:
        return 1.0
    return beta_cdf(p, k, n - k + 1) if k <= n else 0.0
