"""A prompt → a request in either wire format, in one of the forms of structured output; a reply → its parts.

The forms, from the strictest to the loosest: a JSON schema, a tool that must be called, a JSON object, plain text.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal

from msgspec import Struct

from highbar.running.agents import anthropic, openai
from highbar.running.agents.replies import MOST_COST, MOST_TOKENS, MalformedReply, short
from highbar.running.judging.prompt import INSTRUCTIONS, SCHEMA, TOOL, TOOL_DESCRIPTION
from highbar.suite.parts import Judge

FORMS: Mapping[str, tuple[str, ...]] = {
    "openai": ("json_schema", "tool", "json_object", "plain"),
    "anthropic": ("tool", "plain"),
}
CapName = Literal["max_tokens", "max_completion_tokens"]
"""Some of OpenAI's models require the first, some the second."""


class JudgeReply(Struct, frozen=True):
    """The parts of a reply. `calls` are tool calls, `{name, arguments}`. `declined` is why the model gave no answer."""

    text: str | None
    calls: tuple[Mapping[str, Any], ...]
    model: str | None
    tokens: int | None
    cost: Decimal | None
    is_cut: bool = False
    declined: str | None = None


def address(base_url: str, wire_format: str) -> str:
    """The address for questions, from the base URL.

    >>> address("https://a.example/v1/", "openai"), address("https://a.example", "anthropic")
    ('https://a.example/v1/chat/completions', 'https://a.example/v1/messages')
    """
    path, mark, query = base_url.partition("?")
    path = path.rstrip("/")
    ending = anthropic.PATH if wire_format == "anthropic" else openai.PATH
    if not path.endswith(ending):
        path += f"/v1{ending}" if wire_format == "anthropic" and not path.endswith("/v1") else ending
    return f"{path}{mark}{query}"


def request_body(judge: Judge, prompt: str, form: str, cap_name: CapName, cap: int) -> dict[str, Any]:
    """The body of the request. A temperature is sent only if the suite has one."""
    found: dict[str, Any] = {} if judge.model is None else {"model": judge.model}
    if judge.temperature is not None:
        found["temperature"] = float(judge.temperature)
    user = {"role": "user", "content": prompt}
    if judge.format == "anthropic":
        return {**found, "max_tokens": cap, "system": INSTRUCTIONS, "messages": [user], **_ANTHROPIC[form]}
    system = {"role": "system", "content": INSTRUCTIONS}
    return {**found, cap_name: cap, "messages": [system, user], **_OPENAI[form]}


_OPENAI: Mapping[str, Mapping[str, Any]] = {
    "json_schema": {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": TOOL, "strict": True, "schema": SCHEMA},
        }
    },
    "tool": {
        "tools": [
            {
                "type": "function",
                "function": {"name": TOOL, "description": TOOL_DESCRIPTION, "parameters": SCHEMA},
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": TOOL}},
    },
    "json_object": {"response_format": {"type": "json_object"}},
    "plain": {},
}
_ANTHROPIC: Mapping[str, Mapping[str, Any]] = {
    "tool": {
        "tools": [{"name": TOOL, "description": TOOL_DESCRIPTION, "input_schema": SCHEMA}],
        "tool_choice": {"type": "tool", "name": TOOL},
    },
    "plain": {},
}


def read_judge_reply(wire_format: str, document: Any) -> JudgeReply:
    """The parts of a reply. Raises MalformedReply."""
    return _read_anthropic(document) if wire_format == "anthropic" else _read_openai(document)


def _read_openai(document: Any) -> JudgeReply:
    message = openai.message_of(document)
    usage, end = document.get("usage"), document["choices"][0].get("finish_reason")
    refusal = message.get("refusal")
    return JudgeReply(
        text=openai.content_text(message.get("content")),
        calls=tuple(openai.tool_calls(message.get("tool_calls"))),
        model=_model(document),
        tokens=_count(openai.tokens(usage)),
        cost=_cost(usage),
        is_cut=end == "length",
        declined=short(str(refusal)) if refusal else "content_filter" if end == "content_filter" else None,
    )


def _read_anthropic(document: Any) -> JudgeReply:
    content = document.get("content") if isinstance(document, dict) else None
    if not isinstance(content, list):
        raise MalformedReply(openai.error_in(document) or "there is no content")
    blocks = [block for block in content if isinstance(block, dict)]
    texts = [block.get("text") for block in blocks if block.get("type") == "text"]
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    usage, end = document.get("usage"), document.get("stop_reason")
    return JudgeReply(
        text="".join(text for text in texts if isinstance(text, str)) if texts else None,
        calls=tuple({"name": call.get("name"), "arguments": call.get("input")} for call in calls),
        model=_model(document),
        tokens=_count(anthropic.tokens(usage)),
        cost=_cost(usage),
        is_cut=end == "max_tokens",
        declined="refusal" if end == "refusal" else None,
    )


def _model(document: Mapping[str, Any]) -> str | None:
    model = document.get("model")
    return short(model) or None if isinstance(model, str) else None


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def _cost(usage: Any) -> Decimal | None:
    """The cost in USD, which some endpoints report; None if it is absent or not a valid amount."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost <= MOST_COST:
        return None
    return Decimal(repr(cost))
