"""Checks of tool calls as a suite writes them → checks as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from highbar.checks.read_texts import read_flag, whole_bounds
from highbar.checks.read_values import is_json_value
from highbar.checks.tree import Called, CalledInOrder, CalledOnly, Check
from highbar.documents.problems import ValueCursor


def read_calls_check(
    entries: Mapping[str, Any], place: ValueCursor, at_values: Callable[[Any, ValueCursor], Any]
) -> Check | None:
    """`calls`, with all conditions on the calls of that tool."""
    known = len(place.problems)
    name = _name(entries["calls"], place.at("calls"))
    exact, every = read_flag(entries, "exact", place), read_flag(entries, "every", place)
    arguments = _arguments(entries, "arguments", place, may_be_empty=exact)
    not_arguments = _arguments(entries, "not_arguments", place, may_be_empty=False)
    where = at_values(entries["where"], place.at("where")) if "where" in entries else ()
    least, most = _times(entries["times"], place.at("times")) if "times" in entries else (1, None)
    if exact and "arguments" not in entries:
        place.at("exact").refuse("suite.missing-key", "`exact` beside `calls` needs `arguments`")
    if every and not {"arguments", "where", "not_arguments"} & entries.keys():
        place.at("every").refuse("suite.missing-key", "`every` needs `arguments`, `not_arguments` or `where`")
    if len(place.problems) > known or name is None:
        return None
    return Called(name, arguments, exact, where, not_arguments, every, least, most)


def read_in_order(entries: Mapping[str, Any], place: ValueCursor) -> Check | None:
    """`calls_in_order`: at least two tools."""
    names = _names(entries["calls_in_order"], place.at("calls_in_order"), least=2)
    return None if names is None else CalledInOrder(names)


def read_only(entries: Mapping[str, Any], place: ValueCursor) -> Check | None:
    """`calls_only`: no tools other than these; an empty list says that no tool is called."""
    names = _names(entries["calls_only"], place.at("calls_only"), least=0)
    return None if names is None else CalledOnly(names)


def _names(value: Any, place: ValueCursor, least: int) -> tuple[str, ...] | None:
    if not isinstance(value, list | tuple) or len(value) < least:
        hint = "for one tool, write `calls:`" if least else None
        place.refuse_value(value, f"a list of {'at least two ' if least else ''}tools", hint)
        return None
    names = [_name(item, place.at(i)) for i, item in enumerate(value)]
    sound = tuple(name for name in names if name is not None)
    return sound if len(sound) == len(names) else None


def _name(value: Any, place: ValueCursor) -> str | None:
    if isinstance(value, str) and value.strip():
        return value
    hint = "write `any: [{calls: …}, …]`, or `calls_in_order:`" if isinstance(value, list | tuple) and value else None
    place.refuse_value(value, "the name of a tool", hint)
    return None


def _arguments(entries: Mapping[str, Any], name: str, place: ValueCursor, *, may_be_empty: bool) -> Any:
    if name not in entries:
        return None
    value, inside = entries[name], place.at(name)
    if not isinstance(value, dict):
        inside.refuse_value(value, "a mapping from names to values")
    elif not value and not may_be_empty:
        hint = "for a call without arguments, add `exact: true`" if name == "arguments" else None
        inside.refuse("check.constant", "no arguments are named, so every call matches", hint)
    elif is_json_value(value, inside):
        return value
    return None


def _times(value: Any, place: ValueCursor) -> tuple[int, int | None]:
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 1:
            place.refuse_value(value, "a number of calls, 1 or more", "for no call, write `not: {calls: …}`")
        return value, value
    bounds = whole_bounds(value, place)
    if bounds is None:
        return 1, None
    least, most = bounds
    if least == 0:
        place.at("at_least").refuse("check.constant", "every tool is called at least 0 times", "leave it out")
    return max(least or 1, 1), most
