"""Anthropic's Messages API: a call → the request, a reply → its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from highbar.checks.messages import aside_message, aside_of, decode_arguments, read_message
from highbar.running.agents.openai import call_fields, conversation, error_in
from highbar.running.agents.replies import MalformedReply, shown, what_is_there
from highbar.running.calls import AgentCall
from highbar.suite.parts import Agent

PATH = "/messages"
"""How the path of an address must end: the address is used exactly as it is written."""
MOST_TOKENS = 4096
"""Tokens of a reply. The API requires a number, and every model accepts this one."""
_VERSION = "2023-06-01"
_USES = ("tool_use", "server_tool_use", "mcp_tool_use")
"""Blocks that are tool calls: of the caller's tools, and of tools that the server runs itself."""
_USAGE = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def headers(key: str | None) -> Mapping[str, str]:
    """The headers with the key and the version of the API."""
    return {"anthropic-version": _VERSION, **({} if key is None else {"x-api-key": key})}


def body(call: AgentCall, agent: Agent) -> Any:
    """The request. System messages are not messages in this API; their text goes under the key `system`."""
    system = [_text(message["content"]) for message in call.messages if message["role"] in ("system", "developer")]
    model = {} if agent.model is None else {"model": agent.model}
    instructions = {"system": "\n\n".join(system)} if system else {}
    return {**model, "max_tokens": MOST_TOKENS, **instructions, "messages": _turns(conversation(call.messages))}


def _turns(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages of user and assistant. Adjacent ones of the same role, such as tool results, are merged into one."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] in ("system", "developer"):
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        content = _content(message)
        if found and found[-1]["role"] == role:
            found[-1]["content"] = [*_blocks(found[-1]["content"]), *_blocks(content)]
        else:
            found.append({"role": role, "content": content})
    return found


def _content(message: Mapping[str, Any]) -> Any:
    """The content of a message: text, or blocks if it has tool calls or is the result of one."""
    content = message.get("content")
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": str(message.get("tool_call_id", "")), "content": content}
        return [result]
    calls = message.get("tool_calls")
    if not calls or not isinstance(calls, list):
        return content
    return [*_blocks(content), *(_use(call) for call in calls if isinstance(call, Mapping))]


def _text(content: Any) -> str:
    parts = content if isinstance(content, list) else [{"text": content}]
    return "".join(str(part.get("text") or "") for part in parts if isinstance(part, Mapping))


def _blocks(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content if isinstance(content, list) else []


def _use(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"] if isinstance(call.get("function"), Mapping) else call
    arguments = decode_arguments(function.get("arguments"))
    return {"type": "tool_use", "id": str(call.get("id", "")), "name": function.get("name"), "input": arguments}


def fields(document: Any, _agent: Agent) -> Mapping[str, Any]:
    """The fields of a reply, as `read_attempt` takes them. Raises MalformedReply."""
    content = document.get("content") if isinstance(document, dict) else None
    if not isinstance(content, list):
        raise MalformedReply(error_in(document) or f"there is no content; {what_is_there(document)}")
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        is_text = kind == "text" and isinstance(block.get("text"), str)
        is_call = kind in _USES and isinstance(block.get("name"), str)
        if kind is None or (kind == "text" and not is_text) or (kind in _USES and not is_call):
            raise MalformedReply(f"content: found {shown(block)}, wanted a block of text or tool_use")
    said = read_message(document)
    cut = f"the reply was cut at {MOST_TOKENS} tokens" if document.get("stop_reason") == "max_tokens" else None
    return {
        "output": said.text,
        "tool_calls": call_fields(said.calls),
        "messages": [aside_message(aside_of(document, said.asides))] if said.asides else None,
        "tokens_used": tokens(document.get("usage")),
        "error": cut,
    }


def tokens(usage: Any) -> Any:
    """Input plus output tokens, including those of the cache; None if the server does not report both."""
    if not isinstance(usage, dict) or usage.get("input_tokens") is None or usage.get("output_tokens") is None:
        return None
    found = [usage[name] for name in _USAGE if usage.get(name) is not None]
    wrong = next((number for number in found if type(number) is not int), None)
    if wrong is not None:
        raise MalformedReply(f"usage: found {shown(wrong)}, wanted a whole number")
    return sum(found)
