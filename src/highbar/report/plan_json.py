"""A plan as JSON, schema `highbar/plan/1`: every answer in a list of its own, empty where it was not asked for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from highbar.language.digits import as_float
from highbar.model import Where
from highbar.planning import (
    Assumptions,
    Chance,
    Difference,
    Joint,
    Plan,
    Reach,
    Repeats,
    RuleNeed,
    RuleStanding,
    Supposed,
)
from highbar.report import PAGE, Display
from highbar.report.json import encode

SCHEMA = "highbar/plan/1"


def render(plan: Plan, _display: Display = PAGE) -> str:
    """Everything that the plan holds."""
    counts = {"scenarios": plan.scenarios, "trials": plan.trials}
    return encode(
        {
            "schema": SCHEMA,
            "assumptions": _assumed(plan.assumptions),
            "counts": None if plan.trials is None else counts,
            "suppositions": [_supposed(row) for row in plan.supposed],
            "suites": [_reach(row) for row in plan.reaches],
            "chances": [_chance(row) for row in plan.chances],
            "differences": [_difference(row) for row in plan.differences],
            "policy": plan.policy,
            "rules": [*(_need(row) for row in plan.rules), *(_standing(row) for row in plan.standings)],
            "joint": _joint(plan.joint) if plan.joint else None,
            "repetition": _repeats(plan.repeats) if plan.repeats else None,
        }
    )


def _assumed(assumed: Assumptions) -> dict[str, Any]:
    return {
        "confidence": float(assumed.confidence),
        "power": float(assumed.power),
        "tolerate": float(assumed.tolerate),
        "trials": assumed.trials,
        "correlation": float(assumed.correlation) if assumed.trials > 1 else None,
    }


def _supposed(row: Supposed) -> dict[str, Any]:
    return {
        "threshold": float(row.threshold),
        "rate": float(row.rate),
        "outcome": row.outcome,
        "scenarios": row.scenarios,
        "runs": row.runs,
        "fewest": row.fewest,
    }


def _reach(row: Reach) -> dict[str, Any]:
    return {
        "threshold": float(row.threshold),
        "scenarios": row.scenarios,
        "passes_from": row.passes_from,
        "fails_to": row.fails_to,
        "rate_to_pass": row.rate_to_pass,
        "rate_to_fail": row.rate_to_fail,
    }


def _chance(row: Chance) -> dict[str, Any]:
    return {
        "threshold": float(row.threshold),
        "rate": float(row.rate),
        "scenarios": row.scenarios,
        "pass": row.passes,
        "fail": row.fails,
        "inconclusive": row.inconclusive,
    }


def _difference(row: Difference) -> dict[str, Any]:
    return {"scenarios": row.scenarios, "differing": float(row.differing), "difference": row.difference}


def _need(row: RuleNeed) -> dict[str, Any]:
    return {
        "rule": row.rule,
        "level": row.level,
        "metric": row.metric,
        "slice": _where(row.slice),
        "threshold": row.threshold,
        "fewest": row.fewest,
        "supposed": _number(row.supposed),
        "scenarios": row.scenarios,
        "rate_to_pass": row.rate_to_pass,
        "rate_to_fail": row.rate_to_fail,
        "reason": row.reason,
        "chance": row.chance,
        "together": row.together,
    }


def _joint(found: Joint) -> dict[str, Any]:
    return {"rules": found.rules, "low": found.low, "high": found.high}


def _standing(row: RuleStanding) -> dict[str, Any]:
    value = row.value
    return {
        "rule": row.rule,
        "level": row.level,
        "metric": row.metric,
        "slice": _where(row.slice),
        "threshold": row.threshold,
        "value": _number(value.value) if value else None,
        "low": value.low if value else None,
        "high": value.high if value else None,
        "scenarios": value.scenarios if value else None,
        "outcome": row.outcome,
        "settled": row.settled,
        "more_scenarios": row.more_scenarios,
        "reason": row.reason,
    }


def _repeats(found: Repeats) -> dict[str, Any]:
    return {
        "trials": float(found.trials),
        "between": found.between,
        "within": found.within,
        "correlation": found.correlation,
        "flaky": found.flaky,
        "narrowest": found.narrowest,
        "equal": [{"trials": one.trials, "scenarios": one.scenarios, "runs": one.runs} for one in found.equal],
    }


def _number(value: Fraction | None) -> float | None:
    return None if value is None else as_float(value)


def _where(where: Where) -> dict[str, Any] | None:
    return {column: values[0] if len(values) == 1 else list(values) for column, values in where} or None
