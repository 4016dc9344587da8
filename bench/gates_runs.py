"""Simulated agents and their runs, for `bench.gates`: what each scenario is made to come to, trial by trial.

A run is one text per scenario with a letter per trial: `p` for a pass, `f` for a fail, `c` for a crash.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

THRESHOLD = 0.85
Run = tuple[str, ...]
Pair = tuple[Run, Run]
Agent = Callable[[random.Random], Run]
"""An agent on its scenarios: each call is one run of all of them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """An agent whose true pass rate is known, and what a right gate may say of it.

    `wrong` is the outcome that is an error: `pass` for an agent that is not good enough, `fail` for one that is, None
    for an agent exactly at the threshold, of which only two runs that contradict each other are an error.
    """

    name: str
    wrong: str | None
    make: Callable[[random.Random], Agent]
    runs: int


@dataclass(frozen=True, slots=True)
class Change:
    """Two versions of an agent on the same scenarios. `wrong` is `fail` if nothing got worse, else `pass`."""

    name: str
    wrong: str
    make: Callable[[random.Random], tuple[Agent, Agent]]
    runs: int


def twice(setting: Setting, draw: random.Random) -> tuple[Run, Run]:
    """A run of an agent, and a second run of the same agent on the same scenarios."""
    agent = setting.make(draw)
    return agent(draw), agent(draw)


def changed_twice(change: Change, draw: random.Random) -> tuple[Pair, Pair]:
    """A run of each version, and the same with a second run of the later version."""
    old, new = change.make(draw)
    before = old(draw)
    return (before, new(draw)), (before, new(draw))


def alike(run: Run) -> Run:
    """The same run with its scenarios and trials in order: no gate here looks at which one is which."""
    return tuple(sorted("".join(sorted(trials)) for trials in run))


def steady(rate: float, crashes: float = 0.0, scenarios: int = 100) -> Callable[[random.Random], Agent]:
    """Every scenario has one trial; some crash, and the others pass at a rate, whatever is asked."""
    return lambda _: lambda draw: tuple(_letters(draw, rate, 1, crashes) for _ in range(scenarios))


def flaky(rate: float, scenarios: int = 20, trials: int = 5) -> Callable[[random.Random], Agent]:
    """Every scenario has a pass rate of its own."""

    def make(draw: random.Random) -> Agent:
        own = _own_rates(draw, rate, scenarios)
        return lambda draw: tuple(_letters(draw, one, trials) for one in own)

    return make


def two_versions(
    rate: float, loss: float = 0.0, broken: int = 0, crashes: float = 0.0, scenarios: int = 50, trials: int = 10
) -> Callable[[random.Random], tuple[Agent, Agent]]:
    """The same scenarios twice; in the second version all pass less often by `loss`, some never, or calls crash."""

    def make(draw: random.Random) -> tuple[Agent, Agent]:
        own = _own_rates(draw, rate, scenarios)
        later = [0.0] * broken + [one * (1 - loss / rate) for one in own[broken:]]
        return (
            lambda draw: tuple(_letters(draw, one, trials) for one in own),
            lambda draw: tuple(_letters(draw, one, trials, crashes) for one in later),
        )

    return make


CORRELATION = 0.6
"""How much trials of one scenario are alike: most scenarios nearly always pass, and some nearly always fail."""


def _own_rates(draw: random.Random, rate: float, scenarios: int) -> list[float]:
    total = (1 - CORRELATION) / CORRELATION
    return [draw.betavariate(rate * total, (1 - rate) * total) for _ in range(scenarios)]


def _letters(draw: random.Random, rate: float, trials: int, crashes: float = 0.0) -> str:
    letters = ("c" if draw.random() < crashes else "p" if draw.random() < rate else "f" for _ in range(trials))
    return "".join(letters)


SETTINGS = (
    Setting("5 points below", "pass", steady(0.80), 4000),
    Setting("at the threshold", None, steady(0.85), 4000),
    Setting("5 points above", "fail", steady(0.90), 4000),
    Setting("10 points above", "fail", steady(0.95), 4000),
    Setting("10 % crash, 90 % of the rest pass", "pass", steady(0.90, crashes=0.10), 4000),
    Setting("flaky, 5 points below", "pass", flaky(0.80), 400),
    Setting("flaky, at the threshold", None, flaky(0.85), 400),
    Setting("flaky, 5 points above", "fail", flaky(0.90), 400),
)
"""For gates with a threshold of 85 %: 100 scenarios with one trial, or 20 scenarios with five."""

CHANGES = (
    Change("unchanged", "fail", two_versions(0.90), 150),
    Change("10 points worse", "pass", two_versions(0.90, loss=0.10), 150),
    Change("5 of 50 scenarios break", "pass", two_versions(0.90, broken=5), 150),
    Change("10 % of calls crash now", "pass", two_versions(0.90, crashes=0.10), 150),
)
"""For gates that compare two versions: 50 scenarios with ten trials each, a pass rate of 90 % before."""
