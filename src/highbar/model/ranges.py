"""The allowed range of a column of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from highbar.model.words import Where

LARGEST_END = Fraction(10) ** 18
"""Larger numbers are not summed exactly by every engine."""


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """The least and the greatest allowed value of a column, in the rows that `where` selects."""

    column: str
    least: Fraction = -LARGEST_END
    most: Fraction = LARGEST_END
    where: Where = ()
