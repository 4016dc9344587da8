"""A conversation in chat form, as a suite writes it → messages, each with a role and content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highbar.documents.problems import ValueCursor
from highbar.documents.scalars import as_written
from highbar.suite.values import entries

ROLES = ("system", "developer", "user", "assistant", "tool")
ASKING = ("user", "tool")
"""The roles of the last message in a conversation that waits for an answer."""


def read_messages(value: Any, place: ValueCursor) -> tuple[Mapping[str, Any], ...]:
    """The messages; their problems are noted. Keys other than role and content are left as they are."""
    if not isinstance(value, list) or not value:
        place.refuse_value(value, "a list of {role: …, content: …}")
        return ()
    return tuple(_message(message, place.at(i)) for i, message in enumerate(value))


def refuse_answered(messages: tuple[Mapping[str, Any], ...], place: ValueCursor) -> None:
    """Note a problem if the conversation does not end with a message to answer."""
    role = messages[-1].get("role") if messages else None
    if role in ROLES and role not in ASKING:
        last = place.at(len(messages) - 1)
        last.refuse(
            "suite.no-question",
            f"the last message is from the {role}: there is nothing to answer",
            "end with role: user",
        )


def _message(value: Any, place: ValueCursor) -> Mapping[str, Any]:
    fields = entries(value, place, "a mapping with role and content")
    if not isinstance(value, dict):
        return {}
    role, content = fields.get("role"), fields.get("content")
    if role not in ROLES:
        place.at("role").refuse_value(role, f"a role: {', '.join(ROLES)}")
    called = role == "assistant" and fields.get("tool_calls")
    if (
        not isinstance(content, list)
        and not (content is None and called)
        and not (isinstance(content, str | int) and as_written(content))
    ):
        place.at("content").refuse_value(content, "the content: text, or a list of parts")
    return {**fields, "content": as_written(content) if not isinstance(content, list | None) else content}
