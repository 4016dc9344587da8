"""Two one-sided bounds of one number."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

Real = int | float | Fraction
"""A count or a sum: exact if it is known exactly."""


class Interval(NamedTuple):
    """The lower and the upper bound, each at its own one-sided error; an unbounded end is infinite."""

    low: float
    high: float


class Estimate(NamedTuple):
    """A number that was estimated, and its bounds."""

    value: float
    bounds: Interval
