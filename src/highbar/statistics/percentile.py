"""Bounds of a percentile: the values at which the bound of the share at or below them crosses the percentile's share.

Both ends are order statistics, so they are given as ranks (1 is the smallest). No law of the values is assumed, and a
trial that never completed may rank above every number.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import NamedTuple

from highbar.statistics.binomial import at_least, at_most
from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.interval import Real
from highbar.statistics.search import first


class Ranks(NamedTuple):
    """The ranks of the values that bound a percentile; None where the data cannot bound that end."""

    low: int | None
    high: int | None


def percentile_ranks(n: int, share: Real, alpha: float) -> Ranks:
    """The ranks for n independent trials: exact, by the binomial law. The 95th needs 59 for its high end."""
    rate = float(share)
    low = first(0, n + 1, lambda rank: at_most(rank, n, rate) > alpha)
    high = first(1, n + 1, lambda rank: at_least(rank, n, rate) <= alpha)
    return _ranks(n, low, high)


def clustered_ranks(n: int, share: Real, alpha: float, sums_at: Callable[[int], Sums]) -> Ranks:
    """The ranks for trials that come in clusters; `sums_at` is asked some 2 log₂ n times.

    `sums_at(rank)` has the sums of "is among the `rank` smallest", each cluster weighing as many as it has trials.
    """
    rate = float(share)
    low = first(0, n + 1, lambda rank: _bounds(sums_at(rank), alpha)[1] >= rate)
    high = first(1, n + 1, lambda rank: _bounds(sums_at(rank), alpha)[0] >= rate)
    return _ranks(n, low, high)


def clustered_ranks_of(clusters: Sequence[Hashable], share: Real, alpha: float) -> Ranks:
    """The ranks, from the cluster of each trial in the order of the sorted values."""
    weights: dict[Hashable, int] = {}
    for cluster in clusters:
        weights[cluster] = weights.get(cluster, 0) + 1

    def sums_at(rank: int) -> Sums:
        scores = dict.fromkeys(weights, 0)
        for cluster in clusters[:rank]:
            scores[cluster] += 1
        return Sums.of((scores[cluster], weight) for cluster, weight in weights.items())

    return clustered_ranks(len(clusters), share, alpha, sums_at)


def nearest_rank(n: int, share: Fraction) -> int:
    """The rank of the percentile itself: the smallest whole number not below share × n."""
    return max(1, -(-n * share.numerator // share.denominator))


def _ranks(n: int, low: int, high: int) -> Ranks:
    return Ranks(low if 1 <= low <= n else None, high if high <= n else None)


def _bounds(sums: Sums, alpha: float) -> tuple[float, float]:
    return share_bounds(sums, alpha) or (0.0, 1.0)
