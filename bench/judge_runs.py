"""Runs that a judge and people judged, made up: agents, judges and labels whose truth is known."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

Random = np.random.Generator
Truths = npt.NDArray[np.bool_]
Reals = npt.NDArray[np.float64]

RATES = (0.8, 0.9, 0.97)
JUDGES = ((0.97, 0.75), (0.95, 0.9), (0.85, 0.95))
LABELS = (50, 100, 200)
TRIALS = (200, 1_000, 2_000)
STATEMENTS = (1, 3, 5)
LAYOUTS = ((1, 0.5), (1, 0.8), (5, 0.5), (5, 0.8))
OTHER_RATE = {0.8: 0.9, 0.9: 0.8, 0.97: 0.9}
"""The pass rate of the run that labels come from, if they are of another run."""


@dataclass(frozen=True, slots=True)
class JudgePoint:
    """A point of the grid: an agent, a judge of single statements, and how many labels there are.

    Scenarios have pass rates of a Beta law with this correlation of their trials; a trial passes if all of its
    statements are true, which are so independently. A judge errs independently about each statement.
    """

    rate: float
    sensitivity: float
    specificity: float
    labels: int
    trials: int
    statements: int
    repeats: int
    correlation: float

    @property
    def scenarios(self) -> int:
        """How many scenarios there are."""
        return self.trials // self.repeats


def judge_points() -> Iterator[JudgePoint]:
    """The grid. One statement in one trial has nothing to correlate with."""
    grid = itertools.product(RATES, JUDGES, LABELS, TRIALS, STATEMENTS, LAYOUTS)
    for rate, judge, labels, trials, statements, (repeats, correlation) in grid:
        if (statements, repeats) != (1, 1) or correlation == LAYOUTS[0][1]:
            yield JudgePoint(rate, *judge, labels, trials, statements, repeats, correlation)


@dataclass(frozen=True, slots=True)
class JudgedRuns:
    """Many runs of one point: what people and the judge say of each trial, and of which trials people were asked.

    The arrays have one row for each run, then scenarios, then trials. People's are yes or no, or scores.
    """

    people: Truths | Reals
    judge: Truths
    asked: Truths


def drawn_runs(point: JudgePoint, rate: float, count: int, rng: Random) -> JudgedRuns:
    """Runs of an agent of this pass rate, with labels drawn half from what the judge passed, half from the rest."""
    size = 1 / point.correlation - 1
    rates = rng.beta(rate * size, (1 - rate) * size, (count, point.scenarios, 1, 1)) ** (1 / point.statements)
    shape = (count, point.scenarios, point.repeats, point.statements)
    true = rng.random(shape, np.float32) < rates
    says = rng.random(shape, np.float32)
    judged = np.where(true, says < point.sensitivity, says >= point.specificity)
    people, judge = np.asarray(true.all(axis=3)), np.asarray(judged.all(axis=3))
    return JudgedRuns(people, judge, drawn_labels(judge, point.labels, rng))


def drawn_labels(judge: Truths, labels: int, rng: Random) -> Truths:
    """Half of the labels from each stratum at random; what one is too small for goes to the other."""
    flat = judge.reshape(len(judge), -1)
    passed = flat.sum(axis=1)
    failed = flat.shape[1] - passed
    of_failed = np.minimum(failed, np.maximum(labels // 2, labels - passed))
    order = rng.random(flat.shape)
    asked = np.zeros(flat.shape, bool)
    for stratum, drawn in ((flat, np.minimum(passed, labels - of_failed)), (~flat, of_failed)):
        keys = np.where(stratum, order, 2.0)
        last = np.take_along_axis(np.sort(keys, axis=1), np.maximum(drawn - 1, 0)[:, None], axis=1)
        asked |= stratum & (keys <= last) & (drawn > 0)[:, None]
    return asked.reshape(judge.shape)


def true_rates(point: JudgePoint, rate: float) -> tuple[float, float]:
    """The judge's sensitivity and specificity for whole trials of an agent of this pass rate."""
    size = 1 / point.correlation - 1
    middles = (np.arange(20_000) + 0.5) / 20_000
    rates = beta.ppf(middles, rate * size, (1 - rate) * size)
    rates *= rate / rates.mean()  # the mean of the law itself, which the points miss in their last digits
    of_statement = np.minimum(rates, 1.0) ** (1 / point.statements)
    right = of_statement * point.sensitivity
    passed = (right + (1 - of_statement) * (1 - point.specificity)) ** point.statements
    sensitivity = point.sensitivity**point.statements
    return sensitivity, float(1 - (passed - right**point.statements).mean() / (1 - rate))
