"""Runs that stop early although a condition is broken: what has completed is looked at, or trials are counted."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator
from fractions import Fraction

from highbar.statistics.spending import Boundaries, binomial_boundaries

SEED = 20261118
RUNS = 4_000
SIZE, THRESHOLD, ALPHA = 200, Fraction(85, 100), 0.05

Row = tuple[str, str, str, float]


def crossing(boundaries: Boundaries, outcomes: list[bool]) -> bool | None:
    """What the first crossing along these outcomes decides."""
    passes = 0
    for looked, passed in enumerate(outcomes, 1):
        passes += passed
        decided = boundaries.at(looked).decides(passes)
        if decided is not None:
            return decided
    return None


def completed(outcomes: list[bool], slower: float, at_once: int, source: random.Random) -> list[bool]:
    """The outcomes in the order in which they complete: so many in flight, and failures take so much longer."""
    running: list[tuple[float, bool]] = []
    ended, clock = [], 0.0
    for passed in outcomes:
        if len(running) == at_once:
            clock, done = heapq.heappop(running)
            ended.append(done)
        takes = source.expovariate(1.0) * (1.0 if passed else slower)
        heapq.heappush(running, (clock + takes, passed))
    return ended + [passed for _, passed in sorted(running)]


def trials(each: int, source: random.Random) -> list[bool]:
    """All trials one after the other, of scenarios that pass most of their trials or few of them."""
    rates = [source.betavariate(0.85 * 0.5, 0.15 * 0.5) for _ in range(SIZE // each)]
    return [source.random() < rate for rate in rates for _ in range(each)]


def easy_first(source: random.Random) -> list[bool]:
    """60 scenarios that always pass are looked at first; the rest makes the whole rate 85 %."""
    rate = 1 - 0.15 * SIZE / (SIZE - 60)
    return [True] * 60 + [source.random() < rate for _ in range(SIZE - 60)]


def fair(source: random.Random) -> list[bool]:
    """Every scenario passes with the rate of the threshold."""
    return [source.random() < THRESHOLD for _ in range(SIZE)]


def shuffled(outcomes: list[bool], source: random.Random) -> list[bool]:
    """The same outcomes in a random order."""
    return source.sample(outcomes, len(outcomes))


ORDERS: dict[str, Callable[[random.Random], list[bool]]] = {
    "in the recorded order": fair,  # however long each of them takes
    "as completed, failures 3 times slower, 20 in flight": lambda source: completed(fair(source), 3, 20, source),
    "as completed, failures 10 times slower, 20 in flight": lambda source: completed(fair(source), 10, 20, source),
    "as completed, failures 10 times slower, 50 in flight": lambda source: completed(fair(source), 10, 50, source),
    "60 easy scenarios first": easy_first,
    "60 easy scenarios, in the recorded random order": lambda source: shuffled(easy_first(source), source),
    "5 trials of 40 scenarios, each counted": lambda source: trials(5, source),
}


def broken_rules() -> Iterator[Row]:
    """How often an agent exactly at the threshold passes and fails, by what is looked at."""
    boundaries = binomial_boundaries(THRESHOLD, SIZE, ALPHA)
    for case, order in ORDERS.items():
        source = random.Random(SEED)
        found = [crossing(boundaries, order(source)) for _ in range(RUNS)]
        yield "an agent at the threshold", case, "passes", found.count(True) / RUNS
        yield "an agent at the threshold", case, "fails", found.count(False) / RUNS
