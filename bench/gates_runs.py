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


@dataclass(frozen=True, slots=True)
class Setting:
    """An agent whose true pass rate is known, and what a right gate may say of it.

    `wrong` is the outcome that is an error: `pass` for an agent that is not good enough, `fail` for one that is, None
    for an agent exactly at the threshold, of which only two runs that contradict each other are an error.
    """

    name: str
    truth: float
    wrong: str | None
    make: Callable[[random.Random], Run]
    runs: int


@dataclass(frozen=True, slots=True)
class Change:
    """Two versions of an agent on the same scenarios. `wrong` is `fail` if nothing got worse, else `pass`."""

    name: str
    wrong: str
    make: Callable[[random.Random], Pair]
    runs: int


def steady(rate: float, scenarios: int = 100) -> Callable[[random.Random], Run]:
    """Every scenario passes equally often; one trial."""
    return lambda draw: tuple("p" if draw.random() < rate else "f" for _ in range(scenarios))


def crashing(rate: float, crashes: float, scenarios: int = 100) -> Callable[[random.Random], Run]:
    """Some calls crash, whatever is asked; the others pass at a rate."""

    def make(draw: random.Random) -> Run:
        return tuple("c" if draw.random() < crashes else "p" if draw.random() < rate else "f" for _ in range(scenarios))

    return make


def flaky(rate: float, alike: float, scenarios: int = 20, trials: int = 5) -> Callable[[random.Random], Run]:
    """Every scenario has a pass rate of its own; `alike` is how much trials of one scenario are alike (ICC)."""
    return lambda draw: tuple(
        _letters(draw, own, trials) for own in (_own_rate(draw, rate, alike) for _ in range(scenarios))
    )


def two_versions(
    rate: float, loss: float, crashes: float = 0.0, scenarios: int = 50, trials: int = 10
) -> Callable[..., Pair]:
    """The same scenarios twice; in the second version each passes less often by `loss`, or crashes."""

    def make(draw: random.Random) -> Pair:
        rates = [_own_rate(draw, rate, 0.6) for _ in range(scenarios)]
        before = tuple(_letters(draw, own, trials) for own in rates)
        after = tuple(_letters(draw, own * (1 - loss / rate), trials, crashes) for own in rates)
        return before, after

    return make


def _own_rate(draw: random.Random, rate: float, alike: float) -> float:
    total = (1 - alike) / alike
    return draw.betavariate(rate * total, (1 - rate) * total)


def _letters(draw: random.Random, rate: float, trials: int, crashes: float = 0.0) -> str:
    letters = ("c" if draw.random() < crashes else "p" if draw.random() < rate else "f" for _ in range(trials))
    return "".join(letters)


SETTINGS = (
    Setting("5 points below", 0.80, "pass", steady(0.80), 4000),
    Setting("at the threshold", 0.85, None, steady(0.85), 4000),
    Setting("5 points above", 0.90, "fail", steady(0.90), 4000),
    Setting("10 points above", 0.95, "fail", steady(0.95), 4000),
    Setting("10 % crash, 90 % of the rest pass", 0.81, "pass", crashing(0.90, 0.10), 4000),
    Setting("flaky, 5 points below", 0.80, "pass", flaky(0.80, 0.6), 200),
    Setting("flaky, at the threshold", 0.85, None, flaky(0.85, 0.6), 200),
    Setting("flaky, 5 points above", 0.90, "fail", flaky(0.90, 0.6), 200),
)
"""For gates with a threshold of 85 %: 100 scenarios with one trial, or 20 scenarios with five (correlation 0.6)."""

CHANGES = (
    Change("unchanged", "fail", two_versions(0.90, 0.0), 100),
    Change("10 points worse", "pass", two_versions(0.90, 0.10), 100),
    Change("10 % of calls crash now", "pass", two_versions(0.90, 0.0, crashes=0.10), 100),
)
"""For gates that compare two versions: 50 scenarios with ten trials each, a pass rate of 90 % before."""
