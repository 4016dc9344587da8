"""Parts and a condition → the parts of the rows that take part, and a report of the rows that are left out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from highbar.engine.column_readers import READERS, Raw
from highbar.engine.limits import MOST_EXAMPLES
from highbar.engine.protocol import Database, Query, Request, Rows
from highbar.engine.row_checks import BadRows, refuse_agent_tags
from highbar.engine.sources import SourcePart
from highbar.engine.sql import literal
from highbar.engine.trials import TYPED, column_text, typed_trials
from highbar.errors import InputError, Problem
from highbar.language.phrases import count
from highbar.language.spelling import did_you_mean
from highbar.model import Where
from highbar.model.judging import Selection

Parts = tuple[SourcePart, ...]
_OF_OURS = ("agent_version", "suite", "judge")


def choose_rows(database: Database, parts: Sequence[SourcePart], where: Where) -> tuple[Parts, Parts]:
    """The parts restricted to the rows that take part, and to those that are left out.

    A row without one of the columns has the value of its scenario's other trials.

    Raises InputError if those differ, if a row is bad, if the column is not text, or if the agent gave the tag.
    """
    refuse_agent_tags(database.rows, parts, (column for column, _ in where))
    _refuse_numbers(database.rows, parts, where)
    inherited = _define_inherited(database, parts, where)
    taken = _chosen_parts(parts, where, inherited=inherited, left=False)
    return taken, _chosen_parts(parts, where, inherited=inherited, left=True)


def _chosen_parts(parts: Sequence[SourcePart], where: Where, *, inherited: bool, left: bool) -> Parts:
    return tuple(
        replace(
            part,
            chosen=_condition(part, where, inherited=inherited, left=left),
            chosen_by=(*_needed_columns(part, where), *["id"] * inherited),
        )
        for part in parts
    )


def _condition(part: SourcePart, where: Where, *, inherited: bool, left: bool) -> str:
    fits = " AND ".join(_has_value(part, place, where, inherited=inherited) for place in range(len(where)))
    return f"NOT ({fits})" if left else f"({fits})"


def _has_value(part: SourcePart, place: int, where: Where, *, inherited: bool) -> str:
    """SQL: whether a row has one of the values in one of the columns, itself or from its scenario's other trials."""
    column, values = where[place]
    listed = ", ".join(map(literal, values))
    conditions = [f"({column_text('', column, part).sql}) IN ({listed})"]
    if inherited and "id" in part.columns:
        id_ = part.id_sql
        conditions.append(f"({id_}) IN (SELECT id FROM inherited WHERE col_{place} IN ({listed}))")
    return f"coalesce({', '.join(conditions)}, false)"


def _define_inherited(database: Database, parts: Sequence[SourcePart], where: Where) -> bool:
    """Define `inherited`: the values that the trials of a scenario agree on, if a row lacks one; return if any does.

    Raises InputError if the other trials of such a row do not agree and the choice depends on it.
    """
    columns = tuple(column for column, _ in where)
    places = range(len(columns))
    each = " UNION ALL ".join(typed_trials(part, columns) for part in parts)
    lacking = " OR ".join(f"col_{i} IS NULL" for i in places)
    number, bad, lacks = database.rows(
        Query(
            f"SELECT count(*), coalesce(count_if(bad), 0), coalesce(count_if({lacking}), 0) FROM ({each}) AS {TYPED}",
            stages=(TYPED,),
        )
    )[0]
    if bad:
        problem = Problem("results.unreadable", f"{bad} of {number} results do not have the declared form")
        raise BadRows(problem, among=f"({each}) AS {TYPED}")
    if not lacks:
        return False
    agreed = ", ".join(f"CASE WHEN min(col_{i}) = max(col_{i}) THEN min(col_{i}) END AS col_{i}" for i in places)
    least = ", ".join(f"min(col_{i}) AS least_{i}, max(col_{i}) AS most_{i}" for i in places)
    short = " OR ".join(f"count(col_{i}) < count(*)" for i in places)
    shared = f"SELECT id, {agreed}, {least} FROM ({each}) AS {TYPED} GROUP BY id HAVING {short}"
    database.define("inherited", Query(shared, stages=(TYPED,)), materialized=True)
    _refuse_unknown(database.rows, each, where)
    return True


def _refuse_unknown(rows: Rows, each: str, where: Where) -> None:
    """Refuse rows that may or may not be chosen, unless another column leaves them out in any case."""
    # A row that does not say to which agent it belongs must not be dropped silently: it may be a failed trial.
    perhaps = " AND ".join(
        f"coalesce(coalesce(t.col_{i}, inherited.col_{i}) IN ({', '.join(map(literal, values))}), true)"
        for i, (_, values) in enumerate(where)
    )
    split = [f"t.col_{i} IS NULL AND inherited.least_{i} <> inherited.most_{i}" for i in range(len(where))]
    marks = ", ".join(f"coalesce({one}, false), inherited.least_{i}, inherited.most_{i}" for i, one in enumerate(split))
    found = rows(
        f"SELECT t.id, t.trial, {marks} FROM ({each}) AS t JOIN inherited ON t.id = inherited.id"
        f" WHERE {perhaps} AND ({' OR '.join(f'({one})' for one in split)})"
        f" ORDER BY t.id, t.trial LIMIT {MOST_EXAMPLES}"
    )
    if found:
        raise InputError(*(_unknown_problem(row, where) for row in found))


def _unknown_problem(row: Sequence[Any], where: Where) -> Problem:
    """The problem of a row that lacks a column in which the other trials differ; see `_refuse_unknown` for the row."""
    id_, trial, *marks = row
    place = next(place for place in range(len(where)) if marks[3 * place])
    column, (_, least, most) = where[place][0], marks[3 * place : 3 * place + 3]
    which = f"the scenario {id_!r}" + ("" if trial is None else f", trial {trial}")
    message = f"{which} has no {column}, and the other trials of the scenario differ in it ({least!r}, {most!r})"
    hint = f"record {column} in every row: rows are chosen by it, and this one may not be left out unseen"
    return Problem("select.partly", message, hint=hint)


def _needed_columns(part: SourcePart, where: Where) -> tuple[str, ...]:
    named = ("tags", *(column for column, _ in where))
    return tuple(name for name in named if name in part.columns)


def within_suite(
    database: Database, parts: Sequence[SourcePart], request: Request
) -> tuple[Parts, tuple[str, ...], int]:
    """The parts restricted to scenarios of the suite; the first ids of others, and how many rows these have."""
    known = request.suite.scenarios if request.suite is not None else {}
    database.list_texts("known", ("id",), [(id_,) for id_ in known])
    inside = (_and_chosen(part, f"({part.id_sql}) IN (SELECT id FROM known)") for part in parts)
    ids = " UNION ALL ".join(f"SELECT id FROM ({typed_trials(part)})" for part in parts)
    others = f"SELECT o.id AS id FROM ({ids}) AS o LEFT JOIN known ON o.id = known.id WHERE known.id IS NULL"
    number = database.rows(f"SELECT count(*) FROM ({others})")[0][0]
    some = database.rows(f"SELECT DISTINCT id FROM ({others}) ORDER BY id LIMIT {MOST_EXAMPLES + 1}") if number else []
    return tuple(inside), tuple(id_ for (id_,) in some), number


def _and_chosen(part: SourcePart, condition: str) -> SourcePart:
    chosen = f"({part.chosen}) AND {condition}" if part.chosen else condition
    return replace(part, chosen=chosen, chosen_by=tuple(dict.fromkeys((*part.chosen_by, "id"))))


def left_out(
    rows: Rows, parts: Sequence[SourcePart], taken_parts: Parts, left_parts: Parts, request: Request
) -> Selection:
    """The rows that are left out. Raises InputError if a scenario loses all its rows, without `subset`."""
    where = request.select
    rest = " UNION ALL ".join(f"SELECT id FROM ({typed_trials(part)})" for part in left_parts)
    taken = " UNION ALL ".join(f"SELECT id FROM ({typed_trials(part)})" for part in taken_parts)
    number = rows(f"SELECT count(*) FROM ({rest})")[0][0]
    if number and not rows(f"SELECT count(*) FROM ({taken})")[0][0]:
        raise InputError(_nothing_fits(rows, parts, where))
    gone = f"SELECT DISTINCT o.id AS id FROM ({rest}) AS o LEFT JOIN ({taken}) AS t ON o.id = t.id WHERE t.id IS NULL"
    lost = rows(f"SELECT count(*) FROM ({gone})")[0][0] if number else 0
    some = tuple(id_ for (id_,) in rows(f"SELECT id FROM ({gone}) ORDER BY id LIMIT {MOST_EXAMPLES}")) if lost else ()
    if lost and not request.subset:
        more = f" and {lost - len(some)} more" if lost > len(some) else ""
        message = f"there is no row with {_where_words(where)} in {count(lost, 'scenario')}: {', '.join(some)}{more}"
        raise InputError(Problem("select.partly", message, hint="--subset judges the other scenarios without them"))
    return Selection(where, number, some, lost)


def _refuse_numbers(rows: Rows, parts: Sequence[SourcePart], where: Where) -> None:
    """Refuse to choose rows by anything but text: whether 1 equals "1" must not be left to chance."""
    for column, _ in where:
        for part in parts:
            raw = part.columns.get(column)
            odd = "" if raw is None else _is_no_text(raw)
            if odd and rows(f"SELECT count(*) FROM {part.relation([column])} WHERE {odd}")[0][0]:
                message = f"rows cannot be chosen by {column!r}: some of its values are not text"
                raise InputError(
                    Problem("select.column", message, hint="rows are chosen by text: write the value in quotes")
                )


def _is_no_text(raw: Raw) -> str:
    """SQL: whether a value is present and not text; empty if the type of the column rules that out."""
    if raw.type in ("VARCHAR", "ASSUMED") or raw.type.startswith("ENUM"):
        return ""
    return f"{raw.sql} IS NOT NULL" + (f" AND NOT starts_with({raw.sql}, '\"')" if raw.type == "JSON" else "")


def _nothing_fits(rows: Rows, parts: Sequence[SourcePart], where: Where) -> Problem:
    """The problem if no row is left, with the values or columns that there are instead."""
    for column, values in where:
        found = _values(rows, parts, column)
        if not found:
            message = f"no row has a value for {column!r}, by which rows are chosen"
            return Problem("select.nothing", message, hint=_hint(column, _selectable(rows, parts)))
        if not set(values) & set(found):
            return Problem(
                "select.nothing", f"no row has {_where_words(((column, values),))}", hint=_hint(values[0], found)
            )
    return Problem("select.nothing", f"no row has {_where_words(where)} together")


def _hint(word: str, found: Sequence[str]) -> str | None:
    """The names or values that there are instead, and the one that was probably meant."""
    if not found:
        return None
    shown = ", ".join(repr(value) for value in found[:MOST_EXAMPLES]) + (", …" if len(found) > MOST_EXAMPLES else "")
    meant = f"did you mean 'tags.{word}'?" if f"tags.{word}" in found else did_you_mean(word, found)
    return f"{meant} found {shown}" if meant else f"found {shown}"


def _selectable(rows: Rows, parts: Sequence[SourcePart]) -> list[str]:
    """The tags and columns by which the rows can be chosen."""
    found: set[str] = set()
    for part in parts:
        found |= {name for name in part.columns if name in _OF_OURS or name.startswith("tags.")}
        found |= {name for name in part.columns if name not in READERS and _values(rows, (part,), name)}
        if "tags" in part.columns:
            text = part.columns["tags"].as_json()
            some = rows(f"SELECT DISTINCT {text} FROM {part.relation(['tags'])} WHERE {text} IS NOT NULL LIMIT 1000")
            found |= {f"tags.{key}" for (tags,) in some for key in json.loads(tags)}
    return sorted(found)


def _values(rows: Rows, parts: Sequence[SourcePart], column: str) -> list[str]:
    named: Where = ((column, ()),)
    with_column = [part for part in parts if _needed_columns(part, named)]  # DuckDB reads no file without a column
    if not with_column:
        return []
    each = " UNION ALL ".join(
        f"SELECT {column_text('', column, part).sql} AS value FROM {part.relation(_needed_columns(part, named))}"
        for part in with_column
    )
    found = rows(f"SELECT DISTINCT value FROM ({each}) WHERE value IS NOT NULL ORDER BY 1 LIMIT 1000")
    return [value for (value,) in found]


def _where_words(where: Where) -> str:
    return " and ".join(f"{column} {' or '.join(map(repr, values))}" for column, values in where)
