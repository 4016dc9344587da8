"""Python values → the values that a suite file would give."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from highbar.documents.limits import MOST_NESTING
from highbar.errors import InputError, Problem


def plain_suite(value: Any, depth: int = 0) -> Any:
    """Lists for tuples, dicts for mappings, exact numbers for floats. Raises InputError for what a file cannot hold."""
    if depth > MOST_NESTING + 1:
        raise InputError(Problem(f"the suite is nested deeper than {MOST_NESTING}"))
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise InputError(Problem("a key of the suite is not text", hint="put it in quotes"))
        return {key: plain_suite(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_suite(inner, depth + 1) for inner in value]
    if isinstance(value, float):
        number = Decimal(float.__repr__(value))
        if not number.is_finite():
            raise InputError(Problem(f"the suite has {value}, which is no number"))
        return number
    if value is None or isinstance(value, str | bool | int | Decimal):
        return value
    raise InputError(Problem(f"found a {type(value).__name__} in the suite, wanted text, numbers, lists and dicts"))
