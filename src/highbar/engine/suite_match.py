"""The results beside the suite: what is missing, what is extra, and what contradicts it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from highbar.engine.limits import MOST_SUITE_IDS
from highbar.engine.planned import IS_NUMBERED
from highbar.engine.protocol import Database, Request
from highbar.engine.scoring import LOOKED_AT
from highbar.engine.sources import SourcePart
from highbar.engine.sql import any_match
from highbar.engine.trials import column_text
from highbar.model import DEMANDS, SuiteDemands
from highbar.model.reduction import SuiteMatch

_LISTS = ("expected_behaviors", "must_not")
_SAID_BY = {
    "expected_behaviors": "`behaviors`",
    "must_not": "`violations`, `behaviors`, or a `must_not` that says what happened",
    "expected": "`predicted` or `correct`",
    "answer": "`correct`",
}
"""By demand of the suite: the columns that tell what became of it."""
_SAID_BY_ERROR = {
    "expected_behaviors": "`behaviors: []`",
    "must_not": "`violations: []`",
    "expected": "`correct: false`",
    "answer": "`correct: false`",
}
"""By demand of the suite: what a row with an error says that got to nothing."""


def match_suite(database: Database, request: Request, parts: Sequence[SourcePart]) -> SuiteMatch:
    """Which scenarios of the suite have no result, which results are not in the suite, and which columns differ.

    An absent optional scenario is not missing here, unless it is also required: its own rule warns about it.
    `parts` are the results as given.
    """
    suite = request.suite or SuiteDemands("", {})
    # A table, not a list in the query: a suite of 100,000 ids would take longer to parse than to join.
    database.list_texts("suite", ("id",), [(id_,) for id_ in suite.scenarios])
    excused = f"({any_match(request.optional)}) AND NOT ({any_match(request.required)})"

    def difference(first: str, second: str, condition: str = "true") -> str:
        return (
            f"SELECT id FROM {first} WHERE NOT EXISTS (SELECT 1 FROM {second} WHERE {second}.id = {first}.id)"
            f" AND {condition}"
        )

    def count_ids(sql: str) -> tuple[int, tuple[str, ...]]:
        count = database.rows(f"SELECT count(*) FROM ({sql})")[0][0]
        return count, tuple(row[0] for row in database.rows(f"{sql} ORDER BY id LIMIT {MOST_SUITE_IDS}"))

    missing, missing_ids = count_ids(difference("suite", "scenarios", f"NOT ({excused})"))
    extra, extra_ids = count_ids(difference("scenarios", "suite"))
    absent = database.rows(f"{difference('suite', 'scenarios', f'({excused})')} ORDER BY id")
    excused_ids = tuple(row[0] for row in absent)
    different = _differences(database, suite, parts)
    numbered = f" AND {IS_NUMBERED}" if any(part.is_missing for part in parts) else ""
    unjudged = database.rows(
        f"SELECT DISTINCT id FROM trials WHERE is_unjudged{numbered} ORDER BY id LIMIT {MOST_SUITE_IDS}"
    )
    unjudged_ids = tuple(id_ for (id_,) in unjudged)
    match = SuiteMatch(missing, missing_ids, extra, extra_ids, different, excused_ids, unjudged_ids=unjudged_ids)
    return _with_demands(match, database, suite) if suite.demands else match


def _with_demands(match: SuiteMatch, database: Database, suite: SuiteDemands) -> SuiteMatch:
    """Add the demands of the suite that some trial does not answer, whether it has an error or not."""
    demanded = [
        (id_, column, str(LOOKED_AT[column][0]))
        for id_, fields in suite.scenarios.items()
        for column, text in fields.items()
        if column in DEMANDS and text != "[]"
    ]
    database.list_texts("demanded", ("id", "wants", "bit"), demanded)
    silent = (
        "SELECT id, wants, bool_or(is_error) AS crashed FROM trials JOIN demanded USING (id)"
        " WHERE NOT is_unjudged AND NOT crashed_in_run AND (looked_at & CAST(bit AS INTEGER)) = 0 GROUP BY id, wants"
    )
    found = database.rows(f"{silent} ORDER BY id, wants LIMIT {MOST_SUITE_IDS}")
    number = database.rows(f"SELECT count(*) FROM ({silent})")[0][0]
    return replace(
        match,
        different=(*match.different, *_must_nots(database, suite)),
        unlooked=tuple(
            f"{id_}: {wants}, by {_SAID_BY[wants]}"
            + (f" (beside an `error` at least {_SAID_BY_ERROR[wants]})" if crashed else "")
            for id_, wants, crashed in found
        ),
        unlooked_more=number - len(found),
    )


def _must_nots(database: Database, suite: SuiteDemands) -> list[str]:
    """Behaviors that were observed although the suite forbids them, in trials that do not count them as violations."""
    must_nots = [
        (id_, name) for id_, fields in suite.scenarios.items() for name in json.loads(fields.get("must_not", "[]"))
    ]
    if not must_nots:
        return []
    database.list_texts("demanded", ("id", "wants"), must_nots)
    rows = database.rows(
        "SELECT DISTINCT id, wants FROM trials JOIN demanded USING (id)"
        f" WHERE list_contains(observed, wants) AND NOT (counted_violations OR list_contains(counted, wants))"
        f" ORDER BY id, wants LIMIT {MOST_SUITE_IDS}"
    )
    return [f"{id_}: {name!r} was observed, which the suite's must_not forbids" for id_, name in rows]


def _differences(database: Database, suite: SuiteDemands, parts: Sequence[SourcePart]) -> tuple[str, ...]:
    """Columns in which results and suite differ. A column that only the suite has is ignored."""
    columns = {name for part in parts for name in part.columns}
    found: list[str] = []
    for column in dict.fromkeys(column for fields in suite.scenarios.values() for column in fields):
        if (column in columns or column.startswith("tags.")) and column != "answer":
            fixed = {id_: fields[column] for id_, fields in suite.scenarios.items() if column in fields}
            found += (_missing_names if column in _LISTS else _other_values)(database, parts, column, fixed)
    return tuple(found)


def _other_values(database: Database, parts: Sequence[SourcePart], column: str, fixed: Mapping[str, str]) -> list[str]:
    """Compare a column that has one value, as text; compare a number in the results as a number.

    Text is never read as a number: the versions "1" and "1.0" differ.
    """
    database.list_texts("demanded", ("id", "wants"), list(fixed.items()))
    values = " UNION ALL ".join(
        f"SELECT {part.id_sql} AS id, {column_text('has', column, part).sql} AS has,"
        f" {_is_number(part, column)} AS is_number"
        f" FROM {part.relation(dict.fromkeys(('id', column.partition('.')[0], column)))}"
        for part in parts
    )
    # 1 in the results and "1.0" in the suite are the same number; a cast that fails must not pass for equal.
    same = "coalesce(is_number AND TRY_CAST(has AS DOUBLE) = TRY_CAST(wants AS DOUBLE), false)"
    rows = database.rows(
        f"SELECT DISTINCT id, has, wants FROM ({values}) JOIN demanded USING (id)"
        f" WHERE has IS DISTINCT FROM wants AND NOT {same} AND has IS NOT NULL ORDER BY id, has LIMIT {MOST_SUITE_IDS}"
    )
    return [f"{id_}: {column} is {has!r} in the results and {wants!r} in the suite" for id_, has, wants in rows]


def _missing_names(database: Database, parts: Sequence[SourcePart], column: str, fixed: Mapping[str, str]) -> list[str]:
    """Names of the suite that a list in the results lacks; the list may have more names than the suite."""
    wanted = [(id_, name) for id_, text in fixed.items() for name in json.loads(text)]
    database.list_texts("demanded", ("id", "wants"), wanted)
    lists = " UNION ALL ".join(
        f"SELECT {part.id_sql} AS id, CAST({part.typed_sql(column)} AS VARCHAR[])"
        f" AS has FROM {part.relation(['id', column])}"
        for part in parts
        if column in part.columns
    )
    rows = database.rows(
        f"SELECT DISTINCT id, wants FROM ({lists}) JOIN demanded USING (id)"
        f" WHERE has IS NOT NULL AND NOT list_contains(has, wants) ORDER BY id, wants LIMIT {MOST_SUITE_IDS}"
    )
    return [f"{id_}: {column} lacks {wants!r} of the suite" for id_, wants in rows]


def _is_number(part: SourcePart, column: str) -> str:
    """SQL: whether the results have a number in a column; a tag is always text."""
    raw = part.columns.get(column)
    if raw is None or column.startswith("tags."):
        return "false"
    return f"NOT starts_with({raw.sql}, '\"')" if raw.type == "JSON" else str(raw.is_number).lower()
