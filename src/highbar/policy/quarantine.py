"""Reads the block `quarantine`: which scenarios are quarantined, each with its last day if it has one.

quarantine: [FLAKY-1]
quarantine: { ids: [FLAKY-1, { id: FLAKY-2, until: 2026-12-01 }] }
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from highbar.model import QuarantineRule, Rule, ScenarioRule
from highbar.model.quarantine import LastDays
from highbar.policy.cursor import Cursor, read_description
from highbar.policy.scenario_ids import is_pattern, matches, read_id

KEYS = ("ids", "description")
ENTRY_KEYS = ("id", "until", "description")
REMOVED = {
    "auto": "list the scenarios: `highbar history flaky` prints the block to paste, with ids and a last day",
    "history": "remove it: only `auto` read it",
}
_EXAMPLE = "ids: [FLAKY-1]"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_quarantine(cursor: Cursor, rules: Sequence[Rule]) -> tuple[LastDays | None, tuple[QuarantineRule, ...]]:
    """The last day of each quarantined scenario, None if it has no end, and the rule. Notes every problem."""
    before = len(cursor.problems)
    fields = {"ids": cursor} if cursor.is_kind("list") else cursor.fields(KEYS, removed=REMOVED)
    description = read_description(fields)
    if "ids" not in fields:
        if len(cursor.problems) == before:
            cursor.refuse("policy.empty-value", "no scenario is quarantined", _EXAMPLE)
        return None, ()
    return _entries(fields["ids"], rules), (QuarantineRule("quarantine", "blocking", cursor.place, description),)


def _entries(cursor: Cursor, rules: Sequence[Rule]) -> dict[str, date | None]:
    required = [rule.pattern for rule in rules if isinstance(rule, ScenarioRule) and rule.level == "blocking"]
    found: dict[str, date | None] = {}
    items = cursor.items()
    if cursor.is_kind("list") and not items:
        cursor.refuse("policy.empty-value", "the list is empty", "remove it if nothing is quarantined")
    for item in items:
        entry = _entry(item)
        if entry is None:
            continue
        id_, until = entry
        if id_ in found:
            item.refuse("policy.listed-twice", f"'{id_}' is listed twice")
        if is_pattern(id_):
            item.refuse(
                "policy.wrong-type",
                f"'{id_}' is a pattern, wanted an id",
                "name each scenario: a quarantine is an exception",
            )
        if any(matches(pattern, id_) for pattern in required):
            item.refuse(
                "policy.conflict",
                f"'{id_}' is required",
                "a required scenario is never quarantined: keep it in one of both",
            )
        found[id_] = until
    return found


def _entry(cursor: Cursor) -> tuple[str, date | None] | None:
    fields = cursor.fields(ENTRY_KEYS) if cursor.is_kind("mapping") else {"id": cursor}
    read_description(fields)
    until = _date(fields["until"]) if "until" in fields else None
    if "id" not in fields:
        cursor.refuse("policy.missing-key", "no id", "{ id: FLAKY-1, until: 2026-12-01 }")
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
        cursor.refuse(
            "policy.wrong-type", f"found '{text[:60]}', wanted a date", "write year, month and day: 2026-12-01"
        )
        return None
