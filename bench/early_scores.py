"""Bets on scores, ratios and weights, and five looks at a margin: how often they are wrong, and what they take."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction

from highbar.statistics.betting import Bets, UnitShare
from highbar.statistics.distributions import normal_cdf
from highbar.statistics.group_sequential import critical_values, look_sizes
from highbar.statistics.paired import single_trial_bounds
from highbar.statistics.spending import Crossing, Spending

SEED = 20261118
RUNS, SIZE = 600, 300
PAIRED_RUNS = 4_000
ALPHA = 0.05
MARGIN = Fraction(5, 100)

Row = tuple[str, str, str, float]
Law = Callable[[random.Random], UnitShare]


def coverage(source: random.Random) -> UnitShare:
    """Four behaviors, each seen in nine of ten scenarios; a violation in one of 25 zeroes the score."""
    return (0 if source.random() < 0.04 else Fraction(sum(source.random() < 0.9 for _ in range(4)), 4)), 1


def catastrophes(source: random.Random) -> UnitShare:
    """0.95, and 0 in three of a hundred."""
    return (0 if source.random() < 0.03 else Fraction(95, 100)), 1


def scale(source: random.Random) -> UnitShare:
    """A judge's grades from 1 to 5."""
    return Fraction(source.choices(range(5), (2, 3, 10, 35, 50))[0], 4), 1


def three_trials(source: random.Random) -> UnitShare:
    """The share of three trials that pass, of scenarios that pass most of them or few."""
    rate = source.betavariate(1.7, 0.3)
    return Fraction(sum(source.random() < rate for _ in range(3)), 3), 1


def precision(source: random.Random) -> UnitShare:
    """Three of ten units predict a positive; nine of ten such predictions are right."""
    predicted = source.random() < 0.3
    return int(predicted and source.random() < 0.9), int(predicted)


def weighted(source: random.Random) -> UnitShare:
    """One of ten scenarios weighs ten times as much, and fails twice as often."""
    heavy = source.random() < 0.1
    weight = Fraction(1) if heavy else Fraction(1, 10)
    return weight * (source.random() >= (0.2 if heavy else 0.1)), weight


LAWS: dict[str, tuple[Law, Fraction]] = {
    "coverage of 4 behaviors, 4 % violations": (coverage, Fraction(864, 1000)),
    "0.95 with 3 % catastrophes": (catastrophes, Fraction(9215, 10000)),
    "grades from 1 to 5": (scale, Fraction(82, 100)),
    "3 trials, correlation 0.33": (three_trials, Fraction(85, 100)),
    "precision, 30 % predicted": (precision, Fraction(9, 10)),
    "weight 10 on a tenth that fails twice as often": (weighted, (Fraction(8, 10) * 10 + 9 * Fraction(9, 10)) / 19),
}
"""By name: how a unit is drawn, and the true value of the share."""


def first_won(bets: Bets, units: Iterable[tuple[UnitShare, UnitShare]]) -> Crossing | None:
    """The first crossing along the units, each at worst and at best; None if they leave it open."""
    return next((found for worst, best in units if (found := bets.add(worst, best))), None)


def run(law: Law, threshold: Fraction, source: random.Random) -> tuple[bool | None, int]:
    """What one run comes to, and after how many units."""
    found = first_won(Bets(threshold, ALPHA), ((unit, unit) for unit in (law(source) for _ in range(SIZE))))
    return (None, SIZE) if found is None else (found.passed, found.units)


def scores() -> Iterator[Row]:
    """At the threshold, and half of the way from the truth to perfection below it."""
    for case, (law, truth) in LAWS.items():
        source = random.Random(SEED)
        at = [run(law, truth, source)[0] for _ in range(RUNS)]
        yield "bets, at the threshold", case, "passes", at.count(True) / RUNS
        yield "bets, at the threshold", case, "fails", at.count(False) / RUNS
        below = truth - (1 - truth) / 2
        better = [run(law, below, source) for _ in range(RUNS)]
        yield "bets, a good agent", case, "passes", sum(passed is True for passed, _ in better) / RUNS
        yield "bets, a good agent", case, "scenarios", sum(units for _, units in better) / RUNS


def by_looks(differences: Sequence[int], spending: Spending) -> tuple[bool | None, int]:
    """Whether the first of five looks that decides shows that the head lost no more than the margin, and its size."""
    for size, value in zip(look_sizes(len(differences)), critical_values(ALPHA, spending), strict=True):
        seen = differences[:size]
        low, high = single_trial_bounds(seen.count(1), seen.count(-1), size, normal_cdf(-value))
        if low >= -MARGIN or high < -MARGIN:
            return low >= -MARGIN, size
    return None, len(differences)


def paired(
    source: random.Random, pairs: int, better: float, worse: float, spending: Spending
) -> tuple[bool | None, int]:
    """What a margin comes to if so many scenarios get better and worse, and after how many pairs."""
    return by_looks(source.choices((1, -1, 0), (better, worse, 1 - better - worse), k=pairs), spending)


def margins() -> Iterator[Row]:
    """A margin of 5 points: agents that lost exactly 5, and unchanged ones."""
    spendings: tuple[Spending, ...] = ("linear", "late")
    for spending in spendings:
        for pairs, differing in ((100, 0.1), (300, 0.06), (300, 0.1), (300, 0.3)):
            source = random.Random(SEED)
            case = f"{pairs} pairs, {differing:.0%} differ, {spending}"
            worse, better = (differing + 0.05) / 2, (differing - 0.05) / 2
            at = [paired(source, pairs, better, worse, spending)[0] for _ in range(PAIRED_RUNS)]
            yield "a margin, exactly lost", case, "passes", at.count(True) / PAIRED_RUNS
            yield "a margin, exactly lost", case, "fails", at.count(False) / PAIRED_RUNS
            same = [paired(source, pairs, differing / 2, differing / 2, spending) for _ in range(PAIRED_RUNS)]
            yield "a margin, unchanged", case, "passes", sum(passed is True for passed, _ in same) / PAIRED_RUNS
            yield "a margin, unchanged", case, "pairs", sum(units for _, units in same) / PAIRED_RUNS
