"""Ids that are whole numbers: `1` and `"1"` are one text, so a check in which both occur is refused."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.engine.database import Rows
from highbar.engine.limits import MOST_NAMED
from highbar.engine.sources import SourcePart
from highbar.engine.typed import INTEGERS, READERS
from highbar.errors import InputError, Problem


def refuse_mixed(rows: Rows, parts: Sequence[SourcePart]) -> None:
    """Refuse an id that is a number in one row and text in another; asked only if the files have ids of both kinds."""
    if len({kind for part in parts for kind in part.id_kinds}) < 2:
        return
    ids = " UNION ALL ".join(
        f"SELECT {READERS['id']('id', part.columns['id']).columns[0][1]} AS id, {_is_number(part)} AS is_number"
        f" FROM {part.relation(['id'])}"
        for part in parts
    )
    kinds = "max(CAST(is_number AS INTEGER)) > min(CAST(is_number AS INTEGER))"
    found = rows(f"SELECT id FROM ({ids}) AS kinds GROUP BY id HAVING {kinds} ORDER BY id LIMIT {MOST_NAMED}")
    if found:
        hint = "write ids in one way: all as numbers, or all in quotes (a CSV file has only text)"
        told = "the id {0} is a number in some results and the text {0!r} in others"
        raise InputError(*(Problem(told.format(id_), hint=hint) for (id_,) in found))


def _is_number(part: SourcePart) -> str:
    raw = part.columns["id"]
    return f"NOT starts_with({raw.sql}, '\"')" if raw.type == "JSON" else str(raw.type in INTEGERS).lower()
