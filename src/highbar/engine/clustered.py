"""The ranks that bound a percentile where trials are not independent: several of one scenario, or of one cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from highbar.engine.database import Database, Sizes
from highbar.engine.layout import Layout
from highbar.engine.sql import literal
from highbar.model import Percentile
from highbar.statistics.bounds import Sums, standard_error
from highbar.statistics.percentile import Ranks, nearest_rank, percentile_ranks, ranks_within, reached, unseen

MOST_IN_ORDER = 50_000
"""Trials of a group that are put in one order; beyond, what they are worth at the percentile itself stands for it."""
ALL_AT_ONCE = 1_000
"""Trials of a group whose order is fetched whole: one question less."""
LOW, HIGH = 0, 1

Ends = dict[tuple[str, Percentile], Ranks]


def ends(
    database: Database,
    layout: Layout,
    same: Sequence[Percentile],
    alpha: float,
    ranked: str,
    sizes: Sizes,
) -> Ends:
    """The ranks that bound each percentile in each group."""
    largest = max(sizes.values(), default=0)
    if largest > MOST_IN_ORDER:
        return _by_design_effect(database, layout, same, alpha, ranked, sizes)
    database.define("ordered", _ordered(ranked, layout), kept=largest > ALL_AT_ONCE)
    return _by_order(database, same, alpha, sizes)


def _unit(layout: Layout) -> str:
    """SQL for what is independent: the cluster, or the scenario where it has none."""
    return "coalesce(cluster, ''), CASE WHEN cluster IS NULL THEN id ELSE '' END" if layout.clustered else "id"


def _ordered(ranked: str, layout: Layout) -> str:
    """SQL for the trials of each group in the order of their numbers, with what is known of the units up to each.

    The j-th trial of a unit adds j² - (j - 1)² to the squares of how many each unit has among the r smallest.
    """
    trials = (
        f"SELECT grp, hash({_unit(layout)}) AS unit,"
        f" row_number() OVER (PARTITION BY grp ORDER BY number, {_unit(layout)}) AS r FROM ({ranked})"
    )
    within = (
        "SELECT grp, r, row_number() OVER (PARTITION BY grp, unit ORDER BY r) AS j,"
        f" count(*) OVER (PARTITION BY grp, unit) AS d, count(*) OVER (PARTITION BY grp) AS n FROM ({trials})"
    )
    within = (
        f"SELECT *, min(d) OVER (PARTITION BY grp) AS fewest, max(d) OVER (PARTITION BY grp) AS most FROM ({within})"
    )
    sums = {"zz": "2 * j - 1", "zd": "d", "units": "CAST(j = 1 AS INTEGER)"}
    upto = ", ".join(
        f"CAST(sum({each}) OVER (PARTITION BY grp ORDER BY r) AS BIGINT) AS {name}" for name, each in sums.items()
    )
    step = f"CASE WHEN n <= {ALL_AT_ONCE} THEN 1 ELSE CAST(ceil(sqrt(n)) AS BIGINT) END"
    return f"SELECT grp, r, n, fewest, most, {step} AS step, {upto} FROM ({within})"


def _by_order(database: Database, same: Sequence[Percentile], alpha: float, sizes: Sizes) -> Ends:
    """In two questions: the sums at some of the ranks, then at all ranks between the two where an end must lie."""
    columns = "grp, r, zz, zd, units, fewest, most"
    rows = database.rows(f"SELECT {columns} FROM ordered WHERE r % step = 0 OR r = n")
    some, pseudo = _sums_at(rows), {row[0]: unseen(*row[-2:]) for row in rows}
    near = {
        (grp, wanted, end): _between(
            known := sorted(some[grp]), reached(known, end, wanted.share, alpha, some[grp].__getitem__, pseudo[grp])
        )
        for grp in sizes
        for wanted in same
        for end in (LOW, HIGH)
    }
    missing = {one: ranks for one, ranks in near.items() if not some[one[0]].keys() >= set(ranks)}
    if missing:
        listed = ", ".join(f"({literal(grp)}, {ranks.start}, {ranks.stop})" for (grp, _, _), ranks in missing.items())
        found = database.rows(
            f"SELECT DISTINCT o.{columns} FROM ordered AS o"
            f" JOIN (SELECT * FROM (VALUES {listed}) AS listed(grp, start, stop)) AS near"
            " ON o.grp = near.grp AND (r >= start AND r < stop OR r = n)"
        )
        for grp, sums in _sums_at(found).items():
            some[grp] |= sums

    def end_of(grp: str, wanted: Percentile, end: int) -> int:
        ranks = near[grp, wanted, end]
        return ranks.start + reached(ranks, end, wanted.share, alpha, some[grp].__getitem__, pseudo[grp])

    return {
        (grp, wanted): ranks_within(n, end_of(grp, wanted, LOW), end_of(grp, wanted, HIGH))
        for grp, n in sizes.items()
        for wanted in same
    }


def _between(known: Sequence[int], place: int) -> range:
    """The ranks after the known one before this place, up to the one at it."""
    return range(known[place - 1] + 1 if place else 0, (known[place] if place < len(known) else known[-1]) + 1)


def _sums_at(rows: Sequence[Any]) -> dict[str, dict[int, Sums]]:
    """By group and rank: the sums of "is among the smallest". The last rank of a group, always there, tells of all."""
    found: dict[str, dict[int, Sums]] = {}
    for grp, rank, zz, zd, units, *_ in sorted(rows, key=lambda row: -row[1]):
        of = found.setdefault(grp, {0: Sums(units, rank, 0, 0, 0, zz)})
        of[rank] = Sums(of[0].clusters, of[0].d, rank, zz, zd, of[0].dd)
    return found


def _by_design_effect(
    database: Database, layout: Layout, same: Sequence[Percentile], alpha: float, ranked: str, sizes: Sizes
) -> Ends:
    """For many trials: as many independent ones as these are worth at the percentile itself, their ranks scaled up."""
    nearest = {grp: [nearest_rank(n, wanted.share) for wanted in same] for grp, n in sizes.items()}
    values = database.values_at(ranked, nearest, sizes)
    limits = [
        ", ".join([literal(grp), *(f"CAST('{values[grp][rank]!r}' AS DOUBLE)" for rank in ranks)])
        for grp, ranks in nearest.items()
    ]
    names = [f"l{place}" for place in range(len(same))]
    inside = ", ".join(f"count_if(number <= {name}) AS z_{name}" for name in names)
    units = (
        f"SELECT r.grp, count(*) AS d, {inside} FROM ({ranked}) AS r JOIN (SELECT * FROM"
        f" (VALUES {', '.join(f'({row})' for row in limits)}) AS listed(grp, {', '.join(names)})) AS limits"
        f" ON r.grp = limits.grp GROUP BY r.grp, hash({_unit(layout)})"
    )
    sums = ", ".join(f"sum(z_{name}), sum(z_{name} * z_{name}), sum(z_{name} * d)" for name in names)
    found: Ends = {}
    for grp, clusters, d, dd, *of_each in database.rows(
        f"SELECT grp, count(*), sum(d), sum(d * d), {sums} FROM ({units}) GROUP BY grp"
    ):
        for place, wanted in enumerate(same):
            z, zz, zd = of_each[3 * place : 3 * place + 3]
            found[grp, wanted] = _worth(Sums(clusters, d, z, zz, zd, dd), sizes[grp], wanted, alpha)
    return found


def _worth(sums: Sums, n: int, wanted: Percentile, alpha: float) -> Ranks:
    """The ranks of as many independent trials as these n are worth, scaled up."""
    error, share = standard_error(sums), float(wanted.share)
    worth = min(n, max(1, int(share * (1 - share) / (error * error)))) if error else n
    low, high = percentile_ranks(worth, wanted.share, alpha)
    return Ranks(
        None if low is None else max(1, low * n // worth),
        None if high is None else min(n, -(-high * n // worth)),
    )
