"""What servers allow: each decides of a call at a time whether it is taken. Nothing here reads a clock."""

from __future__ import annotations

from collections import deque
from typing import Protocol


class Limiter(Protocol):
    """Decides who is taken."""

    def refuse(self, now: float) -> float | None:
        """Whether a call at this time is refused: the seconds until there is room again; None if it is taken."""


class Bucket:
    """A bucket of tokens: so many calls per second, and so many at once after a pause."""

    def __init__(self, per_second: float, depth: int) -> None:
        self.per_second, self.depth = per_second, depth
        self._tokens, self._at = float(depth), 0.0

    def refuse(self, now: float) -> float | None:
        """See `Limiter`."""
        self._tokens = min(self.depth, self._tokens + (now - self._at) * self.per_second)
        self._at = now
        if self._tokens < 1:
            return (1 - self._tokens) / self.per_second
        self._tokens -= 1
        return None


class Window:
    """So many calls in each window of so many seconds."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.calls, self.seconds = calls, seconds
        self._window, self._taken = -1, 0

    def refuse(self, now: float) -> float | None:
        """See `Limiter`."""
        window = int(now // self.seconds)
        if window != self._window:
            self._window, self._taken = window, 0
        if self._taken >= self.calls:
            return (window + 1) * self.seconds - now
        self._taken += 1
        return None


class SlidingWindow:
    """So many calls in any stretch of so many seconds."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.calls, self.seconds = calls, seconds
        self._taken: deque[float] = deque()

    def refuse(self, now: float) -> float | None:
        """See `Limiter`."""
        while self._taken and self._taken[0] <= now - self.seconds:
            self._taken.popleft()
        if len(self._taken) >= self.calls:
            return self._taken[0] + self.seconds - now
        self._taken.append(now)
        return None


class Storm:
    """Nothing from one time to another, everything before and after."""

    def __init__(self, begins: float, ends: float) -> None:
        self.begins, self.ends = begins, ends

    def refuse(self, now: float) -> float | None:
        """See `Limiter`."""
        return self.ends - now if self.begins <= now < self.ends else None
