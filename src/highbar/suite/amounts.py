"""Durations, money and sizes as people write them → exact numbers; None for any other text."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from highbar.documents.scalars import written_number

_NUMBER = r"([0-9]{1,15}(?:\.[0-9]{1,9})?)"
_DURATION = rf"{_NUMBER}\s*(ms|s|m|min|h)"
_MONEY = rf"(?i)\$\s*{_NUMBER}|{_NUMBER}\s*(?:usd|\$)"
_SIZE = rf"{_NUMBER}\s*(B|kB|KB|KiB|MB|MiB|GB|GiB)"
_SECONDS: dict[str, Fraction | int] = {"ms": Fraction(1, 1000), "s": 1, "m": 60, "min": 60, "h": 3600}
_BYTES = {"B": 1, "kB": 10**3, "KB": 10**3, "KiB": 2**10, "MB": 10**6, "MiB": 2**20, "GB": 10**9, "GiB": 2**30}
DURATION_PATTERN = r"^\s*[0-9]{1,15}(\.[0-9]{1,9})?\s*(ms|s|m|min|h)\s*$"
MONEY_PATTERN = r"^\s*(\$\s*[0-9]{1,15}(\.[0-9]{1,9})?|[0-9]{1,15}(\.[0-9]{1,9})?\s*([uU][sS][dD]|\$))\s*$"
SIZE_PATTERN = r"^\s*[0-9]{1,15}(\.[0-9]{1,9})?\s*(B|kB|KB|KiB|MB|MiB|GB|GiB)\s*$"
"""The patterns above, as the JSON Schema writes them."""


def seconds(value: Any) -> Fraction | None:
    """A duration with its unit: `60s`, `500 ms`, `2m`, `1.5h`.

    >>> seconds("2m"), seconds("500 ms"), seconds(60)
    (Fraction(120, 1), Fraction(1, 2), None)
    """
    found = re.fullmatch(_DURATION, value.strip()) if isinstance(value, str) else None
    return Fraction(found[1]) * _SECONDS[found[2]] if found else None


def usd(value: Any) -> Fraction | None:
    """Money: `$5` or `5 usd`.

    >>> usd("$0.50"), usd("5 usd"), usd(5)
    (Fraction(1, 2), Fraction(5, 1), None)
    """
    found = re.fullmatch(_MONEY, value.strip()) if isinstance(value, str) else None
    return Fraction(found[1] or found[2]) if found else None


def size(value: Any) -> int | None:
    """Bytes with their unit: `16 MiB`.

    >>> size("16 MiB"), size("16")
    (16777216, None)
    """
    found = re.fullmatch(_SIZE, value.strip()) if isinstance(value, str) else None
    return int(Fraction(found[1]) * _BYTES[found[2]]) if found else None


def decimal(value: Any) -> Decimal | None:
    """A number, or the text of one, as in CSV; None for anything else."""
    found = written_number(value) if isinstance(value, str) else value
    return None if isinstance(found, bool) or not isinstance(found, int | Decimal) else Decimal(found)


def whole_amount(value: Any) -> int | None:
    """A whole number; None for anything else, true and false included."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
