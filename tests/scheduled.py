"""Runs the trials of a suite with an agent in this process, and records what was reported."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

from highbar.running.calls import Caller
from highbar.running.progress import ProgressState
from highbar.running.records import Began, TrialEnded
from highbar.running.retries import Backoff
from highbar.running.scheduling import Timing, run_trials
from highbar.running.stopping import StopRequest
from highbar.running.summary import Summary
from highbar.suite import RunSettings, Scenario
from tests.patience import PATIENCE

AT_ONCE = Timing(backoff=Backoff(first=0.0))
"""Retries come without a wait."""


class ManualClock:
    """A clock that goes on only if it is told so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class ScheduledRun:
    """A run, and all that it reported. `on_end` is called after each end was recorded."""

    def __init__(
        self,
        work: Iterator[tuple[Scenario, int]],
        planned: int,
        *,
        progress: ProgressState | None = None,
        timing: Timing = AT_ONCE,
        on_end: Callable[[TrialEnded], object] = lambda _: None,
        **settings: Any,
    ) -> None:
        self.began: list[Began] = []
        self.ended: list[TrialEnded] = []
        self.stop = StopRequest()
        self.progress = progress or ProgressState(planned)
        self.on_end = on_end
        self._work, self._timing, self._settings = work, timing, RunSettings(**settings)

    def with_(self, agent: Caller) -> Summary:
        """Run it to its end."""
        return asyncio.run(asyncio.wait_for(self.under_way(agent), PATIENCE))

    async def under_way(self, agent: Caller) -> Summary:
        return await run_trials(
            self._work,
            agent,
            self._settings,
            on_begin=self.began.append,
            on_end=self._note,
            progress=self.progress,
            stop=self.stop,
            timing=self._timing,
        )

    def _note(self, ended: TrialEnded) -> None:
        self.ended.append(ended)
        self.on_end(ended)

    @property
    def outcomes(self) -> dict[str, tuple[str, int]]:
        """By scenario, how it ended and at which attempt."""
        return {ended.id: (ended.outcome, ended.attempts) for ended in self.ended}
