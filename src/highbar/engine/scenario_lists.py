"""Scenarios by name: all of them for reports that list them, and the undecided ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from highbar.columns import BY_NAME
from highbar.engine.layout import Layout
from highbar.engine.limits import MOST_UNDECIDED_LISTED, MOST_UNDECIDED_NAMED
from highbar.engine.protocol import Request, Rows
from highbar.engine.scenarios import beside_facts, is_undecided
from highbar.engine.sql import any_match, literal, matches_sql
from highbar.model import ScenarioResult, Trial, Undecided, UndecidedScenario

_SCALE = BY_NAME["latency_ms"].scale
_LACKS = "undecided: a trial lacks a column by which another trial, or the suite, has this scenario judged"
_REASONS = "array_to_string(list_slice(list_sort(list(DISTINCT why)), 1, 3), ' / ')"
# Whole numbers: a sum of floats depends on the order of the rows, and a report must not.
_DURATION = f"sum(if(isfinite(latency_rank), CAST(round(latency_rank * {_SCALE}) AS HUGEINT), NULL))"


def list_scenarios(rows: Rows, request: Request) -> tuple[ScenarioResult, ...]:
    """At most `scenario_limit` scenarios: the failed first, then the undecided, each by id."""
    trials = (
        "SELECT id, max(category) AS category, count_if(is_error) AS errors, count_if(is_violated) AS violated,"
        f" nullif({_REASONS}, '') AS reason, {_DURATION} AS duration FROM trials GROUP BY id"
    )
    found = rows(
        f"SELECT id, t.category, trial_count, passed_trials, t.errors, t.violated, reason,"
        f" {any_match(request.required)}, duration, trial_count - passed_trials - failed_trials"
        f" FROM ({trials}) AS t JOIN scenarios USING (id)"
        f" ORDER BY failed_trials = 0, passed_trials = trial_count, id LIMIT {request.scenario_limit}"
    )
    return tuple(_result(*row) for row in found)


def _result(id_: str, category: str | None, trials: int, passed: int, *more: Any) -> ScenarioResult:
    errors, violated, reason, required, duration, undecided = more
    return ScenarioResult(
        id_, category, trials, passed, errors, violated, reason, required, _milliseconds(duration), undecided
    )


def _milliseconds(total: int | None) -> Fraction | None:
    return None if total is None else Fraction(total, _SCALE)


def undecided_trials(rows: Rows, layout: Layout, request: Request) -> dict[Undecided, tuple[Trial, ...]]:
    """The first undecided trials for each demand of the request; needs the relation `trials_of_undecided`."""
    return {wanted: _undecided_of(rows, layout, wanted) for wanted in request.undecided}


def _undecided_of(rows: Rows, layout: Layout, wanted: Undecided) -> tuple[Trial, ...]:
    parts = [(column, where) for column, where in wanted.parts if column in layout.quantities]
    if not parts:
        return ()
    undecided = " OR ".join(
        f"(({is_undecided(layout, column)}){f' AND {layout.flag(where)}' if where else ''})" for column, where in parts
    )
    columns = list(dict.fromkeys(column for column, _ in parts))
    conditions = [f"({undecided})"] + ([f"({matches_sql(wanted.pattern)})"] if wanted.pattern is not None else [])
    trial = "trial" if layout.repeated else "NULL"
    found = rows(
        f"SELECT id, {trial} AS trial FROM {beside_facts(layout, columns, 'trials_of_undecided')}"
        f" WHERE {' AND '.join(conditions)} ORDER BY id, trial LIMIT {MOST_UNDECIDED_NAMED}"
    )
    return tuple((id_, number) for id_, number in found)


def list_undecided(rows: Rows, request: Request) -> tuple[UndecidedScenario, ...]:
    """The scenarios of which no trial failed and not every trial passed, the required ones first."""
    required = any_match(request.required)
    found = rows(
        f"SELECT id, category, trial_count, passed_trials, {required} AS required FROM scenarios"
        " WHERE failed_trials = 0 AND passed_trials < trial_count"
        f" ORDER BY NOT ({required}), id LIMIT {MOST_UNDECIDED_LISTED}"
    )
    if not found:
        return ()
    # A trial that lacks what another one is judged by has no reason of its own: then `_LACKS` is the reason.
    ids = ", ".join(literal(row[0]) for row in found)
    reasons = dict(rows(f"SELECT id, nullif({_REASONS}, '') FROM trials_of_undecided WHERE id IN ({ids}) GROUP BY id"))
    return tuple(
        UndecidedScenario(id_, category, reasons.get(id_) or _LACKS, trials, passed, required=bool(is_required))
        for id_, category, trials, passed, is_required in found
    )
