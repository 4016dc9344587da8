"""Percentiles by nearest rank, over trials, with the values that bound them; one sort for each column and filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from highbar.engine import clustered
from highbar.engine.database import Database, Found, Ranked, Wanted
from highbar.engine.layout import Layout
from highbar.engine.protocol import Rank
from highbar.engine.totals import Profile
from highbar.model import Percentile, Where
from highbar.statistics.percentile import Ranks, nearest_rank, percentile_ranks

Rows = Callable[[str], list[Any]]
INFINITE = "CAST('Infinity' AS DOUBLE)"


def rank_column(extras: tuple[str, ...], column: str) -> str:
    """SQL for the value that a trial has in a percentile: where lower is better, an error is above every number."""
    if column == "latency_ms":
        return "latency_rank"
    if column == "quality_score":
        return "(CAST(q AS DOUBLE) / 1e12)"
    if column == "behavior_score":
        return "(CASE WHEN s_has THEN s_k / s_m END)"
    if column == "tokens_used":
        return f"(CASE WHEN e THEN {INFINITE} ELSE CAST(tokens AS DOUBLE) END)"
    if column == "cost_usd":
        return f"(CASE WHEN e THEN {INFINITE} ELSE CAST(cost AS DOUBLE) / 1e12 END)"
    return (
        f"(CASE WHEN e THEN {INFINITE} ELSE CAST(x{extras.index(column.removeprefix('extra:'))} AS DOUBLE) / 1e9 END)"
    )


def find(
    database: Database,
    profiles: Mapping[str | None, Profile],
    layout: Layout,
    percentiles: Sequence[Percentile],
    alpha: float,
    place: int | None,
) -> dict[str | None, dict[Percentile, Rank]]:
    """The percentiles of the whole (under None), or of each value of the slice at `place`."""
    by, there = ("CAST(NULL AS VARCHAR)", "true") if place is None else (f"by_{place}", f"by_{place} IS NOT NULL")
    found: dict[str | None, dict[Percentile, Rank]] = {}
    together: dict[tuple[str, Where], list[Percentile]] = {}
    for wanted in percentiles:
        together.setdefault((wanted.column, wanted.where), []).append(wanted)
    for (name, where), same in together.items():
        column = rank_column(layout.extras, name)
        filtered = f"{there} AND {column} IS NOT NULL" + (f" AND {layout.flag(where)}" if where else "")
        ranked = Ranked(by, filtered, column)
        counts = _counted(database, ranked) if layout.repeated else _in_profiles(profiles, name, where)
        sizes = {value: trials for value, trials, _, _ in counts}
        ends = _ends(database, layout, same, alpha, ranked, sizes)
        values = database.values_at(ranked, _wanted_ranks(same, sizes, ends), sizes)
        for value, trials, errors, resting in counts:
            for wanted in same:
                at = values[value]
                low, high = ends[value, wanted]
                found.setdefault(value, {})[wanted] = Rank(
                    value=_finite(at[nearest_rank(trials, wanted.share)]),
                    trials=trials,
                    errors=errors,
                    scenarios=resting,
                    low=None if low is None else _finite(at[low]),
                    high=None if high is None else _finite(at[high]),
                )
    return found


def _counted(database: Database, ranked: Ranked) -> list[tuple[str | None, int, int, int]]:
    """In each group: how many trials are ranked, how many of these are errors, and of how many scenarios."""
    return database.rows(
        f"SELECT {ranked.by} AS value, count(*), count_if(isinf({ranked.column})), count(DISTINCT id)"
        f" FROM trials WHERE {ranked.let_through} GROUP BY value"
    )


def _in_profiles(
    profiles: Mapping[str | None, Profile], column: str, where: Where
) -> list[tuple[str | None, int, int, int]]:
    """The same where a scenario is its one trial: the profile has counted them."""
    found = ((value, *profile.ranked(column, where)) for value, profile in profiles.items())
    return [(value, trials, errors, trials) for value, trials, errors in found if trials]


def _finite(value: float | None) -> Fraction | None:
    return None if value is None or value == float("inf") else Fraction(str(value))


def _wanted_ranks(
    same: Sequence[Percentile], sizes: dict[str | None, int], ends: dict[tuple[str | None, Percentile], Ranks]
) -> dict[str | None, list[int]]:
    return {
        value: sorted(
            {nearest_rank(n, wanted.share) for wanted in same}
            | {rank for wanted in same for rank in ends[value, wanted] if rank is not None}
        )
        for value, n in sizes.items()
    }


def values_by_quantile(rows: Rows, ranked: Ranked, wanted: Wanted, sizes: Mapping[str | None, int]) -> Found:
    """The values at the wanted ranks. Rank r of n is the quantile (r - ½)/n, which no rounding can move to another."""
    shares = sorted({(rank - 0.5) / sizes[value] for value, places in wanted.items() for rank in places})
    if not shares:
        return {}
    listed = ", ".join(f"CAST({share!r} AS DOUBLE)" for share in shares)
    found = rows(
        f"SELECT {ranked.by} AS value, quantile_disc({ranked.column}, [{listed}])"
        f" FROM trials WHERE {ranked.let_through} GROUP BY value"
    )
    places = {share: i for i, share in enumerate(shares)}
    return {
        value: {rank: numbers[places[(rank - 0.5) / sizes[value]]] for rank in wanted[value]}
        for value, numbers in found
        if value in wanted
    }


def _ends(
    database: Database,
    layout: Layout,
    same: Sequence[Percentile],
    alpha: float,
    ranked: Ranked,
    sizes: dict[str | None, int],
) -> dict[tuple[str | None, Percentile], Ranks]:
    """The ranks that bound each percentile in each group."""
    if layout.repeated or layout.clustered:
        return clustered.ends(database, layout, same, alpha, ranked, sizes)
    return {(value, wanted): percentile_ranks(n, wanted.share, alpha) for value, n in sizes.items() for wanted in same}
