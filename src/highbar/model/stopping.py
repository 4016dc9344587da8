"""How much of a run has finished, and where in its recorded order each rule was decided."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SequentialMethod = Literal["spending", "bets", "looks", "zero tolerance", "at the end"]
"""How a rule is decided: by exact boundaries for passes and failures, by bets on scores, in five looks, by the first
failure or enough scenarios without one, or in one look after all scenarios were run."""


class Stopping(Struct, frozen=True):
    """Where a sequential rule was decided. All numbers count the scenarios that the rule is about.

    `planned` is what the accepted error is spread over: the scenarios in the plan, or the horizon. `seen` is the
    longest prefix of the recorded order of which every scenario has finished. `decided_at` is None if the rule is
    open. `standing` says how close it is.
    """

    method: SequentialMethod
    planned: int
    seen: int
    decided_at: int | None = None
    standing: str | None = None


class SequentialRun(Struct, frozen=True):
    """How much was planned, run, and saved by stopping early, in scenarios and in trials.

    A scenario was run if all its trials have ended. `problem` says why the rows have no order, so that nothing could be
    decided early.
    """

    planned: int
    ran: int
    planned_trials: int
    ran_trials: int
    seed: int | None = None
    problem: str | None = None

    @property
    def saved(self) -> int:
        """Scenarios that were not run, or not all of whose trials have ended."""
        return self.planned - self.ran

    @property
    def saved_trials(self) -> int:
        """Trials that were not run."""
        return self.planned_trials - self.ran_trials
