"""The JSON Schema of a comparison as JSON, `highbar/comparison/1`: what changed, or the problems in its place."""

from __future__ import annotations

from typing import Any, get_args

from highbar.model import Better, Decision, Level, Outcome, Unit
from highbar.model.comparison import Change
from highbar.report.comparison_json import SCHEMA

_TEXT = {"type": "string"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNT = {"type": "integer", "minimum": 0}
_COUNT_OR_NULL = {"type": ["integer", "null"], "minimum": 0}
_NUMBER = {"type": "number"}
_NUMBER_OR_NULL = {"type": ["number", "null"]}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}


def schema() -> dict[str, Any]:
    """The schema, as draft 2020-12. Readers must let further fields pass: version 1 may gain some."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Highbar comparison",
        "oneOf": [{"$ref": "#/$defs/comparison"}, {"$ref": "#/$defs/refusal"}],
        "$defs": {
            "comparison": _comparison(),
            "refusal": _refusal(),
            "metric": _metric(),
            "rule": _rule(),
            "side": _side(),
            "passes": _object({"broken": _COUNT, "fixed": _COUNT, "p_value": _SHARE}),
            "factor": {
                "description": "Head over base, with its bounds: 1 is no change.",
                "oneOf": [
                    {"type": "null"},
                    _object({"value": _NUMBER, "low": _NUMBER_OR_NULL, "high": _NUMBER_OR_NULL}),
                ],
            },
            "source": _object({"file": _TEXT, "sha256": {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"}}),
        },
    }


def _object(properties: dict[str, Any], description: str | None = None) -> dict[str, Any]:
    """An object that has all of these properties."""
    told = {"description": description} if description else {}
    return {"type": "object", **told, "required": list(properties), "properties": properties}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _comparison() -> dict[str, Any]:
    metrics = {"type": "object", "additionalProperties": _ref("metric")}
    part = _object(
        {
            "by": {"type": "object", "additionalProperties": _TEXT},
            "pairs": _COUNT,
            "stands_out": {"type": "boolean"},
            "passes": _ref("passes"),
            "adjusted_p_value": _SHARE,
            "metrics": metrics,
        }
    )
    return _object(
        {
            "schema": {"const": SCHEMA},
            "verdict": {"enum": [*get_args(Decision), None], "description": "null where no rule compares the two"},
            "confidence": _SHARE,
            "pairs": _COUNT,
            "metrics": metrics,
            "slices": {"type": "array", "items": part},
            "passes": _ref("passes"),
            "latency": _ref("factor"),
            **dict.fromkeys(("broken", "fixed", "flaky", "only_in_base", "only_in_head"), _TEXTS),
            "rules": {"type": "array", "items": _ref("rule")},
            "warnings": _TEXTS,
            "policy": {"oneOf": [{"type": "null"}, _ref("source")]},
            "base": _ref("side"),
            "head": _ref("side"),
        }
    )


def _metric() -> dict[str, Any]:
    return _object(
        {
            "base": _NUMBER_OR_NULL,
            "head": _NUMBER_OR_NULL,
            "difference": {**_NUMBER_OR_NULL, "description": "head less base; null where either is undefined"},
            "low": _NUMBER_OR_NULL,
            "high": _NUMBER_OR_NULL,
            "outcome": {"enum": list(get_args(Change))},
            "margin": _TEXT_OR_NULL,
            "factor": _ref("factor"),
            "pairs": _COUNT,
            "missing": _COUNT,
            "unit": {"enum": list(get_args(Unit))},
            "better": {"enum": list(get_args(Better))},
            "reason": _TEXT_OR_NULL,
        }
    )


def _rule() -> dict[str, Any]:
    return _object(
        {
            "rule": _TEXT,
            "level": {"enum": list(get_args(Level))},
            "metric": _TEXT_OR_NULL,
            "slice": {"type": ["object", "null"]},
            "threshold": _TEXT_OR_NULL,
            "value": _NUMBER_OR_NULL,
            "outcome": {"enum": list(get_args(Outcome))},
            "reason": _TEXT,
            "fragile": {"type": "boolean"},
            "more_scenarios": _COUNT_OR_NULL,
            "description": _TEXT_OR_NULL,
            "file": _TEXT_OR_NULL,
            "line": _COUNT_OR_NULL,
        }
    )


def _side() -> dict[str, Any]:
    return _object(
        {
            "files": {"type": "array", "items": _ref("source")},
            "baseline": {"type": "boolean"},
            "agent_version": _TEXT_OR_NULL,
            "scenarios": _COUNT,
            "trials": _COUNT,
            "date": _TEXT_OR_NULL,
            "forced": _TEXT_OR_NULL,
        }
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
        }
    )
