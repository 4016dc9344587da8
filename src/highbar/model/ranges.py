"""Between which values a column of numbers must lie."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from highbar.model.words import Where

_FARTHEST = Fraction(10) ** 18
"""Beyond this no engine sums exactly."""


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """The least and the greatest value of a column, in the rows that `where` lets through."""

    column: str
    least: Fraction = -_FARTHEST
    most: Fraction = _FARTHEST
    where: Where = ()
