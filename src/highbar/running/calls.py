"""One call of an agent: the question, the reply, and the outcome of the attempt."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, Protocol

from msgspec import Struct

from highbar.checks.messages import calls_in, merged_calls
from highbar.language.blank import is_blank
from highbar.model.answer import ToolCall

EMPTY_REPLY = "empty reply: neither text nor a tool call"


class AgentCall(Struct, frozen=True):
    """What the agent is asked in one turn of one trial.

    `text` is the question if the scenario has only an `input`; it is None if the scenario has turns or messages.
    `messages` is the conversation so far in both cases; it ends with the message to answer. `scenario` is the whole
    scenario as plain JSON values, for functions that ask for it. `timeout` is in seconds.
    """

    id: str
    trial: int
    messages: tuple[Mapping[str, Any], ...]
    text: str | None
    scenario: Mapping[str, Any]
    timeout: float
    turn: int = 1


class Reply(Struct, frozen=True, omit_defaults=True):
    """What the agent returned for one question. Its form has been checked; its content is not trusted.

    `output` is None if there is no text, as in a reply of tool calls alone. `messages` are those that the agent added
    itself; `tool_calls` those that it reports, while `calls` has those of its messages too. `error` is what the agent
    says went wrong. Unknown values are None.
    """

    output: str | None = None
    messages: tuple[Mapping[str, Any], ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    state: Any = None
    context: Any = None
    tokens_used: int | None = None
    cost_usd: Decimal | None = None
    quality_score: Decimal | None = None
    agent_version: str | None = None
    tags: Mapping[str, str] = {}
    behaviors: Mapping[str, bool] | None = None
    error: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is neither a tool call nor visible text: such a reply is malformed."""
        return not self.calls and is_blank(self.output or "")

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls in the agent's messages, and those that it reports and that are in no message."""
        return tuple(merged_calls(calls_in(self.messages), self.tool_calls)) if self.messages else self.tool_calls


TrialOutcome = Literal["answered", "error", "infrastructure"]
"""answered: there is a reply. error: the agent failed; final. infrastructure: no answer, and not the agent's fault."""


class Attempt(Struct, frozen=True):
    """The outcome of one call.

    If the outcome is an error, `reply` is what was received before it, if anything: must-nots are checked on it.
    `reason` says why there is no answer, in words for a row. `latency_ms` is measured around the call by a monotonic
    clock. `retry_after` is how long the other side asked to wait, in seconds. `busy`: a server has no room for the call
    now (429, 503, 529). `limited`: there should be fewer calls at once.
    `refusal` names a response that a wrong key or address causes (`HTTP 401`, `connection refused`): if the first five
    trials all get the same one, the run stops.
    """

    outcome: TrialOutcome
    reply: Reply | None = None
    reason: str | None = None
    latency_ms: float | None = None
    retry_after: float | None = None
    busy: bool = False
    limited: bool = False
    refusal: str | None = None


class Caller(Protocol):
    """An agent that can be called. Opened by `highbar.running.agents.opened`, an async context manager."""

    start: int  # how many calls at once to begin with, if the suite says `concurrency: auto`
    most: int  # the most calls at once with `concurrency: auto`
    ahead: bool  # whether it takes one more question for each call at once, so that no slot waits for the next one

    def allow(self, at_once: int) -> None:
        """Set how many calls may run at once, for a caller that takes questions `ahead`.

        0 gives up the questions that have not begun: their calls raise CancelledError.
        """

    async def call(self, call: AgentCall) -> Attempt:
        """Make one attempt. It returns within the timeout, and raises nothing but CancelledError."""
