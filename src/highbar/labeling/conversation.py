"""The row of a trial → its conversation as people see it. All of it is untrusted, so every text is made legible."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from highbar.checks.messages import calls_in, is_of_agent, read_message, role_of
from highbar.model.answer import ToolCall
from highbar.report.html.markup import legible

_SHOWN = frozenset({"role", "name", "tool_call_id", "content", "tool_calls"})
"""Keys of a message that have a place of their own on the page."""


class ShownMessage(Struct, frozen=True):
    """One message. `calls` are the names and arguments of tool calls."""

    role: str
    text: str
    calls: tuple[tuple[str, str], ...] = ()


def shown_messages(row: Mapping[str, Any]) -> tuple[ShownMessage, ...]:
    """The messages of a trial, and whatever of the question, the tool calls and the answer they do not have.

    People must see all that the judge saw.
    """
    return tuple(_messages(row))


def _messages(row: Mapping[str, Any]) -> Iterator[ShownMessage]:
    messages = _list(row.get("messages"))
    chat = [message for message in messages if isinstance(message, Mapping)]
    if row.get("input") is not None and len(chat) == len(messages) and not any(map(_is_of_user, chat)):
        yield ShownMessage("user", _text(row["input"]))
    yield from map(_message, messages)
    own = [message for message in chat if is_of_agent(message)]
    known = calls_in(own)
    calls = _calls([call for call in _list(row.get("tool_calls")) if not _is_known(call, known)])
    if calls:  # they were made before the answer
        yield ShownMessage("assistant", "", calls)
    output = row.get("output")
    ends_with_it = bool(own) and own[-1] is chat[-1] and _is_text_of(own[-1], output)
    if not messages or (output and not ends_with_it):
        yield ShownMessage("assistant", _text(output or ""))
    left_out = row.get("left_out")
    if left_out:
        # People must know that the conversation was longer than what they see.
        yield ShownMessage("highbar", f"The results have only the beginning of this conversation: {_text(left_out)}")


def _is_of_user(message: Mapping[str, Any]) -> bool:
    return role_of(message) in ("user", "human")


def _is_known(call: Any, known: list[ToolCall]) -> bool:
    found = read_message({"tool_calls": [call]}).calls
    return bool(found) and all(one in known for one in found)


def _is_text_of(message: Mapping[str, Any], output: Any) -> bool:
    return (read_message(message).text or "").split() == str(output).split()


def _message(message: Any) -> ShownMessage:
    if not isinstance(message, Mapping):
        return ShownMessage("message", _text(message))
    content = message.get("content")
    name = message.get("name") or message.get("tool_call_id")
    role = _line(message.get("role", "message"))
    other = {key: value for key, value in message.items() if key not in _SHOWN and value is not None}
    text = "\n".join([*([] if content is None else [_content(content)]), *([_text(other)] if other else [])])
    return ShownMessage(f"{role} {_line(name)}" if name else role, text, _calls(message.get("tool_calls")))


def _content(content: Any) -> str:
    """The text of a message, joined if it is in parts, as some tools write it."""
    if isinstance(content, Sequence) and not isinstance(content, str):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in content]
        if all(isinstance(part, str) for part in parts):
            return _text("\n".join(map(str, parts)))
    return _text(content)


def _calls(found: Any) -> tuple[tuple[str, str], ...]:
    return tuple(map(_call, _list(found)))


def _call(found: Any) -> tuple[str, str]:
    if not isinstance(found, Mapping):
        return "", _text(found)
    function = found.get("function")
    call = function if isinstance(function, Mapping) else found  # OpenAI's messages have a nested `function`
    arguments = call.get("arguments", {})
    rest = {name: found[name] for name in ("result", "error") if name in found}
    shown = _text(arguments) + (f"\n{_text(rest)}" if rest else "")
    return _line(call.get("name", "")), shown


def _list(found: Any) -> list[Any]:
    return found if isinstance(found, list) else [] if found is None else [found]


def _line(value: Any) -> str:
    return " ".join(_text(value).split())


def _text(value: Any) -> str:
    return legible(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1, default=str))
