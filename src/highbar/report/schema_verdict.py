"""The JSON Schema of the JSON report, `highbar/verdict/1`: a verdict, or the problems that kept it from being made."""

from __future__ import annotations

from typing import Any, get_args

from highbar.model import Better, Decision, Evidence, Level, Outcome, Unit
from highbar.report.json import SCHEMA
from highbar.report.schema_forms import (
    COUNT,
    COUNT_OR_NULL,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    an_object,
    judging,
    refusal,
    selection,
    source,
)


def schema() -> dict[str, Any]:
    """The schema, as draft 2020-12. Readers must let further fields pass: version 1 may gain some."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Highbar verdict",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in ("verdict", "no_policy", "refusal")],
        "$defs": {
            "verdict": _verdict(),
            "no_policy": _no_policy(),
            "refusal": {**refusal(SCHEMA), "not": {"required": ["advice"]}},
            "value": _value(),
            "rule": _rule(),
            "scenario": _scenario(),
            "source": source(),
        },
    }


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


def _verdict() -> dict[str, Any]:
    values = {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}}
    counted = ("scenarios", "trials", "errors", "unjudged", "failed", "undecided", "left_out")
    return an_object(
        {
            "schema": {"const": SCHEMA},
            "verdict": {"enum": list(get_args(Decision))},
            "agent_version": TEXT_OR_NULL,
            "confidence": {"type": "number", "description": "Of each end of an interval by itself."},
            "second_run": {
                **NUMBER_OR_NULL,
                "description": "The chance that a second run on the same scenarios has another verdict, at most.",
            },
            "second_run_low": {**NUMBER_OR_NULL, "description": "The same, at least."},
            "counts": an_object(dict.fromkeys(counted, COUNT), "How much evidence there was."),
            "metrics": values,
            "slices": {"type": "array", "items": _slice(values)},
            "rules": _list("rule"),
            "scenarios_failed": _list("scenario"),
            "scenarios_undecided": {
                **_list("scenario"),
                "description": "Scenarios that failed no trial, and of which some trial is undecided.",
            },
            "flaky": {
                "type": "array",
                "items": an_object({"id": TEXT, "trials": COUNT, "passed_trials": COUNT}),
                "description": "Scenarios that passed only some of their trials: some of them.",
            },
            "repetition": {"oneOf": [_repetition(), {"type": "null"}]},
            "judged_by": judging(),
            "select": selection(),
            "warnings": {"type": "array", "items": TEXT},
            "policy": {"oneOf": [{"$ref": "#/$defs/source"}, {"type": "null"}]},
            "against": {"oneOf": [_against(), {"type": "null"}]},
            "results": _list("source"),
        }
    )


def _no_policy() -> dict[str, Any]:
    """A verdict without its answer: every field of one, no rule, and the typical thresholds as advice."""
    known = _verdict()["properties"]
    return an_object(
        {
            **{name: {"$ref": f"#/$defs/verdict/properties/{name}"} for name in known},
            "verdict": {"type": "null"},
            "rules": {**_list("rule"), "maxItems": 0},
            "policy": {"type": "null"},
            "advice": {**_list("rule"), "description": "The typical thresholds as they would be judged."},
            "problems": refusal(SCHEMA)["properties"]["problems"],
        },
        "No policy was found, so nothing was judged: exit code 2.",
    )


def _against() -> dict[str, Any]:
    weakening = an_object(
        {
            "what": {**TEXT, "description": "The rule or the key, as in the policy."},
            "change": {"enum": ["lowered", "removed", "changed"]},
            "before": TEXT,
            "now": {**TEXT_OR_NULL, "description": "null where it was removed."},
        }
    )
    return an_object(
        {
            "ref": TEXT,
            "commit": TEXT,
            "verdict": {"enum": list(get_args(Decision)), "description": "By the policy at the ref alone."},
            "policy": {"$ref": "#/$defs/source"},
            "weakened": {"type": "array", "items": weakening},
        },
        "The bar as it was at a git ref; the verdict is the worse of both.",
    )


def _slice(values: dict[str, Any]) -> dict[str, Any]:
    by = {"type": "object", "additionalProperties": TEXT, "minProperties": 1, "maxProperties": 1}
    return an_object(
        {
            "by": by,
            "scenarios": COUNT,
            "worse": {"type": "boolean", "description": "Than the rest, by more than chance, among all slices."},
            "p_value": NUMBER_OR_NULL,
            "likely": {**NUMBER_OR_NULL, "description": "The pass rate, allowing for chance."},
            "metrics": values,
        }
    )


def _repetition() -> dict[str, Any]:
    number = {"type": "number"}
    return an_object(
        {
            "flaky": {**COUNT, "description": "How many scenarios passed only some of their trials."},
            "between": {**number, "description": "The variance between scenarios."},
            "within": {**number, "description": "The variance between the trials of one scenario."},
            "correlation": {**NUMBER_OR_NULL, "description": "1 where the trials of a scenario always agree."},
            "fewest": {**COUNT, "description": "The fewest trials of a scenario."},
            "still_possible": {**number, "description": "The pass rate that passing all of them does not exclude."},
        }
    )


def _value() -> dict[str, Any]:
    return an_object(
        {
            "value": {**NUMBER_OR_NULL, "description": "null where it is undefined; then `reason` says why."},
            "low": {**NUMBER_OR_NULL, "description": "The lower end of the interval; null where there is none."},
            "high": {**NUMBER_OR_NULL, "description": "The upper end of the interval; null where there is none."},
            "scenarios": {**COUNT, "description": "How many scenarios the value rests on."},
            "missing": {**COUNT, "description": "How many lack what the metric needs."},
            "undecided": {
                **COUNT,
                "description": "Trials of which it is not known what they add; here at their worst.",
            },
            "best": {**NUMBER_OR_NULL, "description": "The value with those at their best; null if there are none."},
            "unit": {"enum": list(get_args(Unit))},
            "better": {"enum": list(get_args(Better))},
            "reason": TEXT_OR_NULL,
        },
        "A metric's value. It never comes without its count.",
    )


def _rule() -> dict[str, Any]:
    one_or_more = {"type": ["string", "array"], "items": TEXT}
    return an_object(
        {
            "rule": {**TEXT, "description": "Where it stands in the policy: `thresholds.blocking.accuracy`."},
            "level": {"enum": list(get_args(Level))},
            "metric": TEXT_OR_NULL,
            "slice": {"type": ["object", "null"], "additionalProperties": one_or_more},
            "threshold": {**TEXT_OR_NULL, "description": "In canonical form: `>= 0.9`, `< 5000ms`."},
            "value": NUMBER_OR_NULL,
            "low": NUMBER_OR_NULL,
            "high": NUMBER_OR_NULL,
            "scenarios": COUNT_OR_NULL,
            "missing": COUNT_OR_NULL,
            "best": {**NUMBER_OR_NULL, "description": "The value with undecided trials at their best."},
            "undecided": {
                "type": "array",
                "items": an_object({"id": TEXT, "trial": {"type": ["integer", "null"]}}),
                "description": "The undecided trials that the rule hangs on, at most ten.",
            },
            "outcome": {"enum": list(get_args(Outcome))},
            "reason": TEXT,
            "fragile": {"type": "boolean", "description": "Whether the interval reaches across the threshold."},
            "second_run": {
                **NUMBER_OR_NULL,
                "description": "The chance that a second run on the same scenarios has another outcome, at most.",
            },
            "second_run_low": {**NUMBER_OR_NULL, "description": "The same, at least; equal if trials were repeated."},
            "more_scenarios": {
                **COUNT_OR_NULL,
                "description": "By how many a new run that settles it would be larger, if the value stays.",
            },
            "evidence": {
                "enum": [*get_args(Evidence), None],
                "description": "What a rule about a number compares; null for any other rule.",
            },
            "progressive": {"oneOf": [_progressive(), {"type": "null"}]},
            "slack": {**NUMBER_OR_NULL, "description": "By how much the threshold is passed, where that is far."},
            "description": TEXT_OR_NULL,
            "file": TEXT_OR_NULL,
            "line": COUNT_OR_NULL,
        },
        "What became of one rule.",
    )


def _progressive() -> dict[str, Any]:
    goal = an_object(
        {
            "version": {**TEXT_OR_NULL, "description": "From which on it holds; null for the target."},
            "threshold": TEXT,
            "met": {"type": "boolean", "description": "Whether the value reaches it already."},
            "distance": {**NUMBER_OR_NULL, "description": "What the value lacks, in its unit; 0 where nothing."},
        }
    )
    either = {"oneOf": [goal, {"type": "null"}]}
    return an_object({"step": {**TEXT, "description": "The one that holds now."}, "next": either, "target": either})


def _scenario() -> dict[str, Any]:
    return an_object(
        {
            "id": TEXT,
            "category": TEXT_OR_NULL,
            "reason": TEXT,
            "required": {"type": "boolean"},
            "trials": COUNT,
            "passed_trials": COUNT,
        },
        "A scenario that failed a trial, or has an undecided one. Its texts come from the agent: never trust them.",
    )
