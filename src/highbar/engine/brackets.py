"""Exact values at ranks without sorting all values in one place: bracket each by an approximation, count inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, nextafter
from typing import Any

from highbar.engine.database import Found, Ranked, Wanted
from highbar.engine.sql import literal

Rows = Callable[[str], list[Any]]


@dataclass(frozen=True, slots=True)
class Approximation:
    """An aggregate that finds about the values at some shares: its SQL, and by what share it may be off."""

    sql: str  # `{column}` and `{shares}` stand for what is ranked, and for the list
    slack: float


@dataclass(frozen=True, slots=True)
class _Bracket:
    """Where the value at a rank must lie."""

    value: str | None
    rank: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The numbers from `low` to `high`, both included: told apart (`inside` of a bracket), or only counted."""

    value: str | None
    low: float
    high: float
    inside: bool


def values_at(
    rows: Rows, ranked: Ranked, wanted: Wanted, sizes: Mapping[str | None, int], about: Approximation
) -> Found:
    """The values at the wanted ranks of each group.

    Two passes, whatever the number of values: one that brackets every rank, one that counts what is between the
    brackets, and every value inside of them. The running sum is over the brackets' values only, and one value per rank
    comes back. Should the approximation have missed a rank, that one is looked for among all values.
    """
    brackets = _brackets(rows, ranked, wanted, sizes, about)
    found: dict[str | None, dict[int, float]] = {value: {} for value in wanted}
    missed = _look(rows, ranked, brackets, _stretches(brackets), found)
    everywhere = [_Stretch(value, -inf, inf, inside=True) for value in {bracket.value for bracket in missed}]
    _look(rows, ranked, missed, everywhere, found)
    return found


def _look(
    rows: Rows,
    ranked: Ranked,
    brackets: list[_Bracket],
    stretches: list[_Stretch],
    found: dict[str | None, dict[int, float]],
) -> list[_Bracket]:
    """Put what is inside of the brackets into `found`; the brackets that do not hold their rank."""
    if not brackets:
        return []
    inside = dict(rows(_inside(ranked, brackets, stretches)))
    for place, bracket in enumerate(brackets):
        if inside.get(place) is not None:
            found[bracket.value][bracket.rank] = inside[place]
    return [bracket for place, bracket in enumerate(brackets) if inside.get(place) is None]


def _brackets(
    rows: Rows, ranked: Ranked, wanted: Wanted, sizes: Mapping[str | None, int], about: Approximation
) -> list[_Bracket]:
    slack = about.slack
    shares = {(value, rank): rank / sizes[value] for value, ranks in wanted.items() for rank in ranks}
    ends = sorted({min(1.0, max(0.0, share + side)) for share in shares.values() for side in (-slack, slack)})
    if not ends:
        return []
    listed = ", ".join(f"CAST({end!r} AS DOUBLE)" for end in ends)
    approximate = {
        value: dict(zip(ends, numbers, strict=True))
        for value, numbers in rows(
            f"SELECT {ranked.by} AS value, {about.sql.format(column=ranked.column, shares=f'[{listed}]')}"
            f" FROM trials WHERE {ranked.let_through} GROUP BY value"
        )
        if value in wanted
    }
    return [
        _Bracket(value, rank, approximate[value][max(0.0, share - slack)], approximate[value][min(1.0, share + slack)])
        for (value, rank), share in shares.items()
    ]


def _stretches(brackets: list[_Bracket]) -> list[_Stretch]:
    """All numbers, in stretches that do not overlap: the brackets, joined where they touch, and what is between."""
    by_value: dict[str | None, list[tuple[float, float]]] = {}
    for bracket in sorted(brackets, key=lambda one: (one.low, one.high)):
        joined = by_value.setdefault(bracket.value, [])
        if joined and bracket.low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], bracket.high))
        else:
            joined.append((bracket.low, bracket.high))
    found: list[_Stretch] = []
    for value, joined in by_value.items():
        start = -inf
        for low, high in joined:
            found.append(_Stretch(value, start, nextafter(low, -inf), inside=False))
            found.append(_Stretch(value, low, high, inside=True))
            start = nextafter(high, inf)
        if joined[-1][1] < inf:
            found.append(_Stretch(value, start, inf, inside=False))
    return found


def _inside(ranked: Ranked, brackets: list[_Bracket], stretches: list[_Stretch]) -> str:
    """SQL for the value at each bracket's rank, NULL where it lies outside; every number is in one stretch."""
    wanted = ", ".join(f"({place}, {_group(one.value)}, {one.rank})" for place, one in enumerate(brackets))
    listed = ", ".join(
        f"({_group(one.value)}, {_double(one.low)}, {_double(one.high)}, {str(one.inside).lower()})"
        for one in stretches
    )
    counted = (
        f"SELECT s.grp, s.low, CASE WHEN s.inside THEN {ranked.column} END AS number, count(*) AS how_many"
        f" FROM trials JOIN (SELECT * FROM (VALUES {listed}) AS listed(grp, low, high, inside)) AS s"
        f" ON coalesce({ranked.by}, '') = s.grp AND {ranked.column} >= s.low AND {ranked.column} <= s.high"
        f" WHERE {ranked.let_through} GROUP BY s.grp, s.low, 3"
    )
    running = (
        "SELECT grp, number, how_many, sum(how_many) OVER (PARTITION BY grp ORDER BY low, number) AS upto"
        f" FROM ({counted})"
    )
    return (
        f"SELECT w.place, min(number) FROM ({running}) AS r JOIN (SELECT * FROM (VALUES {wanted})"
        " AS listed(place, grp, rank)) AS w ON r.grp = w.grp AND r.upto >= w.rank AND r.upto - r.how_many < w.rank"
        " GROUP BY w.place"
    )


def _group(value: str | None) -> str:
    return literal(value or "")


def _double(number: float) -> str:
    return f"CAST('{number!r}' AS DOUBLE)"
