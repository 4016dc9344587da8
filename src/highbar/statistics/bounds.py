"""Bounds of a share: the pseudo-cluster Beta bound, which is Clopper–Pearson on plain counts.

Each cluster (a scenario, or scenarios that stand or fall together) has a weight D and a score Z between 0 and D; the
share is ΣZ / ΣD. One pseudo-cluster of typical weight is added at the worst end (0 for the lower bound, full for the
upper), and the Beta law that has the mean and the variance of what results gives the bound.

For one binary trial per cluster this is exact. For bounded scores it is the moment-matched form of Gaffke's bound,
whose validity is conjectured. For clusters and weights its support is simulation (`bench/coverage.py`), not a theorem.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from highbar.statistics.beta import beta_quantile, beta_survival, beta_upper_quantile
from highbar.statistics.interval import Interval, Real


@dataclass(frozen=True, slots=True)
class Sums:
    """What the bound of a share needs: sums over the clusters that have a weight above 0."""

    clusters: int
    d: Real
    z: Real
    zz: Real
    zd: Real
    dd: Real

    @classmethod
    def of(cls, pairs: Iterable[tuple[Real, Real]]) -> Sums:
        """The sums of (score, weight) pairs, one for each cluster; a pair without weight is no cluster."""
        exact = [(Fraction(z), Fraction(d)) for z, d in pairs if d > 0]
        return cls(
            clusters=len(exact),
            d=sum(d for _, d in exact),
            z=sum(z for z, _ in exact),
            zz=sum(z * z for z, _ in exact),
            zd=sum(z * d for z, d in exact),
            dd=sum(d * d for _, d in exact),
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

    @property
    def value(self) -> Fraction:
        """The share itself, ΣZ / ΣD."""
        return Fraction(self.z) / Fraction(self.d)


@dataclass(frozen=True, slots=True)
class BetaLaw:
    """The parameters of a Beta law."""

    a: float
    b: float


def share_bounds(sums: Sums, alpha: float) -> Interval | None:
    """The bounds of a share; None where no cluster has a weight.

    The lower one is 0 where nothing scored and the upper one 1 where everything did; neither ever crosses the share.
    """
    if sums.clusters == 0:
        return None
    value = float(sums.value)
    lower, upper = lower_law(sums), upper_law(sums)
    low = beta_quantile(alpha, lower.a, lower.b) if lower else 0.0
    high = beta_upper_quantile(alpha, upper.a, upper.b) if upper else 1.0
    return Interval(min(low, value), max(high, value))


def share_p_value(sums: Sums, rate: float) -> float:
    """How surprising so low a share would be if the truth were `rate`: the alpha at which the upper bound reaches it.

    For plain counts it is the exact P(Binomial(n, rate) ≤ passed).
    """
    upper = upper_law(sums) if sums.clusters else None
    return beta_survival(rate, upper.a, upper.b) if upper else 1.0


def count_bounds(passed: int, total: int, alpha: float) -> Interval:
    """The bounds of Clopper and Pearson for `passed` of `total` independent trials; `total` is at least 1."""
    return suite_bounds(Fraction(passed, total), total, alpha)


def suite_bounds(value: Real, trials: Real, alpha: float) -> Interval:
    """The bounds where the scenarios are the whole population and only their trials vary: Clopper–Pearson, pooled.

    Scenarios of unequal rates make it conservative (Hoeffding 1956). `trials` may be an effective number.
    """
    total = Fraction(trials)
    passed = Fraction(value) * total
    failed = total - passed
    low = beta_quantile(alpha, float(passed), float(failed + 1)) if passed > 0 else 0.0
    high = beta_upper_quantile(alpha, float(passed + 1), float(failed)) if failed > 0 else 1.0
    return Interval(min(low, float(value)), max(high, float(value)))


def effective_trials(weight: Real, squares_per_trial: Real) -> Fraction:
    """As many equal trials as are worth these: (Σw)² / Σ(w²/m), for scenarios of weight w with m trials each."""
    return Fraction(weight) ** 2 / Fraction(squares_per_trial)


def f1_bounds(jaccard: Sums, alpha: float) -> Interval | None:
    """The bounds of F1, through the share J = tp / (tp + fp + fn): F1 is 2J / (1 + J), which rises with it."""
    bounds = share_bounds(jaccard, alpha)
    return bounds and Interval(2 * bounds.low / (1 + bounds.low), 2 * bounds.high / (1 + bounds.high))


def effective_clusters(sums: Sums) -> float:
    """As many equal clusters as are worth these unequal ones (Kish): (ΣD)² / ΣD²."""
    return float(Fraction(sums.d) ** 2 / Fraction(sums.dd)) if sums.clusters else 0.0


def standard_error(sums: Sums) -> float | None:
    """The estimated standard deviation of the share from one sample of clusters to another; None below two of them."""
    if sums.clusters <= 1:
        return None
    d, z, zz, zd, dd = _whole_numbers(sums)
    squares = max(zz * d * d - 2 * z * d * zd + z * z * dd, 0)
    return math.sqrt(Fraction(sums.clusters * squares, (sums.clusters - 1) * d**4))


def lower_law(sums: Sums) -> BetaLaw | None:
    """The Beta law whose alpha-quantile is the lower bound; None where that bound is 0."""
    return _law(sums, 0) if sums.z > 0 else None


def upper_law(sums: Sums) -> BetaLaw | None:
    """The Beta law whose (1 - alpha)-quantile is the upper bound; None where that bound is 1."""
    return _law(sums, 1) if sums.z < sums.d else None


def _law(sums: Sums, end: int) -> BetaLaw | None:
    """The law after one pseudo-cluster of weight ΣD²/ΣD was added, all of which scored `end`.

    In whole numbers: in floats the expanded square would lose its digits where all clusters score alike, and plain
    counts would not give Clopper–Pearson to the last digit.
    """
    d, z, zz, zd, dd = _whole_numbers(sums)
    clusters = sums.clusters
    weight = d * d + dd  # the mean is score / weight, the pseudo-cluster included
    score = z * d + end * dd
    # Of sums that were rounded before they came here, the squares may fall below what Cauchy's inequality leaves.
    squares = clusters * (zz * weight * weight - 2 * score * weight * zd + score * score * dd)
    squares = max(squares, (z * weight - score * d) ** 2)
    spread = (clusters + 1) * (d * d * squares + clusters * (dd * (end * weight - score)) ** 2)
    size = Fraction(score * (weight - score) * weight * weight * (clusters + 2) * clusters, spread) - 1
    if size <= 0:
        return None
    return BetaLaw(float(size * score / weight), float(size * (weight - score) / weight))


def _whole_numbers(sums: Sums) -> tuple[int, int, int, int, int]:
    """ΣD, ΣZ, ΣZ², ΣZD and ΣD² in such a unit of weight that all are whole."""
    exact = [Fraction(number) for number in (sums.d, sums.z, sums.zz, sums.zd, sums.dd)]
    unit = math.lcm(*(number.denominator for number in exact))
    d, z, zz, zd, dd = (int(number * unit) for number in exact)
    return d, z, zz * unit, zd * unit, dd * unit
