"""The list of scenarios → each with its unique id; and which keys a scenario may have."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from highbar import checks
from highbar.catalogue import near_category
from highbar.columns import COLUMN_NAMES, SCENARIO_TEXTS, column_names
from highbar.documents.problems import ValueCursor, ValuePath, shown
from highbar.documents.scalars import as_written

LISTS = (*column_names("demands", form="names"), *column_names("demands", form="violated"))
FIXED_COLUMNS = (*SCENARIO_TEXTS, "weight", "expected", "answer", *LISTS)
"""The columns that a suite may fix for a scenario, besides its tags and the user's own columns."""
RUN_COLUMNS = COLUMN_NAMES - {*FIXED_COLUMNS, "tags", "id"}
"""The columns that a run writes, or that the agent is asked with."""
OWN_COLUMNS = "columns"
"""At the top of a file, the names of the user's own columns; in a scenario, such columns under any name."""
TOP_KEYS = (
    *("suite", "description", "agent", "judge", "judges", "run", "trials", "behaviors", "defaults"),
    *("canaries", OWN_COLUMNS, "scenarios"),
)
ASKED = ("input", "turns", "messages")
CHECKED = ("answer", "expected", "expected_behaviors", "must_not")
SCENARIO_KEYS = ("id", "description", *ASKED, "trials", "timeout", "predict", "tags", *FIXED_COLUMNS, OWN_COLUMNS)
_ONLY_OF_A_RUN = {"found", "missed", "attempts", "tool_calls", "agent_tags", "left_out", "judged"}
WRITTEN_BY_A_RUN = (RUN_COLUMNS - {"input"}) | _ONLY_OF_A_RUN
"""Columns of a row that say what happened; a scenario cannot have them."""
KNOWN_NAMES = frozenset({*SCENARIO_KEYS, *COLUMN_NAMES})
"""Names of which the user's own columns must not be near misses: results with such a column would be refused."""
_WHOLE = re.compile(r"0|-?[1-9][0-9]*")
_NO_SCENARIO = "the suite has no scenario, wanted a list of ids, or of {id, category, …}"


class SuiteEntry(Struct, frozen=True):
    """A scenario as it is written: its id, its path in the file, and its keys with their values."""

    id: str
    path: ValuePath
    keys: Mapping[str, Any]


def lists_only(values: Any) -> bool:
    """Whether a file only lists scenarios, without asking or checking anything."""
    items, start = listed_scenarios(values)
    if start or not isinstance(items, list):
        return False
    used = {*ASKED, *CHECKED}
    return not any(isinstance(item, dict) and not used.isdisjoint(item) for item in items)


def listed_scenarios(values: Any) -> tuple[Any, ValuePath]:
    """The list of scenarios in a file, and the path to it: the value under `scenarios`, or the whole file."""
    if isinstance(values, dict) and "scenarios" in values:
        return values["scenarios"], ("scenarios",)
    return values, ()


def read_entries(values: Any, place: ValueCursor) -> Iterator[SuiteEntry]:
    """Every scenario with an id; a scenario without an id, and a repeated id, are problems."""
    items, start = listed_scenarios(values)
    if not isinstance(items, list) or not items:
        place.at(*start).refuse("suite.no-scenario", _NO_SCENARIO)
        return
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        path = (*start, index)
        if isinstance(item, dict):
            if "id" not in item:
                place.at(*path).refuse("suite.bad-id", "a scenario without an id")
                continue
            id_ = read_id(item["id"], place, (*path, "id"))
        else:
            id_ = read_id(item, place, path)
        if id_ is None:
            continue
        if id_ in first:
            place.at(*path).refuse(
                "suite.listed-twice", f"the scenario '{id_[:60]}' is listed twice", first=(*start, first[id_])
            )
            continue
        first[id_] = index
        yield SuiteEntry(id_, path, item if isinstance(item, dict) else {})


def read_id(value: Any, place: ValueCursor, path: ValuePath) -> str | None:
    """A scenario's id: text without control characters, or a whole number as digits; None after noting a problem."""
    text = None if isinstance(value, bool) else as_written(value)
    if text is None:
        place.at(*path).refuse("suite.bad-id", f"found {shown(value)}, wanted text or a whole number as the id")
    elif not isinstance(value, str) and not _WHOLE.fullmatch(text):
        place.at(*path).refuse(
            "suite.bad-id", f"found {text[:60]}, wanted text or a whole number", f'quote it: "{text[:60]}"'
        )
    elif not text.strip():
        place.at(*path).refuse("suite.bad-id", "found an empty text as the id")
    elif any(character < " " or "\x7f" <= character <= "\x9f" for character in text):
        place.at(*path).refuse("suite.bad-id", f"the id {text[:60]!a} has a control character")
    else:
        return text
    return None


def refuse_written_by_a_run(key: str, place: ValueCursor) -> None:
    """Note that a scenario has a column that only a run can write."""
    meant = {"trial": "trials", "behaviors": "expected_behaviors"}.get(key)
    hint = (
        f"did you mean '{meant}'?"
        if meant
        else "a scenario says what is asked and expected; `highbar check` judges results"
    )
    place.refuse("suite.bad-column", f"'{key}' is a column that a run writes", hint)


def check_category(category: str, place: ValueCursor, path: ValuePath, allowed: Collection[str] = ()) -> bool:
    """Whether a category is no near miss of a usual one, or is `allowed`; a near miss is noted as a problem."""
    missed = None if category in allowed else near_category(category)
    if missed:
        hint = f"did you mean '{missed}'? If not, add it to the policy's allow_categories"
        place.at(*path).refuse("suite.misspelled", f"'{category[:60]}' is nearly the category '{missed}'", hint)
    return not missed


def behavior_names(value: Any, place: ValueCursor, path: ValuePath) -> list[str]:
    """The names of behaviors, from a list of names or the keys of a mapping; a repeated name is a problem."""
    if isinstance(value, dict):
        return list(value)
    if not isinstance(value, list):
        hint = None
        if isinstance(value, str):
            of_check = checks.example(str(place.at(*path).path[-1]), "contains", value)
            hint = f"write [{value[:60]}] if it is a behavior that is defined, or a check: {of_check}"
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
            place.at(*path, index).refuse("suite.listed-twice", f"'{name[:60]}' is listed twice")
        else:
            found.append(name)
    return found
