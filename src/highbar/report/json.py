r"""The verdict as JSON, schema `highbar/verdict/1` (`highbar schema verdict`).

ASCII only, with `<` as `\u003c` and no `##[`: neither a web page nor a CI log that holds it can be made to obey it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from highbar.errors import Problem
from highbar.language.digits import as_float, bounds_by_metric
from highbar.model import (
    Against,
    FailedScenario,
    Goal,
    Progressive,
    RuleResult,
    Slice,
    Source,
    UndecidedScenario,
    Value,
    Verdict,
    Where,
)
from highbar.model.judging import Judging, Selection
from highbar.report import PAGE, Display

SCHEMA = "highbar/verdict/1"
_Bounds = Mapping[str, tuple[Fraction, ...]]


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """Everything the verdict holds. The display does not matter: the bytes depend on the verdict alone."""
    bounds = bounds_by_metric(verdict.rules or verdict.advice)
    counts = verdict.counts
    return encode(
        {
            "schema": SCHEMA,
            "verdict": verdict.verdict,
            "agent_version": verdict.agent_version,
            "confidence": as_float(verdict.confidence),
            "counts": {
                "scenarios": counts.scenarios,
                "trials": counts.trials,
                "errors": counts.errors,
                "unjudged": counts.unjudged,
                "failed": counts.failed,
                "undecided": counts.undecided,
                "left_out": counts.left_out,
            },
            "metrics": _metrics(verdict.metrics, bounds),
            "slices": [_slice(part, bounds) for part in verdict.slices],
            "rules": [_rule(rule, bounds) for rule in verdict.rules],
            "scenarios_failed": [_scenario(scenario) for scenario in verdict.scenarios_failed],
            "scenarios_undecided": [_scenario(scenario) for scenario in verdict.scenarios_undecided],
            "flaky": [
                {"id": one.id, "trials": one.trials, "passed_trials": one.passed_trials} for one in verdict.flaky
            ],
            "repetition": None if verdict.repetition is None else asdict(verdict.repetition),
            "judged_by": judged_by(verdict.judged_by),
            "select": selection(verdict.selection),
            "warnings": list(verdict.warnings),
            "policy": _source(verdict.policy) if verdict.policy else None,
            "against": _against(verdict.against) if verdict.against else None,
            "results": [_source(source) for source in verdict.results],
            "second_run": verdict.second_run,
            "second_run_low": verdict.second_run_low,
            **(_unjudged(verdict, bounds) if verdict.verdict is None else {}),
        }
    )


def _unjudged(verdict: Verdict, bounds: _Bounds) -> dict[str, Any]:
    """What a document has besides if there was no policy."""
    return {
        "advice": [_rule(rule, bounds) for rule in verdict.advice],
        "problems": [_problem(problem) for problem in verdict.problems],
    }


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """What is printed in place of a verdict when nothing could be judged."""
    return encode({"schema": SCHEMA, "verdict": None, "problems": [_problem(problem) for problem in problems]})


def _problem(problem: Problem) -> dict[str, Any]:
    return {
        "file": problem.file,
        "line": problem.line,
        "column": problem.column,
        "message": problem.message,
        "hint": problem.hint,
    }


def encode(document: Mapping[str, Any] | Sequence[Any]) -> str:
    """The one encoder of this output. A NaN or an infinity is a fault of the program, and raises."""
    text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
    return text.replace("<", r"\u003c").replace("##", r"#\u0023") + "\n"


def _metrics(metrics: Mapping[str, Value], bounds: _Bounds) -> dict[str, Any]:
    return {name: _value(value, bounds.get(name, ())) for name, value in metrics.items()}


def _value(value: Value, bounds: tuple[Fraction, ...]) -> dict[str, Any]:
    return {
        "value": _number(value.value, bounds),
        "low": _end(value.low),
        "high": _end(value.high),
        "scenarios": value.scenarios,
        "missing": value.missing,
        "undecided": value.undecided,
        "best": _number(value.best, bounds),
        "unit": value.unit,
        "better": value.better,
        "reason": value.reason,
    }


def _number(value: Fraction | None, bounds: tuple[Fraction, ...]) -> float | None:
    return None if value is None else as_float(value, bounds)


def _end(end: float | None) -> float | None:
    """An end of an interval; null where the data do not bound it."""
    return end if end is not None and math.isfinite(end) else None


def _slice(part: Slice, bounds: _Bounds) -> dict[str, Any]:
    column, value = part.by
    return {
        "by": {column: value},
        "scenarios": part.scenarios,
        "worse": part.worse,
        "p_value": part.p_value,
        "likely": part.likely,
        "metrics": _metrics(part.metrics, bounds),
    }


def _rule(rule: RuleResult, bounds: _Bounds) -> dict[str, Any]:
    value = rule.value
    return {
        "rule": rule.rule,
        "level": rule.level,
        "metric": rule.metric,
        "slice": _where(rule.slice),
        "threshold": rule.threshold,
        "value": _number(value.value, bounds.get(rule.metric or "", ())) if value else None,
        "low": _end(value.low) if value else None,
        "high": _end(value.high) if value else None,
        "scenarios": value.scenarios if value else None,
        "missing": value.missing if value else None,
        "best": _number(rule.best, bounds.get(rule.metric or "", ())),
        "undecided": [{"id": id_, "trial": trial} for id_, trial in rule.undecided],
        "outcome": rule.outcome,
        "reason": rule.reason,
        "fragile": rule.fragile,
        "second_run": rule.second_run,
        "second_run_low": rule.second_run_low,
        "more_scenarios": rule.more_scenarios,
        "evidence": rule.evidence,
        "progressive": _progressive(rule.progressive) if rule.progressive else None,
        "slack": None if rule.slack is None else as_float(rule.slack),
        "description": rule.description,
        "file": rule.place.file,
        "line": rule.place.line,
    }


def _progressive(found: Progressive) -> dict[str, Any]:
    return {
        "step": found.step,
        "next": _goal(found.next) if found.next else None,
        "target": _goal(found.target) if found.target else None,
    }


def _goal(goal: Goal) -> dict[str, Any]:
    distance = None if goal.distance is None else as_float(goal.distance)
    return {"version": goal.version, "threshold": goal.threshold, "met": goal.met, "distance": distance}


def _where(where: Where) -> dict[str, Any] | None:
    return {column: values[0] if len(values) == 1 else list(values) for column, values in where} or None


def _scenario(scenario: FailedScenario | UndecidedScenario) -> dict[str, Any]:
    return {
        "id": scenario.id,
        "category": scenario.category,
        "reason": scenario.reason,
        "required": scenario.required,
        "trials": scenario.trials,
        "passed_trials": scenario.passed_trials,
    }


def _against(against: Against) -> dict[str, Any]:
    return {
        "ref": against.ref,
        "commit": against.commit,
        "verdict": against.verdict,
        "policy": _source(against.policy),
        "weakened": [
            {"what": one.what, "change": one.change, "before": one.before, "now": one.now} for one in against.weakened
        ],
    }


def judged_by(found: Iterable[Judging]) -> list[dict[str, Any]]:
    """Who judged in the files of other tools."""
    return [
        {"tool": one.tool, "judges": list(one.judges), "declared_by": "policy" if one.by_policy else "file"}
        for one in found
    ]


def selection(found: Selection | None) -> dict[str, Any] | None:
    """Which rows were judged, and what was left out; null if all were."""
    if found is None:
        return None
    where = {column: list(values) for column, values in found.where}
    return {"where": where, "rows_left_out": found.rows, "scenarios_left_out": found.scenarios_count}


def _source(source: Source) -> dict[str, Any]:
    return {"file": source.file, "sha256": source.sha256}
