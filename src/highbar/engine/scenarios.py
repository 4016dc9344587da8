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
    """At most `scenario_limit` scenarios, the failed first, then by id."""
    found = rows(
        f"SELECT id, any_value(category), count(*), count_if(p), count_if(e), count_if(v), nullif({_REASONS}, ''),"
        f" {any_match(request.required)}, {_DURATION}"
        f" FROM trials GROUP BY id ORDER BY count_if(p) = count(*), id LIMIT {request.scenario_limit}"
    )
    return tuple(ScenarioResult(*row[:-1], *_milliseconds(row[-1])) for row in found)


def _milliseconds(total: int | None) -> tuple[Fraction, ...]:
    return () if total is None else (Fraction(total, LATENCY),)
