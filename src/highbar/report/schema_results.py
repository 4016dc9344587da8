"""The JSON Schema of results: one trial (a line of JSONL), or an array of trials. `columns.py` defines the columns."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from highbar.columns import COLUMNS, Column, Form

_TEXT = {"type": ["string", "null"]}
_TEXT_OR_BOOLEAN = {"type": ["string", "boolean", "null"]}
_BOOLEAN = {"type": ["boolean", "null"]}
_WHOLE = {"type": ["integer", "null"], "minimum": 0}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_FLAGS = {"type": "object", "additionalProperties": {"type": "boolean"}}


def _flagged(flag: str) -> dict[str, Any]:
    """A list of names, a mapping from names to booleans, or a list of objects with `name` and `flag`."""
    item = {
        "type": "object",
        "required": ["name", flag],
        "properties": {"name": {"type": "string"}, flag: {"type": "boolean"}},
        "additionalProperties": False,
    }
    return {"anyOf": [_TEXTS, _FLAGS, {"type": "array", "items": item}, {"type": "null"}]}


def _schema_of(column: Column) -> dict[str, Any]:
    """The schema of a column: that of its form, and for a number the column's limits."""
    if column.form not in ("number", "whole"):
        return _OF_FORM.get(column.form, _TEXT)
    limits: dict[str, Any] = {"type": ["integer" if column.form == "whole" else "number", "null"]}
    if column.least is not None:
        # The least weight, 0.000001, only excludes what is too small to be a weight; the schema says: above 0.
        limits |= {"exclusiveMinimum": 0} if column.least > 0 else {"minimum": 0}
    if column.most is not None and not column.least:
        limits["maximum"] = column.most
    return limits


_OF_FORM: Mapping[Form, dict[str, Any]] = MappingProxyType(
    {
        "id": {
            "type": ["string", "integer"],
            "minLength": 1,
            "not": {"type": "string", "pattern": r"[\u0000-\u001f\u007f-\u009f]"},
        },
        "names": {"anyOf": [_TEXTS, {"type": "null"}]},
        "observed": _flagged("observed"),
        "violated": _flagged("violated"),
        "count": {"anyOf": [_TEXTS, _WHOLE]},
        "truth": _BOOLEAN,
        "label": _TEXT_OR_BOOLEAN,
        "outcome": {"enum": ["tp", "fp", "fn", "tn", None]},
        "tags": {"type": ["object", "null"], "additionalProperties": {"type": ["string", "null"]}},
        "origin": {
            "type": ["object", "string", "null"],
            "required": ["id", "planned"],
            "properties": {
                "id": {"type": "string", "minLength": 1},
                "plan": _TEXT,
                "planned": {"type": "integer", "minimum": 1},
                "part": _TEXT,
            },
            "additionalProperties": False,
        },
    }
)
"""The schemas of the forms that are neither plain text nor numbers."""


def schema() -> dict[str, Any]:
    """The schema, draft 2020-12. Other columns are allowed."""
    trial = {
        "type": "object",
        "required": ["id"],
        "properties": {column.name: {**_schema_of(column), "description": column.meaning} for column in COLUMNS},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Highbar results",
        "anyOf": [{"$ref": "#/$defs/trial"}, {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/trial"}}],
        "$defs": {"trial": trial},
    }
