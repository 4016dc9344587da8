"""Tags that the agent gave its own trials: reports may group by them, but they never decide what is judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from highbar.engine.limits import MOST_EXAMPLES
from highbar.engine.protocol import Rows
from highbar.engine.sources import SourcePart
from highbar.engine.sql import pointer
from highbar.errors import InputError, Problem
from highbar.language.phrases import some

COLUMN = "agent_tags"
"""The column in which a run records the tags that came from the agent, as `{name: text}`."""
_HINT = "an agent must not decide what is judged: give the scenarios this tag in the suite"


def refuse_agent_tags(rows: Rows, parts: Sequence[SourcePart], columns: Iterable[str]) -> None:
    """Raise InputError if rows or scenarios are chosen by a tag that the agent gave in any trial of a run."""
    names = [column.removeprefix("tags.") for column in dict.fromkeys(columns) if column.startswith("tags.")]
    problems = [problem for name in names if (problem := _tag_problem(rows, parts, name))]
    if problems:
        raise InputError(*problems)


def _tag_problem(rows: Rows, parts: Sequence[SourcePart], name: str) -> Problem | None:
    """The problem if the agent gave the tag in any trial, else None."""
    # Every row counts, left out or not: an agent could tag exactly the trials that are to be left out.
    found = [_ids_with_tag(replace(part, chosen="", chosen_by=()), name) for part in parts]
    each = " UNION ALL ".join(query for query in found if query)
    if not each:
        return None
    ids = [id_ for (id_,) in rows(f"SELECT DISTINCT id FROM ({each}) ORDER BY id LIMIT {MOST_EXAMPLES + 1}")]
    message = f"nothing can be chosen by 'tags.{name}': the agent itself gave this tag, in {some(ids, MOST_EXAMPLES)}"
    return Problem(message, hint=_HINT) if ids else None


def _ids_with_tag(part: SourcePart, name: str) -> str:
    """SQL for the ids of the rows in which the agent gave the tag; empty if the part has no such column."""
    marks, flat = part.columns.get(COLUMN), part.columns.get(f"{COLUMN}.{name}")
    given = [] if marks is None else [f"json_extract_string({marks.as_json()}, {pointer(name)}) IS NOT NULL"]
    given += [] if flat is None else [f"{flat.sql} IS NOT NULL"]
    if not given or "id" not in part.columns:
        return ""
    id_ = part.id_sql
    source = part.relation(["id", COLUMN, f"{COLUMN}.{name}"])
    return f"SELECT ({id_}) AS id FROM {source} WHERE {' OR '.join(given)}"
