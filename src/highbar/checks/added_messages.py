"""What the agent said and called in messages that it added to the conversation itself; must-nots read these too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from highbar.checks.values import NotJson, Unreadable, decode_json
from highbar.model.answer import Answer, ToolCall

OTHER_ROLES = frozenset({"user", "human", "system", "developer", "tool", "function"})
"""The roles that are not the agent. Fail closed: any other role counts as the agent."""
_key = msgspec.json.Encoder(order="sorted", decimal_format="number").encode


def with_added(answer: Answer) -> Answer:
    """The answer with the texts of the agent's own messages as replies, and their calls as calls.

    A call that the agent also reports as a tool call counts once, so that the number of calls does not double.
    """
    own = [message for message in answer.messages if is_of_agent(message)]
    if not own:
        return answer
    reported = Counter(map(_key, answer.calls))
    added = []
    for call in (call for message in own for call in message_calls(message)):
        key = _key(call)
        if reported[key]:
            reported[key] -= 1
        else:
            added.append(call)
    texts = tuple(text for message in own for text in message_texts(message.get("content")))
    return replace(answer, replies=(*answer.replies, *texts), tool_calls=(*answer.tool_calls, tuple(added)))


def is_of_agent(message: Mapping[str, Any]) -> bool:
    """Whether the agent said a message."""
    return role_of(message) not in OTHER_ROLES


def role_of(message: Mapping[str, Any]) -> str:
    """The role of a message, in lower case."""
    return str(message.get("role")).strip().lower()


def message_texts(content: Any) -> Iterator[str]:
    """The texts of a message: its content, or the text parts and refusals of its content."""
    for part in content if isinstance(content, list) else [content]:
        texts = (part.get("text"), part.get("refusal")) if isinstance(part, Mapping) else (part,)
        yield from (text for text in texts if isinstance(text, str) and text)


def message_calls(message: Mapping[str, Any]) -> Iterator[ToolCall]:
    """The calls of a message, in any of the forms of chat interfaces."""
    content, calls = message.get("content"), message.get("tool_calls")
    blocks = [part for part in content if _is_call(part)] if isinstance(content, list) else []
    for call in (*(calls if isinstance(calls, list) else []), message.get("function_call"), *blocks):
        if not isinstance(call, Mapping):
            continue
        inner = call.get("function", call.get("custom", call))
        if isinstance(inner, Mapping) and isinstance(inner.get("name"), str):
            keys = ("arguments", "input", "args")
            yield ToolCall(inner["name"], _decode_arguments(next((inner[key] for key in keys if key in inner), None)))


def _is_call(part: Any) -> bool:
    return isinstance(part, Mapping) and str(part.get("type")).endswith(("tool_use", "tool_call"))


def _decode_arguments(arguments: Any) -> Any:
    """The arguments of a call, decoded if they are JSON in a text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return decode_json(arguments)
    except (NotJson, Unreadable):
        return arguments
