"""Several runs over the same scenarios → a threshold that an unchanged agent seldom misses.

The runs are pooled scenario by scenario, whatever their verdict: leaving out failed runs would select for luck.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from highbar.statistics.bounds import Sums, effective_clusters, share_bounds
from highbar.statistics.distributions import beta_quantile, normal_quantile
from highbar.statistics.interval import Real

RUNS = 5
"""How many runs are pooled."""


class Pooled(NamedTuple):
    """A pooled value, and the thresholds that later runs can be held to: by their value, and by their own bound."""

    value: float
    threshold: float
    confident: float


def pooled_share(units: Iterable[tuple[Real, Real]], alpha: float) -> Pooled | None:
    """The pooled share and its thresholds, from (score, weight) of each scenario or cluster; None without a weight.

    The threshold is the lower bound minus the noise of the run that it will judge, which is that of a run over new
    scenarios, z √(p (1 - p) / n): over the same ones it is smaller. With confidence, a run must prove it: then it is
    the lower bound of a run that only just reaches the former.
    """
    sums = Sums.of(units)
    bounds = share_bounds(sums, alpha)
    if bounds is None:
        return None
    value = float(sums.value)
    scenarios = effective_clusters(sums)
    spread = math.sqrt(value * (1 - value) / scenarios)
    threshold = max(bounds.low - normal_quantile(1 - alpha) * spread, 0.0)
    passed = threshold * scenarios
    return Pooled(value, threshold, beta_quantile(alpha, passed, scenarios - passed + 1) if passed else 0.0)


def pooled_end(values: Iterable[tuple[float, float]]) -> Pooled | None:
    """The same for a metric of which only (value, worse bound) of each run are known; None without a run.

    It assumes that all runs share their noise, so that more runs do not narrow the bound: the mean of the values, moved
    by twice the mean distance to the worse bound, and once more for a run's own bound.
    """
    listed = list(values)
    if not listed:
        return None
    value, end = (math.fsum(column) / len(listed) for column in zip(*listed, strict=True))
    return Pooled(value, end + (end - value), end + 2 * (end - value))
