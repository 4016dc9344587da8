"""The JSON Schema of a comparison as JSON, `highbar/comparison/1`: what changed, or the problems in its place."""

from __future__ import annotations

from typing import Any, get_args

from highbar.model import Better, Decision, Level, Outcome, Unit
from highbar.model.comparison import Change
from highbar.report.comparison_json import SCHEMA
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

_TEXTS = {"type": "array", "items": TEXT}
_NUMBER = {"type": "number"}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}


def schema() -> dict[str, Any]:
    """The schema, as draft 2020-12. Readers must let further fields pass: version 1 may gain some."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Highbar comparison",
        "oneOf": [{"$ref": "#/$defs/comparison"}, {"$ref": "#/$defs/refusal"}],
        "$defs": {
            "comparison": _comparison(),
            "refusal": refusal(SCHEMA),
            "metric": _metric(),
            "rule": _rule(),
            "side": _side(),
            "passes": an_object({"broken": COUNT, "fixed": COUNT, "p_value": _SHARE}),
            "factor": {
                "description": "Head over base, with its bounds: 1 is no change.",
                "oneOf": [
                    {"type": "null"},
                    an_object({"value": _NUMBER, "low": NUMBER_OR_NULL, "high": NUMBER_OR_NULL}),
                ],
            },
            "source": source(),
        },
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def _comparison() -> dict[str, Any]:
    metrics = {"type": "object", "additionalProperties": _ref("metric")}
    part = an_object(
        {
            "by": {"type": "object", "additionalProperties": TEXT},
            "pairs": COUNT,
            "stands_out": {"type": "boolean"},
            "passes": _ref("passes"),
            "adjusted_p_value": _SHARE,
            "metrics": metrics,
        }
    )
    return an_object(
        {
            "schema": {"const": SCHEMA},
            "verdict": {"enum": [*get_args(Decision), None], "description": "null where no rule compares the two"},
            "confidence": _SHARE,
            "pairs": COUNT,
            "metrics": metrics,
            "slices": {"type": "array", "items": part},
            "passes": _ref("passes"),
            "latency": _ref("factor"),
            **dict.fromkeys(("broken", "fixed", "flaky", "only_in_base", "only_in_head"), _TEXTS),
            "rules": {"type": "array", "items": _ref("rule")},
            "judged_by": judging(),
            "warnings": _TEXTS,
            "policy": {"oneOf": [{"type": "null"}, _ref("source")]},
            "base": _ref("side"),
            "head": _ref("side"),
        }
    )


def _metric() -> dict[str, Any]:
    return an_object(
        {
            "base": NUMBER_OR_NULL,
            "head": NUMBER_OR_NULL,
            "difference": {**NUMBER_OR_NULL, "description": "head less base; null where either is undefined"},
            "low": NUMBER_OR_NULL,
            "high": NUMBER_OR_NULL,
            "outcome": {"enum": list(get_args(Change))},
            "margin": TEXT_OR_NULL,
            "factor": _ref("factor"),
            "pairs": COUNT,
            "missing": COUNT,
            "unit": {"enum": list(get_args(Unit))},
            "better": {"enum": list(get_args(Better))},
            "reason": TEXT_OR_NULL,
        }
    )


def _rule() -> dict[str, Any]:
    return an_object(
        {
            "rule": TEXT,
            "level": {"enum": list(get_args(Level))},
            "metric": TEXT_OR_NULL,
            "slice": {"type": ["object", "null"]},
            "threshold": TEXT_OR_NULL,
            "value": NUMBER_OR_NULL,
            "outcome": {"enum": list(get_args(Outcome))},
            "reason": TEXT,
            "fragile": {"type": "boolean"},
            "more_scenarios": COUNT_OR_NULL,
            "description": TEXT_OR_NULL,
            "file": TEXT_OR_NULL,
            "line": COUNT_OR_NULL,
        }
    )


def _side() -> dict[str, Any]:
    return an_object(
        {
            "files": {"type": "array", "items": _ref("source")},
            "baseline": {"type": "boolean"},
            "agent_version": TEXT_OR_NULL,
            "scenarios": COUNT,
            "trials": COUNT,
            "date": TEXT_OR_NULL,
            "forced": TEXT_OR_NULL,
            "judged_by": judging(),
            "select": selection(),
        }
    )
