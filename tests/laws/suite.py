"""What the laws are tried on: generated rows, one policy that names every metric, and the ways to break a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import highbar
from tests.laws.table import LAWS

Row = dict[str, Any]

LOWER = {
    *("latency_p50", "latency_p95", "latency_p99", "normalized_latency", "cost_per_pass", "error_rate"),
    "violation_rate",
}
UNITS = {"latency_p50": "ms", "latency_p95": "ms", "latency_p99": "ms", "token_efficiency": "", "cost_per_pass": ""}
# Metrics that no break can bring into being; see `test_breaking_a_row_never_improves_the_verdict`.
WEIGHED = {"pass_rate": 1.0, "weighted_pass_rate": 2.0, "pass_hat_1": 0.5}
LOOSEST = {"ratio": ("≥ 0%", "≤ 100%"), "ms": ("", "≤ 1000000s"), "": ("≥ 0", "≤ 1000000")}


def policy_for(rows: Sequence[Row], rules: Sequence[Row], **more: Any) -> Row:
    """A policy with these rules and the settings that every metric needs."""
    policy: Row = {"weights": {"by_category": {"adversarial": 2.0}, "by_metric": WEIGHED}, "rules": list(rules)}
    if any(isinstance(row.get("expected"), str) for row in rows):
        policy["positive"] = "spam"
    return policy | more


def loosest(metric: str) -> str:
    """A threshold that every value of the metric reaches."""
    return LOOSEST[UNITS.get(metric, "ratio")][metric in LOWER]


def every_metric(where: Row | None = None) -> list[Row]:
    """One rule per metric, so that all are computed, pass_at_K and pass_hat_K included."""
    return [{"metric": name, "threshold": loosest(name)} | ({"where": where} if where else {}) for name in LAWS]


def values(rows: Any, policy: Row | None = None) -> dict[str, Any]:
    """Every metric of a check: value, counts and reason."""
    verdict = highbar.check(rows, policy or policy_for(rows, every_metric()))
    return {name: verdict.metrics[name] for name in LAWS}


def better(metric: str, one: Fraction, other: Fraction) -> bool:
    """Whether `one` is better than `other`."""
    return one < other if metric in LOWER else one > other


def threshold_text(metric: str, bound: Fraction | int) -> str:
    """A bound in the metric's own direction, equality passing."""
    unit = UNITS.get(metric, "ratio")
    number = f"{float(bound * 100 if unit == 'ratio' else bound):.6f}"
    return f"{'≤' if metric in LOWER else '≥'} {number}{'%' if unit == 'ratio' else unit}"


# --- the ways to break a row ---------------------------------------------------------------------
# Each takes a row and gives the broken one, or None where there is nothing to break.


def with_an_error(row: Row) -> Row | None:
    return {**row, "error": "crash"}


def with_a_violation(row: Row) -> Row | None:
    recorded = row.get("violations")
    if isinstance(recorded, int):
        return {**row, "violations": recorded + 1}
    return {**row, "violations": [*(recorded or ()), "does harm"]}


def with_a_must_not_that_happened(row: Row) -> Row | None:
    forbidden = row.get("must_not")
    if not forbidden:
        return None
    if isinstance(forbidden, dict):
        return {**row, "must_not": dict.fromkeys(forbidden, True)}
    names = [entry if isinstance(entry, str) else entry["name"] for entry in forbidden]
    return {**row, "must_not": [{"name": name, "violated": True} for name in names]}


def with_passed_false(row: Row) -> Row | None:
    return {**row, "passed": False}


def with_correct_false(row: Row) -> Row | None:
    """Where an answer was expected. On a row where none was, it would be a new expectation, not a worse answer."""
    expected = any(row.get(column) is not None for column in ("correct", "expected", "outcome"))
    return {**row, "correct": False} if expected else None


def without_an_observed_behavior(row: Row) -> Row | None:
    """One that was wanted. Taking away one that was forbidden would mend the row."""
    seen = row.get("behaviors")
    forbidden = {entry if isinstance(entry, str) else entry["name"] for entry in row.get("must_not") or ()}
    names = [entry if isinstance(entry, str) else entry["name"] for entry in seen or ()]
    lost = next((name for name in names if name not in forbidden), None)
    if lost is None:
        return None
    if isinstance(seen, dict):
        return {**row, "behaviors": {**seen, lost: False}}
    kept = [entry for entry in seen or () if (entry if isinstance(entry, str) else entry["name"]) != lost]
    return {**row, "behaviors": kept}


def without_a_prediction(row: Row) -> Row | None:
    return {**row, "predicted": None} if row.get("predicted") is not None else None


def with_a_higher_latency(row: Row) -> Row | None:
    return {**row, "latency_ms": row["latency_ms"] * 2 + 1} if row.get("latency_ms") is not None else None


BREAKS: dict[str, Callable[[Row], Row | None]] = {
    "an error": with_an_error,
    "a violation": with_a_violation,
    "a must-not that happened": with_a_must_not_that_happened,
    "passed: false": with_passed_false,
    "correct: false": with_correct_false,
    "a behavior less": without_an_observed_behavior,
    "no prediction": without_a_prediction,
    "a higher latency": with_a_higher_latency,
}


def is_false_positive(row: Row) -> bool:
    """Whether a row predicts the positive label where another was expected."""
    positive = "spam" if isinstance(row.get("predicted"), str) else True
    return row.get("expected") is not None and row.get("predicted") == positive != row["expected"]
