"""The JSON Schema of results: one trial (a line of JSONL), or an array of them. What it means is in the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from highbar.catalogue import COLUMNS

_TEXT = {"type": ["string", "null"]}
_TEXT_OR_BOOLEAN = {"type": ["string", "boolean", "null"]}
_BOOLEAN = {"type": ["boolean", "null"]}
_WHOLE = {"type": ["integer", "null"], "minimum": 0}
_NUMBER = {"type": ["number", "null"], "minimum": 0}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_FLAGS = {"type": "object", "additionalProperties": {"type": "boolean"}}


def _flagged(flag: str) -> dict[str, Any]:
    """A list of names, a mapping from names to whether, or a list of both together."""
    item = {
        "type": "object",
        "required": ["name", flag],
        "properties": {"name": {"type": "string"}, flag: {"type": "boolean"}},
        "additionalProperties": False,
    }
    return {"anyOf": [_TEXTS, _FLAGS, {"type": "array", "items": item}, {"type": "null"}]}


_TYPES: Mapping[str, dict[str, Any]] = MappingProxyType(
    {
        "id": {
            "type": ["string", "integer"],
            "minLength": 1,
            "not": {"type": "string", "pattern": r"[\u0000-\u001f\u007f-\u009f]"},
        },
        "trial": {"type": ["integer", "null"]},
        "expected_behaviors": {"anyOf": [_TEXTS, {"type": "null"}]},
        "behaviors": _flagged("observed"),
        "must_not": _flagged("violated"),
        "violations": {"anyOf": [_TEXTS, _WHOLE]},
        "passed": _BOOLEAN,
        "correct": _BOOLEAN,
        "expected": _TEXT_OR_BOOLEAN,
        "predicted": _TEXT_OR_BOOLEAN,
        "outcome": {"enum": ["tp", "fp", "fn", "tn", None]},
        "latency_ms": {**_NUMBER, "maximum": 10**15},
        "tokens_used": _WHOLE,
        "quality_score": {**_NUMBER, "maximum": 1},
        "cost_usd": {**_NUMBER, "maximum": 10**9},
        "weight": {"type": ["number", "null"], "exclusiveMinimum": 0},
        "tags": {"type": ["object", "null"], "additionalProperties": {"type": ["string", "null"]}},
    }
)
"""The columns that are not plain text."""


def schema() -> dict[str, Any]:
    """The schema, as draft 2020-12. Other columns are welcome."""
    trial = {
        "type": "object",
        "required": ["id"],
        "properties": {
            column.name: {**_TYPES.get(column.name, _TEXT), "description": column.meaning} for column in COLUMNS
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Highbar results",
        "anyOf": [{"$ref": "#/$defs/trial"}, {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/trial"}}],
        "$defs": {"trial": trial},
    }
