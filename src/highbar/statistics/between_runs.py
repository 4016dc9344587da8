"""Trials of the same scenarios in consecutive runs → how much the pass rates of whole runs vary.

If only trials vary, the difference between two runs is as large as their scenarios that changed explain. What it is
larger by comes from the runs themselves, for example from the load of a model server. Only rises are counted, twice:
falls may be the decline that is looked for, and must not hide it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

Cell = tuple[int, int]
"""(passed, trials) of one scenario in one run."""

SPREAD = 0.02
"""The standard deviation of whole runs until they show another: 2 points."""
KNOWN = 10
"""How many differences between runs that assumption weighs as much as."""


class RunNoise(Struct, frozen=True):
    """Sums over differences between runs: how many, what they show too much, and how sensitive they are."""

    pairs: int = 0
    excess: float = 0.0
    weight: float = 0.0

    @property
    def variance(self) -> float:
        """The variance of the pass rates of whole runs, beyond that of their trials."""
        if not self.weight:
            return SPREAD**2
        assumed = KNOWN * self.weight / self.pairs
        return max((self.excess + assumed * SPREAD**2) / (self.weight + assumed), 0.0)

    def after(self, earlier: Sequence[Cell], later: Sequence[Cell]) -> RunNoise:
        """The same with one more difference; scenarios that one of the runs lacks do not count."""
        found = [
            (times, *_difference(first, second))
            for (first, second), times in Counter(zip(earlier, later, strict=True)).items()
            if first[1] and second[1]
        ]
        if not found:
            return self
        change, variance, size = (math.fsum(one[0] * one[place] for one in found) for place in (1, 2, 3))
        return RunNoise(
            pairs=self.pairs + 1,
            excess=self.excess + 2 * max(change, 0.0) ** 2 - variance,
            weight=self.weight + 2 * size**2,
        )


def _difference(earlier: Cell, later: Cell) -> tuple[float, float, float]:
    """How many more passes the later run has than its share, their variance, and their change if its rate rises by 1.

    All passes of both runs are spread over their trials at random (hypergeometric).
    """
    (x, n), (k, m) = earlier, later
    passed, trials = x + k, n + m
    size = n * m / trials
    return k - m * passed / trials, size * passed * (trials - passed) / (trials * (trials - 1)), size
