"""Every scenario by itself, for the reports that list them: asked for by `scenario_limit`, else no query is made."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from highbar.engine.protocol import Request
from highbar.engine.scoring import LATENCY
from highbar.engine.sql import any_match
from highbar.model import ScenarioResult

_REASONS = "array_to_string(list_slice(list_sort(list(DISTINCT why)), 1, 3), ' / ')"
# Whole numbers: a sum of floats depends on the order of the rows, and a report must not.
_DURATION = f"sum(if(isfinite(latency_rank), CAST(round(latency_rank * {LATENCY}) AS HUGEINT), NULL))"


def listed(rows: Callable[[str], list[Any]], request: Request) -> tuple[ScenarioResult, ...]:
    """At most `scenario_limit` scenarios: the failed first, then the undecided, each by id."""
    trials = (
        "SELECT id, max(category) AS category, count_if(e) AS errors, count_if(v) AS violated,"
        f" nullif({_REASONS}, '') AS reason, {_DURATION} AS duration FROM trials GROUP BY id"
    )
    found = rows(
        f"SELECT id, t.category, n, kp, t.errors, t.violated, reason, {any_match(request.required)}, duration,"
        f" n - kp - kf FROM ({trials}) AS t JOIN scenarios USING (id)"
        f" ORDER BY kf = 0, kp = n, id LIMIT {request.scenario_limit}"
    )
    return tuple(_result(*row) for row in found)


def _result(id_: str, category: str | None, trials: int, passed: int, *more: Any) -> ScenarioResult:
    errors, violated, reason, required, duration, undecided = more
    return ScenarioResult(
        id_, category, trials, passed, errors, violated, reason, required, _milliseconds(duration), undecided
    )


def _milliseconds(total: int | None) -> Fraction | None:
    return None if total is None else Fraction(total, LATENCY)
