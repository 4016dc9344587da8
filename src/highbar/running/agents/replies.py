"""What an agent returned, text or a mapping → a checked reply, or what is wrong with it in words.

Everything here comes from the agent under test and is treated as hostile: nothing in it may crash a run or be taken for
more than it is. A mapping may have only the keys in `_READERS`, with their types; anything else makes it malformed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

from highbar.checks.messages import decode_arguments, is_of_agent, read_message, repeated_key
from highbar.columns import BY_NAME
from highbar.documents import problems
from highbar.documents.limits import MOST_DIGITS
from highbar.documents.scalars import is_bounded
from highbar.language.phrases import some
from highbar.language.spelling import did_you_mean, near_miss
from highbar.model.answer import ToolCall
from highbar.report.visible import cut, visible
from highbar.running.calls import EMPTY_REPLY, Attempt, Reply
from highbar.suite.parts import Agent

DEEPEST_VALUE = 64
"""Nested mappings and lists: all readers recurse, and must not run out of stack."""
MOST_TOKENS = 10**15
"""No real count of tokens is larger, and sums up to this size stay exact."""
MOST_COST = BY_NAME["cost_usd"].most or math.inf
"""The largest cost in USD that a row can have."""
_MOST_SAID = 3
"""Faults of one reply that a reason lists."""
_MOST_KEYS = 10
"""Keys of a reply that a reason lists."""
_LONGEST_MESSAGE = 200
"""Characters of a text that a reason quotes."""
MOST_OF_AN_ERROR = 64 * 2**10
"""Bytes that are read of an error response, and characters that are recorded of a reply that cannot be used."""


class MalformedReply(ValueError):
    """Something in a reply is invalid; the message says what."""


def read_attempt(value: Any, agent: Agent, latency_ms: float | None = None) -> Attempt:
    """The attempt of a call that returned this value. A key whose value is None counts as absent.

    It is an error if the reply is malformed, empty, or reports an error itself (`error`). The attempt still has what
    could be read of the reply, because must-nots are checked on whatever was received.
    """
    reply, faults = _read(value, agent)
    if faults:
        reason: str | None = f"malformed reply: {'; '.join(faults[:_MOST_SAID])}"
    elif reply.error is not None:
        reason = reply.error
    else:
        reason = EMPTY_REPLY if reply.is_empty else None
    return Attempt("error" if reason else "answered", reply, reason, latency_ms)


def _read(value: Any, agent: Agent) -> tuple[Reply, list[str]]:
    """The parts of a reply that can be read, and the faults of the rest."""
    if isinstance(value, str):
        return _read_fields({"output": value}, agent)
    if isinstance(value, Mapping):
        return _read_fields(value, agent)
    wanted = "wanted text or a mapping with output, tool_calls, …"
    return Reply(), [f"found {'nothing' if value is None else shown(value)}, {wanted}"]


def _read_fields(fields: Mapping[Any, Any], agent: Agent) -> tuple[Reply, list[str]]:
    found: dict[str, Any] = {}
    unknown = [key for key in fields if not isinstance(key, str) or key not in _READERS]
    faults = [_unknown_keys(unknown)] if unknown else []
    for key, read in _READERS.items():
        value = fields.get(key)
        try:
            if value is not None:
                _refuse_unasked(key, agent)
                found[key] = read(value)
        except MalformedReply as error:
            faults.append(f"{key}: {error}")
            found.update(_readable_part(key, value))
    if "output" not in found and found.get("messages"):
        last = found["messages"][-1]
        if is_of_agent(last):
            found["output"] = read_message(last).text
    reply = Reply(**found)
    return reply, [*faults, *_call_faults(reply)]


def _call_faults(reply: Reply) -> Iterator[str]:
    """What is wrong with the arguments of calls, wherever these are, that JSON text can hide until it is decoded."""
    for call in reply.calls:
        fault = repeated_key(call.arguments)
        if fault is not None:
            yield f"tool_calls: the arguments of {shown(call.name)}: {fault}"
        try:
            json_value(call.arguments)
        except MalformedReply as error:
            yield f"tool_calls: the arguments of {shown(call.name)}: {error}"


def _readable_part(key: str, value: Any) -> dict[str, Any]:
    """What can be read of a malformed text or list of tool calls, because it may still violate a must-not."""
    if key == "output" and isinstance(value, str):
        return {key: without_surrogates(value)}
    if key != "tool_calls" or not isinstance(value, list | tuple):
        return {}
    calls = []
    for call in value:
        if isinstance(call, Mapping) and isinstance(call.get("name"), str):
            with suppress(MalformedReply):
                arguments = json_value(decode_arguments(call.get("arguments")))
                calls.append(ToolCall(without_surrogates(call["name"]), arguments))
    return {key: tuple(calls)}


def _unknown_keys(keys: Sequence[Any]) -> str:
    named = some([shown(key) for key in keys[:_MOST_SAID]], total=len(keys))
    first = keys[0] if isinstance(keys[0], str) else ""
    meant = near_miss(first, _READERS)
    hint = f"did you mean '{meant}'?" if meant else did_you_mean(first, _READERS)
    known = hint or f"known: {some(list(_READERS), 20)}; an answer that is JSON belongs in output, as text"
    return f"unknown key{'s' if len(keys) > 1 else ''} {named} ({known})"


def _refuse_unasked(key: str, agent: Agent) -> None:
    """Raise MalformedReply if the agent grades itself and the suite does not allow it."""
    for column, asked in (("behaviors", agent.reports_behaviors), ("quality_score", agent.reports_quality)):
        if key == column and not asked:
            setting = "reports_behaviors" if key == "behaviors" else "reports_quality"
            raise MalformedReply(f"an agent does not grade itself unless the suite has {setting}: true")


def too_large(most: int) -> str:
    """Why a reply with more than `most` bytes cannot be used."""
    size = f"{most // 2**20} MiB" if most % 2**20 == 0 else f"{most} bytes"
    return f"the reply is larger than {size} (max_reply)"


def shown(value: Any) -> str:
    """A value as a reason quotes it: short, on one line, and in characters that can be written."""
    try:
        return problems.shown(value)
    except ValueError:  # for example a key that is an integer with thousands of digits
        return f"a {type(value).__name__}"


def what_is_there(document: Any) -> str:
    """What a reply has instead of what was wanted: with it, a wrong pointer or format is seen at once."""
    if not isinstance(document, Mapping):
        return f"the reply is {shown(document)}"
    keys = [shown(key) for key in list(document)[:_MOST_KEYS]]
    return f"the reply has {some(keys, total=len(document))}" if keys else "the reply is an empty object"


def short(text: str) -> str:
    """A text as a reason quotes it: on one line, shortened, with control characters made visible."""
    return cut(visible(" ".join(text[: 20 * _LONGEST_MESSAGE].split())), _LONGEST_MESSAGE)


# --- values ----------------------------------------------------------------------------------


def text(value: Any) -> str:
    """The value if it is a text that can be encoded as UTF-8. Raises MalformedReply if not."""
    if not isinstance(value, str):
        raise MalformedReply(f"found {shown(value)}, wanted text")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise MalformedReply("the text has half of a surrogate pair, which is no character") from None
    return value


def without_surrogates(value: str) -> str:
    """The text with unpaired surrogates replaced."""
    return value.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def json_value(value: Any, depth: int = 1) -> Any:
    """A copy of a value that JSON can express, with plain lists and dicts. Raises MalformedReply if it cannot.

    It cannot express NaN, infinity, other types, and here also too many digits or levels.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int | float | Decimal):
        return _finite(value)
    if depth > DEEPEST_VALUE:
        raise MalformedReply(f"it is nested deeper than {DEEPEST_VALUE} levels")
    if isinstance(value, Mapping):
        return {text(key): json_value(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(inner, depth + 1) for inner in value]
    raise MalformedReply(f"found {shown(value)}, which JSON cannot say")


def _finite(value: float | Decimal) -> int | float | Decimal:
    if not isinstance(value, int) and not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise MalformedReply(f"{value} is not a number")
    if not isinstance(value, float) and not is_bounded(value):
        raise MalformedReply(f"a number has more than {MOST_DIGITS} digits")
    return value


def _number(least: int, most: float) -> Callable[[Any], Decimal]:
    def read(value: Any) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            raise MalformedReply(f"found {shown(value)}, wanted a number from {least} to {most:g}")
        number = _finite(value)
        if not least <= number <= most:
            raise MalformedReply(f"found {shown(value)}, wanted a number from {least} to {most:g}")
        return Decimal(float.__repr__(number)) if isinstance(number, float) else Decimal(number)

    return read


def _tokens(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        raise MalformedReply(f"found {shown(value)}, wanted a whole number, 0 or more")
    return value


# --- lists and mappings ----------------------------------------------------------------------


def _list(value: Any, wanted: str) -> Sequence[Any]:
    if isinstance(value, list | tuple):
        return value
    raise MalformedReply(f"found {shown(value)}, wanted {wanted}")


def _messages(value: Any) -> tuple[Mapping[str, Any], ...]:
    wanted = "a list of {role: …, content: …}"
    found = []
    for message in _list(value, wanted):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise MalformedReply(f"found {shown(message)}, wanted {wanted}")
        found.append(json_value(message))
    return tuple(found)


def _tool_calls(value: Any) -> tuple[ToolCall, ...]:
    wanted = "a list of {name: …, arguments: …}"
    return tuple(_tool_call(call, wanted) for call in _list(value, wanted))


def _tool_call(value: Any, wanted: str) -> ToolCall:
    if not isinstance(value, Mapping) or not isinstance(value.get("name"), str):
        raise MalformedReply(f"found {shown(value)}, wanted {wanted}")
    for key in value:
        if key not in ("name", "arguments"):
            raise MalformedReply(f"unknown key {shown(key)} in a call of {shown(value['name'])}, wanted {wanted}")
    if not value["name"].strip():
        raise MalformedReply("the name of a tool is empty")
    return ToolCall(text(value["name"]), json_value(decode_arguments(value.get("arguments"))))


def _tags(value: Any) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise MalformedReply(f"found {shown(value)}, wanted a mapping of names to texts")
    return {text(name): text(tag) for name, tag in value.items()}


def _behaviors(value: Any) -> Mapping[str, bool]:
    """Whether each behavior was shown, from a mapping of names to true or false, or a list of those that were."""
    if isinstance(value, Mapping):
        for name, observed in value.items():
            if not isinstance(observed, bool):
                raise MalformedReply(f"found {shown(observed)} for {shown(name)}, wanted true or false")
        return {text(name): observed for name, observed in value.items()}
    return {text(name): True for name in _list(value, "a list of names, or a mapping of names to true or false")}


def _text_or_none(value: Any) -> str | None:
    """A text; None if it is blank."""
    return text(value) if not isinstance(value, str) or value.strip() else None


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "output": text,
    "messages": _messages,
    "tool_calls": _tool_calls,
    "state": json_value,
    "context": json_value,
    "tokens_used": _tokens,
    "cost_usd": _number(0, MOST_COST),
    "agent_version": _text_or_none,
    "error": _text_or_none,
    "tags": _tags,
    "behaviors": _behaviors,
    "quality_score": _number(0, 1),
}
