"""The span of an agent's run in OpenTelemetry → its columns: latency, tokens, texts, tool calls and the error."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from highbar.errors import InputError
from highbar.importers import Row
from highbar.importers.reading.json import decode_value
from highbar.importers.reading.otlp import Item
from highbar.importers.reading.otlp_numbers import MOST_INT_DIGITS, number_value
from highbar.importers.record import SPAN_CODES, refuse, shown
from highbar.importers.tool_calls import calls_in
from highbar.language.tool_names import text_or_json

_USAGE = ("gen_ai.usage", "gen_ai.aggregated_usage")


def span_columns(item: Item) -> Row:
    """The columns of a run that come from its span."""
    start, end = (_nanoseconds(item, time) for time in item.times)
    if start is not None and end is not None and end < start:
        refuse("import.contradiction", f"{item.place}: the span ends before it starts: {start}, {end}")
    return {
        "latency_ms": None if start is None or end is None else (end - start) / 1_000_000,
        "tokens_used": _tokens(item),
        "input": span_question(item),
        "output": _answer(item),
    }


def _nanoseconds(item: Item, value: object) -> int | None:
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not text.isdecimal():
        return None
    if len(text) > MOST_INT_DIGITS:
        refuse("import.wrong-value", f"{item.place}: found the time {shown(value)}, wanted nanoseconds since 1970")
    return int(text) or None


def _tokens(found: Item) -> int | None:
    for usage in _USAGE:
        counts = [found.get(f"{usage}.{side}_tokens") for side in ("input", "output")]
        whole = [count for count in counts if isinstance(count, int) and not isinstance(count, bool)]
        if len(whole) == len(counts):
            return sum(whole)
    return None


def span_error(item: Item) -> str | None:
    """Why the agent crashed, by the status of its span; None if it did not."""
    status = item.status
    if status is None or not SPAN_CODES.failed(status, "code"):
        return None
    texts = [text_of(event.get("exception.message")) for event in item.events(lambda name, _: name == "exception")]
    said = status.text("message") or next(filter(None, texts), None) or text_of(item.get("error.type"))
    return said or "the status of the span is an error, without a message"


def dropped_count(value: object) -> int:
    """How much was dropped. A number that cannot be read counts as 1, because something was dropped."""
    if value is None or value is msgspec.UNSET:
        return 0
    number = number_value(value)
    return 1 if number is None else abs(int(number))


def span_question(found: Item) -> str | None:
    """The first message of the user."""
    messages = _messages(found, "gen_ai.input.messages") or _messages(found, "pydantic_ai.all_messages")
    return next((_content(message) for message in messages if message.get("role") == "user"), None)


def _answer(found: Item) -> str | None:
    """The last message of the agent."""
    messages = _messages(found, "gen_ai.output.messages") or _messages(found, "pydantic_ai.all_messages")
    last = next((_content(message) for message in reversed(messages) if message.get("role") == "assistant"), None)
    return last or text_of(found.get("final_result"))


def span_calls(found: Item) -> Row:
    """The tool calls in the messages of a run. Only the whole conversation can show that there were none."""
    whole = _messages(found, "pydantic_ai.all_messages")
    if found.get("pydantic_ai.all_messages") and not whole:  # it cannot be read, and may have calls that others lack
        return {}
    messages = whole or _messages(found, "gen_ai.output.messages")
    parts = [part for message in messages for part in _parts(message) if part.get("type") == "tool_call"]
    calls = calls_in(parts)
    return {"tool_calls": calls} if calls or (whole and calls is not None) else {}


def _parts(message: Mapping[str, object]) -> list[dict[str, object]]:
    parts = message.get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _messages(found: Item, key: str) -> list[Mapping[str, object]]:
    """Messages in the form of the conventions, JSON as text. They are optional there, so malformed ones are skipped."""
    value = found.get(key)
    try:
        decoded = decode_value(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else value
    except InputError:
        return []
    return [message for message in decoded if isinstance(message, dict)] if isinstance(decoded, list) else []


def _content(message: Mapping[str, object]) -> str | None:
    parts = message.get("parts")
    if not isinstance(parts, list):
        return text_or_json(message.get("content")) or None
    texts = [part.get("content") for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str)) or None


def text_of(value: object) -> str | None:
    """The value if it is nonempty text, else None."""
    return value if isinstance(value, str) and value else None
