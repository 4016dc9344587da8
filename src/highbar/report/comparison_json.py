"""A comparison as JSON, schema `highbar/comparison/1`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from highbar.errors import Problem
from highbar.language.digits import as_float
from highbar.model import RuleResult, Source, Where
from highbar.model.comparison import Comparison, Factor, MetricChange, PassChange, Side, SliceChange
from highbar.report import PAGE, Display
from highbar.report.json import encode, judged_by, selection

SCHEMA = "highbar/comparison/1"


def render(comparison: Comparison, _display: Display = PAGE) -> str:
    """Everything the comparison holds; the bytes depend on it alone."""
    return encode(
        {
            "schema": SCHEMA,
            "verdict": comparison.verdict,
            "confidence": as_float(comparison.confidence),
            "pairs": comparison.pairs,
            "metrics": _metrics(comparison.metrics),
            "slices": [_slice(part) for part in comparison.slices],
            "passes": _passes(comparison.passes),
            "latency": _factor(comparison.latency),
            "broken": list(comparison.broken),
            "fixed": list(comparison.fixed),
            "flaky": list(comparison.flaky),
            "only_in_base": list(comparison.only_in_base),
            "only_in_head": list(comparison.only_in_head),
            "rules": [_rule(rule) for rule in comparison.rules],
            "judged_by": judged_by(dict.fromkeys((*comparison.base.judged_by, *comparison.head.judged_by))),
            "warnings": list(comparison.warnings),
            "policy": _source(comparison.policy) if comparison.policy else None,
            "base": _side(comparison.base),
            "head": _side(comparison.head),
        }
    )


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """What is printed in place of a comparison when there is none."""
    listed = [
        {"file": one.file, "line": one.line, "column": one.column, "message": one.message, "hint": one.hint}
        for one in problems
    ]
    return encode({"schema": SCHEMA, "verdict": None, "problems": listed})


def _metrics(metrics: Mapping[str, MetricChange]) -> dict[str, Any]:
    return {name: _metric(change) for name, change in metrics.items()}


def _metric(change: MetricChange) -> dict[str, Any]:
    difference = change.difference
    return {
        "base": _number(difference.base.value),
        "head": _number(difference.head.value),
        "difference": _number(difference.value),
        "low": difference.low,
        "high": difference.high,
        "outcome": change.outcome,
        "margin": change.margin,
        "factor": _factor(difference.factor),
        "pairs": difference.pairs,
        "missing": difference.missing,
        "unit": difference.head.unit,
        "better": difference.head.better,
        "reason": difference.reason,
    }


def _number(value: Fraction | None) -> float | None:
    return None if value is None else as_float(value)


def _factor(factor: Factor | None) -> dict[str, Any] | None:
    return None if factor is None else {"value": factor.value, "low": factor.low, "high": factor.high}


def _passes(passes: PassChange) -> dict[str, Any]:
    return {"broken": passes.broken, "fixed": passes.fixed, "p_value": passes.p_value}


def _slice(part: SliceChange) -> dict[str, Any]:
    column, value = part.by
    return {
        "by": {column: value},
        "pairs": part.pairs,
        "stands_out": part.stands_out,
        "passes": _passes(part.passes),
        "adjusted_p_value": part.adjusted,
        "metrics": _metrics(part.metrics),
    }


def _rule(rule: RuleResult) -> dict[str, Any]:
    value = rule.value
    return {
        "rule": rule.rule,
        "level": rule.level,
        "metric": rule.metric,
        "slice": _where(rule.slice),
        "threshold": rule.threshold,
        "value": _number(value.value) if value else None,
        "outcome": rule.outcome,
        "reason": rule.reason,
        "fragile": rule.fragile,
        "more_scenarios": rule.more_scenarios,
        "description": rule.description,
        "file": rule.place.file,
        "line": rule.place.line,
    }


def _where(where: Where) -> dict[str, Any] | None:
    return {column: values[0] if len(values) == 1 else list(values) for column, values in where} or None


def _side(side: Side) -> dict[str, Any]:
    return {
        "files": [_source(source) for source in side.sources],
        "baseline": side.is_baseline,
        "agent_version": side.agent_version,
        "scenarios": side.scenarios,
        "trials": side.trials,
        "date": side.date,
        "forced": side.forced,
        "judged_by": judged_by(side.judged_by),
        "select": selection(side.selection),
    }


def _source(source: Source) -> dict[str, Any]:
    return {"file": source.file, "sha256": source.sha256}
