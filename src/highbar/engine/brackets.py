"""Exact values at ranks without sorting all values in one place: bracket each rank by an approximation, then count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, nextafter

from msgspec import Struct

from highbar.engine.limits import ALL_INSIDE, SAMPLED
from highbar.engine.protocol import Found, Rows, Sizes, Wanted
from highbar.engine.sql import literal

NONE = "CAST(NULL AS DOUBLE)"


class Approximation(Struct, frozen=True):
    """An aggregate that approximates the numbers at some shares: its SQL, and by what share it may be off."""

    sql: str  # `{shares}` is replaced by the list
    slack: float
    of_sample: bool = False  # whether it is too costly for all numbers, and so is computed on a sample


BY_RESERVOIR = Approximation("reservoir_quantile(number, {shares}, 100000)", slack=8e-3)
"""DuckDB's quantiles of a sample of 100,000 numbers; the slack is five of their standard errors."""


class _Bracket(Struct, frozen=True):
    """The numbers between which the number at a rank is expected."""

    group: str
    rank: int
    low: float
    high: float


def values_at(rows: Rows, ranked: str, wanted: Wanted, sizes: Sizes, approximation: Approximation) -> Found:
    """The numbers at the wanted ranks of each group.

    Two passes, however many numbers and groups: one that brackets every rank, one that counts what is between the
    brackets, and every number inside of them. The running sum is over the brackets' numbers only, and one number per
    rank comes back. If the approximation missed a rank, a second round looks for that rank among all numbers.
    """
    brackets = _brackets(rows, ranked, wanted, sizes, approximation)
    found: dict[str, dict[int, float]] = {group: {} for group in wanted}
    # The approximation only decides how much is counted, never the result: a rank that it missed is looked for again.
    missed = _look_inside(rows, ranked, brackets, found)
    _look_inside(rows, ranked, [_Bracket(one.group, one.rank, -inf, inf) for one in missed], found)
    return found


def _look_inside(
    rows: Rows, ranked: str, brackets: list[_Bracket], found: dict[str, dict[int, float]]
) -> list[_Bracket]:
    """Add the numbers inside the brackets to `found`; return the brackets that do not contain their rank."""
    if not brackets:
        return []
    inside = dict(rows(_inside_sql(ranked, brackets)))
    for place, bracket in enumerate(brackets):
        if inside.get(place) is not None:
            found[bracket.group][bracket.rank] = inside[place]
    return [bracket for place, bracket in enumerate(brackets) if inside.get(place) is None]


def _brackets(rows: Rows, ranked: str, wanted: Wanted, sizes: Sizes, approximation: Approximation) -> list[_Bracket]:
    """A bracket for every rank. Groups of similar size reuse the same quantile points, to keep the query small."""
    large = {group: size for group, size in sizes.items() if size > ALL_INSIDE}
    every = max(1, sum(large.values()) // (SAMPLED * len(large))) if approximation.of_sample and large else 1
    shares: dict[int, list[tuple[float, float]]] = {}
    for group, size in large.items():
        slacks = [
            approximation.slack + (_sampling_error(rank / size, size / every) if every > 1 else 0)
            for rank in wanted[group]
        ]
        shares.setdefault(_decade(size), []).extend(
            (rank / size - slack, rank / size + slack) for rank, slack in zip(wanted[group], slacks, strict=True)
        )
    spans = {decade: _join_spans(parts) for decade, parts in shares.items()}
    ends = sorted({end for parts in spans.values() for span in parts for end in span if 0 < end < 1})
    listed = ", ".join(f"CAST({end!r} AS DOUBLE)" for end in ends)
    # By hash, not at random: the same results give the same sample, and so the same queries.
    sampled = f" WHERE hash(id, number) % {every} = 0" if every > 1 else ""
    approximate = (
        {
            group: dict(zip(ends, numbers, strict=True))
            for group, numbers in rows(
                f"SELECT group_name, {approximation.sql.format(shares=f'[{listed}]')} FROM ({ranked}){sampled}"
                " GROUP BY group_name"
            )
            if group in large
        }
        if ends
        else {}
    )
    return [
        _Bracket(
            group,
            rank,
            *_ends_around(rank / sizes[group], spans.get(_decade(sizes[group]), ()), approximate.get(group, {})),
        )
        for group, ranks in wanted.items()
        for rank in ranks
    ]


def _sampling_error(share: float, sampled: float) -> float:
    """By how much a share of a sample may be off; more happens once in 30 million samples (Bernstein's bound)."""
    return float(6 * (share * (1 - share) / sampled) ** 0.5 + 6 / sampled)


def _decade(size: int) -> int:
    return len(str(size))


def _join_spans(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The union of the spans, as spans that do not touch, in order."""
    joined: list[tuple[float, float]] = []
    for low, high in sorted(spans):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], high))
        else:
            joined.append((low, high))
    return joined


def _ends_around(share: float, spans: Iterable[tuple[float, float]], at: Mapping[float, float]) -> tuple[float, float]:
    """The approximate numbers at both ends of the span that contains a share; infinite if they are not known."""
    low, high = next((span for span in spans if span[0] <= share <= span[1]), (0.0, 1.0))
    return at.get(low, -inf), at.get(high, inf)


def _starts(brackets: list[_Bracket]) -> dict[str, list[float]]:
    """The numbers at which the stretches of each group start; they are in turn inside a bracket and between brackets.

    The stretch before the first start is outside.
    """
    spans: dict[str, list[tuple[float, float]]] = {}
    for bracket in brackets:
        spans.setdefault(bracket.group, []).append((bracket.low, bracket.high))
    found: dict[str, list[float]] = {}
    for group, parts in spans.items():
        # The number after `high` starts the next stretch, so that `high` itself is still inside the bracket.
        starts = [start for low, high in _join_spans(parts) for start in (low, nextafter(high, inf))]
        # Nothing comes after infinity, at which crashed trials rank.
        found[group] = starts[:-1] if starts[-1] == inf else starts
    return found


def _inside_sql(ranked: str, brackets: list[_Bracket]) -> str:
    """SQL for the number at each bracket's rank; NULL if it is outside.

    Numbers inside brackets are counted one by one, numbers between brackets only as a whole.
    """
    starts = _starts(brackets)
    names = [f"s{place}" for place in range(1, 1 + max(map(len, starts.values())))]
    numbered = {group: place for place, group in enumerate(starts)}  # grouping by a number is faster than by text
    listed = ", ".join(
        f"({', '.join([literal(group), str(numbered[group]), *map(_double, of), *[NONE] * (len(names) - len(of))])})"
        for group, of in starts.items()
    )
    reached = " ".join(f"WHEN number >= {name} THEN {name[1:]}" for name in reversed(names))
    placed = (
        f"SELECT group_number, number, CASE {reached} ELSE 0 END AS stretch FROM ({ranked}) AS r JOIN (SELECT * FROM"
        f" (VALUES {listed}) AS listed(group_name, group_number, {', '.join(names)})) AS s"
        " ON r.group_name = s.group_name"
    )
    # Odd stretches are inside a bracket: only their numbers are grouped one by one.
    counted = (
        "SELECT group_number, stretch, CASE WHEN stretch % 2 = 1 THEN number END AS number, count(*) AS how_many"
        f" FROM ({placed}) GROUP BY group_number, stretch, 3"
    )
    up_to_here = (
        "SELECT group_number, number, how_many,"
        " sum(how_many) OVER (PARTITION BY group_number ORDER BY stretch, number) AS upto"
        f" FROM ({counted})"
    )
    wanted = ", ".join(f"({place}, {numbered[one.group]}, {one.rank})" for place, one in enumerate(brackets))
    return (
        f"SELECT w.place, min(number) FROM ({up_to_here}) AS r JOIN (SELECT * FROM (VALUES {wanted})"
        " AS listed(place, group_number, rank)) AS w ON r.group_number = w.group_number"
        " AND r.upto >= w.rank AND r.upto - r.how_many < w.rank"
        " GROUP BY w.place"
    )


def _double(number: float) -> str:
    return f"CAST('{number!r}' AS DOUBLE)"
