"""Bounds of a share (the pseudo-cluster Beta bound, which is Clopper–Pearson on plain counts) and of a percentile.

Each cluster (a scenario, or scenarios that pass or fail together) has a weight D and a score Z between 0 and D; the
share is ΣZ / ΣD. One pseudo-cluster of typical weight is added at the worst end (score 0 for the lower bound, full for
the upper), and the bound is a quantile of the Beta distribution with the mean and variance of the result. If weights
may depend on difficulty, callers give the pseudo-cluster the largest weight: what was not seen to fail may be what
weighs most.

For one binary trial per cluster this is exact. For bounded scores it is the moment-matched form of Gaffke's bound,
whose validity is conjectured. For clusters and weights it rests on simulation (`bench/coverage.py`), not on a theorem.

The bounds of a percentile are the values at which the bound of the share at or below them crosses the percentile's
share. Both are order statistics, so they are given as ranks (1 is the smallest). No distribution of the values is
assumed, and a trial that never completed may rank above every number.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from highbar.statistics.distributions import at_least, at_most, beta_quantile, beta_survival, beta_upper_quantile
from highbar.statistics.interval import Interval, Real

_FIRST_STEP = 1 / 256
"""The first step of the search for the smallest bound, as a share of the whole range."""
_GOLDEN = (5**0.5 - 1) / 2
_NARROWER = 12
"""This many steps locate the minimum to 0.3 % of the range, and give its value to about the square of that."""
MOST_UNEQUAL = 3
"""The bounds of a percentile hold only if no cluster has more than this many times the trials of another."""


class Sums(Struct, frozen=True):
    """ΣD, ΣZ, ΣZ², ΣZD and ΣD² over the clusters that have a weight above 0: all that the bounds of a share need."""

    clusters: int
    d: Real
    z: Real
    zz: Real
    zd: Real
    dd: Real

    @classmethod
    def of(cls, pairs: Iterable[tuple[Real, Real]]) -> Sums:
        """The sums of (score, weight) pairs, one for each cluster; pairs without weight are left out."""
        return cls.of_repeated((z, d, 1) for z, d in pairs)

    @classmethod
    def of_repeated(cls, clusters: Iterable[tuple[Real, Real, int]]) -> Sums:
        """The sums of (score, weight, number of such clusters)."""
        exact = [(Fraction(z), Fraction(d), count) for z, d, count in clusters if d > 0 and count > 0]
        return cls(
            clusters=sum(count for _, _, count in exact),
            d=sum(count * d for _, d, count in exact),
            z=sum(count * z for z, _, count in exact),
            zz=sum(count * z * z for z, _, count in exact),
            zd=sum(count * z * d for z, d, count in exact),
            dd=sum(count * d * d for _, d, count in exact),
        )

    def without(self, part: Sums) -> Sums:
        """The sums of the clusters that are not in `part`."""
        return Sums(
            clusters=self.clusters - part.clusters,
            d=self.d - part.d,
            z=self.z - part.z,
            zz=self.zz - part.zz,
            zd=self.zd - part.zd,
            dd=self.dd - part.dd,
        )

    def over(self, most: Fraction) -> Sums:
        """The sums with each score divided by `most`, its largest possible value."""
        z, zz, zd = (Fraction(number) for number in (self.z, self.zz, self.zd))
        return Sums(self.clusters, self.d, z / most, zz / most**2, zd / most, self.dd)

    def between(self, low: Fraction, high: Fraction) -> Sums:
        """The sums with each score, a value from low·D to high·D, as a part of that range: the mean is then a share."""
        d, z, zz, zd, dd = (Fraction(number) for number in (self.d, self.z, self.zz, self.zd, self.dd))
        width = high - low
        squares = (zz - 2 * low * zd + low * low * dd) / width**2
        return Sums(self.clusters, d, (z - low * d) / width, squares, (zd - low * dd) / width, dd)

    @property
    def value(self) -> Fraction:
        """The share itself, ΣZ / ΣD."""
        return Fraction(self.z) / Fraction(self.d)


class Beta(Struct, frozen=True):
    """The parameters of a Beta distribution."""

    a: float
    b: float


def share_bounds(sums: Sums, alpha: float, pseudo: Real | None = None) -> Interval | None:
    """The bounds of a share; None if no cluster has a weight.

    `pseudo` is the weight of the pseudo-cluster, by default the typical one. The lower bound is 0 if nothing scored and
    the upper one 1 if everything did; neither ever crosses the share. If the clusters have equal weights, the lower
    bound never rises when a trial breaks. If not, it is at least never above the bound that a full score would have.
    """
    if sums.clusters == 0:
        return None
    value = float(sums.value)
    low, high = _low(sums, alpha, pseudo), _high(sums, alpha, pseudo)
    # ΣZ² = ΣZD exactly if every cluster scored all or nothing; both corrections are for scores in between.
    if sums.zz != sums.zd and sums.dd * sums.clusters == sums.d * sums.d:
        low = _least_low(sums, alpha, low)
    if sums.zz != sums.zd:
        none, all_ = (replace(sums, z=end * sums.d, zz=end * sums.dd, zd=end * sums.dd) for end in (0, 1))
        low, high = min(low, _low(all_, alpha, pseudo)), max(high, _high(none, alpha, pseudo))
    return Interval(min(low, value), max(high, value))


def _least_low(sums: Sums, alpha: float, low: float, pseudo: Real | None = None) -> float:
    """The smallest lower bound among all sums that broken trials can turn into these; `low` is the bound of these.

    For equal weights, or with `pseudo`, a weight that no cluster exceeds. A broken trial can make the clusters more
    alike, and narrow the interval by more than the share fell. In the unit of that weight, repairing t of the score
    adds at most 2t to ΣZ² and t to ΣZD, and ΣZ² never exceeds ΣZD. Along that line the bound falls at first, if at all,
    and then rises. So the first step tells, and one search finds the minimum.
    """
    weight, clusters = Fraction(pseudo or Fraction(sums.d) / sums.clusters), sums.clusters
    d, z = (float(Fraction(number) / weight) for number in (sums.d, sums.z))
    zz, zd, dd = (float(Fraction(number) / weight**2) for number in (sums.zz, sums.zd, sums.dd))
    room = zd - zz  # repaired by this much, all clusters score all or nothing; beyond it the bound rises

    def repaired(share: float) -> float:
        """The lower bound as `_beta` computes it, but in floats."""
        score = z + share * room
        mean = score / (d + 1)
        squares = zz + 2 * share * room - 2 * mean * (zd + share * room) + mean * mean * dd
        size = score * (1 - mean) * (d + 1) * (clusters + 2) / ((clusters + 1) * (squares + mean * mean)) - 1
        return beta_quantile(alpha, size * mean, size * (1 - mean)) if size > 0 else 0.0

    if room <= 0 or repaired(_FIRST_STEP) >= low:
        return low
    return min(low, _minimum(repaired, 0.0, 1.0))


def monotone_bounds(sums: Sums, alpha: float, largest: Real) -> Interval:
    """The bounds of a share of unequal clusters, neither of which a broken trial can raise.

    `largest` is a weight that no cluster exceeds; the pseudo-cluster has it.
    """
    turned = complement(sums)
    low, high = (_least_low(one, alpha, _low(one, alpha, largest), largest) for one in (sums, turned))
    return Interval(low, 1 - high)


def complement(sums: Sums) -> Sums:
    """The sums with each score z replaced by d - z."""
    d, z, zz, zd, dd = sums.d, sums.z, sums.zz, sums.zd, sums.dd
    return Sums(sums.clusters, d, d - z, dd - 2 * zd + zz, dd - zd, dd)


def _minimum(function: Callable[[float], float], start: float, stop: float) -> float:
    """The minimum between `start` and `stop` of a function that falls and then rises, by the golden section."""
    left, right = stop - _GOLDEN * (stop - start), start + _GOLDEN * (stop - start)
    at_left, at_right = function(left), function(right)
    for _ in range(_NARROWER):
        if at_left <= at_right:
            stop, right, at_right = right, left, at_left
            left = stop - _GOLDEN * (stop - start)
            at_left = function(left)
        else:
            start, left, at_left = left, right, at_right
            right = start + _GOLDEN * (stop - start)
            at_right = function(right)
    return min(at_left, at_right)


def _low(sums: Sums, alpha: float, pseudo: Real | None) -> float:
    beta = lower_beta(sums, pseudo)
    return beta_quantile(alpha, beta.a, beta.b) if beta else 0.0


def _high(sums: Sums, alpha: float, pseudo: Real | None) -> float:
    beta = upper_beta(sums, pseudo)
    return beta_upper_quantile(alpha, beta.a, beta.b) if beta else 1.0


def share_p_value(sums: Sums, rate: float, pseudo: Real | None = None) -> float:
    """The p-value of so low a share if the truth were `rate`: the alpha at which the upper bound equals `rate`.

    For plain counts it is the exact P(Binomial(n, rate) ≤ passed). 1 without clusters, or if all scored in full.
    """
    upper = upper_beta(sums, pseudo) if sums.clusters else None
    return beta_survival(rate, upper.a, upper.b) if upper else 1.0


def suite_bounds(value: Real, trials: Real, alpha: float) -> Interval:
    """The bounds if the scenarios are the whole population and only their trials vary: Clopper–Pearson, pooled.

    Scenarios of unequal rates make it conservative (Hoeffding 1956), if trials have equal weights. For unequal ones,
    `trials` is the effective number (`effective_trials`): their sum varies no more than that of so many equal trials.
    """
    # In Fractions up to the Beta parameters: 19 of 20 must give exactly the bound of 19 passes and 1 failure.
    total = Fraction(trials)
    passed = Fraction(value) * total
    failed = total - passed
    low = beta_quantile(alpha, float(passed), float(failed + 1)) if passed > 0 else 0.0
    high = beta_upper_quantile(alpha, float(passed + 1), float(failed)) if failed > 0 else 1.0
    return Interval(min(low, float(value)), max(high, float(value)))


def effective_trials(weight: Real, largest: Real) -> Fraction:
    """The number of equal trials that these are worth at least: Σw / max(w/m), for scenarios of weight w with m trials.

    `largest` is the weight of the heaviest trial. In its unit every trial adds at most 1, so that the variance of the
    sum is at most that of so many equal trials, however the true rates of the scenarios differ.
    """
    return Fraction(weight) / Fraction(largest)


def effective_clusters(sums: Sums) -> float:
    """The number of equal clusters that these unequal ones are worth (Kish): (ΣD)² / ΣD²; 0 without clusters."""
    return float(Fraction(sums.d) ** 2 / Fraction(sums.dd)) if sums.clusters else 0.0


def standard_error(sums: Sums) -> float | None:
    """The estimated standard deviation of the share between samples of clusters; None with fewer than two clusters."""
    if sums.clusters <= 1:
        return None
    d, z, zz, zd, dd, _ = _whole_numbers(sums)
    squares = max(zz * d * d - 2 * z * d * zd + z * z * dd, 0)
    return math.sqrt(Fraction(sums.clusters * squares, (sums.clusters - 1) * d**4))


def lower_beta(sums: Sums, pseudo: Real | None = None) -> Beta | None:
    """The Beta distribution whose alpha-quantile is the lower bound; None if that bound is 0."""
    return _beta(sums, 0, pseudo) if sums.z > 0 else None


def upper_beta(sums: Sums, pseudo: Real | None = None) -> Beta | None:
    """The Beta distribution whose (1 - alpha)-quantile is the upper bound; None if that bound is 1."""
    return _beta(sums, 1, pseudo) if sums.z < sums.d else None


def _beta(sums: Sums, end: int, pseudo: Real | None) -> Beta | None:
    """The distribution after adding a pseudo-cluster of weight `pseudo`, by default ΣD²/ΣD, that scores `end` (0 or 1).

    Computed in whole numbers: in floats the expanded square would lose its digits if all clusters score alike, and
    plain counts would not give Clopper–Pearson to the last digit. None if the variance is too large for a Beta.
    """
    d, z, zz, zd, dd, added = _whole_numbers(sums, pseudo or 0)
    clusters = sums.clusters
    # The pseudo-cluster weighs above / below, in the unit of d.
    above, below = (added, 1) if pseudo else (dd, d)
    weight = d * below + above  # the mean is score / weight, the pseudo-cluster included
    score = z * below + end * above
    # If the sums were rounded, the squares can be smaller than Cauchy's inequality allows.
    squares = clusters * (zz * weight * weight - 2 * score * weight * zd + score * score * dd)
    squares = max(squares, (z * weight - score * d) ** 2)
    spread = (clusters + 1) * (below * below * squares + clusters * (above * (end * weight - score)) ** 2)
    # The parameters add up to size / spread. Dividing two whole numbers rounds once, as a Fraction would, but does not
    # search for common divisors of numbers with hundreds of digits.
    size = score * (weight - score) * weight * weight * (clusters + 2) * clusters - spread
    if size <= 0:
        return None
    return Beta(size * score / (spread * weight), size * (weight - score) / (spread * weight))


def _whole_numbers(sums: Sums, pseudo: Real = 0) -> tuple[int, int, int, int, int, int]:
    """ΣD, ΣZ, ΣZ², ΣZD, ΣD² and the weight of the pseudo-cluster, in a unit of weight that makes all of them whole."""
    exact = [number.as_integer_ratio() for number in (sums.d, sums.z, sums.zz, sums.zd, sums.dd, pseudo)]
    unit = math.lcm(*[below for _, below in exact])
    d, z, zz, zd, dd, added = [above * (unit // below) for above, below in exact]
    return d, z, zz * unit, zd * unit, dd * unit, added


# --- percentiles ------------------------------------------------------------------------------


class Ranks(NamedTuple):
    """The ranks of the values that bound a percentile; None if the data cannot bound that end."""

    low: int | None
    high: int | None


def percentile_ranks(n: int, share: Real, alpha: float) -> Ranks:
    """The ranks for n independent trials: exact (binomial). At alpha 0.05 the 95th needs 59 trials for its high end."""
    rate = float(share)
    low = bisect_left(range(n + 1), True, key=lambda rank: at_most(rank, n, rate) > alpha)
    high = 1 + bisect_left(range(1, n + 1), True, key=lambda rank: at_least(rank, n, rate) <= alpha)
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
    def reaches(rank: int) -> bool:
        return (share_bounds(sums_at(rank), alpha, pseudo) or (0.0, 1.0))[1 - end] >= rate

    return bisect_left(ranks, True, key=reaches)


def ranks_within(n: int, low: int, high: int) -> Ranks:
    """The two ends, if they are among the n ranks."""
    return Ranks(low if 1 <= low <= n else None, high if high <= n else None)


def nearest_rank(n: int, share: Fraction) -> int:
    """The rank of the percentile itself: the smallest whole number not below share × n."""
    return max(1, -(-n * share.numerator // share.denominator))
