"""A limit for the calls of a judge that run at once; further calls wait."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from highbar.running.concurrency import Concurrency


class CallSlots:
    """One slot for each call that may run now. A call that waits for a retry gives its slot back.

    `at_once` is a number, or `auto`: from `start` up to `most`. `changed` is called with the limit when it changes.
    """

    def __init__(
        self, at_once: int | Literal["auto"], start: int, most: int, changed: Callable[[int], object] | None = None
    ) -> None:
        self._concurrency = Concurrency(start, most) if at_once == "auto" else Concurrency(at_once)
        self._waiting: deque[asyncio.Future[float]] = deque()
        self._changed = changed
        self._tell()

    async def take(self) -> float:
        """Wait for a slot, first come, first served. Returns the time at which it was taken."""
        if not self._waiting and self._concurrency.in_flight < self._concurrency.limit:
            return self._begin()
        turn: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # it got the slot just before it was canceled
                self.give_back(turn.result(), None)
            raise

    def give_back(self, began: float, latency_ms: float | None, *, limited: bool = False) -> None:
        """Free the slot of a call that has ended. `latency_ms` is None if it got no answer.

        `limited`: the other side wants fewer calls at once.
        """
        before = self._concurrency.limit
        self._concurrency.ended(time.monotonic(), began, latency_ms, limited=limited)
        if self._concurrency.limit != before:
            self._tell()
        while self._waiting and self._concurrency.in_flight < self._concurrency.limit:
            turn = self._waiting.popleft()
            if not turn.done():  # otherwise it was canceled
                turn.set_result(self._begin())

    def _begin(self) -> float:
        now = time.monotonic()
        self._concurrency.began(now)
        return now

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed(self._concurrency.limit)
