"""Exact records of all scenarios, for a baseline or a comparison."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from highbar.columns import EXTRA, QUANTITIES, sum_scale
from highbar.core.rows.row import says
from highbar.core.score import choosing
from highbar.core.score.measures import PASSED, World
from highbar.core.score.ranks import RankReader
from highbar.core.score.scores import Scores
from highbar.core.score.settled import ONE, Settled
from highbar.core.score.trial import marks_of
from highbar.model import Term
from highbar.model.records import ScenarioRecord
from highbar.model.reduction import Records
from highbar.model.requests import Request

WHOLE_RUN = ("judge", "suite")
"""Columns that describe a run, not a scenario: their values are listed once."""
_LEFT_OUT_AT_0 = ("error", "violated", "unjudged")
"""Measures that a record omits if they are 0, as they are in most scenarios."""
_DEMANDS = ("expected_behaviors", "must_not")


def widen(request: Request) -> Request:
    """The request with every measure, over all scenarios: a later policy may need one that today's does not."""
    own = (Term(term.column) for term in request.terms if term.column in QUANTITIES or term.column.startswith(EXTRA))
    columns = request.record_by or ()
    return replace(
        request,
        terms=tuple(dict.fromkeys((*map(Term, QUANTITIES), *own))),
        percentiles=tuple(dict.fromkeys(replace(percentile, where=()) for percentile in request.percentiles)),
        ratios=(),
        crosses=(),
        slices=tuple(dict.fromkeys((*request.slices, "category", "capability", *columns, *WHOLE_RUN))),
    )


def records(scores: Scores, request: Request) -> Records:
    """All scenarios, sorted by id."""
    scores.settle_kinds()
    if request.select:
        scores = choosing.select(scores, request)[0]
    elif request.within_suite:
        scores = choosing.within_suite(scores)[0]
    if request.planned is not None:
        scores = choosing.with_missing(scores, request.planned)[0]
    settled = Settled(scores, request)
    whole = {
        name: tuple(sorted({value for one in scores.descriptions if (value := _value(settled, one, name))}))
        for name in WHOLE_RUN
    }
    undecided = settled.any_undecided
    return Records(
        _records(settled, "worst"),
        judges=whole["judge"],
        suites=whole["suite"],
        best=_records(settled, "best") if undecided else (),
    )


def _value(settled: Settled, description: Any, column: str) -> str | None:
    return description.values[settled.columns.index(column)] if column in settled.columns else None


def _records(settled: Settled, world: World) -> tuple[ScenarioRecord, ...]:
    names = tuple(dict.fromkeys(("latency_ms", *(one.column for one in settled.request.percentiles))))
    reader = RankReader(settled, world)
    ranks = {name: reader.numbers(name) for name in names}
    shown = [name for name in settled.request.slices if name not in WHOLE_RUN]
    clustered = settled.clustered
    found = []
    for place, id_ in enumerate(settled.ids):
        scenario = settled.scenario(place)
        values = {name: value for name in settled.measures if (value := _mean(settled, place, name, world)) is not None}
        passed = scenario.passed_in(world)
        record = ScenarioRecord(
            id=id_,
            trials=len(scenario.trials),
            passed=passed,
            columns={name: text for name in shown if (text := settled.value(place, name)) is not None},
            values=values,
            weight=_own_weight(settled.described(place).weight),
            cluster=settled.described(place).cluster if clustered else None,
            lone=frozenset(name for name in values if scenario.parts[name].lone),
            valueless=frozenset(name for name, part in scenario.parts.items() if part.valueless),
            undecided=len(scenario.trials) - passed - scenario.failed,
        )
        listed = {name: tuple(map(_exact, sorted(ranks[name][place]))) for name in names if ranks[name][place]}
        own = {name: each for name, each in listed.items() if each != record.single_rank(name)}
        found.append(replace(record, ranks=own) if own else record)
    return tuple(sorted(found, key=lambda one: one.id))


def _own_weight(weight: float | None) -> Fraction:
    return ONE if weight is None else Fraction(round(weight * 10**12), 10**12)


def _exact(value: float) -> Fraction | None:
    return None if value in (float("inf"), float("-inf")) else Fraction(str(value))


def _mean(settled: Settled, place: int, name: str, world: World) -> Fraction | None:
    """The mean over the trials that have the measure; None if no trial has it, or if the record omits it."""
    part = settled.scenario(place).parts[name]
    if not part.trials or name == PASSED:
        return None
    total = part.end(world)
    if settled.measures[name].numbers is not None:
        total += settled.amounts(name)[place]
    value = Fraction(total) / (part.trials * sum_scale(name))
    if name in _LEFT_OUT_AT_0 and not value:
        return None
    return ONE if value == 1 else value  # one object for the most frequent value, which comparisons test by identity


def digests(rows: Iterable[Any]) -> Mapping[str, str]:
    """By id, a digest of what a scenario asks and demands, by which another run recognizes it.

    A scenario without an input, or whose trials disagree, has none. A trial without one of the columns does not
    disagree: an error may have come before anything was recorded.
    """
    found: dict[str, list[Any]] = {}
    odd: set[str] = set()
    for row in rows:
        id_ = row.id if row.id.__class__ is str else str(row.id)
        told = [
            row.input if says(row.input) else None,
            _label(row.expected),
            # Order and repetition in a list change nothing about what is demanded.
            *(_names(getattr(row, name)) for name in _DEMANDS),
        ]
        known = found.setdefault(id_, [None] * len(told))
        for place, text in enumerate(told):
            if text is not None and known[place] not in (None, text):
                odd.add(id_)
            known[place] = text if known[place] is None else known[place]
    return {
        id_: hashlib.sha256(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()).hexdigest()
        for id_, told in found.items()
        if told[0] is not None and id_ not in odd
    }


def _label(value: Any) -> str | None:
    if not says(value):
        return None
    return f'"{value}' if value.__class__ is str else str(value).lower()


def _names(value: Any) -> str | None:
    return (
        json.dumps(sorted(set(marks_of(value).every)), ensure_ascii=False, separators=(",", ":"))
        if says(value)
        else None
    )
