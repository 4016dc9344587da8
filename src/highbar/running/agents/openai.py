"""OpenAI's Chat Completions API, which many servers offer: a call → the request, a reply → its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from highbar.checks.messages import ASIDE, aside_message, aside_of, read_message
from highbar.model.answer import ToolCall
from highbar.running.agents.replies import MalformedReply, shown, what_is_there
from highbar.running.calls import AgentCall
from highbar.suite.parts import Agent

PATH = "/chat/completions"
"""How the path of an address must end: the address is used exactly as it is written."""
_encode = msgspec.json.Encoder(decimal_format="number").encode


def headers(key: str | None) -> Mapping[str, str]:
    """The headers with the key."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def body(call: AgentCall, agent: Agent) -> Any:
    """The request: the conversation so far, and the model if the suite names one."""
    model = {} if agent.model is None else {"model": agent.model}
    return {**model, "messages": conversation(call.messages)}


def conversation(messages: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The messages in the form of chat completions.

    A tool call that the agent reported in an earlier turn is `{name, arguments}`, without a result. If its message also
    has text, the call is left out: the agent has carried it out itself. If not, it gets an empty result, because
    servers require one for every call.
    """
    if not any("tool_calls" in message for message in messages):
        return messages
    found: list[Mapping[str, Any]] = []
    for place, message in enumerate(messages):
        calls = message.get("tool_calls")
        if not isinstance(calls, list) or not all(isinstance(call, dict) and "function" not in call for call in calls):
            found.append(message)
        elif message.get("content"):
            found.append({key: value for key, value in message.items() if key != "tool_calls"})
        else:
            found += _carried_out(calls, f"call_{place}")
    return found


def _carried_out(calls: Sequence[Mapping[str, Any]], prefix: str) -> list[Mapping[str, Any]]:
    made = [
        {
            "id": f"{prefix}_{number}",
            "type": "function",
            "function": {"name": call.get("name"), "arguments": _encode(call.get("arguments")).decode()},
        }
        for number, call in enumerate(calls)
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": ""} for call in made]
    return [{"role": "assistant", "content": None, "tool_calls": made}, *results]


def fields(document: Any, _agent: Agent) -> Mapping[str, Any]:
    """The fields of a reply, as `read_attempt` takes them. Raises MalformedReply.

    What the first choice says beside its text and calls, and all further choices, become one message.
    """
    message = message_of(document)
    content_text(message.get("content"))
    tool_calls(message.get("tool_calls"))
    if message.get("function_call") is not None:
        tool_calls([message["function_call"]])
    if (refusal := message.get("refusal")) is not None and not isinstance(refusal, str):
        raise MalformedReply(f"refusal: found {shown(refusal)}, wanted text")
    said = read_message(message)
    first, *further = document["choices"]
    rest = read_message({ASIDE: {key: value for key, value in first.items() if key != "message"}})
    beside = {key: value for key, value in first.items() if key != "message"} if rest.calls or rest.asides else {}
    if said.asides:
        beside["message"] = aside_of(message, said.asides)
    return {
        "output": said.text,
        "tool_calls": call_fields(said.calls),
        "messages": [aside_message({"choices": [beside or None, *further]})] if beside or further else None,
        "tokens_used": tokens(document.get("usage")),
    }


def message_of(document: Any) -> Mapping[str, Any]:
    """The message of the first choice. Raises MalformedReply if there is none."""
    if not isinstance(document, dict):
        raise MalformedReply(f"found {shown(document)}, wanted an object with choices")
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise MalformedReply(error_in(document) or f"there is no choices[0].message; {what_is_there(document)}")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise MalformedReply("there is no choices[0].message")
    return message


def error_in(document: Any) -> str | None:
    """The error that a document reports; None if it reports none. Some servers report errors with status 200."""
    error = document.get("error") if isinstance(document, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return f"the server reports an error: {shown(message)}" if message else None


def content_text(content: Any) -> str | None:
    """The visible text of a message with this content. Raises MalformedReply if it is neither text nor parts."""
    if content is not None and not isinstance(content, str | list):
        raise MalformedReply(f"content: found {shown(content)}, wanted text or a list of parts")
    for part in content if isinstance(content, list) else ():
        text = part.get("text") if isinstance(part, dict) else part
        if text is not None and not isinstance(text, str | dict):
            raise MalformedReply(f"content: found {shown(text)} in a part, wanted text")
    return read_message({"content": content}).text


def tool_calls(calls: Any) -> list[dict[str, Any]]:
    """The tool calls, with their arguments decoded. Raises MalformedReply if a call has no name."""
    if not isinstance(calls, list | None):
        raise MalformedReply(f"tool_calls: found {shown(calls)}, wanted a list")
    for call in calls or ():
        if not isinstance(call, dict):
            raise MalformedReply(f"tool_calls: found {shown(call)}, wanted an object with a function")
        if not read_message({"tool_calls": [call]}).calls:
            raise MalformedReply("tool_calls: a call has no function.name")
    return call_fields(read_message({"tool_calls": calls}).calls)


def call_fields(calls: Iterable[ToolCall]) -> list[dict[str, Any]]:
    """Tool calls in the form that `read_attempt` takes."""
    return [{"name": call.name, "arguments": call.arguments} for call in calls]


def tokens(usage: Any) -> Any:
    """All tokens; None if the server does not report them."""
    if not isinstance(usage, dict):
        return None
    if usage.get("total_tokens") is not None:
        return usage["total_tokens"]
    asked, answered = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return asked + answered if type(asked) is int and type(answered) is int else None
