"""The block `history` in, its rule out: `history: { drift: fail, folder: history/ }`."""

from __future__ import annotations

from pathlib import Path

from highbar.model import DriftRule, Level
from highbar.policy.cursor import Cursor

KEYS = ("drift", "folder", "description")
FOLDER = "history"


def read_drift_rule(cursor: Cursor, folder: Path) -> tuple[DriftRule, ...]:
    """The rule `history.drift`, or nothing after noting a problem; the folder of the runs is relative to `folder`."""
    fields = cursor.fields(KEYS)
    description = fields["description"].text() if "description" in fields else None
    name = (fields["folder"].text() if "folder" in fields else None) or FOLDER
    if "drift" not in fields:
        if cursor.is_kind("mapping"):
            cursor.refuse("no drift", "history: { drift: fail }")
        return ()
    word = fields["drift"].choice("fail", "warn")
    if word is None:
        return ()
    level: Level = "blocking" if word == "fail" else "warning"
    return (DriftRule("history.drift", level, name, str(folder / name), cursor.place, description),)
