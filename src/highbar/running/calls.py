"""One call of an agent: what it is asked, what it gave back, and what the attempt came to."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Literal, Protocol

from msgspec import Struct

from highbar.model.answer import ToolCall

_UNSEEN = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Mn", "Mc", "Me"})
"""Kinds of characters that show nothing of their own: spaces, controls, marks without a letter."""
_BLANKS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that are drawn as nothing."""


class AgentCall(Struct, frozen=True):
    """What the agent is asked in one turn of one trial.

    `text` is what it is asked if the scenario has only an `input`; if it has turns or messages, `text` is None and the
    agent gets `messages`, the conversation so far. `messages` is always there; it ends with the message to answer.
    `scenario` is the whole scenario as plain JSON values, for functions that ask for it. `timeout` is in seconds.
    """

    id: str
    trial: int
    messages: tuple[Mapping[str, Any], ...]
    text: str | None
    scenario: Mapping[str, Any]
    timeout: float
    turn: int = 1


class Reply(Struct, frozen=True, omit_defaults=True):
    """What the agent gave back for one question, read and checked. None of it is trusted.

    `output` is None if it has no text, as in a reply of tool calls alone. `messages` are those that the agent added
    itself. `error` is what the agent says went wrong. What is not known is None.
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
        """Whether there is neither a tool call nor text of which anything can be seen: a malformed reply."""
        return not self.tool_calls and not any(map(_is_seen, self.output or ""))


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in _UNSEEN and character not in _BLANKS


TrialOutcome = Literal["answered", "error", "infrastructure"]
"""answered: there is a reply. error: the agent failed; final. infrastructure: no answer, for no fault of the agent."""


class Attempt(Struct, frozen=True):
    """What one call came to.

    `reply` of an error is what was received before it, if anything: must-nots are checked on it. `reason` says why
    there is no answer, in words for a row. `latency_ms` is measured around the call by a monotonic clock.
    `retry_after` is what the other side asked for, in seconds. `limited` says that it wants fewer calls at once.
    `refusal` names an answer that a wrong key or address gives (`HTTP 401`, `connection refused`): if the first five
    trials all end in one of them, the run stops.
    """

    outcome: TrialOutcome
    reply: Reply | None = None
    reason: str | None = None
    latency_ms: float | None = None
    retry_after: float | None = None
    limited: bool = False
    refusal: str | None = None


class Caller(Protocol):
    """An agent that can be called. Opened by `highbar.running.agents.opened`, an async context manager."""

    start: int  # how many calls at once to begin with, if the suite says `concurrency: auto`
    most: int  # and how many at the most
    ahead: bool  # whether it takes one question more for each call at once, so that none waits for the next

    def allow(self, at_once: int) -> None:
        """How many calls may run at once, for a caller that is handed questions `ahead`.

        0: the trials that have not begun are given up, and their calls raise CancelledError.
        """

    async def call(self, call: AgentCall) -> Attempt:
        """One attempt. It ends by itself within the timeout, and raises nothing but CancelledError."""
