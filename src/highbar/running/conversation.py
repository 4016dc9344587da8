"""One trial: which question comes next, and how the trial ends. Nothing here calls or waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highbar.checks.messages import is_aside
from highbar.running.calls import EMPTY_REPLY, AgentCall, Attempt, Reply, TrialOutcome
from highbar.running.received import reply_messages
from highbar.running.records import TrialEnded, TurnEnd
from highbar.running.retries import Tries
from highbar.suite import Scenario


class Conversation:
    """A trial in progress: `question` returns what to ask, `take` receives the outcome.

    A scenario with `input` or `messages` has one turn. With `turns`, the agent sees the conversation so far each time.
    A trial ends at its first turn without an answer; its `TrialEnded` has what was received before.

    `tries` are the calls of the current turn. `trial_timeout` limits the time that the agent takes for all turns
    together, in seconds; it does not include waits for a retry, which are not the agent's fault.
    """

    __slots__ = ("_left", "_messages", "_most_attempts", "_timeout", "_turns", "scenario", "trial", "tries")

    def __init__(self, scenario: Scenario, trial: int, trial_timeout: float | None) -> None:
        self.scenario = scenario
        self.trial = trial
        self.tries = Tries()
        self._most_attempts = 1
        self._timeout = float(scenario.timeout)
        self._left = self._timeout * (len(scenario.turns) or 1) if trial_timeout is None else trial_timeout
        self._turns: tuple[TurnEnd, ...] = ()
        self._messages = _opening(scenario)

    def question(self) -> AgentCall:
        """What to ask the agent now: the next turn, or the same one again."""
        self.tries.attempts += 1
        scenario = self.scenario
        return AgentCall(
            id=scenario.id,
            trial=self.trial,
            messages=self._messages,
            text=None if scenario.turns or scenario.messages else scenario.input,
            scenario=_plain(scenario),
            timeout=min(self._timeout, self._left),
            turn=len(self._turns) + 1,
        )

    def take(self, attempt: Attempt) -> TrialEnded | None:
        """Add the outcome of an attempt. Returns the end of the trial; None if the next turn has to be asked."""
        self._most_attempts = max(self._most_attempts, self.tries.attempts)
        self.tries = Tries()
        outcome, reason, reply = attempt.outcome, attempt.reason, attempt.reply
        if outcome == "infrastructure":
            return self._ended(outcome, reason)
        self._turns = (*self._turns, TurnEnd(reply, attempt.latency_ms))
        # Callers report these as errors themselves. Check again: an empty answer must not pass because one forgot to.
        if outcome == "answered" and (fault := _fault(reply)) is not None:
            outcome, reason = "error", fault
        if outcome == "error" or len(self._turns) >= len(self.scenario.turns):
            return self._ended(outcome, reason)
        self._left -= (attempt.latency_ms or 0.0) / 1000
        if self._left <= 0:
            return self._ended("error", "timed out: the turns together took too long")
        says = {"role": "user", "content": self.scenario.turns[len(self._turns)]}
        added = [] if reply is None else [one for one in reply_messages(reply) if not is_aside(one)]
        self._messages = (*self._messages, *added, says)
        return None

    def _ended(self, outcome: TrialOutcome, reason: str | None) -> TrialEnded:
        scenario = self.scenario
        return TrialEnded(scenario.id, self.trial, scenario.digest, outcome, self._turns, reason, self._most_attempts)


def _opening(scenario: Scenario) -> tuple[Mapping[str, Any], ...]:
    if scenario.messages:
        return scenario.messages
    return ({"role": "user", "content": scenario.turns[0] if scenario.turns else scenario.input},)


def _plain(scenario: Scenario) -> Mapping[str, Any]:
    """The scenario with the keys of the suite file, for agents that want to read it, without its checks."""
    found = scenario.row
    if scenario.turns:
        found["turns"] = list(scenario.turns)
    if scenario.messages:
        found["messages"] = list(scenario.messages)
    if scenario.description is not None:
        found["description"] = scenario.description
    return found


def _fault(reply: Reply | None) -> str | None:
    if reply is None:
        return "no reply"
    if reply.error is not None:
        return reply.error or "the agent reports an error"
    return EMPTY_REPLY if reply.is_empty else None
