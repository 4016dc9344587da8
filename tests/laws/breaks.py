"""The ways to break a row: each takes a row and gives the broken one, or None where there is nothing to break."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.trials import observed_names

Row = dict[str, Any]


def with_an_error(row: Row) -> Row | None:
    """The agent crashed after all."""
    return {**row, "error": "crash"}


def with_a_violation(row: Row) -> Row | None:
    """One thing more that did happen."""
    recorded = row.get("violations")
    if isinstance(recorded, int):
        return {**row, "violations": recorded + 1}
    return {**row, "violations": [*(recorded or ()), "does harm"]}


def with_a_must_not_that_happened(row: Row) -> Row | None:
    """What must not happen, marked as having happened."""
    forbidden = row.get("must_not")
    if not forbidden:
        return None
    if isinstance(forbidden, dict):
        return {**row, "must_not": dict.fromkeys(forbidden, True)}
    return {**row, "must_not": [{"name": name, "violated": True} for name in dict.fromkeys(names_of(forbidden))]}


def with_passed_false(row: Row) -> Row | None:
    """The caller's own judgment, against it."""
    return {**row, "passed": False}


def with_correct_false(row: Row) -> Row | None:
    """A wrong answer where one was expected. Where none was, it would be a new expectation, not a worse answer."""
    expected = any(row.get(column) is not None for column in ("correct", "expected", "outcome"))
    return {**row, "correct": False} if expected else None


def without_an_observed_behavior(row: Row) -> Row | None:
    """One that may be seen. To take away one that was forbidden would mend the row."""
    seen = row.get("behaviors")
    there = [name for name in names_of(seen) if name in observed_names(seen)]
    lost = next((name for name in there if name not in names_of(row.get("must_not"))), None)
    if lost is None:
        return None
    if isinstance(seen, dict):
        return {**row, "behaviors": {**seen, lost: False}}
    return {**row, "behaviors": [entry for entry in seen or () if names_of([entry]) != [lost]]}


def without_a_prediction(row: Row) -> Row | None:
    """No answer."""
    return {**row, "predicted": None} if row.get("predicted") is not None else None


def with_a_higher_latency(row: Row) -> Row | None:
    """The same, more slowly."""
    return {**row, "latency_ms": row["latency_ms"] * 2 + 1} if row.get("latency_ms") is not None else None


def names_of(entries: Any) -> list[str]:
    """The names in any of the three forms."""
    return [entry if isinstance(entry, str) else entry["name"] for entry in entries or ()]


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


def takes_back_a_false_positive(row: Row, broken: Row) -> bool:
    """Whether the break takes away a positive prediction where another label was expected."""
    positive = "spam" if isinstance(row.get("predicted"), str) else True
    lost = row.get("predicted") == positive and broken.get("predicted") is None
    return lost and row.get("expected") not in (None, positive)
