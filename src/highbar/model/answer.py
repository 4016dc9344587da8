"""What an agent did in one trial, as checks read it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from msgspec import Struct


class ToolCall(Struct, frozen=True):
    """One call of a tool. `arguments` is what the agent sent, decoded from JSON: usually a mapping."""

    name: str
    arguments: Any = None


class Answer(Struct, frozen=True):
    """What the agent said and did, turn by turn. All values are plain JSON values, and all are untrusted.

    `replies` and `tool_calls` have one entry per turn; a reply that only calls tools is None. `state`, `context` and
    `behaviors` are what the agent reported about itself, None if it reported nothing. `measured` has only the numbers
    that are known for every turn. `unrecorded` names what is unknown because another program recorded the trial:
    `tool_calls`, or `replies` if only the last reply was recorded.
    """

    replies: tuple[str | None, ...] = ()
    tool_calls: tuple[tuple[ToolCall, ...], ...] = ()
    messages: tuple[Mapping[str, Any], ...] = ()
    state: Any = None
    context: Any = None
    measured: Mapping[str, int | float | Decimal] = {}  # latency, tokens, cost: by column
    behaviors: Mapping[str, bool] | None = None
    unrecorded: tuple[str, ...] = ()

    @property
    def output(self) -> str | None:
        """The last reply; None if there is no reply, or if the last one only calls tools."""
        return self.replies[-1] if self.replies else None

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of all turns, in order."""
        return tuple(call for turn in self.tool_calls for call in turn)
