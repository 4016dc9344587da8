"""Parts that the JSON Schemas of a suite's blocks have in common."""

from __future__ import annotations

from typing import Any

from highbar.suite.amounts import DURATION_PATTERN
from highbar.suite.limits import MOST_CONCURRENT, MOST_RETRIES
from highbar.suite.messages import ROLES
from highbar.suite.values import FUNCTION_PATTERN

TEXT = {"type": ["string", "number"], "pattern": r"\S"}
ID = {"anyOf": [{"type": "string", "pattern": r"^(?=.*\S)[^\x00-\x1f\x7f-\x9f]+$"}, {"type": "integer"}]}
FUNCTION = {"type": "string", "pattern": FUNCTION_PATTERN, "examples": ["package.module:function"]}
TIME = {"type": "string", "pattern": DURATION_PATTERN, "examples": ["60s", "500ms", "2m"]}
ADDRESS = {"type": "string", "pattern": r"^(https?://[^\s/]+\S*|\$\{[A-Za-z_][A-Za-z0-9_]*\}\S*)$"}
KEY = {"type": "string", "pattern": r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$", "description": "From the environment: ${NAME}."}
RETRIES = {"type": "integer", "minimum": 0, "maximum": MOST_RETRIES, "default": 4}
CONCURRENCY = {
    "anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": MOST_CONCURRENT}],
    "default": "auto",
}
_MESSAGE = {"role": {"enum": list(ROLES)}, "content": {"type": ["string", "array", "integer", "null"]}}
MESSAGES = {
    "type": "array",
    "items": {"type": "object", "properties": _MESSAGE, "required": ["role"]},
    "minItems": 1,
}


def closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """The schema of a mapping with these keys and no others."""
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found
