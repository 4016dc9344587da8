"""How one judge is asked: as the suite has it, unless whoever opens it wants something else."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from highbar.running.retries import Backoff
from highbar.suite.parts import Judge


class AskingSettings(Struct, frozen=True):
    """Calls at once, further tries after a failure of the network, and the seconds that one call may take."""

    concurrency: int | Literal["auto"]
    retries: int
    timeout: float
    backoff: Backoff


class AskingChanges(Struct, frozen=True):
    """What replaces the settings of every judge, unless it is None."""

    concurrency: int | Literal["auto"] | None = None
    retries: int | None = None
    timeout: float | None = None
    backoff: Backoff | None = None

    def of(self, judge: Judge) -> AskingSettings:
        """The settings for this judge."""
        return AskingSettings(
            judge.concurrency if self.concurrency is None else self.concurrency,
            judge.retries if self.retries is None else self.retries,
            float(judge.timeout) if self.timeout is None else self.timeout,
            self.backoff or Backoff(),
        )
