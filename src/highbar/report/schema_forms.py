"""The forms that the JSON Schemas of the reports have in common."""

from __future__ import annotations

from typing import Any

TEXT = {"type": "string"}
TEXT_OR_NULL = {"type": ["string", "null"]}
COUNT = {"type": "integer", "minimum": 0}
COUNT_OR_NULL = {"type": ["integer", "null"], "minimum": 0}
NUMBER_OR_NULL = {"type": ["number", "null"]}


def an_object(properties: dict[str, Any], description: str | None = None) -> dict[str, Any]:
    """An object that has all of these properties."""
    told = {"description": description} if description else {}
    return {"type": "object", **told, "required": list(properties), "properties": properties}


def refusal(schema: str) -> dict[str, Any]:
    """What stands in the place of a report that could not be made; `schema` is the report's own name."""
    problem = an_object(
        {
            "file": TEXT_OR_NULL,
            "line": COUNT_OR_NULL,
            "column": COUNT_OR_NULL,
            "message": TEXT,
            "hint": TEXT_OR_NULL,
        }
    )
    return an_object(
        {
            "schema": {"const": schema},
            "verdict": {"type": "null"},
            "problems": {"type": "array", "minItems": 1, "items": problem},
        },
        "Nothing could be judged: exit code 2 or 4.",
    )


def judging() -> dict[str, Any]:
    """Who judged in the files of other tools."""
    fields = {
        "tool": TEXT,
        "judges": {"type": "array", "items": TEXT, "description": "The scorers that judged, in words."},
        "declared_by": {"enum": ["policy", "file"], "description": "The policy's `judged_by`, or the file itself."},
    }
    return {"type": "array", "items": an_object(fields, "Who judged the records of one tool.")}


def selection() -> dict[str, Any]:
    """Which rows were judged."""
    where = {"type": "object", "additionalProperties": {"type": "array", "items": TEXT}}
    fields = {"where": where, "rows_left_out": COUNT, "scenarios_left_out": COUNT}
    return {"oneOf": [an_object(fields, "Which rows were judged, and what was left out."), {"type": "null"}]}


def source() -> dict[str, Any]:
    """A file, and the hash by which it is known again."""
    return an_object({"file": TEXT, "sha256": {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"}})
