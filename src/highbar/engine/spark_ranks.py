"""Exact values at ranks without sorting all values in one place: bracket each by an approximation, count inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from highbar.engine.database import Found, Ranked, Wanted
from highbar.engine.sql import literal

Rows = Callable[[str], list[Any]]
ACCURACY = 10_000
"""How finely Spark's approximate percentile looks: a bracket then holds about four in this many of the values."""


@dataclass(frozen=True, slots=True)
class _Bracket:
    """Where the value at a rank must lie."""

    value: str | None
    rank: int
    low: float
    high: float


def values_at(rows: Rows, ranked: Ranked, wanted: Wanted, sizes: Mapping[str | None, int]) -> Found:
    """The values at the wanted ranks of each group.

    Two passes, whatever the number of values: one that brackets every rank, one that counts what is below each
    bracket and every value inside of it. The running sum is over a bracket's values only, and one value per rank
    comes back. Should the approximation have missed a rank, that one is looked for among all values.
    """
    brackets = _brackets(rows, ranked, wanted, sizes)
    found: dict[str | None, dict[int, float]] = {value: {} for value in wanted}
    missed = _look(rows, ranked, brackets, found)
    _look(rows, ranked, [replace(bracket, low=-inf, high=inf) for bracket in missed], found)
    return found


def _look(
    rows: Rows, ranked: Ranked, brackets: list[_Bracket], found: dict[str | None, dict[int, float]]
) -> list[_Bracket]:
    """Put what is inside of the brackets into `found`; the brackets that do not hold their rank."""
    if not brackets:
        return []
    inside = {place: (number, below) for place, number, below in rows(_inside(ranked, brackets))}
    missed: list[_Bracket] = []
    for place, bracket in enumerate(brackets):
        number, below = inside.get(place, (None, 0))
        if number is None or (below or 0) >= bracket.rank:
            missed.append(bracket)
        else:
            found[bracket.value][bracket.rank] = number
    return missed


def _brackets(rows: Rows, ranked: Ranked, wanted: Wanted, sizes: Mapping[str | None, int]) -> list[_Bracket]:
    slack = 2 / ACCURACY
    shares = {(value, rank): rank / sizes[value] for value, ranks in wanted.items() for rank in ranks}
    ends = sorted({min(1.0, max(0.0, share + side)) for share in shares.values() for side in (-slack, slack)})
    if not ends:
        return []
    listed = ", ".join(f"CAST({end!r} AS DOUBLE)" for end in ends)
    approximate = {
        value: dict(zip(ends, numbers, strict=True))
        for value, numbers in rows(
            f"SELECT {ranked.by} AS value, approx_quantiles({ranked.column}, [{listed}], {ACCURACY})"
            f" FROM trials WHERE {ranked.let_through} GROUP BY value"
        )
    }
    return [
        _Bracket(value, rank, approximate[value][max(0.0, share - slack)], approximate[value][min(1.0, share + slack)])
        for (value, rank), share in shares.items()
    ]


def _inside(ranked: Ranked, brackets: list[_Bracket]) -> str:
    """SQL for the value at each bracket's rank."""
    groups = ", ".join(_values(place, bracket) for place, bracket in enumerate(brackets))
    same_group = "true" if brackets[0].value is None else f"{ranked.by} = b.grp"
    counted = (
        f"SELECT b.place, b.rank, greatest({ranked.column}, b.low) AS number, count(*) AS how_many,"
        f" {ranked.column} < b.low AS below FROM trials JOIN (SELECT * FROM (VALUES {groups})"
        f" AS listed(place, grp, rank, low, high)) AS b ON {same_group} AND {ranked.column} <= b.high"
        f" WHERE {ranked.let_through} GROUP BY b.place, b.rank, 3, 5"
    )
    running = (
        "SELECT place, rank, number, below,"
        f" sum(how_many) OVER (PARTITION BY place ORDER BY number, below DESC) AS upto FROM ({counted})"
    )
    return (
        "SELECT place, min(number) FILTER (WHERE upto >= rank), max(upto) FILTER (WHERE below)"
        f" FROM ({running}) GROUP BY place"
    )


def _values(place: int, bracket: _Bracket) -> str:
    group = "CAST(NULL AS VARCHAR)" if bracket.value is None else literal(bracket.value)
    ends = ", ".join(f"CAST('{end!r}' AS DOUBLE)" for end in (bracket.low, bracket.high))
    return f"({place}, {group}, {bracket.rank}, {ends})"
