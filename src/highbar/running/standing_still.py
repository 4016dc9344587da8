"""Time in which this process did not run: it was stopped (Ctrl-Z, SIGSTOP), or its container was paused.

Nothing can be read in that time, so it is taken from no timeout. A loop that wakes more than a second late has stood
still. A call in flight gets back the time that it had left when that began, once.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

LEAST = 1.0
"""Seconds that a loop must be late."""
_TICK = 0.1
_MOST = 1000
"""Times that are remembered."""


class StandingStill:
    """Notes when the loop stood still. Use it with `async with`, in the loop."""

    def __init__(self) -> None:
        self._alive = time.monotonic()
        self._times: deque[tuple[float, float]] = deque(maxlen=_MOST)
        self._ticker: asyncio.TimerHandle | None = None
        self._lost = 0.0

    async def __aenter__(self) -> Self:
        self._alive = time.monotonic()
        self._tick()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._ticker is not None:
            self._ticker.cancel()

    def _tick(self) -> None:
        self.look()
        self._ticker = asyncio.get_running_loop().call_later(_TICK, self._tick)

    def look(self) -> None:
        """Note whether the loop has just stood still."""
        now, alive = time.monotonic(), self._alive
        self._alive = now
        if now - alive < LEAST + _TICK:
            return
        self._times.append((alive, now))
        self._lost += now - alive

    def take_lost(self) -> float:
        """For how many seconds it stood still since this was asked last, for whoever keeps times of its own."""
        self.look()
        lost, self._lost = self._lost, 0.0
        return lost

    def due(self, began: float, timeout: float) -> float:
        """The time at which a call is overdue that began then, by the monotonic clock."""
        due = began + timeout
        self.look()
        for alive, woke in self._times:
            if began < woke and alive < due:
                # Never at once: what has arrived in the meantime is still to be read.
                return woke + max(due - max(alive, began), min(LEAST, timeout))
        return due

    def has_since(self, began: float) -> bool:
        """Whether the loop has stood still after this time."""
        self.look()
        return any(began < woke for _, woke in self._times)

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[asyncio.Timeout]:
        """As `asyncio.timeout`, without the time in which the loop stood still."""
        loop, began = asyncio.get_running_loop(), time.monotonic()
        async with asyncio.timeout(None) as limit:

            def look() -> None:
                left = self.due(began, seconds) - time.monotonic()
                if left <= 0:
                    limit.reschedule(loop.time())
                else:
                    timers.append(loop.call_later(left, look))

            timers = [loop.call_later(seconds, look)]
            try:
                yield limit
            finally:
                timers[-1].cancel()
