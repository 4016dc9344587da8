"""Percentiles by nearest rank, over trials, with the values that bound them; one sort for each column and filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from highbar.engine.layout import Layout
from highbar.engine.protocol import Rank
from highbar.model import Percentile, Where
from highbar.statistics.bounds import Sums, standard_error
from highbar.statistics.percentile import Ranks, clustered_ranks_of, percentile_ranks

Rows = Callable[[str], list[Any]]
INFINITE = "CAST('Infinity' AS DOUBLE)"
MOST_IN_MEMORY = 50_000
"""Trials whose order is looked at one by one where scenarios repeat; beyond, their design effect stands for it."""


def _unit(layout: Layout) -> str:
    """SQL for what is independent."""
    return "hash(coalesce(cluster, ''), CASE WHEN cluster IS NULL THEN id END)" if layout.clustered else "hash(id)"


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
    rows: Rows, layout: Layout, percentiles: Sequence[Percentile], alpha: float, place: int | None
) -> dict[str | None, dict[Percentile, Rank]]:
    """The percentiles of the whole (under None), or of each value of the slice at `place`."""
    by, there = ("NULL", "true") if place is None else (f"by_{place}", f"by_{place} IS NOT NULL")
    found: dict[str | None, dict[Percentile, Rank]] = {}
    together: dict[tuple[str, Where], list[Percentile]] = {}
    for wanted in percentiles:
        together.setdefault((wanted.column, wanted.where), []).append(wanted)
    for (name, where), same in together.items():
        column = rank_column(layout.extras, name)
        filtered = f"{there} AND {column} IS NOT NULL" + (f" AND {layout.flag(where)}" if where else "")
        scenarios = "count(DISTINCT id)" if layout.repeated else "count(*)"
        counts = rows(
            f"SELECT {by} AS value, count(*), count_if(isinf({column})), {scenarios}"
            f" FROM trials WHERE {filtered} GROUP BY value"
        )
        sizes = {value: trials for value, trials, _, _ in counts}
        ends = _ends(rows, layout, same, alpha, (by, filtered, column), sizes)
        values = _values_at(rows, (by, filtered, column), _wanted_ranks(same, sizes, ends), sizes)
        for value, trials, errors, resting in counts:
            for wanted in same:
                at = values[value]
                low, high = ends[value, wanted]
                found.setdefault(value, {})[wanted] = Rank(
                    value=_finite(at[_nearest(trials, wanted.share)]),
                    trials=trials,
                    errors=errors,
                    scenarios=resting,
                    low=None if low is None else _finite(at[low]),
                    high=None if high is None else _finite(at[high]),
                )
    return found


def _finite(value: float | None) -> Fraction | None:
    return None if value is None or value == float("inf") else Fraction(str(value))


def _nearest(n: int, share: Fraction) -> int:
    return max(1, -(-n * share.numerator // share.denominator))


def _wanted_ranks(
    same: Sequence[Percentile], sizes: dict[str | None, int], ends: dict[tuple[str | None, Percentile], Ranks]
) -> dict[str | None, list[int]]:
    return {
        value: sorted(
            {_nearest(n, wanted.share) for wanted in same}
            | {rank for wanted in same for rank in ends[value, wanted] if rank is not None}
        )
        for value, n in sizes.items()
    }


def _values_at(
    rows: Rows, source: tuple[str, str, str], wanted: dict[str | None, list[int]], sizes: dict[str | None, int]
) -> dict[str | None, dict[int, float]]:
    """The values at the wanted ranks. Rank r of n is the quantile (r - ½)/n, which no rounding can move to another."""
    by, filtered, column = source
    shares = sorted({(rank - 0.5) / sizes[value] for value, ranks in wanted.items() for rank in ranks})
    if not shares:
        return {}
    listed = ", ".join(f"CAST({share!r} AS DOUBLE)" for share in shares)
    found = rows(
        f"SELECT {by} AS value, quantile_disc({column}, [{listed}]) FROM trials WHERE {filtered} GROUP BY value"
    )
    places = {share: i for i, share in enumerate(shares)}
    return {
        value: {rank: numbers[places[(rank - 0.5) / sizes[value]]] for rank in wanted[value]}
        for value, numbers in found
    }


def _ends(
    rows: Rows,
    layout: Layout,
    same: Sequence[Percentile],
    alpha: float,
    source: tuple[str, str, str],
    sizes: dict[str | None, int],
) -> dict[tuple[str | None, Percentile], Ranks]:
    """The ranks that bound each percentile in each group."""
    if not (layout.repeated or layout.clustered):
        return {
            (value, wanted): percentile_ranks(n, wanted.share, alpha) for value, n in sizes.items() for wanted in same
        }
    by, filtered, column = source
    if sum(sizes.values()) <= MOST_IN_MEMORY:
        ordered = rows(f"SELECT {by} AS value, {_unit(layout)} FROM trials WHERE {filtered} ORDER BY {column}, 2")
        units: dict[str | None, list[int]] = {}
        for value, unit in ordered:
            units.setdefault(value, []).append(unit)
        return {
            (value, wanted): clustered_ranks_of(units[value], wanted.share, alpha) for value in sizes for wanted in same
        }
    return dict(_by_design_effect(rows, layout, same, alpha, source, sizes))


def _by_design_effect(
    rows: Rows,
    layout: Layout,
    same: Sequence[Percentile],
    alpha: float,
    source: tuple[str, str, str],
    sizes: dict[str | None, int],
) -> Iterable[tuple[tuple[str | None, Percentile], Ranks]]:
    """For many trials: as many independent ones as these are worth at the percentile itself, their ranks scaled up."""
    by, filtered, column = source
    values = _values_at(
        rows, source, {value: [_nearest(n, w.share) for w in same] for value, n in sizes.items()}, sizes
    )
    for value, n in sizes.items():
        let_through = (
            filtered if value is None else f"{filtered} AND {by} = '{str(value).replace(chr(39), chr(39) * 2)}'"
        )
        for wanted in same:
            limit = values[value][_nearest(n, wanted.share)]
            inside = f"count_if({column} <= CAST('{limit}' AS DOUBLE))"
            sums = "count(*), sum(d), sum(z), sum(z * z), sum(z * d), sum(d * d)"
            units = f"SELECT count(*) AS d, {inside} AS z FROM trials WHERE {let_through} GROUP BY {_unit(layout)}"
            error = standard_error(Sums(*rows(f"SELECT {sums} FROM ({units})")[0]))
            share = float(wanted.share)
            worth = min(n, max(1, int(share * (1 - share) / (error * error)))) if error else n
            low, high = percentile_ranks(worth, wanted.share, alpha)
            yield (
                (value, wanted),
                Ranks(
                    None if low is None else max(1, low * n // worth),
                    None if high is None else min(n, -(-high * n // worth)),
                ),
            )
