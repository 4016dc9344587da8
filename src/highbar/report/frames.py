"""A verdict's metrics, rules or scenarios as a data frame, one row each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from highbar.errors import InputError, Problem
from highbar.language.digits import as_float, bounds_by_metric, rule_bounds
from highbar.model import RuleResult, Value, Verdict
from highbar.model.verdict import ScenarioResult

TABLES = ("metrics", "rules", "scenarios")
Row = Mapping[str, Any]


def frame(verdict: Verdict, table: str) -> Any:
    """A pandas data frame, a polars one if only polars is installed, else a list of dicts.

    Raises InputError if `table` is not one of `TABLES`.
    """
    if table not in TABLES:
        raise InputError(
            Problem("option.bad-value", f"found the table {table!r}", hint=f"wanted one of {', '.join(TABLES)}")
        )
    rows = list(_rows(verdict, table))
    if find_spec("pandas"):
        return import_module("pandas").DataFrame(rows, columns=_columns(table))
    if find_spec("polars"):
        # By default polars infers types from the first 100 rows, and a column may be null in all of them.
        return import_module("polars").DataFrame(rows, schema=_columns(table), orient="row", infer_schema_length=None)
    return rows


def _rows(verdict: Verdict, table: str) -> Iterable[Row]:
    bounds = bounds_by_metric(verdict.rules or verdict.advice)
    if table == "metrics":
        return ({"metric": name, **_value(value, bounds.get(name, ()))} for name, value in verdict.metrics.items())
    if table == "rules":
        return (_rule(rule, rule_bounds(rule, bounds)) for rule in verdict.rules)
    return map(_scenario, verdict.complete(scenarios=True).scenarios)


_VALUE = ("value", "low", "high", "scenarios", "missing", "undecided", "unit", "better", "undefined_because")


def _value(value: Value | None, bounds: Iterable[Fraction]) -> Row:
    if value is None:
        return dict.fromkeys(_VALUE)
    number = None if value.value is None else as_float(value.value, bounds)
    parts = (value.low, value.high, value.scenarios, value.missing, value.undecided, value.unit, value.better)
    return dict(zip(_VALUE, (number, *parts, value.reason), strict=True))


_RULE = ("rule", "level", "outcome", "metric", "slice", "threshold", "reason", "fragile", "second_run")


def _rule(rule: RuleResult, bounds: Iterable[Fraction]) -> Row:
    part = ", ".join(f"{column}={' or '.join(values)}" for column, values in rule.slice) or None
    parts = (rule.rule, rule.level, rule.outcome, rule.metric, part, rule.threshold, rule.reason, rule.fragile)
    return {**dict(zip(_RULE, (*parts, rule.second_run), strict=True)), **_value(rule.value, bounds)}


_SCENARIO = ("id", "category", "passed", "undecided", "trials", "passed_trials", "errors", "required", "duration_ms")


def _scenario(scenario: ScenarioResult) -> Row:
    parts: dict[str, Any] = {name: getattr(scenario, name) for name in _SCENARIO}
    duration = None if scenario.duration_ms is None else float(scenario.duration_ms)
    return {**parts, "duration_ms": duration, "reason": scenario.reason}


def _columns(table: str) -> Sequence[str]:
    """The columns of a table, so that it has them even without rows."""
    if table == "metrics":
        return ("metric", *_VALUE)
    return (*_RULE, *_VALUE) if table == "rules" else (*_SCENARIO, "reason")
