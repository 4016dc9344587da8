"""What the laws are tried on: every metric over a whole suite and over its slices, and the policies that name them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random
from typing import Any
from zlib import crc32

import highbar
from tests.laws.table import LAWS
from tests.oracle.scenarios import PASSED, UNDECIDED, Scenario, scenarios_of
from tests.oracle.suites import rows_of
from tests.oracle.trials import Settings

Row = dict[str, Any]

LOWER = {
    *("latency_p50", "latency_p95", "latency_p99", "normalized_latency", "cost_per_pass", "error_rate"),
    "violation_rate",
}
UNITS = {"latency_p50": "ms", "latency_p95": "ms", "latency_p99": "ms", "token_efficiency": "", "cost_per_pass": ""}
# weighted_score is made of metrics that always exist; see `test_breaking_a_row_never_improves_a_metric_or_a_verdict`.
WEIGHED = {"pass_rate": 1.0, "weighted_pass_rate": 2.0, "pass_hat_1": 0.5}
LOOSEST = {"ratio": ("≥ 0%", "≤ 100%"), "ms": ("", "≤ 1000000s"), "": ("≥ 0", "≤ 1000000")}


def decided_rows(random: Random, *, scenarios: int) -> list[Row]:
    """Generated rows of which everything is known: every trial of a scenario has the columns of its first one.

    Baselines refuse undecided trials, and an interval reaches over both of their ends: other laws are about those.
    """
    by_id: dict[str, list[Row]] = {}
    for row in rows_of(random, scenarios=scenarios):
        known = {name: value for name, value in row.items() if value is not None and name != "answer_checked"}
        by_id.setdefault(row["id"], []).append(known)
    rows = []
    for own in by_id.values():
        columns = {name: value for name, value in own[0].items() if name not in ("unjudged", "trial", "error")}
        for row in own:
            filled = {name: row.get(name) or value for name, value in columns.items()} | {"violations": []}
            filled |= {name: columns[name] for name in ("expected_behaviors",) if name in columns}
            filled |= {name: row[name] for name in ("trial", "error", "violations", "behaviors") if name in row}
            rows.append({"behaviors": []} | filled)
    return settled(rows)


def settled(rows: Sequence[Row]) -> list[Row]:
    """The rows, with a judgment of the caller's in every scenario that has an undecided trial."""
    return [row for one in scenarios_of(rows, Settings(output_column=True)) for row in decided(one)]


def decided(scenario: Scenario) -> list[Row]:
    """The rows of a scenario, all with a judgment of the caller's if one of its trials is undecided."""
    states = [scenario.state(trial) for trial in scenario.trials]
    if UNDECIDED not in states:
        return [dict(trial.row) for trial in scenario.trials]
    return [{"passed": state == PASSED, **trial.row} for trial, state in zip(scenario.trials, states, strict=True)]


def policy_for(rows: Sequence[Row], rules: Sequence[Row]) -> Row:
    """A policy with these rules, the settings that every metric needs, and the slices of a column.

    Each column costs as much as the whole, so one has its turn; which one depends on an id that no law changes.
    """
    sliced = [column for column in ("category", "capability", "team") if any(row.get(column) for row in rows)]
    turn = crc32(min((str(row["id"]) for row in rows), default="").encode()) % max(1, len(sliced))
    policy: Row = {
        "weights": {"by_category": {"adversarial": 2.0}, "by_metric": WEIGHED},
        "rules": list(rules),
        "slices": sliced[turn : turn + 1],
    }
    if any(isinstance(row.get("expected"), str) for row in rows):
        policy["positive"] = "spam"
    return policy


def loosest(metric: str) -> str:
    """A threshold that every value of the metric reaches."""
    return LOOSEST[UNITS.get(metric, "ratio")][metric in LOWER]


def every_metric(where: Row | None = None) -> list[Row]:
    """One rule per metric, so that all are computed, pass_at_K and pass_hat_K included."""
    return [{"metric": name, "threshold": loosest(name)} | ({"where": where} if where else {}) for name in LAWS]


def measured(rows: Any, policy: Row | None = None) -> dict[tuple[Any, str], Any]:
    """By group (None for the whole) and metric, what a check says: value, counts, unit and reason."""
    verdict = highbar.check(rows, policy or policy_for(rows, every_metric()))
    groups = [(None, verdict.metrics), *((part.by, part.metrics) for part in verdict.slices)]
    return {(by, name): metrics[name] for by, metrics in groups for name in LAWS}


def counted(found: dict[tuple[Any, str], Any], metrics: Sequence[str]) -> dict[tuple[Any, str], Any]:
    """The values of some metrics with the counts they rest on, to be compared."""
    return {
        (by, name): (value.value, value.scenarios, value.missing)
        for (by, name), value in found.items()
        if name in metrics
    }


def both_defined(
    before: dict[Any, Any], after: dict[Any, Any], metrics: Sequence[str]
) -> Iterator[tuple[Any, Any, Any]]:
    """(group and metric, value before, value after) where both exist."""
    for key in before.keys() & after.keys():
        if key[1] in metrics and before[key].value is not None and after[key].value is not None:
            yield key, before[key].value, after[key].value


def better(metric: str, one: Fraction, other: Fraction) -> bool:
    """Whether `one` is better than `other`."""
    return one < other if metric in LOWER else one > other


def threshold_text(metric: str, bound: Fraction) -> str:
    """A bound in the metric's own direction, equality passing. `bound` has at most six decimals."""
    unit = UNITS.get(metric, "ratio")
    number = f"{float(bound * 100 if unit == 'ratio' else bound):.6f}"
    return f"{'≤' if metric in LOWER else '≥'} {number}{'%' if unit == 'ratio' else unit}"
