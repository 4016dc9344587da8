"""Refuses, in records that a mapping reads, names that differ only in case, and NaN and infinities."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache

from highbar.importers.record import refuse, shown

KEEP_ONE = "keep one of the two: which of them counts would be left to chance"


def refuse_alike(names: Sequence[str], place: str, *, line: int | None = None) -> None:
    """Refuse keys of one object, or columns of one table, that differ only in case."""
    alike = _alike(tuple(names))
    if alike is not None:
        refuse(f"{place}: {alike}" if place else alike, line=line, hint=KEEP_ONE)


@lru_cache(maxsize=4096)  # the records of a file have few different shapes
def _alike(names: tuple[str, ...]) -> str | None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            return f"the keys {other!r} and {name!r} differ only in case"
    return None


def refuse_not_finite(value: object, path: str, place: str) -> None:
    """Refuse NaN and infinities at any depth: they are not values, and NaN does not even equal itself."""
    kind = type(value)
    if kind is float:
        if not math.isfinite(value):  # type: ignore[arg-type]
            hint = f"write null if there is no number; a mapping cannot say what {value} means"
            refuse(f"{place}: {path}: found {shown(value)}, wanted a finite number", hint=hint)
    elif isinstance(value, list):
        for item in value:
            refuse_not_finite(item, path, place)
    elif isinstance(value, Mapping):
        for item in value.values():
            refuse_not_finite(item, path, place)
