"""Reads the block `quarantine`: which scenarios are quarantined, by id or by their history.

quarantine: [FLAKY-1]
quarantine: { ids: [FLAKY-1, { id: FLAKY-2, until: 2026-12-01 }], auto: { runs: 5 }, history: history/ }
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from highbar.model import QuarantineRule, Rule, ScenarioRule
from highbar.model.quarantine import MOST_RUNS, QuarantinePolicy
from highbar.policy.cursor import Cursor, read_description
from highbar.policy.scenario_ids import is_pattern, matches, read_id

KEYS = ("ids", "auto", "history", "description")
ENTRY_KEYS = ("id", "until", "description")
AUTO_KEYS = ("runs", "description")
HISTORY = "history"
_EXAMPLE = "ids: [FLAKY-1], or auto: { runs: 5 }"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FEWEST_RUNS = 2


def read_quarantine(
    cursor: Cursor, folder: Path, rules: Sequence[Rule]
) -> tuple[QuarantinePolicy | None, tuple[QuarantineRule, ...]]:
    """The block's settings and its rule; the folder of the history is relative to `folder`. Notes every problem."""
    fields = {"ids": cursor} if cursor.is_kind("list") else cursor.fields(KEYS)
    description = read_description(fields)
    ids = _entries(fields["ids"], rules) if "ids" in fields else {}
    auto = _auto(fields["auto"]) if "auto" in fields else None
    name = (fields["history"].text() if "history" in fields else None) or HISTORY
    if not fields.keys() & {"ids", "auto"}:
        if cursor.is_kind("mapping"):
            cursor.refuse("no scenario is quarantined", _EXAMPLE)
        return None, ()
    if "history" in fields and "auto" not in fields:
        fields["history"].refuse("history has no effect without auto", "add `auto: { runs: 5 }`, or remove it")
    policy = QuarantinePolicy(ids, auto, name, str(folder / name))
    return policy, (QuarantineRule("quarantine", "blocking", cursor.place, description),)


def _entries(cursor: Cursor, rules: Sequence[Rule]) -> dict[str, date | None]:
    required = [rule.pattern for rule in rules if isinstance(rule, ScenarioRule) and rule.level == "blocking"]
    found: dict[str, date | None] = {}
    items = cursor.items()
    if cursor.is_kind("list") and not items:
        cursor.refuse("the list is empty", "remove it if nothing is quarantined")
    for item in items:
        entry = _entry(item)
        if entry is None:
            continue
        id_, until = entry
        if id_ in found:
            item.refuse(f"'{id_}' is listed twice")
        if is_pattern(id_):
            item.refuse(f"'{id_}' is a pattern, wanted an id", "name each scenario: a quarantine is an exception")
        if any(matches(pattern, id_) for pattern in required):
            item.refuse(f"'{id_}' is required", "a required scenario is never quarantined: keep it in one of both")
        found[id_] = until
    return found


def _entry(cursor: Cursor) -> tuple[str, date | None] | None:
    fields = cursor.fields(ENTRY_KEYS) if cursor.is_kind("mapping") else {"id": cursor}
    read_description(fields)
    until = _date(fields["until"]) if "until" in fields else None
    if "id" not in fields:
        cursor.refuse("no id", "{ id: FLAKY-1, until: 2026-12-01 }")
        return None
    id_ = read_id(fields["id"])
    return None if id_ is None else (id_, until)


def _date(cursor: Cursor) -> date | None:
    text = cursor.scalar("a date, such as 2026-12-01")
    if text is None:
        return None
    try:
        # No other form of ISO 8601: nobody knows which day 2026-W49-2 is.
        return date.fromisoformat(text if _DATE.fullmatch(text) else "")
    except ValueError:
        cursor.refuse(f"found '{text[:60]}', wanted a date", "write year, month and day: 2026-12-01")
        return None


def _auto(cursor: Cursor) -> int | None:
    fields = cursor.fields(AUTO_KEYS)
    read_description(fields)
    if "runs" not in fields:
        if cursor.is_kind("mapping"):
            cursor.refuse("no runs", "runs: 5")
        return None
    runs = fields["runs"].whole_number(1)
    if runs is not None and not _FEWEST_RUNS <= runs <= MOST_RUNS:
        fields["runs"].refuse(f"found {runs}, wanted {_FEWEST_RUNS} to {MOST_RUNS} runs", "runs: 5")
        return None
    return runs
