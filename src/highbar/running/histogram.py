"""Percentiles of a stream of numbers, in memory that does not grow with it."""

from __future__ import annotations

from collections import Counter
from math import exp, log

_WIDTH = log(1.02)
_LEAST = 1e-6


class Histogram:
    """Counts numbers in classes that are 2 % wide, so that a percentile is at most 1 % off."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, value: float) -> None:
        """Add a number; everything below a millionth counts as a millionth."""
        self._counts[round(log(max(value, _LEAST)) / _WIDTH)] += 1

    def percentile(self, share: float) -> float | None:
        """The number that this share of all numbers does not exceed; None if there are no numbers.

        >>> found = Histogram()
        >>> for value in range(1, 101): found.add(value)
        >>> round(found.percentile(0.95)), Histogram().percentile(0.95)
        (95, None)
        """
        rank = share * self._counts.total()
        for place in sorted(self._counts):
            rank -= self._counts[place]
            if rank <= 1e-9:
                return exp(place * _WIDTH)
        return None
