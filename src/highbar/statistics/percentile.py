"""Bounds of a percentile: the values at which the bound of the share at or below them crosses the percentile's share.

Both ends are order statistics, so they are given as ranks (1 is the smallest). No distribution of the values is
assumed, and a trial that never completed may rank above every number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import NamedTuple

from highbar.statistics.beta import at_least, at_most
from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.interval import Real
from highbar.statistics.search import first

MOST_UNEQUAL = 3
"""The bounds of a percentile hold only if no cluster has more than this many times the trials of another."""


class Ranks(NamedTuple):
    """The ranks of the values that bound a percentile; None if the data cannot bound that end."""

    low: int | None
    high: int | None


def percentile_ranks(n: int, share: Real, alpha: float) -> Ranks:
    """The ranks for n independent trials: exact (binomial). At alpha 0.05 the 95th needs 59 trials for its high end."""
    rate = float(share)
    low = first(0, n + 1, lambda rank: at_most(rank, n, rate) > alpha)
    high = first(1, n + 1, lambda rank: at_least(rank, n, rate) <= alpha)
    return ranks_within(n, low, high)


def clustered_ranks(
    n: int, share: Real, alpha: float, sums_at: Callable[[int], Sums], pseudo: Real | None = None
) -> Ranks:
    """The ranks for trials that come in clusters; `sums_at` is called about 2 log₂ n times.

    `sums_at(rank)` returns the sums of "is among the `rank` smallest", with each cluster weighted by its number of
    trials; `pseudo` is the weight of an unseen cluster, by default the typical one.
    """
    ends = (first_rank_index(range(n + 1), end, share, alpha, sums_at, pseudo) for end in (0, 1))
    return ranks_within(n, *ends)


def clustered_ranks_of(clusters: Sequence[Hashable], share: Real, alpha: float) -> Ranks:
    """The ranks, from the cluster of each trial in the order of the sorted values."""
    weights = Counter(clusters)
    seen: Counter[Hashable] = Counter()
    zz, zd = [0], [0]
    for cluster in clusters:
        zz.append(zz[-1] + 2 * seen[cluster] + 1)
        zd.append(zd[-1] + weights[cluster])
        seen[cluster] += 1
    n = len(clusters)

    def sums_at(rank: int) -> Sums:
        return Sums(len(weights), n, rank, zz[rank], zd[rank], zz[n])

    return clustered_ranks(n, share, alpha, sums_at, unseen_weight(min(weights.values()), max(weights.values())))


def unseen_weight(fewest: int, most: int) -> int | None:
    """The weight of an unseen cluster, from the fewest and the most trials of any cluster; None for the typical weight.

    Slow scenarios may have been tried more often, so it may have the most. Beyond threefold no bound is known to hold.
    """
    return most if most <= MOST_UNEQUAL * fewest else None


def first_rank_index(
    ranks: Sequence[int],
    end: int,
    share: Real,
    alpha: float,
    sums_at: Callable[[int], Sums],
    pseudo: Real | None = None,
) -> int:
    """The index in `ranks`, which ascend, of the first that reaches the low (0) or the high (1) end.

    len(ranks) if no rank does.
    """
    rate = float(share)
    # The low end is the first rank whose share may be large enough (upper bound), the high end the first whose share
    # surely is (lower bound).
    return first(0, len(ranks), lambda place: _bounds(sums_at(ranks[place]), alpha, pseudo)[1 - end] >= rate)


def ranks_within(n: int, low: int, high: int) -> Ranks:
    """The two ends, if they are among the n ranks."""
    return Ranks(low if 1 <= low <= n else None, high if high <= n else None)


def nearest_rank(n: int, share: Fraction) -> int:
    """The rank of the percentile itself: the smallest whole number not below share × n."""
    return max(1, -(-n * share.numerator // share.denominator))


def _bounds(sums: Sums, alpha: float, pseudo: Real | None) -> tuple[float, float]:
    return share_bounds(sums, alpha, pseudo) or (0.0, 1.0)
