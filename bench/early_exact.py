"""What a design with early stopping comes to, computed a second time: numpy over the whole lattice, no band, no margin.

The product computes its boundaries in `highbar.statistics.spending`; here only the boundaries are taken from it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from highbar.statistics.spending import Boundaries

Masses = NDArray[np.float64]
Chance = Callable[[NDArray[np.int64], int], Masses]


class Ends(NamedTuple):
    """How likely a run ends with a pass or a fail, and how many units it looks at on average."""

    passes: float
    fails: float
    units: float


def sampled(boundaries: Boundaries, rate: float) -> Ends:
    """If every unit passes with this probability."""
    return _ends(boundaries, lambda counts, _left: np.full(counts.shape, rate))


def drawn(boundaries: Boundaries, passes: int) -> Ends:
    """If so many of all units pass, and they are drawn in random order."""
    return _ends(boundaries, lambda counts, left: np.clip((passes - counts) / left, 0.0, 1.0))


def _ends(boundaries: Boundaries, chance: Chance) -> Ends:
    units = boundaries.units
    counts = np.arange(units + 1)
    masses: Masses = np.zeros(units + 1)
    masses[0] = 1.0
    passes = fails = looks = 0.0
    for looked in range(1, units + 1):
        hit = chance(counts, units - looked + 1)
        rises = masses * hit
        masses = masses - rises
        masses[1:] += rises[:-1]
        to_pass, to_fail = boundaries.at(looked)
        if to_fail is not None:
            ended = masses[: to_fail + 1].sum()
            fails, looks = fails + ended, looks + looked * ended
            masses[: to_fail + 1] = 0.0
        if to_pass is not None:
            ended = masses[to_pass:].sum()
            passes, looks = passes + ended, looks + looked * ended
            masses[to_pass:] = 0.0
    return Ends(float(passes), float(fails), float(looks + units * masses.sum()))


def exactly(boundaries: Boundaries, rate: Fraction) -> tuple[Fraction, Fraction]:
    """The chances of a pass and of a fail without any rounding; for small designs."""
    masses = {0: Fraction(1)}
    passes = fails = Fraction(0)
    for looked in range(1, boundaries.units + 1):
        after: dict[int, Fraction] = {}
        for count, mass in masses.items():
            after[count] = after.get(count, Fraction(0)) + mass * (1 - rate)
            after[count + 1] = after.get(count + 1, Fraction(0)) + mass * rate
        decided = {count: boundaries.at(looked).decides(count) for count in after}
        passes += sum(mass for count, mass in after.items() if decided[count] is True)
        fails += sum(mass for count, mass in after.items() if decided[count] is False)
        masses = {count: mass for count, mass in after.items() if decided[count] is None}
    return passes, fails
