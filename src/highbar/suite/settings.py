"""The blocks `agent` and `run` → settings whose form is checked; nothing is looked up and nothing is called."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal

from highbar.columns import UNBOUNDED
from highbar.documents.problems import ValueCursor, ValuePath
from highbar.suite.amounts import seconds, size, usd
from highbar.suite.limits import LARGEST_REPLY, LONGEST_TIME, MOST_CONCURRENT, MOST_RETRIES, MOST_TRIALS
from highbar.suite.parts import Agent, RunSettings, Variable
from highbar.suite.secrets import NOT_IN_A_FILE, VARIABLE, has_secret, is_secret, secret
from highbar.suite.values import (
    amount_value,
    choice,
    entries,
    flag_value,
    function,
    refuse_unknown,
    text_value,
    whole_number,
)

KINDS = ("python", "http", "command")
POINTERS = ("output", "tool_calls", *(column.name for column in UNBOUNDED if column.name != "latency_ms"))
"""What a JSON pointer reads from a reply. The latency is not among them: the caller measures it."""
_HTTP = ("format", "model", "key", "headers", "body", *POINTERS)
SLOTS = ("{input}", "{messages}", "{id}")
"""A text in the body is replaced if it is exactly one of these."""
_PLACEHOLDER = re.compile(r"\{\w+\}")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_ADDRESS = re.compile(r"https?://[^\s/]+\S*|\$\{[A-Za-z_][A-Za-z0-9_]*\}\S*")
_TIME_HINT = "write the unit: 60s, 500ms or 2m"
_MOST_USD = 10**9
"""The most dollars of a budget: a larger number is a typing error."""


def read_agent(value: Any, place: ValueCursor) -> Agent | None:
    """The agent in the block `agent`; None after noting a problem."""
    fields = entries(value, place, "a mapping such as {python: module:function}")
    if not fields:
        if isinstance(value, dict):
            place.refuse("suite.missing-key", f"wanted one of {', '.join(KINDS)}")
        return None
    before = len(place.problems)
    refuse_unknown(fields, AGENT_KEYS, place)
    kinds = [kind for kind in KINDS if kind in fields]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none"
        place.refuse("suite.missing-key", f"wanted one of {', '.join(KINDS)}, found {found}")
        return None
    kind = kinds[0]
    target = {"python": function, "http": web_address, "command": _command}[kind](fields[kind], place.at(kind))
    for key in _HTTP if kind != "http" else ():
        if key in fields:
            place.at(key).refuse(
                "suite.misplaced-key", f"'{key}' belongs to an agent with http, and this one has {kind}"
            )
    http = _http(fields, place) if kind == "http" else {}
    common = {key: read(fields[key], place.at(key)) for key, read in _COMMON.items() if key in fields}
    if len(place.problems) > before or target is None:
        return None
    return Agent(kind, target, **http, **common)  # type: ignore[arg-type]  # it is one of the kinds


def web_address(value: Any, place: ValueCursor) -> str | None:
    """A web address, which may contain a `${NAME}`; None after noting a problem."""
    if isinstance(value, str) and has_secret(value):
        place.refuse(
            "suite.key-in-file",
            NOT_IN_A_FILE,
            "put it into the environment, and write http://user:${AGENT_PASSWORD}@… here",
        )
        return None
    if isinstance(value, str) and _ADDRESS.fullmatch(value):
        return value
    place.refuse_value(value, "an address that begins with http:// or https://")
    return None


def _command(value: Any, place: ValueCursor) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not value:
        hint = f"write [{', '.join(value.split())[:60]}]" if isinstance(value, str) and value.strip() else None
        place.refuse_value(value, "a list of words; no shell reads it", hint)
        return None
    words = [text_value(word, place.at(i)) for i, word in enumerate(value)]
    if any(word is not None and "\0" in word for word in words):
        place.refuse("file.bad-character", "a word has a null character")
    return None if None in words else tuple(word for word in words if word is not None)


def _http(fields: Mapping[str, Any], place: ValueCursor) -> dict[str, Any]:
    """The settings that only an HTTP agent has."""
    default = "json" if "body" in fields else "openai"
    formats = ("openai", "anthropic", "json")
    format_ = choice(fields["format"], place.at("format"), *formats) if "format" in fields else default
    found: dict[str, Any] = {"format": format_}
    if "model" in fields:
        found["model"] = text_value(fields["model"], place.at("model"))
    if "key" in fields:
        found["key"] = secret(fields["key"], place.at("key"), "AGENT_KEY")
    if "headers" in fields:
        found["headers"] = _headers(fields["headers"], place.at("headers"))
    if format_ == "json":
        _body(fields, place)
        pointers = {key: _pointer(fields[key], place.at(key)) for key in POINTERS if key in fields}
        return {**found, "body": fields.get("body"), "pointers": pointers}
    for key in ("body", *POINTERS):
        if key in fields and format_ is not None:
            place.at(key).refuse("suite.misplaced-key", f"'{key}' belongs to `format: json`, and this is {format_}")
    return found


def _headers(value: Any, place: ValueCursor) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, given in entries(value, place, "a mapping of names to texts").items():
        header = text_value(given, place.at(name))
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            place.at(name).refuse("agent.bad-address", f"'{name[:60]}' is not the name of a header")
        elif header is not None and not header.isprintable():
            place.at(name).refuse("agent.bad-address", "a header has a control character")
        elif header is not None and is_secret(name, header):
            place.at(name).refuse(
                "suite.key-in-file", NOT_IN_A_FILE, "put it into the environment, and write ${AGENT_KEY} here"
            )
        elif header is not None:
            found[name] = header
    return found


def _body(fields: Mapping[str, Any], place: ValueCursor) -> None:
    for key in ("body", "output"):
        if key not in fields:
            hint = "for example body: {question: '{input}'}, output: /reply"
            place.refuse("suite.missing-key", f"`format: json` needs {key}", hint)
    if "body" not in fields:
        return
    # A slot with a problem counts as used: the body is then not refused again for having no slot at all.
    used = 0
    for path, found in _texts(fields["body"], ("body",)):
        if found in SLOTS:
            used += 1
        elif any(slot in found for slot in SLOTS):
            hint = "a text is replaced only if it is nothing but {input}, {messages} or {id}"
            place.at(*path).refuse("agent.bad-body", f"'{found[:60]}' has more than the name in braces", hint)
            used += 1
        elif _PLACEHOLDER.fullmatch(found):
            hint = f"known: {', '.join(SLOTS)}"
            place.at(*path).refuse("agent.bad-body", f"'{found[:60]}' is not replaced by anything", hint)
            used += 1
    for path in _unquoted_slots(fields["body"], ("body",)):
        place.at(*path).refuse(
            "agent.bad-body", "YAML reads braces without quotes as a mapping", "write '{input}' in quotes"
        )
        used += 1
    if not used:
        place.at("body").refuse(
            "agent.bad-body", "the body has neither {input} nor {messages} nor {id}: every call would be the same"
        )


def _unquoted_slots(value: Any, path: ValuePath) -> Iterator[ValuePath]:
    """The path of every `{input}` without quotes, which YAML reads as `{"input": null}`."""
    if isinstance(value, dict):
        if len(value) == 1 and None in value.values() and f"{{{next(iter(value))}}}" in SLOTS:
            yield path
        for key, inner in value.items():
            yield from _unquoted_slots(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unquoted_slots(inner, (*path, index))


def _pointer(value: Any, place: ValueCursor) -> str | None:
    if isinstance(value, str) and (not value or value.startswith("/")) and not re.search("~(?![01])", value):
        return value
    hint = f"write /{value.replace('.', '/')}" if isinstance(value, str) and re.fullmatch(r"[\w.]+", value) else None
    place.refuse_value(value, "a JSON pointer such as /reply", hint)
    return None


def read_run_settings(value: Any, place: ValueCursor) -> RunSettings:
    """The block `run`; settings that are absent or wrong have their defaults."""
    fields = entries(value, place, "a mapping such as {trials: 3, timeout: 60s}")
    refuse_unknown(fields, RUN_KEYS, place)
    found = {key: _RUN[key](given, place.at(key)) for key, given in fields.items() if key in _RUN}
    return RunSettings(**{key: read for key, read in found.items() if read is not None})


def duration(value: Any, place: ValueCursor) -> Fraction | None:
    """A time with its unit, in seconds."""
    return amount_value(value, place, seconds, LONGEST_TIME, "a time such as 60s", _TIME_HINT)


def patience(value: Any, place: ValueCursor) -> Fraction | None:
    """A time with its unit, in seconds; it may be 0."""
    return Fraction(0) if seconds(value) == 0 else duration(value, place)


def concurrency(value: Any, place: ValueCursor) -> int | Literal["auto"] | None:
    """The number of calls at once, or `auto`; None after noting a problem."""
    if value == "auto":
        return "auto"
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_CONCURRENT:
        return value
    place.refuse_value(value, f"auto, or a whole number from 1 to {MOST_CONCURRENT}")
    return None


_COMMON: Mapping[str, Callable[[Any, ValueCursor], Any]] = {
    "version": text_value,
    "reports_behaviors": flag_value,
    "reports_quality": flag_value,
    "max_reply": lambda given, at: amount_value(given, at, size, LARGEST_REPLY, "a size such as 16 MiB", None),
}
_RUN: Mapping[str, Callable[[Any, ValueCursor], Any]] = {
    "trials": lambda given, at: whole_number(given, at, 1, MOST_TRIALS),
    "concurrency": concurrency,
    "timeout": duration,
    "trial_timeout": duration,
    "retries": lambda given, at: whole_number(given, at, 0, MOST_RETRIES),
    "patience": patience,
    "budget": lambda given, at: amount_value(
        given, at, usd, _MOST_USD, "money such as $5 or 5 usd", "write $5 or 5 usd"
    ),
    "max_time": duration,
}
AGENT_KEYS = (*KINDS, *_HTTP, *_COMMON)
RUN_KEYS = tuple(_RUN)

# --- ${NAME} ---------------------------------------------------------------------------------


def variables_in_settings(top: Mapping[str, Any], place: ValueCursor) -> Iterator[Variable]:
    """Every `${NAME}` in the settings in which variables are replaced: `headers`, `key`, `http` and `base_url`."""
    for path, found in _texts_with_variables(top):
        for name in VARIABLE.findall(found):
            if _NAME.fullmatch(name):
                yield Variable(name, path)
            else:
                place.at(*path).refuse("agent.bad-body", f"'${{{name[:60]}}}' is not the name of a variable")


def _texts_with_variables(top: Mapping[str, Any]) -> Iterator[tuple[ValuePath, str]]:
    """Every text in which variables are replaced, with its path."""
    judges = top["judges"] if isinstance(top.get("judges"), list) else []
    blocks: list[tuple[ValuePath, Any, tuple[str, ...]]] = [
        (("agent",), top.get("agent"), ("http", "key", "headers")),
        (("judge",), top.get("judge"), ("base_url", "key")),
        *((("judges", index), judge, ("base_url", "key")) for index, judge in enumerate(judges)),
    ]
    for path, fields, keys in blocks:
        for key in keys if isinstance(fields, dict) else ():
            yield from _texts(fields.get(key), (*path, key))


def _texts(value: Any, path: ValuePath) -> Iterator[tuple[ValuePath, str]]:
    """Every text inside a value, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*path, index))
