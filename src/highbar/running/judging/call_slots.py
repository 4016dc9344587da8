"""Limits for the calls of a judge: how many run at once, and how fast they begin. Further calls wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from highbar.running.calls import Attempt
from highbar.running.concurrency import Concurrency
from highbar.running.pacing import Pace, note_attempt


class Slot(Struct, frozen=True):
    """The place of a call that runs: when it began, and after which wait of the pace."""

    began: float
    wait: int


class CallSlots:
    """One slot for each call that may run now. A call that waits for a retry gives its slot back.

    `at_once` is a number, or `auto`: from `start` up to `most`. `changed` is called with the limit when it changes.
    The clock is that of the event loop.
    """

    def __init__(
        self, at_once: int | Literal["auto"], start: int, most: int, changed: Callable[[int], object] | None = None
    ) -> None:
        self.pace = Pace()
        self._concurrency = Concurrency(start, most) if at_once == "auto" else Concurrency(at_once)
        self._waiting: deque[tuple[asyncio.Future[Slot], Callable[[float], bool]]] = deque()
        self._changed = changed
        self._alarm: asyncio.TimerHandle | None = None
        self._tell()

    async def take(self, is_paced: Callable[[float], bool] = lambda _: True) -> Slot:
        """Wait for a slot, first come, first served; and for the pace, as long as `is_paced` says so of this moment."""
        turn: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, is_paced))
        self._serve()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it got the slot just before it was canceled
                self.give_back(turn.result(), None)
            raise

    def give_back(self, slot: Slot, attempt: Attempt | None) -> None:
        """Free the slot of a call that has ended; `attempt` is None if it was canceled."""
        now, before = asyncio.get_running_loop().time(), self._concurrency.limit
        note_attempt(self._concurrency, self.pace, attempt, slot.wait, slot.began, now)
        if self._concurrency.limit != before:
            self._tell()
        self._serve()

    def _serve(self) -> None:
        """Give free slots to those who wait, as far as the pace allows."""
        loop = asyncio.get_running_loop()
        if self._alarm is not None:  # the pace may have changed
            self._alarm.cancel()
            self._alarm = None
        while self._waiting and self._concurrency.in_flight < self._concurrency.limit:
            turn, is_paced = self._waiting[0]
            if turn.done():  # canceled
                self._waiting.popleft()
                continue
            now = loop.time()
            if self.pace.due() > now and is_paced(now):
                self._alarm = loop.call_at(self.pace.due(), self._serve)
                return
            self._waiting.popleft()
            self._concurrency.began(now)
            turn.set_result(Slot(now, self.pace.begin(now)))

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed(self._concurrency.limit)
