"""A run that stops at its boundaries → how likely it passes and fails, and how many units it takes on average."""

from __future__ import annotations

import math
from fractions import Fraction

from highbar.statistics.second_run import Outlook
from highbar.statistics.spending import Boundaries, Step, drawn, independent

_NEGLIGIBLE = 1e-12
"""Runs that are still open with less than this probability change no number that anybody reads."""


def sample_ends(boundaries: Boundaries, rate: Fraction) -> tuple[Outlook, float]:
    """The chances, and the units that it looks at on average, if every unit passes with this probability."""
    return _ends(boundaries, independent(rate))


def suite_ends(boundaries: Boundaries, passes: int) -> tuple[Outlook, float]:
    """The same if `passes` of all units pass, and they are drawn in a random order."""
    return _ends(boundaries, drawn(passes, boundaries.units))


def _ends(boundaries: Boundaries, step: Step) -> tuple[Outlook, float]:
    lowest, masses = 0, [1.0]
    passes = fails = looks = 0.0
    for looked in range(1, boundaries.units + 1):
        masses = step(looked, lowest, masses)
        to_pass, to_fail = boundaries.at(looked)
        least = 0 if to_fail is None else max(0, to_fail + 1 - lowest)
        most = len(masses) if to_pass is None else max(least, to_pass - lowest)
        failed, passed = math.fsum(masses[:least]), math.fsum(masses[most:])
        fails, passes, looks = fails + failed, passes + passed, looks + looked * (failed + passed)
        lowest, masses = lowest + least, masses[least:most]
        if math.fsum(masses) < _NEGLIGIBLE:
            return Outlook(passes, 0.0, fails), looks
    left = math.fsum(masses)
    return Outlook(passes, left, fails), looks + boundaries.units * left
