"""The part of the policy's JSON Schema that describes the block `map`."""

from __future__ import annotations

from typing import Any

from highbar.columns import COLUMNS, JUDGING

_TEXT = {"type": "string", "minLength": 1}
_SCALAR = {"type": ["string", "number", "boolean"]}
_SCALARS = {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR, "minItems": 1}]}
_FEED = {"$ref": "#/$defs/feed"}
_WHEN = {"$ref": "#/$defs/when"}
_CHECKS = {
    "is": {**_SCALARS, "description": "True where the value is this, or one of these."},
    "is_not": {**_SCALARS, "description": "True where the value is none of these."},
    "at_least": {"type": "number", "description": "True from this number on."},
    "at_most": {"type": "number", "description": "True up to this number."},
    "exists": {"type": "boolean", "description": "True where there is a value (false: where there is none)."},
}


def mapping_schema() -> dict[str, Any]:
    """The block itself."""
    offered = {column.name: {**_FEED, "description": column.meaning} for column in COLUMNS}
    judging = {"anyOf": [{"required": [name]} for name in sorted(JUDGING)]}
    columns = {"type": "object", "properties": offered, "additionalProperties": _FEED}
    columns |= {"if": judging, "then": {"required": ["id"]}}  # on top of a tool's own rows it need not be there
    return {
        "type": "object",
        "description": "Which path of a foreign record feeds which column.",
        "properties": {
            "rows": {**_TEXT, "description": "The way to the records: results[], cases[].runs[], by_id{}."},
            "where": {**_WHEN, "description": "Which records count."},
            "columns": {**columns, "description": "A path, a constant or a condition for each column."},
            "description": _TEXT,
        },
        "additionalProperties": False,
        "required": ["columns"],
    }


def mapping_definitions() -> dict[str, Any]:
    """What the block refers to."""
    element = {"anyOf": [_TEXT, {"type": "object", "minProperties": 1}]}
    options = {
        "path": {**_TEXT, "description": "Where the value stands: usage.total, checks[].name, ^.name, $.model, @key."},
        "value": {**_SCALAR, "description": "A constant."},
        **_CHECKS,
        "values": {"type": "object", "additionalProperties": _SCALAR, "description": "What each value stands for."},
        "as": {"enum": ["text", "number", "boolean"], "description": "Text that says a number, and the like."},
        "times": {"type": ["number", "string"], "description": "Multiply: 1000 turns seconds into milliseconds."},
        "default": {**_SCALAR, "description": "Where there is no value."},
        "when": {**_WHEN, "description": "Only where this holds."},
        "each": {**element, "description": "What to take of every element of a list."},
        "where": {**_WHEN, "description": "Which elements of the list."},
    }
    one = {"anyOf": [_TEXT, {"type": "object", "properties": options, "additionalProperties": False}]}
    checked = {"type": "object", "properties": _CHECKS, "additionalProperties": False, "minProperties": 1}
    return {
        "feed": {
            "description": "A path, or how to get the value; of a list the first that gives one.",
            "anyOf": [*one["anyOf"], {"type": "array", "items": one, "minItems": 1}],
        },
        "when": {
            "description": "Paths, and what must stand there: {status: done, score: {at_least: 3}}.",
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"anyOf": [_SCALARS, checked]},
        },
    }
