"""The allowed range of a column of numbers."""

from __future__ import annotations

from fractions import Fraction

from msgspec import Struct

from highbar.model.words import Where

LARGEST_END = Fraction(10) ** 18
"""Larger numbers are not summed exactly by every engine."""


class ColumnRange(Struct, frozen=True):
    """The least and the greatest allowed value of a column, in the rows that `where` selects."""

    column: str
    least: Fraction = -LARGEST_END
    most: Fraction = LARGEST_END
    where: Where = ()
