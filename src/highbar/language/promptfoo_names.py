"""Tests and assertions of promptfoo → their names, the same whether they are in its results or in its configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from highbar.language.limits import LONGEST_TAG
from highbar.language.tool_names import scenario_id, shorten, text_or_json, value_digest

RED_TEAM = "promptfoo:redteam:"
UNKNOWN = "assertion"
_ROW = re.compile(r"Row #[0-9]+")
"""The name that promptfoo gives a test from a file without a description: a position, which does not identify it."""
_SCENARIO = "__scenario_"
_NUMBERS = (int, float, bool)


def conversation_of(metadata: object) -> str | None:
    """The conversation of which a test is a turn; None if it is none.

    >>> conversation_of({"conversationId": 7}), conversation_of({"category": "refunds"})
    ('7', None)
    """
    name = text_or_json(metadata.get("conversationId")) if isinstance(metadata, dict) else None
    return name if not name or len(name) <= LONGEST_TAG else f"{shorten(name)}#{value_digest(name)}"


def key_of_test(
    described: object, variables: object, assertions: object, conversation: str | None = None
) -> tuple[str, str]:
    """The name of a test, and a digest that only its repetitions share. "Yes" in two conversations is two tests.

    >>> key_of_test("Greets", {"q": "hi"}, [])[0], key_of_test("Row #7", {"q": "hi"}, [])[0]
    ('Greets', 'hi')
    """
    if isinstance(described, str) and _ROW.fullmatch(described):
        described = None
    asked = (described, variables, assertions)
    # promptfoo names the conversations of its scenarios itself; their variables distinguish their tests.
    is_own = conversation and not conversation.startswith(_SCENARIO)
    digest = value_digest((*asked, conversation) if is_own else asked)
    if isinstance(described, str) and described:
        return described, digest
    only = next(iter(variables.values())) if isinstance(variables, dict) and len(variables) == 1 else variables
    return text_or_json(only) or "test", digest


def id_of_test(key: tuple[str, str], *, alone: bool) -> str:
    """The id of a test: its name, and the digest if another test has the same name, or if it is long."""
    name, digest = key
    return scenario_id(name if alone and shorten(name) == name else f"{shorten(name)}#{digest}")


def assertion_kind(assertion: Mapping[str, Any]) -> str:
    """The type of an assertion; `assertion` if it has none."""
    kind = assertion.get("type")
    return kind if isinstance(kind, str) and kind else UNKNOWN


def forbids(kind: str) -> bool:
    """Whether assertions of this type are must-nots, or may be."""
    return kind.startswith(("not-", RED_TEAM)) or kind == UNKNOWN


def assertion_name(assertion: Mapping[str, Any]) -> str:
    """The metric of an assertion; if it has no metric, its type and value."""
    metric = assertion.get("metric")
    if metric:
        return text_or_json(metric) or UNKNOWN
    plain = assertion_kind(assertion).removeprefix(RED_TEAM).removeprefix("not-")
    value = text_or_json(assertion.get("value"))
    return f"{plain}: {shorten(value)}" if value else plain


def taggable(values: object) -> dict[str, Any]:
    """The members of an object that can become tags: numbers and short texts, except promptfoo's own (`_…`)."""
    if not values or type(values) is not dict:
        return {}
    return {
        key: member
        for key, member in values.items()
        if (len(member) <= LONGEST_TAG if type(member) is str else type(member) in _NUMBERS) and key[:1] != "_"
    }
