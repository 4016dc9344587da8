"""The grid of `bench/coverage.py`: what is simulated, with which seed, and how each point is drawn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# --- the grid: fixed before the first run, and no point is taken out of it afterwards -------------------------------

SEED = 20261115
ALPHA = 0.05
LIMIT = 0.065
REPLICATES = 20_000
BOOTSTRAP_REPLICATES, RESAMPLES = 4_000, 500
COMPOSITE_REPLICATES = 5_000
RATIO_REPLICATES = 4_000
WIDTHS = 100  # as many of our intervals are averaged for their width

SCENARIOS = (10, 30, 100, 300)
RATES = (0.70, 0.85, 0.95, 0.99)
LAWS = {  # how the true pass rates of the scenarios differ; a number is the correlation of a beta-binomial law
    "independent": 0.0,
    "correlation .05": 0.05,
    "correlation .2": 0.2,
    "correlation .6": 0.6,
    "correlation .9": 0.9,
    "all or nothing": 1.0,
    "flaky half": None,
}
TRIALS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("1 trial", (1,)),
    ("3 trials", (3,)),
    ("10 trials", (10,)),
    ("1 to 10 trials", (1, 2, 3, 5, 10)),
)
SCORES = {  # behavior coverage of 4, zeroed by a violation; nearly perfect or zero; a judge's scale of 1 to 5
    "coverage of 4, 4 % violations": ((0, 1, 2, 3, 4), (0.040096, 0.003456, 0.046656, 0.279936, 0.629856)),
    "0.95, 3 % catastrophes": ((0, 19, 20), (0.03, 0.97, 0.0)),
    "judge, 1 to 5": ((0, 1, 2, 3, 4), (0.02, 0.03, 0.10, 0.35, 0.50)),
}
WEIGHTS = {  # (share of the scenarios, weight, points by which the rate is lower)
    "typical categories": ((0.5, 2, 0.0), (0.2, 2, 0.0), (0.2, 4, 0.0), (0.1, 3, 0.0)),
    "typical categories, adversarial harder": ((0.5, 2, 0.0), (0.2, 2, 0.0), (0.2, 4, 0.10), (0.1, 3, 0.0)),
    "typical categories and capabilities": tuple(
        (share / 2, weight * times, 0.0) for share, weight in ((0.7, 2), (0.2, 4), (0.1, 3)) for times in (4, 1)
    ),
    "1 to 10": tuple((0.1, weight, 0.0) for weight in range(1, 11)),
}
EXTREME_WEIGHTS = {"3 of 30 hold 36 %": (30, 3, 5), "20 on 5 % of 300": (300, 15, 20)}  # scenarios, heavy ones, weight
SUITE_TRIALS = 5  # of each scenario, where the suite is the whole population: half always pass, half are flaky
COMPOSITE_LEVELS = ((0.93, 0.97, 0.90), (0.85, 0.90, 0.80), (0.98, 0.99, 0.97))  # accuracy, safety, coverage
COMPOSITE_CORRELATIONS = (0.0, 0.5, 0.9)  # of the latent normal variables of a scenario
COMPOSITE_WEIGHTS = (0.3, 0.4, 0.2, 0.1)  # the last for 1 - normalized latency
LATENCY_LIMIT, LATENCY_P95, LATENCY_SPREAD = 5000.0, 3500.0, 0.5  # log-normal
TOKENS = {"1 of 10 fails": 1.0, "1 of 10 fails and burns three times the tokens": 3.0}

# --------------------------------------------------------------------------------------------------------------------

UNIT = 30  # a scenario's weight, so that its mean over 1, 2, 3, 5 or 10 trials is a whole number

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Sample:
    """Scores and weights of clusters (one row for each replicate), the trials behind them, and the truth."""

    z: Integers
    d: Integers
    trials: Integers
    truth: float


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the grid: how to draw from it, and whether the limit applies."""

    family: str
    name: str
    scenarios: int
    draw: Callable[[Random, int], Sample]
    binary: bool = True
    limited: bool = True

    @property
    def weighted(self) -> bool:
        """Whether its scenarios have weights, so that the pseudo-cluster has the largest of them."""
        return self.family in ("weights", "extreme weights")


def true_rates(rng: Random, shape: tuple[int, int], law: str, rate: float) -> Reals:
    """The pass rates of the scenarios, with this mean."""
    spread = LAWS[law]
    if spread is None:
        return np.where(rng.random(shape) < 0.5, 1.0, 2 * rate - 1)
    if spread in (0.0, 1.0):
        return np.full(shape, rate) if spread == 0.0 else (rng.random(shape) < rate).astype(float)
    size = 1 / spread - 1
    return rng.beta(rate * size, (1 - rate) * size, shape)


@dataclass(frozen=True, slots=True)
class Repeated:
    """Scenarios with repeated trials. A scenario counts once, or (`pooled`) as often as it has trials."""

    law: str
    trials: tuple[int, ...]
    rate: float
    scenarios: int
    pooled: bool = False

    def __call__(self, rng: Random, replicates: int) -> Sample:
        """Draws."""
        shape = (replicates, self.scenarios)
        trials = rng.choice(np.array(self.trials), shape)
        passed = rng.binomial(trials, true_rates(rng, shape, self.law, self.rate))
        if self.pooled:
            return Sample(passed, trials, trials.sum(axis=1), self.rate)
        return Sample(passed * (UNIT // trials), np.full(shape, UNIT), trials.sum(axis=1), self.rate)


@dataclass(frozen=True, slots=True)
class Items:
    """A share of items, of which a scenario has a random number (precision, recall)."""

    law: str
    rate: float
    scenarios: int

    def __call__(self, rng: Random, replicates: int) -> Sample:
        """Draws."""
        shape = (replicates, self.scenarios)
        items = rng.poisson(2.0, shape)
        right = rng.binomial(items, true_rates(rng, shape, self.law, self.rate))
        return Sample(right, items, items.sum(axis=1), self.rate)


@dataclass(frozen=True, slots=True)
class Chosen:
    """Independent scenarios, each of which has one of a few scores and weights."""

    z: tuple[int, ...]
    d: tuple[int, ...]
    chances: tuple[float, ...]
    scenarios: int

    def __call__(self, rng: Random, replicates: int) -> Sample:
        """Draws."""
        which = rng.choice(len(self.z), (replicates, self.scenarios), p=self.chances)
        z, d = np.array(self.z)[which], np.array(self.d)[which]
        truth = float(np.dot(self.z, self.chances) / np.dot(self.d, self.chances))
        return Sample(z, d, (d > 0).sum(axis=1), truth)


@dataclass(frozen=True, slots=True)
class Heavy:
    """Scenarios of which a fixed few weigh much more."""

    scenarios: int
    heavy: int
    weight: int
    rate: float

    def __call__(self, rng: Random, replicates: int) -> Sample:
        """Draws."""
        weights = np.where(np.arange(self.scenarios) < self.heavy, self.weight, 1)
        d = np.broadcast_to(weights, (replicates, self.scenarios)).astype(np.int64)
        z = d * (rng.random(d.shape) < self.rate)
        return Sample(z, d, np.full(replicates, self.scenarios), self.rate)


def pass_hat_3(scenarios: int) -> Chosen:
    """pass^3 from 5 trials, the rates of the scenarios being Beta(2.7, 0.3): each scenario's own unbiased value."""
    chances = [math.comb(5, c) * _beta(2.7 + c, 5.3 - c) / _beta(2.7, 0.3) for c in range(6)]
    return Chosen(
        tuple(math.comb(c, 3) for c in range(6)), (10,) * 6, tuple(np.array(chances) / sum(chances)), scenarios
    )


def _beta(a: float, b: float) -> float:
    return math.exp(math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b))


def f1(scenarios: int) -> Chosen:
    """Jaccard's share, through which F1 goes: half of the scenarios positive, recall 95 %, precision 97 %."""
    found, missed = 0.5 * 0.95, 0.5 * 0.05
    wrong = found * 3 / 97
    return Chosen((1, 0, 0, 0), (1, 1, 1, 0), (found, missed, wrong, 1 - found - missed - wrong), scenarios)


def weighted(name: str, rate: float, scenarios: int) -> Chosen:
    """Scenarios with the weights of their categories."""
    parts = WEIGHTS[name]
    z = [score for _, weight, _ in parts for score in (weight, 0)]
    d = [weight for _, weight, _ in parts for _ in (0, 1)]
    chances = [share * chance for share, _, less in parts for chance in (rate - less, 1 - rate + less)]
    return Chosen(tuple(z), tuple(d), tuple(chances), scenarios)


def points() -> Iterator[Point]:
    """The whole grid of shares."""
    for n, rate, law in itertools.product(SCENARIOS, RATES, LAWS):
        for name, trials in TRIALS:
            yield Point("repeated trials", f"{law}, {name}, rate {rate}", n, Repeated(law, trials, rate, n))
        mixed = Repeated(law, TRIALS[-1][1], rate, n, pooled=True)
        yield Point("share of trials", f"{law}, {TRIALS[-1][0]}, rate {rate}", n, mixed)
    for n, rate, law in itertools.product(SCENARIOS, RATES, ("independent", "correlation .2", "correlation .6")):
        yield Point("share of items", f"{law}, rate {rate}", n, Items(law, rate, n))
    for n in SCENARIOS:
        yield Point("F1", "precision 97 %, recall 95 %", n, f1(n))
        yield Point("pass^3", "from 5 trials", n, pass_hat_3(n), binary=False)
        for name, (levels, chances) in SCORES.items():
            yield Point("scores", name, n, Chosen(levels, (max(levels),) * len(levels), chances, n), binary=False)
        for name, rate in itertools.product(WEIGHTS, RATES):
            yield Point("weights", f"{name}, rate {rate}", n, weighted(name, rate, n))
    for (name, (n, heavy, weight)), rate in itertools.product(EXTREME_WEIGHTS.items(), RATES):
        yield Point("extreme weights", f"{name}, rate {rate}", n, Heavy(n, heavy, weight, rate), limited=False)
