"""Decimal text ↔ exact numbers: the one grammar of numbers in policies, thresholds and formulas."""

from __future__ import annotations

import re
from fractions import Fraction

from highbar.language.limits import MOST_DIGITS

NUMBER = r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
"""ASCII digits, and a point with digits after it: no exponent, no grouping, no leading zeros, no sign."""

_WHOLE = re.compile(NUMBER)


def read_decimal(text: str) -> Fraction | None:
    """The number in `text`; None if it does not fit our grammar, or has too many digits.

    >>> read_decimal("0.95"), read_decimal("1e2"), read_decimal("1_000")
    (Fraction(19, 20), None, None)
    """
    return Fraction(text) if len(text) <= MOST_DIGITS and _WHOLE.fullmatch(text) else None


def write_decimal(value: Fraction) -> str:
    """`value` written out to its last digit; if no decimal is exact, as a quotient in brackets.

    >>> write_decimal(Fraction(19, 20)), write_decimal(Fraction(1, 3))
    ('0.95', '(1 / 3)')
    """
    rest, places = value.denominator, 0
    for factor in (2, 5):
        power = 0
        while rest % factor == 0:
            rest //= factor
            power += 1
        places = max(places, power)
    return cut_decimal(value, places) if rest == 1 else f"({value.numerator} / {value.denominator})"


def cut_decimal(value: Fraction, places: int = 6) -> str:
    """`value` as a decimal; one with more places is cut and ends in "…", so that it never looks like another number.

    >>> cut_decimal(Fraction(2, 3), places=3), cut_decimal(Fraction(1, 2))
    ('0.666…', '0.5')
    """
    sign = "-" if value < 0 else ""
    digits, rest = divmod(abs(value.numerator) * 10**places, value.denominator)
    whole, fraction = divmod(digits, 10**places)
    decimals = str(fraction).rjust(places, "0") if places else ""
    if rest:
        return f"{sign}{whole}.{decimals}…"
    decimals = decimals.rstrip("0")
    return f"{sign}{whole}.{decimals}" if decimals else f"{sign}{whole}"
