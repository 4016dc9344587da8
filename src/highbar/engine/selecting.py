"""Which rows take part: parts and a choice in, parts of those rows out; and what is left out, which must be said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from highbar.engine.checks import BadRows
from highbar.engine.protocol import Request
from highbar.engine.sources import Part
from highbar.engine.sql import literal
from highbar.engine.trials import column_text, typed
from highbar.engine.typed import Raw
from highbar.errors import InputError, Problem
from highbar.model import Where
from highbar.model.judging import Selection

Rows = Callable[[str], list[Any]]
MOST_NAMED = 5


def chosen(parts: Sequence[Part], where: Where, *, left: bool = False) -> tuple[Part, ...]:
    """The parts with the rows that were chosen, or with those that were not; a row without a value is not."""
    if not where:
        return tuple(parts)
    return tuple(
        replace(part, chosen=_condition(part, where, left=left), chosen_by=_needed(part, where)) for part in parts
    )


def _condition(part: Part, where: Where, *, left: bool) -> str:
    fits = " AND ".join(
        f"coalesce(({column_text('', column, part).columns[0][1]}) IN ({', '.join(map(literal, values))}), false)"
        for column, values in where
    )
    return f"NOT ({fits})" if left else f"({fits})"


def _needed(part: Part, where: Where) -> tuple[str, ...]:
    named = ("tags", *(column for column, _ in where))
    return tuple(name for name in named if name in part.columns)


def left_out(rows: Rows, parts: Sequence[Part], request: Request) -> Selection:
    """What the choice leaves out.

    Raises InputError if a row that is left out is bad, if the choice is by what is no text, or if a scenario loses all
    its rows and nobody said that it may.
    """
    where = request.select
    _refuse_numbers(rows, parts, where)
    rest = " UNION ALL ".join(typed(part) for part in chosen(parts, where, left=True))
    taken = " UNION ALL ".join(f"SELECT id FROM ({typed(part)})" for part in chosen(parts, where))
    number, bad = rows(f"SELECT count(*), coalesce(count_if(bad), 0) FROM ({rest})")[0]
    if bad:
        raise BadRows(Problem(f"{bad} of {number} results that are left out do not have the declared form"))
    if number and not rows(f"SELECT count(*) FROM ({taken})")[0][0]:
        raise InputError(_nothing_fits(rows, parts, where))
    gone = f"SELECT DISTINCT o.id AS id FROM ({rest}) AS o LEFT JOIN ({taken}) AS t ON o.id = t.id WHERE t.id IS NULL"
    lost = rows(f"SELECT count(*) FROM ({gone})")[0][0] if number else 0
    some = tuple(id_ for (id_,) in rows(f"SELECT id FROM ({gone}) ORDER BY id LIMIT {MOST_NAMED}")) if lost else ()
    if lost and not request.subset:
        more = f" and {lost - len(some)} more" if lost > len(some) else ""
        message = f"no row with {_said(where)} is left of {_count(lost, 'scenario')}: {', '.join(some)}{more}"
        raise InputError(Problem(message, hint="--subset judges the others all the same"))
    return Selection(where, number, some, lost)


def _refuse_numbers(rows: Rows, parts: Sequence[Part], where: Where) -> None:
    """Rows are chosen by text alone: whether 1 is "1" must not be left to chance."""
    for column, _ in where:
        for part in parts:
            raw = part.columns.get(column)
            odd = "" if raw is None else _is_no_text(raw)
            if odd and rows(f"SELECT count(*) FROM {part.relation([column])} WHERE {odd}")[0][0]:
                message = f"rows cannot be chosen by {column!r}: some of its values are not text"
                raise InputError(Problem(message, hint="rows are chosen by text: write the value in quotes"))


def _is_no_text(raw: Raw) -> str:
    """SQL: whether a value is there and no text; nothing if the type of the column says that all are."""
    if raw.type in ("VARCHAR", "SUPPOSED") or raw.type.startswith("ENUM"):
        return ""
    return f"{raw.sql} IS NOT NULL" + (f" AND NOT starts_with({raw.sql}, '\"')" if raw.type == "JSON" else "")


def _nothing_fits(rows: Rows, parts: Sequence[Part], where: Where) -> Problem:
    """Why no row is left, with what there is instead."""
    for column, values in where:
        found = _values(rows, parts, column)
        if not found:
            return Problem(f"no row has a value for {column!r}, by which rows are chosen")
        if not set(values) & set(found):
            shown = ", ".join(repr(value) for value in found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
            return Problem(f"no row has {_said(((column, values),))}", hint=f"found {shown}")
    return Problem(f"no row has {_said(where)} together")


def _values(rows: Rows, parts: Sequence[Part], column: str) -> list[str]:
    named: Where = ((column, ()),)
    each = " UNION ALL ".join(
        f"SELECT {column_text('', column, part).columns[0][1]} AS value FROM {part.relation(_needed(part, named))}"
        for part in parts
    )
    found = rows(f"SELECT DISTINCT value FROM ({each}) WHERE value IS NOT NULL ORDER BY 1 LIMIT 1000")
    return [value for (value,) in found]


def _said(where: Where) -> str:
    return " and ".join(f"{column} {' or '.join(map(repr, values))}" for column, values in where)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
