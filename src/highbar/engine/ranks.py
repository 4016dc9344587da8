"""Percentiles by nearest rank, over trials, with the values that bound them; one sort for each column and filter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

from highbar.engine import clustered
from highbar.engine.database import Database, Found, Sizes, Wanted
from highbar.engine.layout import MOST_SLICES, Layout
from highbar.engine.protocol import Rank
from highbar.engine.sql import literal
from highbar.engine.totals import Profile
from highbar.model import Percentile, Where
from highbar.statistics.percentile import Ranks, nearest_rank, percentile_ranks

Rows = Callable[[str], list[Any]]
WHOLE = literal("")
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


def group(place: int | None, value: str | None) -> str:
    """What the rows of a slice's value are called where several groupings are ranked together; the whole is ''."""
    return "" if place is None else f"{place}:{value}"


def grouping(group: str) -> str:
    """What the groups of one grouping have in common: '' for the whole, else the place of the slice."""
    return group.partition(":")[0]


def find(
    database: Database,
    profiles: Mapping[str, Profile],
    layout: Layout,
    percentiles: Sequence[Percentile],
    alpha: float,
) -> dict[str, dict[Percentile, Rank]]:
    """The percentiles of each group, of all groupings together: every question reads the results anew."""
    found: dict[str, dict[Percentile, Rank]] = {}
    together: dict[tuple[str, Where], list[Percentile]] = {}
    for wanted in percentiles:
        together.setdefault((wanted.column, wanted.where), []).append(wanted)
    for (name, where), same in together.items():
        ranked = _ranked(layout, name, where, profiles)
        counts = _counted(database, ranked) if layout.repeated else _in_profiles(profiles, name, where)
        sizes = {grp: trials for grp, trials, _, _ in counts}
        ends = _ends(database, layout, same, alpha, ranked, sizes)
        values = database.values_at(ranked, _wanted_ranks(same, sizes, ends), sizes)
        for grp, trials, errors, resting in counts:
            for wanted in same:
                at = values[grp]
                low, high = ends[grp, wanted]
                found.setdefault(grp, {})[wanted] = Rank(
                    value=_finite(at[nearest_rank(trials, wanted.share)]),
                    trials=trials,
                    errors=errors,
                    scenarios=resting,
                    low=None if low is None else _finite(at[low]),
                    high=None if high is None else _finite(at[high]),
                )
    return found


def _ranked(layout: Layout, name: str, where: Where, groups: Collection[str]) -> str:
    """SQL for the numbers of every group: those of a trial stand there once for the whole, and once for each slice."""
    column = rank_column(layout.extras, name)
    there = f"{column} IS NOT NULL" + (f" AND {layout.flag(where)}" if where else "")
    columns = ", ".join(["id", *["cluster"] * layout.clustered])
    by = [f"'{place}:' || by_{place}" for place in range(len(layout.slices))]
    grp = f"unnest([{', '.join((WHOLE, *by))}])" if by else WHOLE
    numbers = f"SELECT {grp} AS grp, {column} AS number, {columns} FROM trials WHERE {there}"
    cut_off = len(groups) > MOST_SLICES  # then some values of a slice are not measured
    measured = f"IN ({', '.join(literal(one) for one in groups)})" if cut_off else "IS NOT NULL"
    return f"SELECT * FROM ({numbers}) WHERE grp {measured}" if by else numbers


def _counted(database: Database, ranked: str) -> list[tuple[str, int, int, int]]:
    """In each group: how many trials are ranked, how many of these are errors, and of how many scenarios."""
    return database.rows(
        f"SELECT grp, count(*), count_if(isinf(number)), count(DISTINCT id) FROM ({ranked}) GROUP BY grp"
    )


def _in_profiles(profiles: Mapping[str, Profile], column: str, where: Where) -> list[tuple[str, int, int, int]]:
    """The same where a scenario is its one trial: the profile has counted them."""
    found = ((grp, *profile.ranked(column, where)) for grp, profile in profiles.items())
    return [(grp, trials, errors, trials) for grp, trials, errors in found if trials]


def _finite(value: float | None) -> Fraction | None:
    return None if value is None or value == float("inf") else Fraction(str(value))


def _wanted_ranks(
    same: Sequence[Percentile], sizes: Sizes, ends: Mapping[tuple[str, Percentile], Ranks]
) -> dict[str, list[int]]:
    return {
        grp: sorted(
            {nearest_rank(n, wanted.share) for wanted in same}
            | {rank for wanted in same for rank in ends[grp, wanted] if rank is not None}
        )
        for grp, n in sizes.items()
    }


def values_by_quantile(rows: Rows, ranked: str, wanted: Wanted, sizes: Sizes) -> Found:
    """The numbers at the wanted ranks. Rank r of n is the quantile (r - ½)/n, which no rounding can move to another."""
    shares = sorted({(rank - 0.5) / sizes[grp] for grp, places in wanted.items() for rank in places})
    if not shares:
        return {}
    listed = ", ".join(f"CAST({share!r} AS DOUBLE)" for share in shares)
    found = rows(f"SELECT grp, quantile_disc(number, [{listed}]) FROM ({ranked}) GROUP BY grp")
    places = {share: i for i, share in enumerate(shares)}
    return {
        grp: {rank: numbers[places[(rank - 0.5) / sizes[grp]]] for rank in wanted[grp]}
        for grp, numbers in found
        if grp in wanted
    }


def values_one_by_one(rows: Rows, ranked: str, wanted: Wanted, sizes: Sizes) -> Found:
    """The same, with the numbers of one grouping in memory at a time."""
    found: dict[str, Mapping[int, float]] = {}
    for one in dict.fromkeys(map(grouping, wanted)):
        there = f"starts_with(grp, {literal(one + ':')})" if one else f"grp = {WHOLE}"
        of_one = f"SELECT * FROM ({ranked}) WHERE {there}"
        asked = {group: ranks for group, ranks in wanted.items() if grouping(group) == one}
        found.update(values_by_quantile(rows, of_one, asked, sizes))
    return found


def _ends(
    database: Database, layout: Layout, same: Sequence[Percentile], alpha: float, ranked: str, sizes: Sizes
) -> dict[tuple[str, Percentile], Ranks]:
    """The ranks that bound each percentile in each group."""
    if layout.repeated or layout.clustered:
        return clustered.ends(database, layout, same, alpha, ranked, sizes)
    return {(grp, wanted): percentile_ranks(n, wanted.share, alpha) for grp, n in sizes.items() for wanted in same}
