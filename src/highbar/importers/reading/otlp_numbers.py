"""Numbers as OTLP JSON writes them: those of 64 bits and NaN are text."""

from __future__ import annotations

import math

MOST_INT_DIGITS = 20
"""Digits of a whole number of 64 bits, such as a count or a time in nanoseconds."""


def number_value(value: object) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def integer_value(value: object) -> int | None:
    """A whole number; None for anything else."""
    # Not as a float, which would round a number of 64 bits.
    if isinstance(value, str) and value.isdecimal() and len(value) <= MOST_INT_DIGITS:
        return int(value)
    if type(value) is int and abs(value) < 10**MOST_INT_DIGITS:
        return value
    found = number_value(value)
    return None if found is None else int(found)
