"""The JSON Schema of checks, which is a part of the schema of a suite."""

from __future__ import annotations

from typing import Any

from highbar.checks.limits import MOST_STATEMENT
from highbar.checks.names import CHECKS, LIMITS
from highbar.checks.reading import NAME_PATTERN
from highbar.suite.values import FUNCTION_PATTERN

_ITEM = {"anyOf": [{"type": "string", "pattern": r"\S"}, {"type": "number"}]}
_WHOLE = {"type": "integer", "minimum": 0}
STATEMENT = {
    "type": "string",
    "pattern": r"\S",
    "maxLength": MOST_STATEMENT,
    "description": "A statement in plain words, for a judge.",
}
_PLAIN = {**STATEMENT, "not": {"pattern": rf"^\s*{NAME_PATTERN}\s*$"}}
_CHECK = {"$ref": "#/$defs/check"}
_POINTERS = {
    "type": "object",
    "minProperties": 1,
    "propertyNames": {"pattern": "^(/|$)"},
    "description": "From JSON pointers to values, or to checks of the value there.",
}


def _or_list(item: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


def check_definitions() -> dict[str, Any]:
    """The definitions behind `#/$defs/check`, `#/$defs/answer` and `#/$defs/mapping`."""
    label = {"anyOf": [*_ITEM["anyOf"], {"type": "boolean"}]}
    keys = {**_checks(label), **_modifiers()}
    modifiers = sorted({name for taken in CHECKS.values() for name in taken})
    takers = {name: [{"required": [check]} for check, taken in CHECKS.items() if name in taken] for name in modifiers}
    mapping = {
        "type": "object",
        "properties": keys,
        "additionalProperties": False,
        "anyOf": [{"required": [name]} for name in CHECKS],
        # A modifier belongs to the one check beside it that takes it.
        "allOf": [{"if": {"required": [name]}, "then": {"oneOf": found}} for name, found in takers.items()],
    }
    return {
        "check": {"anyOf": [_PLAIN, {"$ref": "#/$defs/mapping"}]},
        "answer": {"anyOf": [*_or_list(label)["anyOf"], {"$ref": "#/$defs/mapping"}]},
        "mapping": mapping,
    }


def _checks(label: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "string", "pattern": r"\S"}
    tools = {"type": "array", "items": text, "minItems": 1}
    several = {"type": "array", "items": _CHECK, "minItems": 1}
    at_most = {"type": "number", "minimum": 0}
    limit = {"type": "object", "properties": {"at_most": at_most}, "required": ["at_most"]}
    return {
        "equals": _or_list(label),
        **dict.fromkeys(("contains", "contains_all", "starts_with"), _or_list(_ITEM)),
        "matches": _or_list({"type": "string", "minLength": 1}),
        "words": _bounds(),
        "number": _or_list({"type": "number"}),
        "is_json": {"anyOf": [{"const": True}, {"type": "object"}, {"type": "string"}]},
        **dict.fromkeys(("json", "state", "context"), _POINTERS),
        "calls": text,
        "calls_in_order": {**tools, "minItems": 2},
        "calls_only": {**tools, "minItems": 0},
        **{name: {"anyOf": [at_most, {**limit, "additionalProperties": False}]} for name in LIMITS},
        "python": {"type": "string", "pattern": FUNCTION_PATTERN},
        "judge": STATEMENT,
        "all": several,
        "any": several,
        "not": _CHECK,
    }


def _modifiers() -> dict[str, Any]:
    reply = {"anyOf": [{"enum": ["any", "last"]}, {"type": "integer", "minimum": 1}]}
    return {
        **{name: {"type": "boolean"} for name in ("exact", "any_case", "part", "whole", "last", "every")},
        "reply": {**reply, "description": "Which reply is read: its number from 1, any, or the last."},
        "reasoning": {"const": "ignored", "description": "Under must_not: what the agent thinks is not read."},
        "within": {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^\s*[0-9.]+\s*%\s*$"}]},
        "arguments": {"type": "object"},
        "not_arguments": {"type": "object", "minProperties": 1},
        "where": _POINTERS,
        "times": {"anyOf": [{**_WHOLE, "minimum": 1}, _bounds()]},
    }


def _bounds() -> dict[str, Any]:
    properties = {"at_least": _WHOLE, "at_most": {**_WHOLE, "minimum": 1}}
    return {"type": "object", "properties": properties, "additionalProperties": False, "minProperties": 1}
