"""Percentiles by nearest rank, over trials, with the values that bound them; one sort for each column and filter."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from highbar.columns import BOUNDED, EXTRA, EXTRA_SCALE, UNBOUNDED_NAMES, sum_scale
from highbar.engine.layout import Layout
from highbar.engine.limits import MOST_SLICES
from highbar.engine.protocol import Database, Found, Request, Rows, Sizes, Wanted
from highbar.engine.quantities import NO_ENDS, World, scaled_name
from highbar.engine.scenarios import beside_facts
from highbar.engine.sql import group_names, literal
from highbar.engine.totals import Profile
from highbar.model import Ends, Percentile, Where
from highbar.model.reduction import Rank
from highbar.statistics.bounds import Ranks, nearest_rank, percentile_ranks

WHOLE = literal("")
INFINITE = "CAST('Infinity' AS DOUBLE)"


def rank_column(layout: Layout, column: str, world: World = "worst", *, repeated: bool = False) -> str:
    """SQL for the number by which a percentile ranks a trial; NULL if it is not ranked.

    If lower is better, a crashed trial ranks above every number. `repeated`: over `trials` joined with facts about
    their scenarios, so that a trial without the number counts if its scenario has it.
    """
    value = _value(layout, column)
    if column in BOUNDED:
        return _or_undecided(layout, column, f"({value})", "0", "1", world, repeated=repeated)
    ends = layout.ends.get(column, NO_ENDS)
    never = f"-{INFINITE}" if ends.higher else INFINITE
    own = f"(CASE WHEN is_error THEN {never} ELSE {value} END)"
    return _or_undecided(layout, column, own, *_undecided_numbers(column, ends, never), world, repeated=repeated)


def _value(layout: Layout, column: str) -> str:
    """SQL for the recorded number of a trial, as a double."""
    if column == "latency_ms":
        return "latency_rank"  # as it was recorded: scaled ones are rounded
    if column.startswith(EXTRA):
        place = layout.extras.index(column.removeprefix(EXTRA))
        return f"CAST({scaled_name(f'extra_{place}')} AS DOUBLE) / {EXTRA_SCALE}e0"
    return f"CAST({scaled_name(column)} AS DOUBLE) / {sum_scale(column)}e0"


def _undecided_numbers(column: str, ends: Ends, never: str) -> tuple[str, str]:
    """The number at which an undecided trial ranks, at worst and at best."""
    if column in UNBOUNDED_NAMES:
        return never, "0"  # it may not have completed, whatever the limit
    if ends.worst is None or ends.best is None:
        return never, INFINITE if ends.higher else f"-{INFINITE}"
    return f"CAST({float(ends.worst)!r} AS DOUBLE)", f"CAST({float(ends.best)!r} AS DOUBLE)"


def _or_undecided(layout: Layout, column: str, own: str, worst: str, best: str, world: World, *, repeated: bool) -> str:
    counts = f"is_open OR has_{layout.quantities[column].count}" if repeated else "is_open"
    return f"coalesce({own}, CASE WHEN {counts} THEN {worst if world == 'worst' else best} END)"


def group_name(place: int | None, value: str | None) -> str:
    """The name of a group: the place and value of its slice, or '' for the whole."""
    return "" if place is None else f"{place}:{value}"


def grouping(group: str) -> str:
    """The grouping of a group: the place of its slice, or '' for the whole."""
    return group.partition(":")[0]


def find_percentiles(
    database: Database,
    profiles: Mapping[str, Profile],
    layout: Layout,
    request: Request,
    world: World,
    *,
    any_undecided: bool,
    at_worst: Mapping[str, dict[Percentile, Rank]] | None = None,
) -> dict[str, dict[Percentile, Rank]]:
    """The percentiles of each group; one query for all groupings, since every query reads the results again.

    `any_undecided`: whether anything is undecided, so that a trial may lack what its scenario has. `at_worst` has the
    percentiles with undecided trials at their worst: those of a column without undecided trials are the same at best.
    """
    percentiles, alpha = request.percentiles, request.alpha
    found: dict[str, dict[Percentile, Rank]] = {}
    together: dict[tuple[str, Where], list[Percentile]] = {}
    for percentile in percentiles:
        together.setdefault((percentile.column, percentile.where), []).append(percentile)
    for (name, where), same in together.items():
        # A percentile takes a query over all numbers of its column: not a second time if nothing in it is undecided.
        if at_worst is not None and not any(profile.ranked(name, where)[2] for profile in profiles.values()):
            for group, ranks in at_worst.items():
                found.setdefault(group, {}).update(
                    {percentile: ranks[percentile] for percentile in same if percentile in ranks}
                )
            continue
        column = rank_column(layout, name, world, repeated=layout.repeated and any_undecided)
        trials_of = beside_facts(layout, (name,)) if layout.repeated and any_undecided else "trials"
        ranked = _ranked_numbers(layout, column, trials_of, where, profiles)
        counts = _counts_of_profiles(profiles, name, where)
        if layout.repeated:  # with several trials per scenario, the profile knows only which groups have the number
            given = {group for group, *_ in counts}
            counts = [one for one in _count_ranked(database, ranked) if one[0] in given]
        if not counts:
            continue  # no group has the number
        sizes = {group: trials for group, trials, _, _ in counts}
        bounds = _bounds(database, layout, same, alpha, ranked, sizes)
        values = database.values_at(ranked, _wanted_ranks(same, sizes, bounds), sizes)
        for group, trials, errors, scenarios in counts:
            for percentile in same:
                at = values[group]
                low, high = bounds[group, percentile]
                fewest, most = profiles[group].trial_range(name, where)
                found.setdefault(group, {})[percentile] = Rank(
                    value=finite_number(at[nearest_rank(trials, percentile.share)]),
                    trials=trials,
                    errors=errors,
                    scenarios=scenarios,
                    low=None if low is None else finite_number(at[low]),
                    high=None if high is None else finite_number(at[high]),
                    undecided=profiles[group].ranked(name, where)[2],
                    fewest=fewest,
                    most=most,
                )
    return found


def _ranked_numbers(layout: Layout, column: str, trials: str, where: Where, groups: Collection[str]) -> str:
    """SQL for the numbers of every group: a trial gives its number once to the whole, and once to each slice."""
    there = f"{column} IS NOT NULL" + (f" AND {layout.flag(where)}" if where else "")
    columns = ", ".join(["id", *(["cluster"] if layout.clustered else [])])
    by = [f"by_{place}" for place in range(len(layout.slices))]
    numbers = f"SELECT {group_names(by)} AS group_name, {column} AS number, {columns} FROM {trials} WHERE {there}"
    # Every trial appears once per slice column, so groups that nobody asked for are dropped before they are ranked.
    cut_off = len(groups) > MOST_SLICES  # then some values of a slice are not measured
    measured = f"IN ({', '.join(literal(one) for one in groups)})" if cut_off else "IS NOT NULL"
    return f"SELECT * FROM ({numbers}) WHERE group_name {measured}" if by else numbers


def _count_ranked(database: Database, ranked: str) -> list[tuple[str, int, int, int]]:
    """By group: how many trials are ranked, how many at infinity (crashed or undecided), and of how many scenarios."""
    return database.rows(
        f"SELECT group_name, count(*), count_if(isinf(number)), count(DISTINCT id) FROM ({ranked}) GROUP BY group_name"
    )


def _counts_of_profiles(profiles: Mapping[str, Profile], column: str, where: Where) -> list[tuple[str, int, int, int]]:
    """The same if every scenario has one trial: the profile has counted them."""
    found = ((group, *profile.ranked(column, where)) for group, profile in profiles.items())
    return [(group, trials, errors, trials) for group, trials, errors, _ in found if trials]


def finite_number(value: float | None) -> Fraction | None:
    """The exact number of a value; None for an infinity, as which a crashed trial ranks."""
    return None if value is None or math.isinf(value) else Fraction(str(value))


def _wanted_ranks(
    same: Sequence[Percentile], sizes: Sizes, bounds: Mapping[tuple[str, Percentile], Ranks]
) -> dict[str, list[int]]:
    return {
        group: sorted(
            {nearest_rank(n, percentile.share) for percentile in same}
            | {rank for percentile in same for rank in bounds[group, percentile] if rank is not None}
        )
        for group, n in sizes.items()
    }


def values_by_quantile(rows: Rows, ranked: str, wanted: Wanted, sizes: Sizes) -> Found:
    """The numbers at the wanted ranks. Rank r of n is the quantile (r - ½)/n: no rounding moves it to another rank."""
    shares = sorted({(rank - 0.5) / sizes[group] for group, places in wanted.items() for rank in places})
    if not shares:
        return {}
    listed = ", ".join(f"CAST({share!r} AS DOUBLE)" for share in shares)
    found = rows(f"SELECT group_name, quantile_disc(number, [{listed}]) FROM ({ranked}) GROUP BY group_name")
    places = {share: i for i, share in enumerate(shares)}
    return {
        group: {rank: numbers[places[(rank - 0.5) / sizes[group]]] for rank in wanted[group]}
        for group, numbers in found
        if group in wanted
    }


def values_one_by_one(rows: Rows, ranked: str, wanted: Wanted, sizes: Sizes) -> Found:
    """The same, with the numbers of one grouping in memory at a time."""
    found: dict[str, Mapping[int, float]] = {}
    for one in dict.fromkeys(map(grouping, wanted)):
        there = f"starts_with(group_name, {literal(one + ':')})" if one else f"group_name = {WHOLE}"
        of_one = f"SELECT * FROM ({ranked}) WHERE {there}"
        asked = {group: ranks for group, ranks in wanted.items() if grouping(group) == one}
        found.update(values_by_quantile(rows, of_one, asked, sizes))
    return found


def _bounds(
    database: Database, layout: Layout, same: Sequence[Percentile], alpha: float, ranked: str, sizes: Sizes
) -> dict[tuple[str, Percentile], Ranks]:
    """The ranks that bound each percentile in each group."""
    if layout.repeated or layout.clustered:
        from highbar.engine.rank_bounds import clustered_bounds  # few results have several trials, or clusters

        return clustered_bounds(database, layout, same, alpha, ranked, sizes)
    return {
        (group, percentile): percentile_ranks(n, percentile.share, alpha)
        for group, n in sizes.items()
        for percentile in same
    }
