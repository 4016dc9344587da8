"""Labels from people → how good a judge is, and the share of 1s that people would have given in its place.

The judge answers 1 or 0 for a trial, and so do people. Labels are a random sample of the judged trials within strata
that the judge's own answers define (passed, failed). Within a stratum, the people's share of 1s needs no weights.
Sensitivity and specificity need the sizes of the strata: if half of the labels are drawn from each, plain counts would
show a judge that misses every fourth failure as one that misses none.

All bounds are by scenario. Trials of one scenario pass and fail together, so their labels are worth less than as many
labels of different scenarios, and a scenario that the judge finds bad is also one in which it errs more often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.statistics.bounds import Sums, share_bounds, suite_bounds
from highbar.statistics.composite import BoundedTerm, combine
from highbar.statistics.interval import Estimate, Interval, Real
from highbar.statistics.search import bisect

ShareBounds = Callable[[Sums, float], Interval | None]
"""The bounds of a share from its sums over scenarios, at a one-sided alpha."""


class JudgedCluster(Struct, frozen=True):
    """A scenario: the weight of all its trials, and the people's labels of the judged ones, by stratum.

    `known` is the weight of the trials that count as 1 without a judge. `judged`, `labeled` and `ones` have a number
    for each stratum: its judged trials, those that have a label, and those that people count as 1. By the judge's
    answer, the metric must count all trials of a stratum as 1, or all as 0. `count` is how many scenarios are the same.
    """

    weight: Real
    known: Real
    judged: tuple[Real, ...]
    labeled: tuple[Real, ...]
    ones: tuple[Real, ...]
    count: int = 1


class LabelStratum(Struct, frozen=True):
    """A stratum of a run whose labels tell how often a judge is right.

    `counts_as` is the judge's own answer, `trials` the size of the stratum in that run. `labels` has (ones, labeled) of
    each scenario that has labels in it.
    """

    counts_as: bool
    trials: Real
    labels: tuple[tuple[Real, Real], ...]


class JudgeRates(Struct, frozen=True):
    """How often a judge is right about trials that people count as 1, and as 0; None if there are no such trials."""

    sensitivity: Estimate | None
    specificity: Estimate | None

    def is_better_than_chance(self) -> bool:
        """Whether the lower bound (MOVER) of sensitivity + specificity - 1 is above 0."""
        if self.sensitivity is None or self.specificity is None:
            return False
        (one, first), (two, second) = self.sensitivity, self.specificity
        return one + two - 1 > math.hypot(one - first.low, two - second.low)


def judge_rates(strata: Sequence[LabelStratum], alpha: float) -> JudgeRates | None:
    """Sensitivity and specificity from labels by stratum; None if a stratum that has trials has no label.

    With s the share of a stratum and r the people's share of 1s in it, sensitivity is Σsr over the strata that the
    judge counts as 1, divided by Σsr of all. It is at least t if (1 - t)·Σsr of the former exceeds t·Σsr of the others:
    the bound is the t at which MOVER's bound of that difference is 0 (Fieller). It combines the bounds of each r and
    those of the judge's share of 1s.
    """
    rates = [_BoundedRate.of(stratum, alpha) for stratum in strata if stratum.trials > 0]
    known = [rate for rate in rates if rate is not None]
    if not known or len(known) < len(rates):
        return None
    return JudgeRates(_sensitivity(known, alpha), _sensitivity([rate.swapped() for rate in known], alpha))


def chance_of_same_rates(one: Sequence[LabelStratum], two: Sequence[LabelStratum]) -> float:
    """The p-value of "the judge of both is right equally often", of what people count as 1 and of what they count as 0.

    Fisher's exact test of each rate, and Bonferroni's bound of both. Labels stand for different numbers of trials, so
    each rate counts as if it were of as many equal labels as its weights are worth (Kish). 1 if nothing is compared.
    """
    tests = [
        exact_test(*_right_and_all(one, of_ones=side), *_right_and_all(two, of_ones=side)) for side in (True, False)
    ]
    return min(1.0, len(tests) * min(tests))


def _right_and_all(strata: Sequence[LabelStratum], *, of_ones: bool) -> tuple[int, int]:
    """Of the labels of 1s or of 0s: how many the judge has right, and how many there are, by weight."""
    right = total = squares = 0.0
    for stratum in strata:
        labeled = math.fsum(number for _, number in stratum.labels)
        ones = math.fsum(one for one, _ in stratum.labels)
        number, weight = ones if of_ones else labeled - ones, float(stratum.trials) / labeled
        right += weight * number if stratum.counts_as == of_ones else 0.0
        total += weight * number
        squares += weight**2 * number
    if not total:
        return 0, 0
    size = round(total**2 / squares)
    return round(size * right / total), size


def exact_test(ones: int, size: int, other_ones: int, other_size: int) -> float:
    """The two-sided p-value of Fisher's exact test: all tables that are no likelier than this one.

    >>> round(exact_test(3, 4, 1, 4), 4), exact_test(0, 0, 1, 4)
    (0.4857, 1.0)
    """
    both, total = size + other_size, ones + other_ones

    def log_choose(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    logs = [
        log_choose(size, k) + log_choose(other_size, total - k) - log_choose(both, total)
        for k in range(max(0, total - other_size), min(size, total) + 1)
    ]
    here = logs[ones - max(0, total - other_size)]
    return min(1.0, math.fsum(math.exp(one) for one in logs if one <= here + 1e-7))


class _BoundedRate(Struct, frozen=True):
    """The people's share of 1s in a stratum, and its bounds."""

    counts_as: bool
    trials: float
    rate: float
    bounds: Interval

    @classmethod
    def of(cls, stratum: LabelStratum, alpha: float) -> _BoundedRate | None:
        sums = Sums.of(stratum.labels)
        bounds = share_bounds(sums, alpha)
        return None if bounds is None else cls(stratum.counts_as, float(stratum.trials), float(sums.value), bounds)

    def swapped(self) -> _BoundedRate:
        """The same with 0 and 1 swapped."""
        low, high = self.bounds
        return _BoundedRate(not self.counts_as, self.trials, 1 - self.rate, Interval(1 - high, 1 - low))


def _sensitivity(rates: Sequence[_BoundedRate], alpha: float) -> Estimate | None:
    """How often the judge says 1 about trials that people count as 1; None if there are no such trials."""
    trials = math.fsum(one.trials for one in rates)
    found, missed = (
        math.fsum(one.trials * one.rate for one in rates if one.counts_as is side) / trials for side in (True, False)
    )
    if found + missed <= 0:
        return None
    value = found / (found + missed)
    share = math.fsum(one.trials for one in rates if one.counts_as) / trials
    ends = suite_bounds(share, trials, alpha)

    def is_possible(t: float, side: int) -> bool:
        """Whether the labels allow a rate of t, on this side (-1 below, 1 above) of the value."""
        reach = (share - ends.low) if side < 0 else (ends.high - share)
        squares = [(reach * _spread(rates, t, share)) ** 2]
        for one in rates:
            factor = (1 - t) if one.counts_as else -t
            down = one.rate - one.bounds.low if side * factor < 0 else one.bounds.high - one.rate
            squares.append((one.trials / trials * factor * down) ** 2)
        return side * (t * missed - (1 - t) * found) <= math.sqrt(math.fsum(squares))

    return Estimate(value, _ends(value, is_possible))


def _spread(rates: Sequence[_BoundedRate], t: float, share: float) -> float:
    """How much the difference in `judge_rates` moves with the judge's share of 1s.

    A stratum has the value (1 - t)·r if the judge counts it as 1, else -t·r. With two strata, the result is the
    difference of their values. With more, the shares within a side vary as well, and it is the standard deviation of
    all values in units of that of the judge's answer. If a side has no trials, its r is taken as 1.
    """
    if not 0 < share < 1:
        rate = max(one.rate for one in rates)  # the widest bounds of all strata
        return (1 - t) * rate + t if rates[0].counts_as else (1 - t) + t * rate
    trials = math.fsum(one.trials for one in rates)
    values = [(one.trials / trials, (1 - t) * one.rate if one.counts_as else -t * one.rate) for one in rates]
    mean = math.fsum(weight * value for weight, value in values)
    return math.sqrt(math.fsum(weight * (value - mean) ** 2 for weight, value in values) / (share * (1 - share)))


def _ends(value: float, is_possible: Callable[[float, int], bool], least: float = 0.0, most: float = 1.0) -> Interval:
    """The bound possible numbers below and above a value, by bisection."""

    def bound(side: int, end: float) -> float:
        # The outer end: a bound may be a last digit too wide, never too narrow.
        return end if is_possible(end, side) else bisect(value, end, lambda t: is_possible(t, side))[1]

    return Interval(min(bound(-1, least), value), max(bound(1, most), value))


def post_stratified(
    clusters: Sequence[JudgedCluster], alpha: float, bounds: ShareBounds = share_bounds
) -> Estimate | None:
    """The share of 1s if people had judged: known + Σsr over the strata (Tenenbein 1970). For labels of the same run.

    None if a stratum that has trials has no label. The bounds (MOVER) combine those of the share of y (1 or 0 if known,
    r if judged) with those of each r, and with their correlations over scenarios. With one trial per scenario these are
    0, and the bounds of r are Clopper and Pearson's. A negative correlation counts as 0.
    """
    total = sum((one.count * Fraction(one.weight) for one in clusters), Fraction(0))
    strata = [(index, *_labels_in(clusters, index)) for index in range(len(clusters[0].judged))] if total > 0 else []
    used = [(index, trials, labels) for index, trials, labels in strata if trials > 0]
    if total <= 0 or any(labels.clusters == 0 for _, _, labels in used):
        return None
    rates = [(index, labels.value) for index, _, labels in used]
    scores = [
        Fraction(one.known) + sum((Fraction(one.judged[i]) * rate for i, rate in rates), Fraction(0))
        for one in clusters
    ]
    sums = Sums.of_repeated((score, one.weight, one.count) for score, one in zip(scores, clusters, strict=True))
    parts = [(Fraction(1), sums, bounds(sums, alpha))]
    parts += [(trials / total, labels, share_bounds(labels, alpha)) for _, trials, labels in used]
    terms = [
        BoundedTerm(float(part.value), *ends, float(gradient)) for gradient, part, ends in parts if ends is not None
    ]
    if len(terms) < len(parts):
        return None
    deviations = [[score - sums.value * Fraction(one.weight) for score, one in zip(scores, clusters, strict=True)]]
    deviations += [[Fraction(one.ones[i]) - rate * Fraction(one.labeled[i]) for one in clusters] for i, rate in rates]
    found = combine(float(sums.value), terms, _correlations(deviations, [one.count for one in clusters]))
    return Estimate(float(sums.value), Interval(max(found.low, 0.0), min(found.high, 1.0)))


def _labels_in(clusters: Sequence[JudgedCluster], index: int) -> tuple[Fraction, Sums]:
    """The weight of all judged trials of a stratum, and the sums of its labels by scenario."""
    trials = sum((one.count * Fraction(one.judged[index]) for one in clusters), Fraction(0))
    return trials, Sums.of_repeated((one.ones[index], one.labeled[index], one.count) for one in clusters)


def _correlations(deviations: Sequence[Sequence[Fraction]], counts: Sequence[int]) -> list[list[float]]:
    """The correlations of the parts over the scenarios; 0 if negative, or if a part does not vary."""

    def product(one: Sequence[Fraction], two: Sequence[Fraction]) -> float:
        return float(sum((count * x * y for x, y, count in zip(one, two, counts, strict=True)), Fraction(0)))

    squares = [product(one, one) for one in deviations]
    return [
        [
            max(product(one, two), 0.0) / math.sqrt(squares[i] * squares[j]) if squares[i] and squares[j] else 0.0
            for j, two in enumerate(deviations)
        ]
        for i, one in enumerate(deviations)
    ]


def rogan_gladen(
    clusters: Sequence[JudgedCluster],
    counts_as: Sequence[bool],
    rates: JudgeRates,
    alpha: float,
    bounds: ShareBounds = share_bounds,
) -> Estimate | None:
    """The share of 1s if people had judged, by the judge's sensitivity and specificity. For labels of another run.

    `counts_as` is the judge's answer in each stratum; labels of the clusters are not used. None unless the judge
    clearly tells 1 from 0. The share of trials that the judge counts as 1 (a known trial counts as the judge would
    answer on average) is Q = t·sensitivity + (1 - t)·(1 - specificity) for a truth of t (Rogan & Gladen 1978). The
    bounds are the bound t at which the two sides differ by no more than their own bounds allow (MOVER, Fieller).
    """
    if not clusters or rates.sensitivity is None or rates.specificity is None or not rates.is_better_than_chance():
        return None
    (sens, sens_ends), (spec, spec_ends) = rates.sensitivity, rates.specificity
    total = math.fsum(one.count * one.weight for one in clusters)
    sums = _judged_sums(clusters, counts_as, (sens, 1 - spec))
    ends = bounds(sums, alpha)
    if ends is None:
        return None
    judged = float(sums.value)
    ones = math.fsum(one.count * one.known for one in clusters) / total
    most = ones + math.fsum(one.count * sum(one.judged) for one in clusters) / total

    def is_possible(t: float, side: int) -> bool:
        reach = judged - ends.low if side < 0 else ends.high - judged
        of_sens = sens_ends.high - sens if side < 0 else sens - sens_ends.low
        of_spec = spec - spec_ends.low if side < 0 else spec_ends.high - spec
        gap = side * (t * sens + (1 - t) * (1 - spec) - judged)
        return gap <= math.hypot(reach, (t - ones) * of_sens, (most - t) * of_spec)

    value = min(max((judged + spec - 1) / (sens + spec - 1), ones), most)
    return Estimate(value, _ends(value, is_possible, ones, most))


def _judged_sums(clusters: Sequence[JudgedCluster], counts_as: Sequence[bool], as_judged: tuple[float, float]) -> Sums:
    """The sums of the judge's 1s; a trial that is known to be 1 or 0 scores as the judge would answer on average."""
    one, zero = (Fraction(rate) for rate in as_judged)

    def score(cluster: JudgedCluster) -> Fraction:
        judged = sum((Fraction(weight) for weight in cluster.judged), Fraction(0))
        ones = sum((Fraction(w) for w, counts in zip(cluster.judged, counts_as, strict=True) if counts), Fraction(0))
        rest = Fraction(cluster.weight) - Fraction(cluster.known) - judged
        return ones + Fraction(cluster.known) * one + rest * zero

    return Sums.of_repeated((score(cluster), cluster.weight, cluster.count) for cluster in clusters)


def canary_test(
    wrong_good: int, good: int, wrong_bad: int, bad: int, sensitivity: float = 0.9, specificity: float = 0.9
) -> float:
    """The p-value of "the judge is as good as its labels say", from canaries: answers whose right judgment is known.

    It is the probability of at least as many wrong judgments, of good and bad canaries together, if the judge errs as
    often as these rates say (Poisson-binomial, exact). The rates are estimates, and a caller should smooth them:
    otherwise a judge whose labels show no error would fail at its first. Without labels, 90 % is assumed.
    """
    chances = [1.0]
    for count, chance in ((good, 1 - sensitivity), (bad, 1 - specificity)):
        for _ in range(count):
            longer = [*(c * (1 - chance) for c in chances), 0.0]
            for index, c in enumerate(chances):
                longer[index + 1] += c * chance
            chances = longer
    return min(math.fsum(chances[wrong_good + wrong_bad :]), 1.0)
