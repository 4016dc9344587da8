"""A message of the agent, in any wire form → what it says and calls. Every wire form is read by `read_message`.

Chat completions, Anthropic's blocks, Assistants, Gemini and their relatives nest texts and calls differently, and new
forms appear. So nothing is looked up in a known place: every text below a message is read, unless it is the value of a
key in METADATA.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from highbar.checks.values import NotJson, RepeatedKey, Unreadable, decode_json
from highbar.model.answer import ToolCall

OTHER_ROLES = frozenset({"user", "human", "system", "developer", "tool", "function"})
"""The roles that are not the agent. Fail closed: any other role counts as the agent."""
METADATA = frozenset(
    {
        "assistant_id",
        "call_id",
        "created_at",
        "encrypted_content",
        "encrypted_index",
        "expires_at",
        "file_id",
        "finishReason",
        "finish_reason",
        "format",
        "id",
        "media_type",
        "mimeType",
        "mime_type",
        "model",
        "native_finish_reason",
        "object",
        "role",
        "run_id",
        "service_tier",
        "severity",
        "signature",
        "status",
        "stop_reason",
        "system_fingerprint",
        "thoughtSignature",
        "thought_signature",
        "thread_id",
        "toolCallId",
        "toolUseId",
        "tool_call_id",
        "tool_use_id",
        "type",
    }
)
"""Keys in a message whose texts nobody said. The list is closed: a text under any other key is read."""
ASIDE = "aside"
"""The key of a message that has what a server sent beside the text and the calls. Agents are not sent it again."""
_REASONING = frozenset(
    {
        "reasoning",
        "reasoningContent",
        "reasoning_content",
        "reasoning_details",
        "thinking",
        "thinking_blocks",
        "thoughts",
    }
)
_VISIBLE = frozenset(
    {
        ("content",),
        ("content", "text"),
        ("content", "text", "value"),
        ("parts",),
        ("parts", "text"),
        ("content", "parts"),
        ("content", "parts", "text"),
    }
)
"""Where a message has the text that its reader sees, without the places in lists."""
_REFUSALS = frozenset({("refusal",), ("content", "refusal")})
_CALLS = frozenset({"tool_calls", "toolCalls", "tool_call", "function_call", "functionCall", "toolUse"})
_NAMES = ("name", "toolName", "tool_name")
_ARGUMENTS = ("arguments", "input", "args")
_Path: TypeAlias = "tuple[_Path, str | int] | None"
"""The way to a value, from its end: a long path costs no more than a short one."""


class Aside(Struct, frozen=True):
    """A text in a message beside its visible text."""

    text: str
    path: _Path
    is_reasoning: bool = False

    @property
    def where(self) -> str:
        """The place as a JSON pointer into the message, or into what a server sent."""
        keys = _keys(self.path)
        parts = [str(key).replace("~", "~0").replace("/", "~1") for key in keys[keys[0] == ASIDE :]]
        return "".join(f"/{part}" for part in parts)


class Message(Struct, frozen=True):
    """What the agent says and calls in one message.

    `texts` are the stretches of its visible text; a refusal counts as that if there is no other. `asides` are all
    other texts but the arguments of its calls.
    """

    texts: tuple[str, ...]
    calls: tuple[ToolCall, ...]
    asides: tuple[Aside, ...]

    @property
    def text(self) -> str | None:
        """The visible text; None if there is none."""
        return "".join(self.texts) if self.texts else None


def is_of_agent(message: Mapping[str, Any]) -> bool:
    """Whether the agent said a message."""
    return role_of(message) not in OTHER_ROLES


def role_of(message: Mapping[str, Any]) -> str:
    """The role of a message, in lower case."""
    return str(message.get("role")).strip().lower()


def own_messages(messages: Iterable[Mapping[str, Any]]) -> Iterator[Message]:
    """The agent's own messages, read."""
    return (read_message(message) for message in messages if is_of_agent(message))


def read_message(message: Mapping[str, Any]) -> Message:
    """Everything that a message says and calls, whoever said it."""
    texts: list[str] = []
    asides: list[Aside] = []
    calls: dict[Any, list[ToolCall]] = {}
    # A stack, not a recursion: whoever wrote the message decides how deeply it is nested.
    stack: list[tuple[Any, _Path, bool]] = [(message, None, False)]
    while stack:
        value, path, is_reasoning = stack.pop()
        if isinstance(value, str):
            if is_reasoning or _place(path) not in _VISIBLE:
                asides.append(Aside(value, path, is_reasoning))
            else:
                texts.append(value)
            continue
        if isinstance(value, Mapping):
            is_reasoning = is_reasoning or _is_reasoning(value)
            call, value = _split_call(value, path)
            if call is not None:
                calls.setdefault(next(iter(_keys(path)), None), []).append(call)
        for key, inner in reversed(_below(value)):
            stack.append((inner, (path, key), is_reasoning or key in _REASONING))
    if not texts:
        texts = [aside.text for aside in asides if _place(aside.path) in _REFUSALS]
        asides = [aside for aside in asides if _place(aside.path) not in _REFUSALS]
    made: list[ToolCall] = []
    for several in calls.values():  # a message may repeat its calls in another form
        made = merged_calls(made, several)
    return Message(tuple(texts), tuple(made), tuple(asides))


def _below(value: Mapping[str, Any] | Sequence[Any]) -> list[tuple[Any, Any]]:
    """The texts, mappings and lists in a value that are not empty, each with its key; without metadata."""
    return [
        (key, inner)
        for key, inner in (value.items() if isinstance(value, Mapping) else enumerate(value))
        if inner and isinstance(inner, str | Mapping | list | tuple)
        if not (isinstance(inner, str) and key in METADATA)
    ]


def _keys(path: _Path) -> list[str | int]:
    found: list[str | int] = []
    while path is not None:
        path, key = path
        found.append(key)
    return found[::-1]


def _place(path: _Path) -> tuple[str, ...]:
    """The last keys of a path, one more than the longest known place has; without the places in lists."""
    found: list[str] = []
    while path is not None and len(found) < 4:
        path, key = path
        if isinstance(key, str):
            found.append(key)
    return tuple(found[::-1])


def _is_reasoning(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return part.get("thought") is True or (
        isinstance(kind, str) and kind.startswith(("thinking", "redacted_thinking", "reasoning"))
    )


def _split_call(value: Mapping[str, Any], path: _Path) -> tuple[ToolCall | None, Mapping[str, Any]]:
    """The call that a value is, if it is one, and the value without its name and arguments."""
    kind = str(value.get("type")).lower().replace("-", "_")
    if not kind.endswith(("tool_use", "_call")) and _place(path)[-1:] not in _CALL_PLACES:
        return None, value
    outer = next((key for key in ("function", "custom") if isinstance(value.get(key), Mapping)), None)
    inner = value if outer is None else value[outer]
    name = next((key for key in _NAMES if isinstance(inner.get(key), str)), None)
    if name is None:
        return None, value
    given = next((key for key in _ARGUMENTS if key in inner), None)
    call = ToolCall(inner[name], None if given is None else decode_arguments(inner[given]))
    rest = {key: one for key, one in inner.items() if key not in (name, given)}
    return call, rest if outer is None else {**value, outer: rest}


_CALL_PLACES = {(name,) for name in _CALLS}


def decode_arguments(arguments: Any) -> Any:
    """The arguments of a call: decoded if they are the JSON text of an object or a list, however often encoded.

    Any other text stays as it is, so that decoding again changes nothing. No text at all means no arguments.
    """
    if not isinstance(arguments, str):
        return arguments
    if not arguments.strip():
        return {}
    found: Any = arguments
    try:
        while isinstance(found, str):
            found = decode_json(found)
    except (NotJson, Unreadable):
        return arguments
    return found if isinstance(found, dict | list) else arguments


def repeated_key(arguments: Any) -> str | None:
    """What is wrong with arguments that stayed text because they have a key twice; None if that is not the reason."""
    try:
        while isinstance(arguments, str):
            arguments = decode_json(arguments)
    except RepeatedKey as error:
        return str(error)
    except (NotJson, Unreadable):
        pass
    return None


def merged_calls(calls: Iterable[ToolCall], more: Iterable[ToolCall]) -> list[ToolCall]:
    """The calls, and those of the others that are not among them: a call that is reported twice was made once."""
    found = list(calls)
    known = Counter(map(_key, found))
    for call in more:
        key = _key(call)
        if known[key]:
            known[key] -= 1
        else:
            found.append(call)
    return found


def _key(call: ToolCall) -> str:
    """A text that is equal for equal calls, however their numbers are stored. One that cannot be written is unique."""
    try:
        return json.dumps([call.name, call.arguments], sort_keys=True, default=float)
    except (RecursionError, TypeError, ValueError):
        return str(id(call))


def calls_in(messages: Iterable[Mapping[str, Any]]) -> list[ToolCall]:
    """The calls in the agent's own messages, in order."""
    return [call for message in own_messages(messages) for call in message.calls]


def aside_of(document: Mapping[str, Any], asides: Sequence[Aside]) -> dict[str, Any]:
    """The parts of a document that have these texts, each at its own place."""
    return _picked(document, [_keys(one.path) for one in asides]) if asides else {}


def _picked(value: Any, paths: Iterable[Sequence[str | int]]) -> Any:
    below: dict[Any, list[Sequence[str | int]]] = {}
    for first, *rest in paths:
        below.setdefault(first, []).append(rest)
    found = {key: value[key] if [] in rests else _picked(value[key], rests) for key, rests in below.items()}
    if isinstance(value, Mapping):  # with what says that a part is reasoning
        return {**{key: value[key] for key in ("type", "thought") if key in value}, **found}
    return [found.get(place) for place in range(max(found) + 1)]


def is_aside(message: Mapping[str, Any]) -> bool:
    """Whether a message has only what a server sent beside the text and the calls."""
    return message.keys() == {"role", ASIDE}


def aside_message(content: Mapping[str, Any]) -> dict[str, Any]:
    """The message that keeps what a server sent beside the text and the calls."""
    return {"role": "assistant", ASIDE: content}
