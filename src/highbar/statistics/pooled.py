"""Several runs over the same scenarios → a threshold that an agent which stays as it is seldom misses.

The runs are pooled scenario by scenario, whatever became of them: to leave out those that failed would select luck.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from msgspec import Struct

from highbar.statistics.bounds import Sums, effective_clusters, share_bounds
from highbar.statistics.interval import Real
from highbar.statistics.normal import normal_quantile

RUNS = 5
"""How many runs are pooled."""


class PooledShare(Struct, frozen=True):
    """A share over several runs: its value, its lower bound, and how far one more run may fall below the truth."""

    value: float
    low: float
    noise: float

    @property
    def bar(self) -> float:
        """Where a threshold may stand: the lower bound, less the noise of the run that will be judged by it."""
        return max(self.low - self.noise, 0.0)


def pooled_share(units: Iterable[tuple[Real, Real]], alpha: float) -> PooledShare | None:
    """From (score, weight) of each scenario or cluster, its trials of all runs together; None without a weight.

    The noise is that of a run over new scenarios, z √(p (1 - p) / n): over the same ones it is smaller.
    """
    sums = Sums.of(units)
    bounds = share_bounds(sums, alpha)
    if bounds is None:
        return None
    value = float(sums.value)
    spread = math.sqrt(value * (1 - value) / effective_clusters(sums))
    return PooledShare(value, bounds.low, normal_quantile(1 - alpha) * spread)


def pooled_end(values: Iterable[tuple[float, float]]) -> float | None:
    """The same for a metric of which only (value, worse bound) of each run are known; None without a run.

    As if the runs had all their noise in common, so that no number of them would narrow the bound: the mean of the
    values, less twice the mean distance to the bound.
    """
    listed = list(values)
    if not listed:
        return None
    value, end = (math.fsum(column) / len(listed) for column in zip(*listed, strict=True))
    return end + (end - value)
