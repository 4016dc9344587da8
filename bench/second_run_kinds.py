"""Second runs of other kinds of rules: margins to a baseline, clusters, the suite as a whole.

Each function yields pairs of runs; `bench/second_run.py` groups them into rows of its table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from bench.by_scenario import variance_split
from msgspec.structs import replace

from highbar.gate.baseline import Excess, weigh_excess
from highbar.gate.outlook import Outlooks, ValueSupport, chance, outlooks_of_difference
from highbar.gate.thresholds import ThresholdOutcome, judge_value
from highbar.model import Demand, Outcome, Threshold, Value
from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.paired import single_trial_bounds
from highbar.statistics.second_run import Noise, trial_noise
from highbar.statistics.trials import noisy_suite_bounds, own_noise

ALPHA = 0.05
RUNS = 500
Random = np.random.Generator
Rates = np.ndarray


@dataclass(frozen=True, slots=True)
class Pair:
    """What was stated after the first run, at least and at most, and whether the second differed."""

    low: float
    high: float
    differed: bool


def known(trials: int, alike: float, *, pooled: bool = False) -> Noise:
    """The trial noise as it is."""
    share = (1 - alike) / (1 if pooled else 1 + (trials - 1) * alike)
    return Noise(share, share, float(trials))


def spread(random: Random, mean: float | Rates, alike: float, number: int) -> Rates:
    """The true rates of so many scenarios around a mean, whose trials are so alike."""
    if not alike:
        return np.broadcast_to(mean, (number,))
    size = 1 / alike - 1
    inside = np.clip(mean, 1e-6, 1 - 1e-6)
    return np.asarray(random.beta(inside * size, (1 - inside) * size, number))


def pair(outlooks: Outlooks, before: Outcome, after: Outcome) -> Iterator[Pair]:
    """What was stated and what happened; nothing if nothing was stated."""
    stated = chance(outlooks, before)
    if stated is not None:
        yield Pair(stated.low, stated.high, before != after)


# --- a margin to the baseline -----------------------------------------------------------------


@cache
def margin(better: int, worse: int, count: int, points: int, kind: str, noise: Noise) -> tuple[Outcome, Outlooks]:
    """What the gate makes of so many scenarios that changed, and what it says of a second run."""
    low, high = single_trial_bounds(better, worse, count, ALPHA)
    spare = Fraction(points, 100)
    excess = Excess(Fraction(better - worse, count) + spare, Fraction(low) + spare, Fraction(high) + spare)
    demand = Demand("confident" if kind == "confident" else "estimate")
    return weigh_excess(excess, kind, "")[0], outlooks_of_difference(
        excess.value, excess.low, excess.high, demand, ALPHA, noise
    )


def margin_pairs(random: Random, count: int, alike: float, kind: str) -> Iterator[Pair]:
    """A head that is up to 10 points worse or 5 better than its baseline runs twice; the margin is 5 points."""
    noise = known(1, alike)
    for _ in range(RUNS):
        level = random.uniform(0.7, 0.97)
        rates = spread(random, level, alike, count)
        moved = random.uniform(-0.10, 0.05)
        now = np.clip(rates + moved * random.random(count) * 2, 0, 1)
        base, one, two = random.random(count) < rates, random.random(count) < now, random.random(count) < now
        (first, outlooks), (second, _) = (
            margin(int((head & ~base).sum()), int((base & ~head).sum()), count, 5, kind, noise) for head in (one, two)
        )
        yield from pair(outlooks, first, second)


# --- clusters, and the suite as a whole -------------------------------------------------------


def observed(passed: np.ndarray, trials: int, *, pooled: bool = False) -> Noise:
    """The trial noise that one run shows, rounded so that what follows from it is computed once."""
    split = variance_split((int(number), trials) for number in passed)
    found = trial_noise(split, len(passed) * (trials - 1), float(trials), pooled=pooled)
    return replace(found, least=round(found.least, 2), most=round(found.most, 2))


def judge(
    value: Fraction, count: int, ends: tuple[float, float], bar: int, kind: str, support: ValueSupport
) -> ThresholdOutcome:
    """What the gate makes of a share."""
    threshold = Threshold(">=", Fraction(bar, 100), "ratio", f">= {bar / 100}")
    demand = Demand("confident" if kind == "confident" else "estimate")
    return judge_value(
        "pass_rate", Value(value, count, 0, "ratio", "higher", None, *ends), threshold, demand, ALPHA, support
    )


def cluster_pairs(random: Random, clusters: int, shared: float, alike: float, kind: str) -> Iterator[Pair]:
    """Clusters of five scenarios; `shared` is the correlation within a cluster, `alike` what a scenario adds to it."""
    size, count = 5, clusters * 5
    noise = known(1, shared + (1 - shared) * alike)
    for _ in range(RUNS // 2):
        level = random.uniform(0.65, 0.99)
        rates = spread(random, np.repeat(spread(random, level, shared, clusters), size), alike, count)
        found = []
        for _run in range(2):
            passed = (random.random(count) < rates).reshape(clusters, size).sum(1)
            sums = Sums.of([(int(number), size) for number in passed])
            ends = share_bounds(sums, ALPHA) or (0.0, 1.0)
            value = Fraction(int(passed.sum()), count)
            found.append(judge(value, count, (ends[0], ends[1]), 85, kind, ValueSupport(sums, count, noise)))
        yield from pair(found[0].outlooks, found[0].outcome, found[1].outcome)


def suite_pairs(random: Random, count: int, trials: int, alike: float, kind: str) -> Iterator[Pair]:
    """`population: suite`: the bounds are those of pooled trials, and of their noise if they were repeated."""
    for _ in range(RUNS // 2):
        rates = spread(random, random.uniform(0.6, 0.995), alike, count)
        one, two = (random.binomial(trials, rates) for _ in range(2))
        noise = known(1, alike, pooled=True) if trials == 1 else observed(one, trials, pooled=True)
        found = []
        for passed in (one, two):
            value = Fraction(int(passed.sum()), count * trials)
            sums = Sums.of([(Fraction(int(number), trials), 1) for number in passed])
            score = passed / trials
            within = float((score * (1 - score)).sum()) / max(trials - 1, 1)
            own = own_noise(value, count * trials, count, within, 1 / (trials * (trials - 1))) if trials > 1 else None
            ends = noisy_suite_bounds(value, count * trials, ALPHA, own)
            found.append(judge(value, count, (ends[0], ends[1]), 85, kind, ValueSupport(sums, count, noise)))
        yield from pair(found[0].outlooks, found[0].outcome, found[1].outcome)
