"""The ranks that bound a percentile if trials are not independent: several of one scenario, or of one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from highbar.engine.layout import Layout
from highbar.engine.limits import ALL_IN_ORDER, MOST_IN_ORDER
from highbar.engine.protocol import Database, Sizes
from highbar.engine.sql import literal
from highbar.model import Percentile
from highbar.statistics.bounds import (
    Ranks,
    Sums,
    first_rank_index,
    nearest_rank,
    percentile_ranks,
    ranks_within,
    standard_error,
    unseen_weight,
)

LOW, HIGH = 0, 1

RankBounds = dict[tuple[str, Percentile], Ranks]


def clustered_bounds(
    database: Database, layout: Layout, same: Sequence[Percentile], alpha: float, ranked: str, sizes: Sizes
) -> RankBounds:
    """The ranks that bound each percentile in each group."""
    # Ordering the trials needs a window over all of them, which does not scale; the estimate needs only sums.
    largest = max(sizes.values(), default=0)
    if largest > MOST_IN_ORDER:
        return _by_design_effect(database, layout, same, alpha, ranked, sizes)
    # Always stored: after a stored "ordered" of larger groups, DuckDB cannot replace it with a view.
    database.define("ordered", _ordered_trials(ranked, layout), materialized=True)
    return _by_order(database, same, alpha, sizes)


def _unit(layout: Layout) -> str:
    """SQL for the independent unit: the cluster, or the scenario if it has none."""
    return "coalesce(cluster, ''), CASE WHEN cluster IS NULL THEN id ELSE '' END" if layout.clustered else "id"


def _ordered_trials(ranked: str, layout: Layout) -> str:
    """SQL for the trials of each group in the order of their numbers, with the sums over units up to each rank.

    The j-th trial of a unit adds j² - (j - 1)² to the sum of squares of how many trials each unit has up to a rank.
    """
    trials = (
        f"SELECT group_name, hash({_unit(layout)}) AS unit,"
        f" row_number() OVER (PARTITION BY group_name ORDER BY number, {_unit(layout)}) AS rank FROM ({ranked})"
    )
    within = (
        "SELECT group_name, rank, row_number() OVER (PARTITION BY group_name, unit ORDER BY rank) AS nth_of_unit,"
        " count(*) OVER (PARTITION BY group_name, unit) AS unit_trials,"
        f" count(*) OVER (PARTITION BY group_name) AS group_trials FROM ({trials})"
    )
    within = (
        "SELECT *, min(unit_trials) OVER (PARTITION BY group_name) AS fewest,"
        f" max(unit_trials) OVER (PARTITION BY group_name) AS most FROM ({within})"
    )
    sums = {"zz": "2 * nth_of_unit - 1", "zd": "unit_trials", "units": "CAST(nth_of_unit = 1 AS INTEGER)"}
    up_to = ", ".join(
        f"CAST(sum({each}) OVER (PARTITION BY group_name ORDER BY rank) AS BIGINT) AS {name}"
        for name, each in sums.items()
    )
    # Every √n-th rank, then the ranks between two of those: about 2√n rows are fetched instead of n.
    stride = f"CASE WHEN group_trials <= {ALL_IN_ORDER} THEN 1 ELSE CAST(ceil(sqrt(group_trials)) AS BIGINT) END"
    return f"SELECT group_name, rank, group_trials, fewest, most, {stride} AS stride, {up_to} FROM ({within})"


def _by_order(database: Database, same: Sequence[Percentile], alpha: float, sizes: Sizes) -> RankBounds:
    """Find the ends in two queries: the sums at every n-th rank, then at all ranks between the two around an end."""
    columns = "group_name, rank, zz, zd, units, fewest, most"
    rows = database.rows(f"SELECT {columns} FROM ordered WHERE rank % stride = 0 OR rank = group_trials")
    some, pseudo = _sums_at(rows), {row[0]: unseen_weight(*row[-2:]) for row in rows}
    near = {
        (group, percentile, end): _ranks_between(
            known := sorted(some[group]),
            first_rank_index(known, end, percentile.share, alpha, some[group].__getitem__, pseudo[group]),
        )
        for group in sizes
        for percentile in same
        for end in (LOW, HIGH)
    }
    missing = {one: ranks for one, ranks in near.items() if not some[one[0]].keys() >= set(ranks)}
    if missing:
        listed = ", ".join(
            f"({literal(group)}, {ranks.start}, {ranks.stop})" for (group, _, _), ranks in missing.items()
        )
        found = database.rows(
            f"SELECT DISTINCT o.{columns} FROM ordered AS o"
            f" JOIN (SELECT * FROM (VALUES {listed}) AS listed(group_name, start, stop)) AS near"
            " ON o.group_name = near.group_name AND (rank >= start AND rank < stop OR rank = group_trials)"
        )
        for group, sums in _sums_at(found).items():
            some[group] |= sums

    def end_of(group: str, percentile: Percentile, end: int) -> int:
        ranks = near[group, percentile, end]
        return ranks.start + first_rank_index(
            ranks, end, percentile.share, alpha, some[group].__getitem__, pseudo[group]
        )

    return {
        (group, percentile): ranks_within(n, end_of(group, percentile, LOW), end_of(group, percentile, HIGH))
        for group, n in sizes.items()
        for percentile in same
    }


def _ranks_between(known: Sequence[int], place: int) -> range:
    """The ranks from after the previous known rank up to the one at this place."""
    return range(known[place - 1] + 1 if place else 0, (known[place] if place < len(known) else known[-1]) + 1)


def _sums_at(rows: Sequence[Any]) -> dict[str, dict[int, Sums]]:
    """By group and rank: the sums of "is among the smallest". The last rank of a group has the sums of all trials."""
    found: dict[str, dict[int, Sums]] = {}
    # In descending order, so that the last rank, which has the sums of the whole group, comes first.
    for group, rank, zz, zd, units, *_ in sorted(rows, key=lambda row: -row[1]):
        of = found.setdefault(group, {0: Sums(units, rank, 0, 0, 0, zz)})
        of[rank] = Sums(of[0].clusters, of[0].d, rank, zz, zd, of[0].dd)
    return found


def _by_design_effect(
    database: Database, layout: Layout, same: Sequence[Percentile], alpha: float, ranked: str, sizes: Sizes
) -> RankBounds:
    """For many trials: find the ranks for their effective number at the percentile itself, and scale them up."""
    nearest = {group: [nearest_rank(n, percentile.share) for percentile in same] for group, n in sizes.items()}
    values = database.values_at(ranked, nearest, sizes)
    limits = [
        ", ".join([literal(group), *(f"CAST('{values[group][rank]!r}' AS DOUBLE)" for rank in ranks)])
        for group, ranks in nearest.items()
    ]
    names = [f"l{place}" for place in range(len(same))]
    inside = ", ".join(f"count_if(number <= {name}) AS z_{name}" for name in names)
    units = (
        f"SELECT r.group_name, count(*) AS d, {inside} FROM ({ranked}) AS r JOIN (SELECT * FROM"
        f" (VALUES {', '.join(f'({row})' for row in limits)}) AS listed(group_name, {', '.join(names)})) AS limits"
        f" ON r.group_name = limits.group_name GROUP BY r.group_name, hash({_unit(layout)})"
    )
    sums = ", ".join(f"sum(z_{name}), sum(z_{name} * z_{name}), sum(z_{name} * d)" for name in names)
    found: RankBounds = {}
    for group, clusters, d, dd, *of_each in database.rows(
        f"SELECT group_name, count(*), sum(d), sum(d * d), {sums} FROM ({units}) GROUP BY group_name"
    ):
        for place, percentile in enumerate(same):
            z, zz, zd = of_each[3 * place : 3 * place + 3]
            found[group, percentile] = _effective_ranks(
                Sums(clusters, d, z, zz, zd, dd), sizes[group], percentile, alpha
            )
    return found


def _effective_ranks(sums: Sums, n: int, percentile: Percentile, alpha: float) -> Ranks:
    """The ranks of the effective number of independent trials (by the design effect), scaled up to n."""
    error, share = standard_error(sums), float(percentile.share)
    # Correlated trials say less than their number: bounds are found for as many independent ones as they are worth.
    effective = min(n, max(1, int(share * (1 - share) / (error * error)))) if error else n
    low, high = percentile_ranks(effective, percentile.share, alpha)
    return Ranks(
        None if low is None else max(1, low * n // effective),
        None if high is None else min(n, -(-high * n // effective)),
    )
