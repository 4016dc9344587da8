"""The JSON Schema of the blocks `judge`, `judges` and `canaries`, which is a part of the schema of a suite."""

from __future__ import annotations

from typing import Any

from highbar.suite.check_schema import STATEMENT
from highbar.suite.judge_settings import FORMATS, MOST_TOKENS
from highbar.suite.limits import FEWEST_JUDGES, MOST_CANARIES, MOST_JUDGES, MOST_STATEMENTS
from highbar.suite.schema_parts import ADDRESS, CONCURRENCY, FUNCTION, ID, KEY, MESSAGES, RETRIES, TEXT, TIME, closed


def judge_schema() -> dict[str, Any]:
    """The schema of one judge."""
    common = {
        "concurrency": {**CONCURRENCY, "description": "Calls at once."},
        "timeout": {**TIME, "default": "60s", "description": "Of one call."},
        "retries": RETRIES,
    }
    model = {
        "model": TEXT,
        "base_url": ADDRESS,
        "key": KEY,
        "format": {"enum": list(FORMATS)},
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "max_tokens": {"type": "integer", "minimum": 1, "maximum": MOST_TOKENS},
        **common,
    }
    return {
        "description": "Who reads the statements in plain words.",
        "anyOf": [closed({"python": FUNCTION, **common}, "python"), closed(model, "model", "base_url")],
    }


def judges() -> dict[str, Any]:
    """The schema of a list of judges."""
    return {
        "type": "array",
        "items": {"$ref": "#/$defs/judge"},
        "minItems": FEWEST_JUDGES,
        "maxItems": MOST_JUDGES,
        "uniqueItems": True,
        "description": "Several judges, of which the majority counts.",
    }


def canaries() -> dict[str, Any]:
    """The schema of the list of canaries."""
    defined = closed({"judge": STATEMENT, "observed": {"type": "boolean"}}, "judge", "observed")
    behaviors = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": MOST_STATEMENTS,
        "additionalProperties": {"anyOf": [{"type": "boolean"}, defined]},
        "description": "Which behaviors are observed: true or false.",
    }
    keys = {"id": ID, "input": TEXT, "messages": MESSAGES, "output": TEXT, "behaviors": behaviors}
    one = closed(keys, "behaviors")
    asked = [
        {"required": ["messages"], "not": {"required": ["input"]}},
        {"required": ["input", "output"], "not": {"required": ["messages"]}},
    ]
    return {
        "type": "array",
        "items": {**one, "anyOf": asked},
        "minItems": 1,
        "maxItems": MOST_CANARIES,
        "description": "Answers known to be good or bad, by which the judge is tested in every run.",
    }
