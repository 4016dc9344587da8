"""A custom JSON API: the body is a template, and JSON pointers say where the fields are in a reply."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from highbar.checks.messages import aside_message, aside_of, read_message
from highbar.checks.tree import Pointer
from highbar.checks.values import ABSENT, at_pointer, read_pointer
from highbar.running.agents.openai import tool_calls
from highbar.running.agents.replies import MalformedReply, what_is_there
from highbar.running.calls import AgentCall
from highbar.suite.parts import Agent

PATH = None
"""Any path is possible, since the API is the user's own."""


def headers(key: str | None) -> Mapping[str, str]:
    """The headers with the key."""
    return {} if key is None else {"Authorization": f"Bearer {key}"}


def body(call: AgentCall, agent: Agent) -> Any:
    """The template, in which each text that is exactly {input}, {messages} or {id} is replaced.

    {input} is what the user says in this turn. {messages} is the whole conversation so far.
    """
    text = call.text if call.text is not None else call.messages[-1].get("content")
    return _fill(agent.body, {"{input}": text, "{messages}": call.messages, "{id}": call.id})


def _fill(template: Any, slots: Mapping[str, Any]) -> Any:
    if isinstance(template, str):
        return slots.get(template, template)
    if isinstance(template, Mapping):
        return {key: _fill(value, slots) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [_fill(value, slots) for value in template]
    return template


def fields(document: Any, agent: Agent) -> Mapping[str, Any]:
    """The fields of a reply, as `read_attempt` takes them. Raises MalformedReply if it has no text and no tool call."""
    found: dict[str, Any] = {}
    for key, pointer in agent.pointers.items():
        value = at_pointer(document, _parts(pointer))
        if value is not ABSENT and value is not None:
            found[key] = tool_calls(value) if key == "tool_calls" else value
            if key == "tool_calls" and (asides := read_message({key: value}).asides):
                found["messages"] = [aside_message(aside_of({key: value}, asides))]
    if "output" not in found and not found.get("tool_calls"):
        raise MalformedReply(f"there is no text at {agent.pointers.get('output', '')}; {what_is_there(document)}")
    return found


@lru_cache(maxsize=64)
def _parts(pointer: str) -> Pointer:
    parts = read_pointer(pointer)
    return () if isinstance(parts, str) else parts  # an invalid pointer is refused when the suite is read
