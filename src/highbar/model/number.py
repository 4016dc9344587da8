"""Exact numbers that format as floats do."""

from __future__ import annotations

from decimal import Context
from fractions import Fraction

_DIGITS = Context(prec=60)


class Number(Fraction):
    """A fraction that takes every format of a float, in every version of Python.

    >>> f"{Number(39, 40):.1%}, {Number(39, 40):.3f}, {Number(39, 40)}"
    '97.5%, 0.975, 39/40'
    """

    __slots__ = ()

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        return format(_DIGITS.divide(self.numerator, self.denominator), spec)
