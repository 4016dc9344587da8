"""The results beside the suite: what is missing, what is extra, and what contradicts it."""

from __future__ import annotations

from collections.abc import Iterable

from highbar.engine.database import Database
from highbar.engine.protocol import Request, SuiteMatch
from highbar.engine.sql import any_match, literal
from highbar.model import Suite

_FIXED = ("category", "capability")
_MOST_LISTED = 10


def compare(database: Database, request: Request, held: Iterable[str]) -> SuiteMatch:
    """What the results lack of the suite, what they hold beside it, and which fixed columns differ.

    The absence of an optional scenario only warns, by its own rule: it is not missing here, unless it is required.
    `held` are the columns of the results.
    """
    suite = request.suite or Suite("", {})
    database.define("suite", _table(("id",), ((id_,) for id_ in suite.scenarios)), kept=True)
    excused = f"({any_match(request.optional)}) AND NOT ({any_match(request.required)})"

    def difference(first: str, second: str, let_through: str = "true") -> str:
        return (
            f"SELECT id FROM {first} WHERE NOT EXISTS (SELECT 1 FROM {second} WHERE {second}.id = {first}.id)"
            f" AND {let_through}"
        )

    def counted(sql: str) -> tuple[int, tuple[str, ...]]:
        count = database.rows(f"SELECT count(*) FROM ({sql})")[0][0]
        return count, tuple(row[0] for row in database.rows(f"{sql} ORDER BY id LIMIT {_MOST_LISTED}"))

    missing, missing_ids = counted(difference("suite", "scenarios", f"NOT ({excused})"))
    extra, extra_ids = counted(difference("scenarios", "suite"))
    absent = database.rows(f"{difference('suite', 'scenarios', f'({excused})')} ORDER BY id")
    excused_ids = tuple(row[0] for row in absent)
    return SuiteMatch(missing, missing_ids, extra, extra_ids, _different(database, suite, set(held)), excused_ids)


def _different(database: Database, suite: Suite, held: set[str]) -> tuple[str, ...]:
    found: list[str] = []
    for column in _FIXED:
        fixed = {id_: fields[column] for id_, fields in suite.scenarios.items() if column in fields}
        if not fixed:
            continue
        database.define("fixed", _table(("id", "wants"), fixed.items()), kept=True)
        has = column if column in held or column == "category" else "CAST(NULL AS VARCHAR)"
        rows = database.rows(
            f"SELECT DISTINCT id, has, wants FROM (SELECT id, {has} AS has FROM trials) JOIN fixed USING (id)"
            f" WHERE has IS DISTINCT FROM wants ORDER BY id LIMIT {_MOST_LISTED}"
        )
        found += [f"{id_}: {column} is {has!r} in the results and {wants!r} in the suite" for id_, has, wants in rows]
    return tuple(found)


def _table(names: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """SQL for a table of text; without a row it is empty."""
    listed = ", ".join(f"({', '.join(literal(value) for value in row)})" for row in rows)
    nothing = ", ".join(["CAST(NULL AS VARCHAR)"] * len(names))
    values = f"SELECT * FROM (VALUES {listed or f'({nothing})'}) AS listed({', '.join(names)})"
    return values if listed else f"{values} WHERE false"
