"""Values of a suite file → the ids, and the columns that each scenario fixes, as text to compare with its results.

This is what a policy's `suite` needs. Checks are not read: recorded results do not depend on them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from highbar.columns import SCENARIO_TEXTS
from highbar.documents.problems import ValueCursor
from highbar.documents.scalars import as_written
from highbar.suite.identity import (
    FIXED_COLUMNS,
    LISTS,
    RUN_COLUMNS,
    SuiteEntry,
    behavior_names,
    check_category,
    check_key,
    read_entries,
)
from highbar.suite.limits import LONGEST_LABEL
from highbar.suite.values import tags_value, text_value

_KNOWN = ("id", "tags", *FIXED_COLUMNS)
_NOT_COMPARED = RUN_COLUMNS | {"id", "description", "turns", "messages", "trials", "timeout", "predict"}


def read_fixed_columns(
    values: Any, place: ValueCursor, allow_columns: Collection[str] = (), allow_categories: Collection[str] = ()
) -> dict[str, Mapping[str, str]]:
    """By id, the columns that the suite fixes for a scenario, defaults included.

    The last two have near misses of columns and categories that are meant as written.
    """

    def columns(entry: SuiteEntry) -> dict[str, str]:
        return _entry_columns(entry, place, allow_columns, allow_categories)

    defaults = values.get("defaults") if isinstance(values, dict) else None
    given = columns(SuiteEntry("", ("defaults",), defaults)) if isinstance(defaults, dict) else {}
    return {entry.id: {**given, **columns(entry)} for entry in read_entries(values, place)}


def _entry_columns(
    entry: SuiteEntry, place: ValueCursor, allow_columns: Collection[str], allow_categories: Collection[str]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in entry.keys.items():
        if key in SCENARIO_TEXTS:
            text = text_value(value, place.at(*entry.path, key))
            if text is not None and (
                key != "category" or check_category(text, place, (*entry.path, key), allow_categories)
            ):
                found[key] = text
        elif key in LISTS:
            found[key] = json.dumps(behavior_names(value, place, (*entry.path, key)), ensure_ascii=False)
        elif key == "answer":
            if value not in (None, "", [], {}):
                found[key] = "given"  # only that there is one: a row says in `correct` whether it was met
        elif key == "tags":
            tags = tags_value(value, place.at(*entry.path, key))
            found |= {f"tags.{name}": text for name, text in tags.items()}
        elif key not in _NOT_COMPARED and check_key(key, _KNOWN, place, entry.path, allow_columns):
            own = as_written(value)
            if own is not None and len(own) <= LONGEST_LABEL:
                found[key] = own
    return found
