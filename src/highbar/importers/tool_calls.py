"""Tool calls as other tools write them → the columns `tool_calls` and `messages`, for grading answers again.

What a file does not say stays absent, because an empty list would say that there were no calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from highbar.errors import InputError
from highbar.importers.reading.json import decode_value
from highbar.importers.record import refuse_not_finite

Call = dict[str, Any]
_ARGUMENTS = ("arguments", "inputParameters", "input", "args")


def calls_in(values: object) -> list[Call] | None:
    """The calls in a list; None if it is not a list, or has anything but calls. All common forms of a call are read.

    >>> calls_in([{"function": {"name": "search", "arguments": '{"topic": "whales"}'}}])
    [{'name': 'search', 'arguments': {'topic': 'whales'}}]
    >>> calls_in([{"function": "search", "arguments": {}}]), calls_in(["search"]), calls_in([])
    ([{'name': 'search', 'arguments': {}}], None, [])
    """
    if not isinstance(values, list):
        return None
    found = [_call(value) for value in values]
    return None if None in found else [call for call in found if call is not None]


def _call(value: object) -> Call | None:
    if not isinstance(value, Mapping):
        return None
    inner = value.get("function")
    holder = inner if isinstance(inner, Mapping) else value
    name = inner if isinstance(inner, str) else holder.get("name")
    if not isinstance(name, str) or not name:
        return None
    given = next((holder[key] for key in _ARGUMENTS if holder.get(key) is not None), None)
    return {"name": name, **({} if given is None else {"arguments": parsed_arguments(given)})}


def parsed_arguments(arguments: object) -> object:
    """The arguments of a call, or one of them, decoded if they are JSON in a text.

    They stay text if decoding would lose something: the first of two equal keys, or NaN.
    """
    if not isinstance(arguments, str):
        return arguments
    try:
        decoded = decode_value(arguments.encode())
        refuse_not_finite(decoded, "arguments", "a call")
    except (InputError, UnicodeEncodeError, RecursionError):
        return arguments
    return decoded


def chat_messages(messages: Iterable[Mapping[str, Any]], text_of: Callable[[Any], str | None]) -> list[dict[str, Any]]:
    """Messages in chat form: the role, the text, and the calls. `text_of` makes text of the content."""
    found = []
    for message in messages:
        calls = calls_in(message.get("tool_calls"))
        one = {"role": message.get("role"), "content": text_of(message.get("content"))}
        found.append({**one, **({"tool_calls": calls} if calls else {})})
    return found


def calls_of_messages(messages: Iterable[Mapping[str, Any]]) -> list[Call]:
    """The calls of all messages in chat form, in order."""
    return [call for message in messages for call in message.get("tool_calls", ())]
