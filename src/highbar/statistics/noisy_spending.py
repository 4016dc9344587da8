"""Exact early stopping in a suite that is all there is, if it is known how much its trials vary.

The question is the suite's true rate; a run shows what its scenarios come to this time. So half of the error is for the
noise of the whole run: the bar is moved by as much as that allows, and by half a scenario. The other half is for
stopping early: exact boundaries decide on which side of the moved bar the whole run would end (hypergeometric).

The noise must be known before the first look. If the run then disagrees with its history by more, the boundaries for
that much noise have to be crossed, too. That only takes decisions away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from highbar.statistics.distributions import normal_quantile
from highbar.statistics.planning import gate_limits
from highbar.statistics.spending import Boundaries, Boundary, Spending, binomial_boundaries, moved_boundaries
from highbar.statistics.trials import TrialNoise

_COARSE = 10
"""Moved bars are rounded to √units / 10 units, to the safe side, so that a run needs few different boundaries."""


def noisy_boundaries(
    threshold: Fraction,
    units: int,
    alpha: float,
    spending: Spending,
    noise: TrialNoise,
    seen: Sequence[float] = (),
) -> Boundaries:
    """The boundaries of `rate ≥ threshold` for this noise; `seen` is what the run itself shows of it after each unit.

    Binomial ones, which hold for any noise, if moving the bar would not help.
    """
    rate = float(threshold)
    design = _MovedBars(threshold, units, alpha, spending)
    known = design.for_variance(noise.variance(rate))

    def look(looked: int) -> Boundary:
        if looked > len(seen) or seen[looked - 1] <= noise.within:
            return known.at(looked)
        noisier = design.for_variance(noise.at_least(seen[looked - 1]).variance(rate))
        return known.at(looked) if noisier is known else _both(known.at(looked), noisier.at(looked))

    return Boundaries(units, map(look, range(1, units + 1)))


class _MovedBars:
    """What the boundaries for every amount of noise have in common."""

    def __init__(self, threshold: Fraction, units: int, alpha: float, spending: Spending) -> None:
        self._units, self._alpha, self._spending = units, alpha, spending
        self._aim = float(threshold) * units
        self._step = max(1, round(math.sqrt(units) / _COARSE))
        self._sampled = binomial_boundaries(threshold, units, alpha, spending)
        to_pass, to_fail = gate_limits(units, threshold, alpha)
        self._open = (units + 1 if to_pass is None else to_pass) - (-1 if to_fail is None else to_fail)

    def for_variance(self, variance: float) -> Boundaries:
        """The boundaries for this variance of a trial within its scenario."""
        gap = normal_quantile(1 - self._alpha / 2) * math.sqrt(variance * self._units) + 0.5
        least = self._step * math.ceil((self._aim + gap) / self._step)
        fewest = self._step * math.floor((self._aim - gap) / self._step)
        if fewest < 0 or least > self._units or least - fewest >= self._open:
            return self._sampled
        return moved_boundaries(least, fewest, self._units, self._alpha / 2, self._spending)


def _both(one: Boundary, other: Boundary) -> Boundary:
    """What crosses both boundaries."""
    to_pass = None if one.to_pass is None or other.to_pass is None else max(one.to_pass, other.to_pass)
    to_fail = None if one.to_fail is None or other.to_fail is None else min(one.to_fail, other.to_fail)
    return Boundary(to_pass, to_fail)
