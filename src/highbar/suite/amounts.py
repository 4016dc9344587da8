"""Durations, money and sizes as people write them → exact numbers; None for any other text."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from highbar.documents.scalars import written_number

_SECONDS: dict[str, Fraction | int] = {"ms": Fraction(1, 1000), "s": 1, "m": 60, "min": 60, "h": 3600}
_BYTES = {"B": 1, "kB": 10**3, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}
_NUMBER = r"[0-9]{1,15}(\.[0-9]{1,9})?"
DURATION_PATTERN = rf"^\s*{_NUMBER}\s*({'|'.join(_SECONDS)})\s*$"
MONEY_PATTERN = rf"^\s*(\$\s*{_NUMBER}|{_NUMBER}\s*([uU][sS][dD]|\$))\s*$"
SIZE_PATTERN = rf"^\s*{_NUMBER}\s*({'|'.join(_BYTES)})\s*$"
"""The patterns are those of the JSON Schema too."""


def seconds(value: Any) -> Fraction | None:
    """A duration with its unit: `60s`, `500 ms`, `2m`, `1.5h`.

    >>> seconds("2m"), seconds("500 ms"), seconds(60)
    (Fraction(120, 1), Fraction(1, 2), None)
    """
    found = _number_and_unit(value, DURATION_PATTERN)
    return found[0] * _SECONDS[found[1]] if found else None


def usd(value: Any) -> Fraction | None:
    """Money: `$5` or `5 usd`.

    >>> usd("$0.50"), usd("5 usd"), usd(5)
    (Fraction(1, 2), Fraction(5, 1), None)
    """
    found = _number_and_unit(value, MONEY_PATTERN)
    return found[0] if found else None


def size(value: Any) -> int | None:
    """Bytes with their unit: `16 MiB`.

    >>> size("16 MiB"), size("16")
    (16777216, None)
    """
    found = _number_and_unit(value, SIZE_PATTERN)
    return int(found[0] * _BYTES[found[1]]) if found else None


def _number_and_unit(value: Any, pattern: str) -> tuple[Fraction, str] | None:
    """The number in a text, and what is before or after it; None if the value does not match the pattern."""
    number = re.search(_NUMBER, value) if isinstance(value, str) and re.fullmatch(pattern, value) else None
    return (Fraction(number[0]), value.replace(number[0], "", 1).strip()) if number else None


def decimal(value: Any) -> Decimal | None:
    """A number, or the text of one, as in CSV; None for anything else."""
    found = written_number(value) if isinstance(value, str) else value
    return None if isinstance(found, bool) or not isinstance(found, int | Decimal) else Decimal(found)


def whole_amount(value: Any) -> int | None:
    """A whole number; None for anything else, true and false included."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
