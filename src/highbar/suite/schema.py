"""The JSON Schema of a suite file, for editors: which keys there are, what they take, and what they mean.

It checks less than the reader (no defined names, patterns or near misses), but never contradicts it.
"""

from __future__ import annotations

from typing import Any

from highbar.columns import BY_NAME
from highbar.suite.amounts import DURATION_PATTERN, MONEY_PATTERN, SIZE_PATTERN
from highbar.suite.check_schema import STATEMENT, check_definitions
from highbar.suite.identity import ASKED, CHECKED, LISTS, OWN_COLUMNS, SCENARIO_KEYS, WRITTEN_BY_A_RUN
from highbar.suite.judge_settings import FORMATS, LARGEST_TEMPERATURE, MOST_TOKENS
from highbar.suite.limits import (
    FEWEST_JUDGES,
    MOST_CANARIES,
    MOST_CONCURRENT,
    MOST_JUDGES,
    MOST_RETRIES,
    MOST_STATEMENTS,
    MOST_TRIALS,
)
from highbar.suite.messages import ROLES
from highbar.suite.scenarios import DEFAULTS
from highbar.suite.settings import POINTERS, SLOTS
from highbar.suite.values import FUNCTION_PATTERN

_TEXT = {"type": ["string", "number"], "pattern": r"\S"}
_ID = {"anyOf": [{"type": "string", "pattern": r"^(?=.*\S)[^\x00-\x1f\x7f-\x9f]+$"}, {"type": "integer"}]}
_FUNCTION = {"type": "string", "pattern": FUNCTION_PATTERN, "examples": ["package.module:function"]}
_TIME = {"type": "string", "pattern": DURATION_PATTERN, "examples": ["60s", "500ms", "2m"]}
_ADDRESS = {"type": "string", "pattern": r"^(https?://[^\s/]+\S*|\$\{[A-Za-z_][A-Za-z0-9_]*\}\S*)$"}
_KEY = {"type": "string", "pattern": r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$", "description": "From the environment: ${NAME}."}
_RETRIES = {"type": "integer", "minimum": 0, "maximum": MOST_RETRIES, "default": 4}
_PATIENCE = {
    **_TIME,
    "default": "5m",
    "description": "After the last answer, before refusals (429, 503, 529) use up retries.",
}
_CONCURRENCY = {
    "anyOf": [{"const": "auto"}, {"type": "integer", "minimum": 1, "maximum": MOST_CONCURRENT}],
    "default": "auto",
}
_MESSAGE = {"role": {"enum": list(ROLES)}, "content": {"type": ["string", "array", "integer", "null"]}}
_MESSAGES = {
    "type": "array",
    "items": {"type": "object", "properties": _MESSAGE, "required": ["role"]},
    "minItems": 1,
}
_POINTER = {"type": "string", "pattern": "^(/|$)", "examples": ["/reply"]}
_TRIALS = {"type": "integer", "minimum": 1, "maximum": MOST_TRIALS, "description": "How often a scenario is run."}
_CHECK = {"$ref": "#/$defs/check"}
_SCALAR = {"type": ["string", "number", "boolean"]}
_OWN = {"type": "object", "additionalProperties": _SCALAR}


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
        "$defs": {**_scenarios(), "judge": _judge(), **check_definitions()},
    }


def _file() -> dict[str, Any]:
    graded = {"agent": {"required": ["reports_quality"], "properties": {"reports_quality": {"const": True}}}}
    behaviors = {"type": "object", "additionalProperties": _CHECK}
    found = _closed(
        {
            "suite": {**_TEXT, "description": "The name of the suite; it goes into the column `suite`."},
            "description": {**_TEXT, "description": "For people; nothing depends on it."},
            "agent": _agent(),
            "judge": {"$ref": "#/$defs/judge"},
            "judges": _judges(),
            "run": _run(),
            "trials": {**_TRIALS, "description": "As under run: of every scenario that does not say it."},
            "behaviors": {**behaviors, "description": "How each behavior is recognized: a check, or plain words."},
            "defaults": _closed({key: value for key, value in _columns().items() if key in DEFAULTS}),
            "canaries": _canaries(),
            OWN_COLUMNS: {"type": "array", "items": _TEXT, "description": "The names of columns of your own."},
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
    texts = {name: {**_TEXT, "description": BY_NAME[name].meaning} for name in ("category", "capability", "cluster")}
    return {
        **texts,
        "weight": {
            "anyOf": [{"type": "number", **bounds}, {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}],
            "description": weight.meaning,
        },
        "tags": {"type": "object", "additionalProperties": _TEXT, "description": BY_NAME["tags"].meaning},
        "trials": _TRIALS,
        "timeout": {**_TIME, "description": "Of one call."},
    }


def _scenarios() -> dict[str, Any]:
    names = {"type": "array", "items": _TEXT, "uniqueItems": True}
    listed = {"anyOf": [names, {"type": "object", "additionalProperties": _CHECK}]}
    keys: dict[str, Any] = {
        "id": {**_ID, "description": "Required, and different from all others."},
        "description": {**_TEXT, "description": "For people; nothing depends on it."},
        **_columns(),
        "input": {**_TEXT, "description": "What the agent is asked."},
        "turns": {"type": "array", "items": _TEXT, "minItems": 1, "description": "What the user says, turn by turn."},
        "messages": {**_MESSAGES, "description": "A conversation in chat form, which the agent answers."},
        "answer": {"$ref": "#/$defs/answer", "description": "Makes the column `correct`."},
        "expected": {"type": ["string", "number", "boolean"], "pattern": r"\S", "description": "The right label."},
        "predict": _closed({"json": _POINTER}, "json"),
        "expected_behaviors": {**listed, "description": "What the answer must show: names, or names with checks."},
        "must_not": {**listed, "description": "What must not happen: names, or names with checks."},
        OWN_COLUMNS: {**_OWN, "description": "Columns of your own, under any names."},
        **dict.fromkeys(sorted(WRITTEN_BY_A_RUN), False),
    }
    pairs = [(first, second) for first in ASKED for second in ASKED if first < second]
    scenario = {
        "type": "object",
        "properties": keys,
        "additionalProperties": _SCALAR,
        "required": ["id"],
        "allOf": [{"not": {"required": list(pair)}} for pair in pairs],
        "dependentRequired": {"predict": ["expected"]},
    }
    return {
        "scenario": scenario,
        "checked": _checked_scenario(),
        "planned": _listed_scenario(),
        "slotted": _slotted_value(),
    }


def _checked_scenario() -> dict[str, Any]:
    """The schema of a scenario that checks something."""
    empty = {"anyOf": [{"type": "array", "maxItems": 0}, {"type": "object", "maxProperties": 0}]}
    some = [{"required": [key], **({"properties": {key: {"not": empty}}} if key in LISTS else {})} for key in CHECKED]
    return {"allOf": [{"$ref": "#/$defs/scenario"}, {"anyOf": some}]}


def _listed_scenario() -> dict[str, Any]:
    """The schema of a scenario in a list that only says what must have a result."""
    described = {key: value for key, value in _columns().items() if key not in ("weight", "timeout")}
    keys = {"id": _ID, **described, OWN_COLUMNS: _OWN, **dict.fromkeys((*ASKED, *CHECKED), False)}
    # Results may be listed as they are, so that the columns of a run may have any value.
    known = {**keys, **dict.fromkeys(sorted({*SCENARIO_KEYS, *WRITTEN_BY_A_RUN} - {*keys}), True)}
    own = {"type": [*_SCALAR["type"], "null"]}
    return {"anyOf": [_ID, {"type": "object", "properties": known, "additionalProperties": own, "required": ["id"]}]}


def _slotted_value() -> dict[str, Any]:
    """The schema of a JSON value with at least one text that is replaced by what the agent is asked."""
    same = {"$ref": "#/$defs/slotted"}
    inside = {"type": "object", "not": {"additionalProperties": {"not": same}}}
    return {"anyOf": [{"enum": list(SLOTS)}, {"type": "array", "contains": same}, inside]}


def _agent() -> dict[str, Any]:
    common = {
        "version": {**_TEXT, "description": "Which version this is."},
        "reports_behaviors": {"type": "boolean", "description": "Whether it says itself which behaviors it showed."},
        "reports_quality": {"type": "boolean", "description": "Whether it says itself how good its answer is."},
        "max_reply": {"type": "string", "pattern": SIZE_PATTERN, "description": "The largest reply: 16 MiB."},
    }
    http = {"http": _ADDRESS, "key": _KEY, "headers": {"type": "object", "additionalProperties": _TEXT}, "model": _TEXT}
    chat = {**common, **http, "format": {"enum": ["openai", "anthropic"]}}
    own = {
        **common,
        **http,
        "format": {"const": "json"},
        "body": {"$ref": "#/$defs/slotted"},
        **dict.fromkeys(POINTERS, _POINTER),
    }
    words = {"type": "array", "items": _TEXT, "minItems": 1, "description": "Words of a command; no shell."}
    return {
        "description": "The agent under test.",
        "anyOf": [
            _closed({"python": _FUNCTION, **common}, "python"),
            _closed({"command": words, **common}, "command"),
            _closed(chat, "http"),
            _closed(own, "http", "body", "output"),
        ],
    }


def _run() -> dict[str, Any]:
    return _closed(
        {
            "trials": {**_TRIALS, "default": 1},
            "concurrency": _CONCURRENCY,
            "timeout": {**_TIME, "default": "60s", "description": "Of one call."},
            "trial_timeout": {**_TIME, "description": "Of one trial; timeout times its turns unless given."},
            "retries": _RETRIES,
            "patience": _PATIENCE,
            "budget": {"type": "string", "pattern": MONEY_PATTERN, "examples": ["$5", "5 usd"]},
            "max_time": {**_TIME, "description": "Of the whole run."},
        }
    )


def _judge() -> dict[str, Any]:
    """The schema of one judge."""
    common = {
        "concurrency": {**_CONCURRENCY, "description": "Calls at once."},
        "timeout": {**_TIME, "default": "60s", "description": "Of one call."},
        "retries": _RETRIES,
        "patience": _PATIENCE,
    }
    model = {
        "model": _TEXT,
        "base_url": _ADDRESS,
        "key": _KEY,
        "format": {"enum": list(FORMATS)},
        "temperature": {"type": "number", "minimum": 0, "maximum": LARGEST_TEMPERATURE},
        "max_tokens": {"type": "integer", "minimum": 1, "maximum": MOST_TOKENS},
        **common,
    }
    return {
        "description": "Who reads the statements in plain words.",
        "anyOf": [_closed({"python": _FUNCTION, **common}, "python"), _closed(model, "model", "base_url")],
    }


def _judges() -> dict[str, Any]:
    """The schema of a list of judges."""
    return {
        "type": "array",
        "items": {"$ref": "#/$defs/judge"},
        "minItems": FEWEST_JUDGES,
        "maxItems": MOST_JUDGES,
        "uniqueItems": True,
        "description": "Several judges, of which the majority counts.",
    }


def _canaries() -> dict[str, Any]:
    """The schema of the list of canaries."""
    defined = _closed({"judge": STATEMENT, "observed": {"type": "boolean"}}, "judge", "observed")
    behaviors = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": MOST_STATEMENTS,
        "additionalProperties": {"anyOf": [{"type": "boolean"}, defined]},
        "description": "Which behaviors are observed: true or false.",
    }
    keys = {"id": _ID, "input": _TEXT, "messages": _MESSAGES, "output": _TEXT, "behaviors": behaviors}
    one = _closed(keys, "behaviors")
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


def _closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """The schema of a mapping with these keys and no others."""
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found
