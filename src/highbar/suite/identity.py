"""The list of scenarios → each with its unique id; and which keys a scenario may have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from highbar.catalogue import CATEGORIES
from highbar.columns import COLUMN_NAMES, SCENARIO_TEXTS, column_names
from highbar.documents.problems import ValueCursor, ValuePath
from highbar.documents.scalars import as_written
from highbar.language.spelling import near_miss

LISTS = (*column_names("demands", form="names"), *column_names("demands", form="violated"))
FIXED_COLUMNS = (*SCENARIO_TEXTS, "weight", "expected", "answer", *LISTS)
"""The columns that a suite may fix for a scenario, besides its tags and the user's own columns."""
RUN_COLUMNS = COLUMN_NAMES - {*FIXED_COLUMNS, "tags", "id"}
"""The columns that a run writes, or that the agent is asked with."""
TOP_KEYS = ("suite", "description", "agent", "judge", "judges", "run", "behaviors", "defaults", "canaries", "scenarios")
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_NO_SCENARIO = "the suite has no scenario, wanted a list of ids, or of {id, category, …}"


class SuiteEntry(Struct, frozen=True):
    """A scenario as it is written: its id, its path in the file, and its keys with their values."""

    id: str
    path: ValuePath
    keys: Mapping[str, Any]


def listed_scenarios(values: Any) -> tuple[Any, ValuePath]:
    """The list of scenarios in a file, and the path to it: the value under `scenarios`, or the whole file."""
    if isinstance(values, dict) and "scenarios" in values:
        return values["scenarios"], ("scenarios",)
    return values, ()


def read_entries(values: Any, place: ValueCursor) -> Iterator[SuiteEntry]:
    """Every scenario with an id; a scenario without an id, and a repeated id, are problems."""
    items, start = listed_scenarios(values)
    if not isinstance(items, list) or not items:
        place.at(*start).refuse(_NO_SCENARIO)
        return
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        path = (*start, index)
        if isinstance(item, dict):
            if "id" not in item:
                place.at(*path).refuse("a scenario without an id")
                continue
            id_ = read_id(item["id"], place, (*path, "id"))
        else:
            id_ = read_id(item, place, path)
        if id_ is None:
            continue
        if id_ in first:
            place.at(*path).refuse(f"the scenario '{id_[:60]}' is listed twice", first=(*start, first[id_]))
            continue
        first[id_] = index
        yield SuiteEntry(id_, path, item if isinstance(item, dict) else {})


def read_id(value: Any, place: ValueCursor, path: ValuePath) -> str | None:
    """A scenario's id: text without control characters, or a whole number as digits; None after noting a problem."""
    text = None if isinstance(value, bool) else as_written(value)
    if text is None:
        place.at(*path).refuse_value(value, "text or a whole number as the id")
    elif not isinstance(value, str) and not _WHOLE.fullmatch(text):
        place.at(*path).refuse(f"found {text[:60]}, wanted text or a whole number", f'quote it: "{text[:60]}"')
    elif not text.strip():
        place.at(*path).refuse("found an empty text as the id")
    elif any(character < " " or "\x7f" <= character <= "\x9f" for character in text):
        place.at(*path).refuse(f"the id {text[:60]!a} has a control character")
    else:
        return text
    return None


def check_key(
    key: str, known: Collection[str], place: ValueCursor, path: ValuePath, allowed: Collection[str] = ()
) -> bool:
    """Whether a key is no near miss of a known one, or is `allowed`; a near miss is noted as a problem."""
    missed = None if key in allowed else near_miss(key, known)
    if missed:
        place.at(*path, key).refuse(f"'{key[:60]}' is nearly '{missed}'", f"did you mean '{missed}'?")
    return not missed


def check_category(category: str, place: ValueCursor, path: ValuePath, allowed: Collection[str] = ()) -> bool:
    """Whether a category is no near miss of a usual one, or is `allowed`; a near miss is noted as a problem."""
    missed = None if category in allowed else near_miss(category, CATEGORIES)
    if missed:
        hint = f"did you mean '{missed}'? If not, add it to the policy's allow_categories"
        place.at(*path).refuse(f"'{category[:60]}' is nearly the category '{missed}'", hint)
    return not missed


def behavior_names(value: Any, place: ValueCursor, path: ValuePath) -> list[str]:
    """The names of behaviors, from a list of names or the keys of a mapping; a repeated name is a problem."""
    if isinstance(value, dict):
        return list(value)
    if not isinstance(value, list):
        hint = f"write [{value[:60]}]" if isinstance(value, str) else None
        place.at(*path).refuse_value(value, "a list of names, or a mapping from names to checks", hint)
        return []
    found: list[str] = []
    for index, item in enumerate(value):
        if isinstance(item, dict):
            hint = "write all of them as one mapping: {name: check, …}"
            place.at(*path, index).refuse_value(item, "the name of a behavior", hint)
            continue
        name = None if isinstance(item, bool) else as_written(item)
        if name is None or not name.strip():
            place.at(*path, index).refuse_value(item, "the name of a behavior: text")
        elif name in found:
            place.at(*path, index).refuse(f"'{name[:60]}' is listed twice")
        else:
            found.append(name)
    return found
