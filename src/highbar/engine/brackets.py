"""Exact values at ranks without sorting all values in one place: bracket each by an approximation, count inside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf, nextafter
from typing import Any

from highbar.engine.database import Found, Sizes, Wanted
from highbar.engine.sql import literal

Rows = Callable[[str], list[Any]]
SAMPLED = 100_000
"""Numbers of a group, about, that are looked at to bracket its ranks, where an approximation is of a sample."""
ALL_INSIDE = 10_000
"""Numbers of a group that are all told apart: a bracket would save nothing."""


@dataclass(frozen=True, slots=True)
class Approximation:
    """An aggregate that finds about the numbers at some shares: its SQL, and by what share it may be off."""

    sql: str  # `{shares}` stands for the list
    slack: float
    of_sample: bool = False  # whether it is costly enough to be asked of a part of the numbers


@dataclass(frozen=True, slots=True)
class _Bracket:
    """Where the number at a rank must lie."""

    group: str
    rank: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The numbers from `low` to `high`, both included: told apart (`inside` of a bracket), or only counted."""

    group: str
    low: float
    high: float
    inside: bool


def values_at(rows: Rows, ranked: str, wanted: Wanted, sizes: Sizes, about: Approximation) -> Found:
    """The numbers at the wanted ranks of each group.

    Two passes, however many numbers and groups: one that brackets every rank, one that counts what is between the
    brackets, and every number inside of them. The running sum is over the brackets' numbers only, and one number per
    rank comes back. Should the approximation have missed a rank, that one is looked for among all numbers.
    """
    brackets = _brackets(rows, ranked, wanted, sizes, about)
    found: dict[str, dict[int, float]] = {group: {} for group in wanted}
    missed = _look(rows, ranked, brackets, _stretches(brackets), found)
    everywhere = [_Stretch(group, -inf, inf, inside=True) for group in {bracket.group for bracket in missed}]
    _look(rows, ranked, missed, everywhere, found)
    return found


def _look(
    rows: Rows,
    ranked: str,
    brackets: list[_Bracket],
    stretches: list[_Stretch],
    found: dict[str, dict[int, float]],
) -> list[_Bracket]:
    """Put what is inside of the brackets into `found`; the brackets that do not hold their rank."""
    if not brackets:
        return []
    inside = dict(rows(_inside(ranked, brackets, stretches)))
    for place, bracket in enumerate(brackets):
        if inside.get(place) is not None:
            found[bracket.group][bracket.rank] = inside[place]
    return [bracket for place, bracket in enumerate(brackets) if inside.get(place) is None]


def _brackets(rows: Rows, ranked: str, wanted: Wanted, sizes: Sizes, about: Approximation) -> list[_Bracket]:
    """A bracket for every rank. Groups of about one size share their shares, so that few are asked for."""
    large = {group: size for group, size in sizes.items() if size > ALL_INSIDE}
    every = max(1, sum(large.values()) // (SAMPLED * len(large))) if about.of_sample and large else 1
    shares: dict[int, list[tuple[float, float]]] = {}
    for group, size in large.items():
        slack = about.slack + (3 / (size / every) ** 0.5 if every > 1 else 0)  # six standard errors, at most
        shares.setdefault(_decade(size), []).extend((r / size - slack, r / size + slack) for r in wanted[group])
    spans = {decade: _joined(parts) for decade, parts in shares.items()}
    ends = sorted({end for parts in spans.values() for span in parts for end in span if 0 < end < 1})
    listed = ", ".join(f"CAST({end!r} AS DOUBLE)" for end in ends)
    sampled = f" WHERE hash(id, number) % {every} = 0" if every > 1 else ""
    approximate = (
        {
            group: dict(zip(ends, numbers, strict=True))
            for group, numbers in rows(
                f"SELECT grp, {about.sql.format(shares=f'[{listed}]')} FROM ({ranked}){sampled} GROUP BY grp"
            )
            if group in large
        }
        if ends
        else {}
    )
    return [
        _Bracket(
            group, rank, *_around(rank / sizes[group], spans.get(_decade(sizes[group]), ()), approximate.get(group, {}))
        )
        for group, ranks in wanted.items()
        for rank in ranks
    ]


def _decade(size: int) -> int:
    return len(str(size))


def _joined(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same numbers in spans that do not touch, in order."""
    joined: list[tuple[float, float]] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return joined


def _around(share: float, spans: Iterable[tuple[float, float]], at: Mapping[float, float]) -> tuple[float, float]:
    """About the numbers at both ends of the span that a share lies in; anything where that is not known."""
    low, high = next((span for span in spans if span[0] <= share <= span[1]), (0.0, 1.0))
    return at.get(low, -inf), at.get(high, inf)


def _stretches(brackets: list[_Bracket]) -> list[_Stretch]:
    """All numbers, in stretches that do not overlap: the brackets, joined where they touch, and what is between."""
    spans: dict[str, list[tuple[float, float]]] = {}
    for bracket in brackets:
        spans.setdefault(bracket.group, []).append((bracket.low, bracket.high))
    found: list[_Stretch] = []
    for group, parts in spans.items():
        start = -inf
        joined = _joined(parts)
        for low, high in joined:
            if start < low:
                found.append(_Stretch(group, start, nextafter(low, -inf), inside=False))
            found.append(_Stretch(group, low, high, inside=True))
            start = nextafter(high, inf)
        if joined[-1][1] < inf:
            found.append(_Stretch(group, start, inf, inside=False))
    return found


def _inside(ranked: str, brackets: list[_Bracket], stretches: list[_Stretch]) -> str:
    """SQL for the number at each bracket's rank, NULL where it lies outside; every number is in one stretch."""
    wanted = ", ".join(f"({place}, {literal(one.group)}, {one.rank})" for place, one in enumerate(brackets))
    listed = ", ".join(
        f"({literal(one.group)}, {_double(one.low)}, {_double(one.high)}, {str(one.inside).lower()})"
        for one in stretches
    )
    counted = (
        "SELECT s.grp, s.low, CASE WHEN s.inside THEN number END AS number, count(*) AS how_many"
        f" FROM ({ranked}) AS r JOIN (SELECT * FROM (VALUES {listed}) AS listed(grp, low, high, inside)) AS s"
        " ON r.grp = s.grp AND r.number >= s.low AND r.number <= s.high GROUP BY s.grp, s.low, 3"
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


def _double(number: float) -> str:
    return f"CAST('{number!r}' AS DOUBLE)"
