"""How one judge is asked: by the settings of the suite, unless the caller overrides them."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from highbar.running.retries import Backoff
from highbar.suite.parts import Judge


class AskingSettings(Struct, frozen=True):
    """Calls at once, retries after network failures with the waits between them, and seconds that a call may take."""

    concurrency: int | Literal["auto"]
    retries: int
    timeout: float
    backoff: Backoff


class AskingChanges(Struct, frozen=True):
    """Overrides for the settings of every judge; None keeps the setting."""

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
