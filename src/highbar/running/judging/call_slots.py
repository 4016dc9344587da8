"""How many calls of a judge run at once, and who waits for one of them to end."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from highbar.running.concurrency import Concurrency


class CallSlots:
    """A slot for each call that may run now. Who waits for a retry has none: it takes one again.

    `at_once` is a number, or `auto`: from `start` up to `most`. `changed` is told how many it is.
    """

    def __init__(
        self, at_once: int | Literal["auto"], start: int, most: int, changed: Callable[[int], object] | None = None
    ) -> None:
        self._concurrency = Concurrency(start, most) if at_once == "auto" else Concurrency(at_once)
        self._waiting: deque[asyncio.Future[float]] = deque()
        self._changed = changed
        self._tell()

    async def take(self) -> float:
        """Wait for a slot, in the order in which they ask; when it was taken."""
        if not self._waiting and self._concurrency.in_flight < self._concurrency.limit:
            return self._begin()
        turn: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot was given away to nobody
                self.give_back(turn.result(), None)
            raise

    def give_back(self, began: float, latency_ms: float | None, *, limited: bool = False) -> None:
        """A call has ended. `latency_ms` is None if it was no answer. `limited`: the other side wants fewer at once."""
        before = self._concurrency.limit
        self._concurrency.ended(time.monotonic(), began, latency_ms, limited=limited)
        if self._concurrency.limit != before:
            self._tell()
        while self._waiting and self._concurrency.in_flight < self._concurrency.limit:
            turn = self._waiting.popleft()
            if not turn.done():  # else it was canceled
                turn.set_result(self._begin())

    def _begin(self) -> float:
        now = time.monotonic()
        self._concurrency.began(now)
        return now

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed(self._concurrency.limit)
