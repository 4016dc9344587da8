"""A check in, its description in words out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from highbar.checks.tree import (
    All,
    AnyOf,
    At,
    AtMost,
    Bounds,
    Called,
    CalledInOrder,
    CalledOnly,
    Check,
    Equal,
    Function,
    IsJson,
    JsonAt,
    Matches,
    Not,
    NumberIs,
    Reported,
    Statement,
    Texts,
    Words,
)
from highbar.documents.problems import shown

_LONGEST = 240
"""The most characters of one sentence; longer ones are cut."""
_TEXTS = {
    "equals": "is",
    "contains": "contains",
    "contains_all": "contains",
    "starts_with": "starts with",
}
_SOURCES = {"json": "the reply as JSON", "state": "the reported state", "context": "the reported context"}


def check_in_words(check: Check) -> str:
    """A check in words.

    >>> from highbar import checks
    >>> check_in_words(checks.read({"contains": ["am", "pm"], "words": {"at_most": 80}}).check)
    "the reply contains 'am' or 'pm', and the reply has at most 80 words"
    """
    words = _say(check)
    return words if len(words) <= _LONGEST else f"{words[:_LONGEST]}…"


def _say(check: Check) -> str:
    if isinstance(check, All):
        return ", and ".join(map(_say, check.checks))
    if isinstance(check, AnyOf):
        return f"one of these: {'; '.join(map(_say, check.checks))}"
    if isinstance(check, Not):
        inner = check.check
        return _say(inner.check) if isinstance(inner, Not) else f"not: {_say(inner)}"
    if isinstance(check, Statement):
        return f"a judge finds that this is true: {check.text}"
    if isinstance(check, Reported):
        return "the agent reports it itself"
    if isinstance(check, Function):
        return f"the Python function {check.name} says so"
    if isinstance(check, Called | CalledInOrder | CalledOnly):
        return _say_calls(check)
    if isinstance(check, JsonAt):
        return f"in {_SOURCES[check.source]}, {_say_at(check.values)}"
    if isinstance(check, Equal | Bounds):
        return _say_value(check)
    return _say_reply(check)


def _say_reply(check: Texts | Matches | Words | NumberIs | IsJson | AtMost) -> str:
    if isinstance(check, AtMost):
        return f"{check.column} is at most {check.most}"
    reply = {"last": "the reply", "any": "any reply"}.get(str(check.reply), f"reply {check.reply}")
    if isinstance(check, Texts):
        joined = _either(check.wanted, " and " if check.kind == "contains_all" else " or ")
        return f"{reply} {_TEXTS[check.kind]} {joined}"
    if isinstance(check, Matches):
        return f"{reply} matches the pattern {_either(check.patterns, ' or ')}"
    if isinstance(check, Words):
        return f"{reply} has {_bounds(check.at_least, check.at_most)} words"
    if isinstance(check, NumberIs):
        near = f", give or take {check.within}{' of it' if check.relative else ''}" if check.within else ""
        return f"{reply} has the number {_either(check.wanted, ' or ')}{near}"
    return f"{reply} is JSON" if check.schema is None else f"{reply} is JSON that meets a schema"


def _say_calls(check: Called | CalledInOrder | CalledOnly) -> str:
    if isinstance(check, CalledInOrder):
        return f"the tools {', '.join(check.names)} are called in this order"
    if isinstance(check, CalledOnly):
        return f"no tools are called but {', '.join(check.names)}"
    parts = [f"the tool {check.name} is called"]
    if check.arguments is not None:
        parts.append(f"with {_pairs(check.arguments)}")
    if check.not_arguments is not None:
        parts.append(f"at least once without {_pairs(check.not_arguments)}")
    if check.where:
        parts.append(f"with arguments of which {_say_at(check.where)}")
    if (check.at_least, check.at_most) != (1, None):
        once = (check.at_least, check.at_most) == (1, 1)
        parts.append("exactly once" if once else f"{_bounds(check.at_least, check.at_most)} times")
    return " ".join(parts) + (", in every call" if check.every else "")


def _say_at(values: Iterable[At]) -> str:
    return ", and ".join(f"{at.pointer or 'the whole'} {_say(at.check).removeprefix('the reply ')}" for at in values)


def _say_value(check: Equal | Bounds) -> str:
    if isinstance(check, Bounds):
        return f"is {_bounds(check.at_least, check.at_most)}"
    return f"has the items of {shown(check.wanted)}" if check.any_order else f"is {shown(check.wanted)}"


def _bounds(least: Any, most: Any) -> str:
    if least == most:
        return f"exactly {least}"
    parts = [f"at least {least}"] if least is not None else []
    return " and ".join(parts + ([f"at most {most}"] if most is not None else []))


def _either(wanted: Sequence[Any], word: str) -> str:
    texts = [str(value) if isinstance(value, int | Decimal) else shown(value) for value in wanted[:3]]
    rest = len(wanted) - len(texts)
    return word.join(texts) + (f"{word}{rest} more" if rest else "")


def _pairs(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {shown(value)}" for name, value in arguments.items()) or "no arguments"
