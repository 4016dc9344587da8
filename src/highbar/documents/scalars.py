"""Unquoted scalars by JSON's rules: `true`, `false`, `null` and JSON numbers; anything else is text as written."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

from highbar.documents.limits import MOST_DIGITS

JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<rest>(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)")
_CONSTANTS = {"true": True, "false": False, "null": None, "": None}
_STARTS = frozenset("-0123456789")
_MOST_INT_DIGITS = 18
"""The digits that fit into 64 bits. A longer whole number becomes a Decimal, which every encoder takes."""


def scalar(text: str) -> Any:
    """The value of an unquoted YAML scalar.

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
    """The value of a JSON number; a Decimal keeps how it was written. None for other text, or above MOST_DIGITS."""
    found = JSON_NUMBER.fullmatch(text)
    if found is None:
        return None
    if not found["rest"] and len(text) <= _MOST_INT_DIGITS:
        return int(text)
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if is_bounded(value) else None


def is_bounded(value: int | Decimal) -> bool:
    """Whether a number has few enough digits to be compared with any other."""
    if isinstance(value, int):
        return bool(abs(value) < 10**MOST_DIGITS)
    return len(value.as_tuple().digits) <= MOST_DIGITS and abs(value.adjusted()) <= MOST_DIGITS


def as_written(value: Any) -> str | None:
    """Text as it is, a number as it was written, true and false as words; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | Decimal) else None
