"""Exact records of all scenarios, for a baseline or a comparison: the relation `scenarios`, fetched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from highbar.columns import BY_NAME, EXTRA, QUANTITIES
from highbar.engine.layout import Layout
from highbar.engine.protocol import Request, Rows
from highbar.engine.quantities import EVERY_TRIAL, SCORE_DENOMINATOR, World, contribution
from highbar.engine.ranks import finite_number, rank_column
from highbar.engine.scenarios import beside_facts, ends_of
from highbar.engine.sources import SourcePart
from highbar.model import Term
from highbar.model.records import ONE, ScenarioRecord
from highbar.model.reduction import Records

WHOLE_RUN = ("judge", "suite")
"""Columns that describe a run, not a scenario: their values are listed once."""
ALL_TERMS = tuple(Term(name) for name in QUANTITIES)
"""All measures, even those that the policy does not need today: a later policy may."""
_DEMANDS = ("expected_behaviors", "must_not")
_LEFT_OUT_AT_0 = ("error", "violated", "unjudged")
"""Measures that a record omits if they are 0, as they are in most scenarios."""


def widen_request(request: Request, columns: Iterable[str]) -> Request:
    """The request with every measure and these columns, over all scenarios: what a baseline records."""
    own = (Term(term.column) for term in request.terms if term.column in QUANTITIES or term.column.startswith(EXTRA))
    return replace(
        request,
        terms=tuple(dict.fromkeys((*ALL_TERMS, *own))),
        percentiles=tuple(dict.fromkeys(replace(percentile, where=()) for percentile in request.percentiles)),
        ratios=(),
        crosses=(),
        slices=tuple(dict.fromkeys((*request.slices, "category", "capability", *columns, *WHOLE_RUN))),
    )


def _record_columns(layout: Layout) -> tuple[str, ...]:
    """The columns of `scenarios` from which a record is made."""
    names = [
        "id",
        *(f"by_{i}" for i in range(len(layout.slices))),
        EVERY_TRIAL,
        "passed_trials",
        "failed_trials",
        "lone",
        SCORE_DENOMINATOR,
    ]
    for one in layout.quantities.values():
        names += [one.count, one.total, *ends_of(one)]
    return tuple(dict.fromkeys([*names, *layout.optional_columns()]))


def find_records(rows: Rows, layout: Layout, request: Request) -> Records:
    """All scenarios, sorted by id as text; `scenarios` and `trials` must be defined for this request."""
    listed = scenario_records(rows, layout, request, "worst")
    whole = {
        name: tuple(row[0] for row in rows(f"SELECT DISTINCT by_{i} FROM trials WHERE by_{i} IS NOT NULL ORDER BY 1"))
        for i, name in enumerate(layout.slices)
        if name in WHOLE_RUN
    }
    return Records(listed, judges=whole.get("judge", ()), suites=whole.get("suite", ()))


def scenario_records(rows: Rows, layout: Layout, request: Request, world: World) -> tuple[ScenarioRecord, ...]:
    """All scenarios, as the relation `scenarios` has them now; `world` says how undecided trials count."""
    names = _record_columns(layout)
    ranks = _ranks(rows, layout, request, world)
    found = rows(f"SELECT {', '.join(names)} FROM scenarios ORDER BY id")
    records = [_record(dict(zip(names, row, strict=True)), layout, ranks) for row in found]
    return tuple(sorted(records, key=lambda record: record.id))


def _ranks(
    rows: Rows, layout: Layout, request: Request, world: World
) -> dict[str, Mapping[str, tuple[Fraction | None, ...]]]:
    """By id and column, the values of the trials that a percentile ranks."""
    names = tuple(dict.fromkeys(("latency_ms", *(percentile.column for percentile in request.percentiles))))
    sql = [rank_column(layout, name, world, repeated=layout.repeated) for name in names]
    trials = beside_facts(layout, names) if layout.repeated else "trials"
    lists = ", ".join(f"list({column} ORDER BY {column}) FILTER ({column} IS NOT NULL)" for column in sql)
    return {
        id_: {
            name: tuple(finite_number(value) for value in values)
            for name, values in zip(names, found, strict=True)
            if values
        }
        for id_, *found in rows(f"SELECT id, {lists} FROM {trials} GROUP BY id")
    }


def _record(
    row: Mapping[str, Any], layout: Layout, ranks: Mapping[str, Mapping[str, tuple[Fraction | None, ...]]]
) -> ScenarioRecord:
    values = {name: value for name in layout.quantities if (value := _value(row, layout, name)) is not None}
    lone = frozenset(name for name in values if row["lone"] & layout.lone_bits[name])
    valueless = frozenset(
        name for name, one in layout.quantities.items() if one.valueless and row[f"valueless_{one.total}"]
    )
    columns = {
        name: row[f"by_{i}"]
        for i, name in enumerate(layout.slices)
        if name not in WHOLE_RUN and row[f"by_{i}"] is not None
    }
    record = ScenarioRecord(
        id=row["id"],
        trials=row[EVERY_TRIAL],
        passed=row["passed_trials"],
        columns=columns,
        values=values,
        weight=Fraction(row["own_weight"], BY_NAME["weight"].scale) if layout.own_weight else ONE,
        cluster=row["cluster"] if layout.clustered else None,
        lone=lone,
        valueless=valueless,
        undecided=row[EVERY_TRIAL] - row["passed_trials"] - row["failed_trials"],
    )
    # Most scenarios have one trial, whose rank follows from its value: to write it twice would double a baseline.
    own = {name: listed for name, listed in ranks[record.id].items() if listed != record.single_rank(name)}
    return replace(record, ranks=own) if own else record


def _value(row: Mapping[str, Any], layout: Layout, name: str) -> Fraction | None:
    """The mean over the trials that have the measure; None if no trial has it, or if the record omits it."""
    value = contribution(layout.quantities, name).exact(row)
    if name == "passed" or (name in _LEFT_OUT_AT_0 and not value):
        return None
    return ONE if value == 1 else value  # one object for the most frequent value, which comparisons test by identity


def scenario_digests(rows: Rows, parts: Sequence[SourcePart]) -> Mapping[str, str]:
    """By id, a digest of what a scenario asks and demands, by which another run recognizes it.

    A scenario without an input, or whose trials disagree, has none.

    A trial without one of the columns does not disagree: an error may have come before anything was recorded.
    """
    from highbar.engine.details import typed_rows  # only for the history

    if not all("input" in part.columns for part in parts):
        return {}
    # Order and repetition in a list change nothing about what is demanded.
    lists = [f"to_json(list_sort(list_distinct({name})))::VARCHAR AS {name}" for name in _DEMANDS]
    source = " UNION ALL ".join(f"SELECT id, input, expected, {', '.join(lists)} FROM ({typed_rows(p)})" for p in parts)
    names = ("input", "expected", *_DEMANDS)
    alike = " AND ".join(f"count(DISTINCT {name}) <= 1" for name in names)
    found = rows(
        f"SELECT id, sha256(to_json([{', '.join(f'max({name})' for name in names)}])::VARCHAR) FROM ({source})"
        f" GROUP BY id HAVING max(input) IS NOT NULL AND {alike}"
    )
    return {id_: digest for id_, digest in found if digest is not None}
