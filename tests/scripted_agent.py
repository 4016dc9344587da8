"""An agent that does what a plan says: for each scenario, what its calls come to, one after the other."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from highbar.running.calls import AgentCall, Attempt, Reply
from highbar.suite import Scenario, Suite, read_values

ANSWERED = Attempt("answered", Reply("yes"), latency_ms=5.0)
CRASHED = Attempt("error", reason="ValueError: no", latency_ms=5.0)
BUSY = Attempt("infrastructure", reason="HTTP 503", latency_ms=5.0)
LIMITED = Attempt("infrastructure", reason="HTTP 429", latency_ms=5.0, limited=True)
NO_CONNECTION = Attempt("infrastructure", reason="connection refused", refusal="connection refused")
WRONG_KEY = Attempt("error", reason="HTTP 401", refusal="HTTP 401", latency_ms=5.0)


class ScriptedAgent:
    """Answers, unless the plan has something else for a scenario's next call. It records every call.

    `at_once` is how many calls it has, `most_at_once` how many it ever had. Each call gives way to
    others `pauses` times.
    """

    def __init__(self, plan: Mapping[str, Sequence[Attempt]] | None = None, *, ahead: bool = False, pauses: int = 1):
        self.start, self.most, self.ahead = 8, 64, ahead
        self.calls: list[AgentCall] = []
        self.allowed: list[int] = []
        self.most_at_once = 0
        self.ended = 0
        self.at_once = 0
        self._pauses = pauses
        self._plan: defaultdict[tuple[str, int], Iterator[Attempt]] = defaultdict(lambda: iter(()))
        self._given = plan or {}

    def allow(self, at_once: int) -> None:
        self.allowed.append(at_once)

    async def call(self, call: AgentCall) -> Attempt:
        self.calls.append(call)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return await self.answer(call)
        finally:
            self.at_once -= 1
            self.ended += 1

    async def answer(self, call: AgentCall) -> Attempt:
        for _ in range(self._pauses):
            await asyncio.sleep(0)
        key = (call.id, call.trial)
        if key not in self._plan:
            self._plan[key] = iter(self._given.get(call.id, ()))
        return next(self._plan[key], ANSWERED)

    @property
    def counts(self) -> Counter[str]:
        """How often each scenario was called."""
        return Counter(call.id for call in self.calls)


def suite_of(count: int, **keys: object) -> Suite:
    """A suite with the scenarios S0, S1 and so on."""
    common = {"input": "Is it open?", "answer": {"contains": "yes"}, **keys}
    common = {key: value for key, value in common.items() if value is not None}
    return read_values({"scenarios": [{"id": f"S{place}", **common} for place in range(count)]})


def work_of(suite: Suite, trials: int = 1) -> Iterator[tuple[Scenario, int]]:
    """Trial 1 of every scenario, then trial 2, and so on."""
    return ((scenario, trial + 1) for trial in range(trials) for scenario in suite.scenarios.values())
