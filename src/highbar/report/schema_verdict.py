"""The JSON Schema of the JSON report, `highbar/verdict/1`: a verdict, or the problems that kept it from being made."""

from __future__ import annotations

from typing import Any, get_args

from highbar.model import Better, Decision, Level, Outcome, Unit
from highbar.report.json import SCHEMA

_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_COUNT = {"type": "integer", "minimum": 0}
_COUNT_OR_NULL = {"type": ["integer", "null"], "minimum": 0}
_NUMBER_OR_NULL = {"type": ["number", "null"]}


def schema() -> dict[str, Any]:
    """The schema, as draft 2020-12. Readers must let further fields pass: version 1 may gain some."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Highbar verdict",
        "oneOf": [{"$ref": "#/$defs/verdict"}, {"$ref": "#/$defs/refusal"}],
        "$defs": {
            "verdict": _verdict(),
            "refusal": _refusal(),
            "value": _value(),
            "rule": _rule(),
            "scenario": _scenario(),
            "source": _object({"file": _TEXT, "sha256": {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"}}),
        },
    }


def _object(properties: dict[str, Any], description: str | None = None) -> dict[str, Any]:
    """An object that has all of these properties."""
    told = {"description": description} if description else {}
    return {"type": "object", **told, "required": list(properties), "properties": properties}


def _list(name: str) -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


def _verdict() -> dict[str, Any]:
    values = {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}}
    counted = ("scenarios", "trials", "errors", "unjudged", "failed")
    return _object(
        {
            "schema": {"const": SCHEMA},
            "verdict": {"enum": list(get_args(Decision))},
            "agent_version": _TEXT_OR_NULL,
            "confidence": {"type": "number", "description": "Of each end of an interval by itself."},
            "counts": _object(dict.fromkeys(counted, _COUNT), "How much evidence there was."),
            "metrics": values,
            "slices": {"type": "array", "items": _slice(values)},
            "rules": _list("rule"),
            "scenarios_failed": _list("scenario"),
            "flaky": {
                "type": "array",
                "items": _object({"id": _TEXT, "trials": _COUNT, "passed_trials": _COUNT}),
                "description": "Scenarios that passed only some of their trials: some of them.",
            },
            "repetition": {"oneOf": [_repetition(), {"type": "null"}]},
            "warnings": {"type": "array", "items": _TEXT},
            "policy": {"oneOf": [{"$ref": "#/$defs/source"}, {"type": "null"}]},
            "against": {"oneOf": [_against(), {"type": "null"}]},
            "results": _list("source"),
        }
    )


def _against() -> dict[str, Any]:
    weakening = _object(
        {
            "what": {**_TEXT, "description": "The rule or the key, as in the policy."},
            "change": {"enum": ["lowered", "removed", "changed"]},
            "before": _TEXT,
            "now": {**_TEXT_OR_NULL, "description": "null where it was removed."},
        }
    )
    return _object(
        {
            "ref": _TEXT,
            "commit": _TEXT,
            "verdict": {"enum": list(get_args(Decision)), "description": "By the policy at the ref alone."},
            "policy": {"$ref": "#/$defs/source"},
            "weakened": {"type": "array", "items": weakening},
        },
        "The bar as it was at a git ref; the verdict is the worse of both.",
    )


def _slice(values: dict[str, Any]) -> dict[str, Any]:
    by = {"type": "object", "additionalProperties": _TEXT, "minProperties": 1, "maxProperties": 1}
    return _object(
        {
            "by": by,
            "scenarios": _COUNT,
            "worse": {"type": "boolean", "description": "Than the rest, by more than chance, among all slices."},
            "p_value": _NUMBER_OR_NULL,
            "likely": {**_NUMBER_OR_NULL, "description": "The pass rate, allowing for chance."},
            "metrics": values,
        }
    )


def _repetition() -> dict[str, Any]:
    number = {"type": "number"}
    return _object(
        {
            "flaky": {**_COUNT, "description": "How many scenarios passed only some of their trials."},
            "between": {**number, "description": "The variance between scenarios."},
            "within": {**number, "description": "The variance between the trials of one scenario."},
            "correlation": {**_NUMBER_OR_NULL, "description": "1 where the trials of a scenario always agree."},
            "fewest": {**_COUNT, "description": "The fewest trials of a scenario."},
            "still_possible": {**number, "description": "The pass rate that passing all of them does not exclude."},
        }
    )


def _value() -> dict[str, Any]:
    return _object(
        {
            "value": {**_NUMBER_OR_NULL, "description": "null where it is undefined; then `reason` says why."},
            "low": {**_NUMBER_OR_NULL, "description": "The lower end of the interval; null where there is none."},
            "high": {**_NUMBER_OR_NULL, "description": "The upper end of the interval; null where there is none."},
            "scenarios": {**_COUNT, "description": "How many scenarios the value rests on."},
            "missing": {**_COUNT, "description": "How many lack what the metric needs."},
            "unit": {"enum": list(get_args(Unit))},
            "better": {"enum": list(get_args(Better))},
            "reason": _TEXT_OR_NULL,
        },
        "A metric's value. It never comes without its count.",
    )


def _rule() -> dict[str, Any]:
    one_or_more = {"type": ["string", "array"], "items": _TEXT}
    return _object(
        {
            "rule": {**_TEXT, "description": "Where it stands in the policy: `thresholds.blocking.accuracy`."},
            "level": {"enum": list(get_args(Level))},
            "metric": _TEXT_OR_NULL,
            "slice": {"type": ["object", "null"], "additionalProperties": one_or_more},
            "threshold": {**_TEXT_OR_NULL, "description": "In canonical form: `>= 0.9`, `< 5000ms`."},
            "value": _NUMBER_OR_NULL,
            "low": _NUMBER_OR_NULL,
            "high": _NUMBER_OR_NULL,
            "scenarios": _COUNT_OR_NULL,
            "missing": _COUNT_OR_NULL,
            "outcome": {"enum": list(get_args(Outcome))},
            "reason": _TEXT,
            "fragile": {"type": "boolean", "description": "Whether the interval reaches across the threshold."},
            "second_run": {**_NUMBER_OR_NULL, "description": "The chance that a second run is judged differently."},
            "more_scenarios": {**_COUNT_OR_NULL, "description": "About how many more would settle it."},
            "progressive": {"oneOf": [_progressive(), {"type": "null"}]},
            "slack": {**_NUMBER_OR_NULL, "description": "By how much the threshold is passed, where that is far."},
            "description": _TEXT_OR_NULL,
            "file": _TEXT_OR_NULL,
            "line": _COUNT_OR_NULL,
        },
        "What became of one rule.",
    )


def _progressive() -> dict[str, Any]:
    goal = _object(
        {
            "version": {**_TEXT_OR_NULL, "description": "From which on it holds; null for the target."},
            "threshold": _TEXT,
            "met": {"type": "boolean", "description": "Whether the value reaches it already."},
            "distance": {**_NUMBER_OR_NULL, "description": "What the value lacks, in its unit; 0 where nothing."},
        }
    )
    either = {"oneOf": [goal, {"type": "null"}]}
    return _object({"step": {**_TEXT, "description": "The one that holds now."}, "next": either, "target": either})


def _scenario() -> dict[str, Any]:
    return _object(
        {
            "id": _TEXT,
            "category": _TEXT_OR_NULL,
            "reason": _TEXT,
            "required": {"type": "boolean"},
            "trials": _COUNT,
            "passed_trials": _COUNT,
        },
        "A scenario that did not pass every trial. Its texts come from the agent: never trust them.",
    )


def _refusal() -> dict[str, Any]:
    problem = _object(
        {
            "file": _TEXT_OR_NULL,
            "line": _COUNT_OR_NULL,
            "column": _COUNT_OR_NULL,
            "message": _TEXT,
            "hint": _TEXT_OR_NULL,
        }
    )
    return _object(
        {
            "schema": {"const": SCHEMA},
            "verdict": {"type": "null"},
            "problems": {"type": "array", "minItems": 1, "items": problem},
        },
        "Nothing could be judged: exit code 2.",
    )
