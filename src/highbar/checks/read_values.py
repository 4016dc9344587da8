"""Checks of a JSON value as a suite writes them → checks as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highbar.checks.read_texts import read_flag
from highbar.checks.tree import Bounds, Check, Equal
from highbar.checks.values import Unreadable, json_number, kind, refuse_depth
from highbar.documents.limits import MOST_DIGITS
from highbar.documents.problems import ValueCursor
from highbar.documents.scalars import is_bounded


def read_equals(entries: Mapping[str, Any], place: ValueCursor, path: tuple[str, ...] = ("equals",)) -> Check | None:
    """`equals`: any JSON value."""
    exact = read_flag(entries, "exact", place)
    value = entries["equals"]
    return Equal(value, exact=exact) if is_json_value(value, place.at(*path)) else None


def read_same_items(entries: Mapping[str, Any], place: ValueCursor) -> Check | None:
    """`same_items`: a list, in any order."""
    exact = read_flag(entries, "exact", place)
    value, inside = entries["same_items"], place.at("same_items")
    if not isinstance(value, list | tuple):
        inside.refuse_value(value, "a list")
        return None
    return Equal(value, exact=exact, any_order=True) if is_json_value(value, inside) else None


def read_bound(entries: Mapping[str, Any], place: ValueCursor) -> Check | None:
    """`at_least` or `at_most`: a number."""
    ((name, value),) = entries.items()
    limit = json_number(value)
    if limit is None or not is_bounded(limit):
        place.at(name).refuse_value(value, f"a number of at most {MOST_DIGITS} digits")
        return None
    return Bounds(limit, None) if name == "at_least" else Bounds(None, limit)


def is_json_value(value: Any, place: ValueCursor) -> bool:
    """Whether JSON can express a value at every depth; adds a problem if not."""
    try:
        refuse_depth(value)
    except Unreadable as error:
        place.refuse("suite.wrong-type", str(error))
        return False
    return _is_json(value, place)


def _is_json(value: Any, place: ValueCursor) -> bool:
    if isinstance(value, dict):
        for name in value:
            if not isinstance(name, str):
                place.refuse_value(name, "a text as a key", "quote it")
                return False
        return all(_is_json(inner, place.at(name)) for name, inner in value.items())
    if isinstance(value, list | tuple):
        return all(_is_json(inner, place.at(i)) for i, inner in enumerate(value))
    if not kind(value) or (kind(value) == "number" and json_number(value) is None):
        place.refuse_value(value, "a JSON value")
        return False
    return True
