"""Every scenario by itself, for the reports that list them: asked for by `scenario_limit`, else no query is made."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from highbar.columns import BY_NAME
from highbar.engine.database import Rows
from highbar.engine.protocol import Request
from highbar.engine.sql import any_match
from highbar.model import ScenarioResult

_SCALE = BY_NAME["latency_ms"].scale
_REASONS = "array_to_string(list_slice(list_sort(list(DISTINCT why)), 1, 3), ' / ')"
# Whole numbers: a sum of floats depends on the order of the rows, and a report must not.
_DURATION = f"sum(if(isfinite(latency_rank), CAST(round(latency_rank * {_SCALE}) AS HUGEINT), NULL))"


def listed(rows: Rows, request: Request) -> tuple[ScenarioResult, ...]:
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
