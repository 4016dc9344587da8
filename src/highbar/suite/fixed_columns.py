"""Values of a suite file → the ids, and the columns that each scenario fixes, as text to compare with its results.

This is what a policy's `suite` needs. Checks are not read: recorded results do not depend on them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from highbar.columns import SCENARIO_TEXTS
from highbar.documents.problems import ValueCursor, ValuePath
from highbar.documents.scalars import as_written
from highbar.suite.identity import (
    LISTS,
    OWN_COLUMNS,
    SCENARIO_KEYS,
    TOP_KEYS,
    WRITTEN_BY_A_RUN,
    SuiteEntry,
    behavior_names,
    check_category,
    lists_only,
    read_entries,
    refuse_written_by_a_run,
)
from highbar.suite.limits import LONGEST_LABEL, MOST_TRIALS
from highbar.suite.own_columns import OwnColumns, named_columns
from highbar.suite.values import refuse_unknown, tags_value, text_value, whole_number


class FixedColumns(Struct, frozen=True):
    """By id, the columns that a suite fixes for a scenario; and what only the results can tell about the others.

    `own` are the user's own columns. `texts` are those with text that a suite with questions or checks does not name.
    `elsewhere` has keys of a list that are the words of another tool, unless they are columns of the results, each
    with the path of its first place. `ignored` has keys of a list that are columns of results only. `trials` has, by
    id, how many there are to be, where the suite says it.
    """

    scenarios: Mapping[str, Mapping[str, str]]
    own: Collection[str] = ()
    texts: tuple[str, ...] = ()
    elsewhere: Mapping[str, ValuePath] = {}
    ignored: Collection[str] = ()
    trials: Mapping[str, int] = {}


def read_fixed_columns(
    values: Any, place: ValueCursor, allow_columns: Collection[str] = (), allow_categories: Collection[str] = ()
) -> FixedColumns:
    """The columns that the suite fixes for its scenarios, defaults included.

    The last two have near misses of columns and categories that are meant as written.
    """
    top = values if isinstance(values, dict) else {}
    refuse_unknown(top, TOP_KEYS, place)
    named = named_columns(top.get(OWN_COLUMNS, []), place.at(OWN_COLUMNS))
    own = OwnColumns(named, is_list=lists_only(values), allowed=allow_columns)
    ignored: dict[str, None] = {}

    trials: dict[str, int] = {}

    def columns(entry: SuiteEntry) -> dict[str, str]:
        if own.is_list:
            ignored.update(dict.fromkeys(key for key in entry.keys if key in WRITTEN_BY_A_RUN))
        number = _trials(entry, place) if "trials" in entry.keys else trials.get("", every)
        if number is not None:
            trials[entry.id] = number
        return dict(_entry_columns(entry, place, own, allow_categories))

    every = trials_of_every(top, place)
    defaults = top.get("defaults")
    given = columns(SuiteEntry("", ("defaults",), defaults)) if isinstance(defaults, dict) else {}
    scenarios = {entry.id: {**given, **columns(entry)} for entry in read_entries(values, place)}
    trials.pop("", None)  # of the defaults
    return FixedColumns(scenarios, own.all, own.unread, own.elsewhere, ignored, trials)


def trials_of_every(top: Mapping[str, Any], place: ValueCursor) -> int | None:
    """How many trials every scenario is to have, by `trials` or `run: {trials}`; None if neither says it."""
    run = top.get("run")
    inside = ("run", "trials") if isinstance(run, dict) and "trials" in run else ()
    if inside and "trials" in top:
        place.at("trials").refuse("suite.conflict", "'trials' is given twice: here and under run")
    if not inside and "trials" not in top:
        return None
    value = run["trials"] if inside and isinstance(run, dict) else top["trials"]
    return whole_number(value, place.at(*(inside or ("trials",))), 1, MOST_TRIALS)


def _trials(entry: SuiteEntry, place: ValueCursor) -> int | None:
    return whole_number(entry.keys["trials"], place.at(*entry.path, "trials"), 1, MOST_TRIALS)


def _entry_columns(
    entry: SuiteEntry, place: ValueCursor, own: OwnColumns, allow_categories: Collection[str]
) -> Iterator[tuple[str, str]]:
    for key, value in entry.keys.items():
        inside = place.at(*entry.path, key)
        if key in WRITTEN_BY_A_RUN:
            if not own.is_list:
                refuse_written_by_a_run(key, inside)
        elif key in SCENARIO_KEYS and key != OWN_COLUMNS:
            yield from _known_columns(key, value, inside, allow_categories)
        else:
            for name, found in own.read(key, value, place.at(*entry.path)):
                yield from _label(name, found)


def _known_columns(
    key: str, value: Any, place: ValueCursor, allow_categories: Collection[str]
) -> Iterator[tuple[str, str]]:
    """The columns that one key of Highbar fixes; none for keys that results are not compared with."""
    if key in SCENARIO_TEXTS:
        text = text_value(value, place)
        if text is not None and (key != "category" or check_category(text, place, (), allow_categories)):
            yield key, text
    elif key in LISTS:
        yield key, json.dumps(behavior_names(value, place, ()), ensure_ascii=False)
    elif key == "answer":
        if value not in (None, "", [], {}):
            yield key, "given"  # only that there is one: a row says in `correct` whether it was met
    elif key == "tags":
        yield from ((f"tags.{name}", text) for name, text in tags_value(value, place).items())
    elif key in ("weight", "expected"):
        yield from _label(key, value)


def _label(name: str, value: Any) -> Iterator[tuple[str, str]]:
    text = as_written(value)
    if text is not None and len(text) <= LONGEST_LABEL:
        yield name, text
