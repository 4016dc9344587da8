"""Unquoted scalars by JSON's rules: `true`, `false`, `null` and JSON numbers; all else is text as it was written."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<rest>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")
_CONSTANTS = {"true": True, "false": False, "null": None, "": None}
_STARTS = frozenset("-0123456789")
_MOST_INT_DIGITS = 18
"""What fits 64 bits. A longer whole number is a Decimal, which every encoder takes."""
MOST_DIGITS = 400
"""Of a number, and the size of its exponent: as checks compare them."""


def scalar(text: str) -> Any:
    """What an unquoted text of YAML is.

    >>> [scalar(text) for text in ("true", "yes", "7", "1.10", "01234", "10:30", "2026-01-01", "~")]
    [True, 'yes', 7, Decimal('1.10'), '01234', '10:30', '2026-01-01', '~']
    """
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _STARTS:
        return text
    found = written_number(text)
    return text if found is None else found


def written_number(text: str) -> int | Decimal | None:
    """The JSON number that a text is; a Decimal keeps how it was written. None for other text, or beyond all bounds."""
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    if not found["rest"] and len(text) <= _MOST_INT_DIGITS:
        return int(text)
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if len(value.as_tuple().digits) <= MOST_DIGITS and abs(value.adjusted()) <= MOST_DIGITS else None


def as_written(value: Any) -> str | None:
    """A text as it is, a number as it was written, and true and false as words; None if it is something else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | Decimal) else None
