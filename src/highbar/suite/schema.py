"""The JSON Schema of a suite file, for editors: which keys there are, what they take, and what they mean.

It checks less than the reader (no defined names, patterns or near misses), but never contradicts it.
"""

from __future__ import annotations

from typing import Any

from highbar.columns import BY_NAME
from highbar.suite.amounts import MONEY_PATTERN, SIZE_PATTERN
from highbar.suite.check_schema import check_definitions
from highbar.suite.identity import LISTS
from highbar.suite.judge_schema import canaries, judge_schema, judges
from highbar.suite.limits import MOST_TRIALS
from highbar.suite.scenarios import ASKED, CHECKED, DEFAULTS, WRITTEN_BY_A_RUN
from highbar.suite.schema_parts import ADDRESS, CONCURRENCY, FUNCTION, ID, KEY, MESSAGES, RETRIES, TEXT, TIME, closed
from highbar.suite.settings import POINTERS, SLOTS

_POINTER = {"type": "string", "pattern": "^(/|$)", "examples": ["/reply"]}
_TRIALS = {"type": "integer", "minimum": 1, "maximum": MOST_TRIALS, "description": "How often a scenario is run."}
_CHECK = {"$ref": "#/$defs/check"}


def schema() -> dict[str, Any]:
    """The schema, as draft 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Highbar suite",
        "description": "What an agent is asked, and by what its answers are judged.",
        # Not `anyOf`: editors would only say that the whole file fits none of the forms.
        "if": {"type": "array"},
        "then": {
            "anyOf": [
                {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/planned"}},
                {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/checked"}},
            ]
        },
        "else": _file(),
        "$defs": {**_scenarios(), "judge": judge_schema(), **check_definitions()},
    }


def _file() -> dict[str, Any]:
    graded = {"agent": {"required": ["reports_quality"], "properties": {"reports_quality": {"const": True}}}}
    behaviors = {"type": "object", "additionalProperties": _CHECK}
    found = closed(
        {
            "suite": {**TEXT, "description": "The name of the suite; it goes into the column `suite`."},
            "description": {**TEXT, "description": "For people; nothing depends on it."},
            "agent": _agent(),
            "judge": {"$ref": "#/$defs/judge"},
            "judges": judges(),
            "run": _run(),
            "behaviors": {**behaviors, "description": "How each behavior is recognized: a check, or plain words."},
            "defaults": closed({key: value for key, value in _columns().items() if key in DEFAULTS}),
            "canaries": canaries(),
            "scenarios": {"type": "array", "minItems": 1, "description": "What the agent is asked."},
        },
        "scenarios",
    )
    any_, checked = ({"properties": {"scenarios": {"items": {"$ref": f"#/$defs/{name}"}}}} for name in _KINDS)
    kinds = {"if": {"required": ["agent"], "properties": graded}, "then": any_, "else": checked}
    return {**found, **kinds, "not": {"required": ["judge", "judges"]}}


_KINDS = ("scenario", "checked")


def _columns() -> dict[str, Any]:
    """The schemas of the keys that describe a scenario."""
    weight = BY_NAME["weight"]
    bounds = {"minimum": weight.least, "maximum": weight.most}
    texts = {name: {**TEXT, "description": BY_NAME[name].meaning} for name in ("category", "capability", "cluster")}
    return {
        **texts,
        "weight": {
            "anyOf": [{"type": "number", **bounds}, {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}],
            "description": weight.meaning,
        },
        "tags": {"type": "object", "additionalProperties": TEXT, "description": BY_NAME["tags"].meaning},
        "trials": _TRIALS,
        "timeout": {**TIME, "description": "Of one call."},
    }


def _scenarios() -> dict[str, Any]:
    names = {"type": "array", "items": TEXT, "uniqueItems": True}
    listed = {"anyOf": [names, {"type": "object", "additionalProperties": _CHECK}]}
    keys: dict[str, Any] = {
        "id": {**ID, "description": "Required, and different from all others."},
        "description": {**TEXT, "description": "For people; nothing depends on it."},
        **_columns(),
        "input": {**TEXT, "description": "What the agent is asked."},
        "turns": {"type": "array", "items": TEXT, "minItems": 1, "description": "What the user says, turn by turn."},
        "messages": {**MESSAGES, "description": "A conversation in chat form, which the agent answers."},
        "answer": {"$ref": "#/$defs/answer", "description": "Makes the column `correct`."},
        "expected": {"type": ["string", "number", "boolean"], "pattern": r"\S", "description": "The right label."},
        "predict": closed({"json": _POINTER}, "json"),
        "expected_behaviors": {**listed, "description": "What the answer must show: names, or names with checks."},
        "must_not": {**listed, "description": "What must not happen: names, or names with checks."},
        **dict.fromkeys(sorted(WRITTEN_BY_A_RUN), False),
    }
    pairs = [(first, second) for first in ASKED for second in ASKED if first < second]
    scenario = {
        "type": "object",
        "properties": keys,
        "additionalProperties": {"not": {"type": "null"}},
        "required": ["id"],
        "allOf": [{"not": {"required": list(pair)}} for pair in pairs],
        "dependentRequired": {"predict": ["expected"]},
    }
    return {"scenario": scenario, "checked": _checked(), "planned": _planned(), "slotted": _slotted()}


def _checked() -> dict[str, Any]:
    """The schema of a scenario that checks something."""
    empty = {"anyOf": [{"type": "array", "maxItems": 0}, {"type": "object", "maxProperties": 0}]}
    some = [{"required": [key], **({"properties": {key: {"not": empty}}} if key in LISTS else {})} for key in CHECKED]
    return {"allOf": [{"$ref": "#/$defs/scenario"}, {"anyOf": some}]}


def _planned() -> dict[str, Any]:
    """The schema of a scenario in a list that only says what must have a result."""
    described = {key: value for key, value in _columns().items() if key not in ("weight", "trials", "timeout")}
    keys = {"id": ID, **described, **dict.fromkeys((*ASKED, *CHECKED), False)}
    return {"anyOf": [ID, {"type": "object", "properties": keys, "required": ["id"]}]}


def _slotted() -> dict[str, Any]:
    """The schema of a JSON value with at least one text that is replaced by what the agent is asked."""
    same = {"$ref": "#/$defs/slotted"}
    somewhere = {"type": "object", "not": {"additionalProperties": {"not": same}}}
    return {"anyOf": [{"enum": list(SLOTS)}, {"type": "array", "contains": same}, somewhere]}


def _agent() -> dict[str, Any]:
    common = {
        "version": {**TEXT, "description": "Which version this is."},
        "reports_behaviors": {"type": "boolean", "description": "Whether it says itself which behaviors it showed."},
        "reports_quality": {"type": "boolean", "description": "Whether it says itself how good its answer is."},
        "max_reply": {"type": "string", "pattern": SIZE_PATTERN, "description": "The largest reply: 16 MiB."},
    }
    http = {"http": ADDRESS, "key": KEY, "headers": {"type": "object", "additionalProperties": TEXT}, "model": TEXT}
    chat = {**common, **http, "format": {"enum": ["openai", "anthropic"]}}
    own = {
        **common,
        **http,
        "format": {"const": "json"},
        "body": {"$ref": "#/$defs/slotted"},
        **dict.fromkeys(POINTERS, _POINTER),
    }
    words = {"type": "array", "items": TEXT, "minItems": 1, "description": "Words of a command; no shell."}
    return {
        "description": "The agent under test.",
        "anyOf": [
            closed({"python": FUNCTION, **common}, "python"),
            closed({"command": words, **common}, "command"),
            closed(chat, "http"),
            closed(own, "http", "body", "output"),
        ],
    }


def _run() -> dict[str, Any]:
    return closed(
        {
            "trials": {**_TRIALS, "default": 1},
            "concurrency": CONCURRENCY,
            "timeout": {**TIME, "default": "60s", "description": "Of one call."},
            "trial_timeout": {**TIME, "description": "Of one trial; timeout times its turns unless given."},
            "retries": RETRIES,
            "budget": {"type": "string", "pattern": MONEY_PATTERN, "examples": ["$5", "5 usd"]},
            "max_time": {**TIME, "description": "Of the whole run."},
        }
    )
