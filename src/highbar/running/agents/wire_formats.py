"""The table of wire formats for agents behind HTTP. Each is a module with the four names of `WireFormat`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from highbar.running.agents import anthropic, json_template, openai
from highbar.running.calls import AgentCall
from highbar.suite.parts import Agent


class WireFormat(Protocol):
    """Converts a call to a request, and a reply to its fields."""

    @property
    def PATH(self) -> str | None:  # noqa: N802 - a constant of the module
        """How the path of an address must end; None if it can be any."""

    def headers(self, key: str | None, /) -> Mapping[str, str]:
        """The headers that the format needs in addition to those for JSON."""

    def body(self, call: AgentCall, agent: Agent, /) -> Any:
        """The request, as a JSON value."""

    def fields(self, document: Any, agent: Agent, /) -> Mapping[str, Any]:
        """The fields of a reply, as `read_attempt` takes them. Raises MalformedReply."""


FORMATS: Mapping[str, WireFormat] = MappingProxyType({"openai": openai, "anthropic": anthropic, "json": json_template})
