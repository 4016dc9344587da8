"""How often the bounds of composites and of token efficiency are wrong on drawn samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from bench.by_scenario import ratio_bounds
from bench.coverage_grid import (
    ALPHA,
    COMPOSITE_REPLICATES,
    COMPOSITE_WEIGHTS,
    LATENCY_LIMIT,
    LATENCY_P95,
    LATENCY_SPREAD,
    RATIO_REPLICATES,
    RESAMPLES,
    Integers,
    Random,
    Reals,
    Sample,
)
from bench.coverage_methods import Figure, errors, six_sums

from highbar.statistics.bounds import Ranks, Sums, nearest_rank, percentile_ranks, share_bounds
from highbar.statistics.composite import Addend, BoundedTerm, CrossSums, bounds_of_sum, combine, correlation
from highbar.statistics.distributions import normal_quantile
from highbar.statistics.ratio import RatioSums, ratio_bounds_from_sums

P95 = Fraction(95, 100)
BOOTSTRAPPED = 1_000


def composite_figures(
    levels: tuple[float, float, float], mutual: float, scenarios: int, rng: Random
) -> Iterator[Figure]:
    """A usual composite with and without its latency term: ours; without it also MOVER, delta method, bootstrap."""
    samples, latencies = draw_composite(levels, mutual, scenarios, rng)
    name = f"{levels[0]}, {levels[1]}, {levels[2]}, correlation {mutual}"
    terms, correlations, summed = share_terms(samples)
    shares = sum(weight * level for weight, level in zip(COMPOSITE_WEIGHTS, levels, strict=False))
    bounds = [_narrower(_together(row), ends) for row, ends in zip(terms, summed, strict=True)]
    yield _figure("composite of three", name, scenarios, "Highbar", np.array(bounds), shares, limited=True)
    combined = [
        combine(sum(term.gradient * term.value for term in row), row, matrix)
        for row, matrix in zip(terms, correlations, strict=True)
    ]
    yield _figure("composite of three", name, scenarios, "MOVER", np.array(combined), shares)
    slow = [latency_term(row) for row in np.sort(latencies, axis=1)]
    late = [_together([last]) for last in slow]
    bounds = [(low + last[0], high + last[1]) for (low, high), last in zip(bounds, late, strict=True)]
    whole = shares - COMPOSITE_WEIGHTS[-1] * LATENCY_P95 / LATENCY_LIMIT
    yield _figure("composite with latency", name, scenarios, "Highbar", np.array(bounds), whole, limited=True)
    yield _figure("composite of three", name, scenarios, "delta", delta(samples), shares)
    yield _figure("composite of three", name, scenarios, "bootstrap", bootstrap(samples, rng), shares)


def draw_composite(
    levels: tuple[float, float, float], mutual: float, scenarios: int, rng: Random
) -> tuple[list[Sample], Reals]:
    """Correctness, safety on a quarter of the scenarios, coverage of four behaviors, and latency: one latent law."""
    shape = (COMPOSITE_REPLICATES, scenarios)
    common = math.sqrt(mutual) * rng.standard_normal(shape)

    def latent() -> Reals:
        drawn: Reals = common + math.sqrt(1 - mutual) * rng.standard_normal(shape)
        return drawn

    cuts = [normal_quantile(level) for level in levels]
    adversarial = np.broadcast_to(np.arange(scenarios) < max(1, scenarios // 4), shape).astype(np.int64)
    whole = np.ones(shape, np.int64)
    seen = sum((latent() < cuts[2]).astype(np.int64) for _ in range(4))
    trials = np.full(COMPOSITE_REPLICATES, scenarios)
    samples = [
        Sample((latent() < cuts[0]).astype(np.int64), whole, trials, levels[0]),
        Sample((latent() < cuts[1]) * adversarial, adversarial, trials, levels[1]),
        Sample(np.asarray(seen), 4 * whole, trials, levels[2]),
    ]
    log_middle = math.log(LATENCY_P95) - normal_quantile(0.95) * LATENCY_SPREAD
    return samples, np.exp(log_middle + LATENCY_SPREAD * latent())


def share_terms(
    samples: list[Sample],
) -> tuple[list[list[BoundedTerm]], list[list[list[float]]], list[tuple[float, float]]]:
    """The terms of every replicate, their correlations, and the bounds of their sum, as the product makes them."""
    largest = [sample.d.max(axis=1).tolist() for sample in samples]
    factors = [Fraction(str(weight)) for weight in COMPOSITE_WEIGHTS]
    sums = [[Sums(*row) for row in six_sums(sample).tolist()] for sample in samples]
    crosses = {(i, j): cross_sums(samples[i], samples[j]).tolist() for i, j in ((0, 1), (0, 2), (1, 2))}
    all_terms, matrices, bounds_of_sums = [], [], []
    for replicate in range(COMPOSITE_REPLICATES):
        mine = [column[replicate] for column in sums]
        terms = []
        for one, weight in zip(mine, COMPOSITE_WEIGHTS, strict=False):
            bounds = share_bounds(one, ALPHA) or (0.0, 1.0)
            terms.append(BoundedTerm(float(one.value), bounds[0], bounds[1], weight))
        products = {pair: CrossSums(*rows[replicate]) for pair, rows in crosses.items()}
        matrix = [[1.0] * 3 for _ in range(3)]
        for (i, j), cross in products.items():
            matrix[i][j] = matrix[j][i] = correlation(mine[i], mine[j], cross)
        addends = [
            Addend(factor, one, column[replicate]) for factor, one, column in zip(factors, mine, largest, strict=False)
        ]
        all_terms.append(terms)
        matrices.append(matrix)
        low, high = bounds_of_sum(addends, products, ALPHA)
        bounds_of_sums.append((low, high))
    return all_terms, matrices, bounds_of_sums


def cross_sums(first: Sample, second: Sample) -> Integers:
    """The sums of products of two shares, one row for each replicate."""
    pairs = ((first.z, second.z), (first.z, second.d), (first.d, second.z), (first.d, second.d))
    return np.stack([(one * other).sum(axis=1) for one, other in pairs], axis=1)


def latency_term(ordered: Reals) -> BoundedTerm:
    """The normalized latency, with the bounds of its percentile and no known correlation."""
    low, high = _ranks(len(ordered))
    value = ordered[nearest_rank(len(ordered), P95) - 1]
    ends = (ordered[low - 1] if low else 0.0, value, ordered[high - 1] if high else math.inf)
    bottom, middle, top = (min(float(end) / LATENCY_LIMIT, 1.0) for end in ends)
    return BoundedTerm(middle, bottom, top, -COMPOSITE_WEIGHTS[-1], worst_case=True)


def delta(samples: list[Sample]) -> Reals:
    """The delta method with the full covariance."""
    scenarios = samples[0].z.shape[1]
    value, influence = np.zeros(COMPOSITE_REPLICATES), np.zeros((COMPOSITE_REPLICATES, scenarios))
    for sample, weight in zip(samples, COMPOSITE_WEIGHTS, strict=False):
        d = sample.d.sum(axis=1)
        share = sample.z.sum(axis=1) / d
        value += weight * share
        influence += weight * (sample.z - share[:, None] * sample.d) / d[:, None]
    half = normal_quantile(1 - ALPHA) * np.sqrt(scenarios / (scenarios - 1) * (influence**2).sum(axis=1))
    return np.stack([value - half, value + half], axis=1)


def bootstrap(samples: list[Sample], rng: Random) -> Reals:
    """The percentiles of the composite over resampled scenarios."""
    scenarios = samples[0].z.shape[1]
    drawn = rng.multinomial(scenarios, np.full(scenarios, 1 / scenarios), RESAMPLES).astype(float)
    total = np.zeros((BOOTSTRAPPED, RESAMPLES))
    with np.errstate(divide="ignore", invalid="ignore"):
        for sample, weight in zip(samples, COMPOSITE_WEIGHTS, strict=False):
            total += weight * (sample.z[:BOOTSTRAPPED] @ drawn.T) / (sample.d[:BOOTSTRAPPED] @ drawn.T)
    return np.stack([np.nanquantile(total, share, axis=1) for share in (ALPHA, 1 - ALPHA)], axis=1)


def token_figures(name: str, times: float, scenarios: int, rng: Random) -> Iterator[Figure]:
    """Token efficiency, heavy-tailed: a tenth of the scenarios fails and uses `times` the tokens."""
    shape = (RATIO_REPLICATES, scenarios)
    passed = rng.random(shape) >= 0.1
    tokens = np.exp(rng.standard_normal(shape)) * np.where(passed, 1.0, times)
    truth = 0.9 / (math.exp(0.5) * (0.9 + 0.1 * times))
    by_scenario, by_sums = [], []
    for q, t in zip(passed.astype(float).tolist(), tokens.tolist(), strict=True):
        pairs = list(zip(q, t, strict=True))
        by_scenario.append(ratio_bounds(pairs, ALPHA))
        by_sums.append(ratio_bounds_from_sums(_ratio_sums(q, t), ALPHA))
    yield _figure("token efficiency", name, scenarios, "from scenarios", np.array(by_scenario, dtype=float), truth)
    yield _figure("token efficiency", name, scenarios, "from sums", np.array(by_sums, dtype=float), truth)


@cache
def _ranks(scenarios: int) -> Ranks:
    return percentile_ranks(scenarios, P95, ALPHA)


def _ratio_sums(q: list[float], t: list[float]) -> RatioSums:
    products = sum(a * b for a, b in zip(q, t, strict=True))
    return RatioSums(len(q), sum(q), sum(t), sum(a * a for a in q), products, sum(b * b for b in t), max(t))


def _together(terms: Sequence[BoundedTerm]) -> tuple[float, float]:
    """A sum of terms where all of them are at their worse ends, and at their better ones."""
    low = sum(term.gradient * (term.low if term.gradient > 0 else term.high) for term in terms)
    return low, sum(term.gradient * (term.high if term.gradient > 0 else term.low) for term in terms)


def _narrower(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return max(one[0], other[0]), min(one[1], other[1])


def _figure(
    family: str, name: str, scenarios: int, method: str, ends: Reals, truth: float, *, limited: bool = False
) -> Figure:
    return Figure(family, name, scenarios, method, *errors(ends[:, 0], ends[:, 1], truth), limited=limited)
