"""Failed scenarios → the same, with the answer that was wanted instead of a wrong one, if the rows of a run have it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from highbar.engine.protocol import Rows
from highbar.engine.sources import SourcePart
from highbar.engine.sql import literal, pointer
from highbar.model import FailedScenario

COLUMN = "missed"
"""The column in which a run records, by behavior, what was not observed; `answer` is the check of the answer."""
_WRONG = "wrong answer"
_LONGEST = 200


def with_wanted(
    rows: Rows, parts: Sequence[SourcePart], failed: tuple[FailedScenario, ...]
) -> tuple[FailedScenario, ...]:
    """The scenarios, with what was wanted in parentheses after `wrong answer`."""
    ids = [one.id for one in failed if _WRONG in one.reason]
    marked = [part for part in parts if {COLUMN, "id"} <= part.columns.keys()]
    if not ids or not marked:
        return failed
    each = " UNION ALL ".join(_wanted_sql(part, ids) for part in marked)
    found = dict(rows(f"SELECT id, min(wanted) FROM ({each}) WHERE wanted IS NOT NULL GROUP BY id"))
    return tuple(replace(one, reason=_reason(one.reason, found.get(one.id))) for one in failed)


def _wanted_sql(part: SourcePart, ids: Sequence[str]) -> str:
    id_ = part.id_sql
    wanted = f"json_extract_string({part.columns[COLUMN].as_json()}, {pointer('answer')})"
    listed = ", ".join(map(literal, ids))
    return f"SELECT ({id_}) AS id, {wanted} AS wanted FROM {part.relation(['id', COLUMN])} WHERE ({id_}) IN ({listed})"


def _reason(reason: str, wanted: str | None) -> str:
    """The reason with what was wanted, without the semicolons and slashes that separate the parts of a reason."""
    if not wanted:
        return reason
    text = " ".join(wanted.replace(";", ",").replace(" / ", " or ").split())
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    return reason.replace(_WRONG, f"{_WRONG} ({shown})", 1)
