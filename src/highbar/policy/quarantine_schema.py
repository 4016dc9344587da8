"""The part of the policy's JSON Schema that is about the block `quarantine`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highbar.model.quarantine import MOST_RUNS

_TEXT = {"type": "string", "minLength": 1}


def quarantine_schema(description: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the block; `description` is the schema of a description."""
    id_ = [_TEXT, {"type": "integer"}]
    until = {"type": "string", "format": "date", "description": "The last day: 2026-12-01."}
    entry = _closed({"id": {"anyOf": id_}, "until": until, "description": description}, "id")
    ids = {"type": "array", "items": {"anyOf": [*id_, entry]}, "minItems": 1, "uniqueItems": True}
    runs = {"type": "integer", "minimum": 2, "maximum": MOST_RUNS, "description": "How many runs are looked at."}
    auto = _closed({"runs": runs, "description": description}, "runs")
    block = _closed(
        {
            "ids": {**ids, "description": "Scenarios by id, each with its last day if it has one."},
            "auto": {**auto, "description": "Scenarios that passed and failed in the last runs before the change."},
            "history": {**_TEXT, "description": "The folder of the runs; history unless given."},
            "description": description,
        }
    )
    return {
        "description": "Flaky scenarios, which are never new failures. They run, and count in all rates.",
        "anyOf": [ids, {**block, "anyOf": [{"required": ["ids"]}, {"required": ["auto"]}]}],
    }


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found
