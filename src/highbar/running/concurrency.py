"""How many calls may run at once. Events go in with their time, a number comes out; nothing here reads a clock.

8 → 16 → 32 → 64    while each step pays: a fifth more calls per second, and the median latency up by less than a tenth
64 → 51             at an episode of 429; after that it grows by a tenth at a time
"""

from __future__ import annotations

from math import inf
from statistics import median

from msgspec import Struct

_MORE_CALLS = 1.2
_SLOWER = 1.1
_SLACK_MS = 1.0  # differences below this are noise of the clock and the loop
_USED = 0.8
_LEFT_AFTER_FALL = 0.8


class _Level(Struct, frozen=True):
    """The measurements at one limit: calls per second, median latency, and the share of slots in use."""

    limit: int
    per_second: float
    median_ms: float
    used: float

    def is_as_fast_as(self, other: _Level) -> bool:
        return self.median_ms < other.median_ms * _SLOWER + _SLACK_MS

    def pays_over(self, other: _Level) -> bool:
        return self.per_second >= other.per_second * _MORE_CALLS and self.is_as_fast_as(other)


class Concurrency:
    """`limit` is how many calls may run at once; `in_flight` is how many do. If `most` is None, the limit is fixed.

    A step is measured over three calls for each slot, at least 20. A doubling that does not pay is taken back and tried
    again later, after twice as long each time: one slow call among few must not set the pace of a long run for good.
    """

    def __init__(self, start: int, most: int | None = None) -> None:
        self.limit = max(1, start if most is None else min(start, most))
        self.in_flight = 0
        self._most = most
        self._before: _Level | None = None  # the level before a doubling, while the doubling is being measured
        self._rest = 0  # windows to wait until the next doubling
        self._next_rest = 4
        self._fell: float | None = None  # when the last episode of 429 began
        self._after_fall: _Level | None = None
        self._busy = 0.0  # the sum over slots of the seconds in use, in this window
        self._seen = 0.0
        self._since = inf  # when the window was opened
        self._latencies: list[float] = []

    def began(self, now: float) -> None:
        """Note that a call begins."""
        if self._since == inf:
            self._open(now)
        self._advance(now)
        self.in_flight += 1

    def ended(
        self, now: float, began: float, latency_ms: float | None, *, limited: bool = False, enough: int = 1
    ) -> None:
        """Note that a call has ended. `latency_ms` is None if it got no answer. `limited`: the response was a 429.

        `enough` is how many calls at once the other side allows, as far as that is known: it never falls below that.
        """
        self._advance(now)
        self.in_flight -= 1
        if self._most is None:
            return
        if limited:
            # Calls that began before the last fall belong to the same episode, which has been answered already.
            if self._fell is None or began > self._fell:
                self._fall(now, enough)
        elif latency_ms is not None and began >= self._since:
            self._latencies.append(latency_ms)
            if len(self._latencies) >= max(20, 3 * self.limit):
                self._judge(self._most, now)

    def _advance(self, now: float) -> None:
        self._busy += min(self.in_flight, self.limit) * (now - self._seen)
        self._seen = now

    def _open(self, now: float) -> None:
        """Open a new window: calls that began earlier ran at another limit, and are not measured."""
        self._since = self._seen = now
        self._busy = 0.0
        self._latencies = []

    def _fall(self, now: float, enough: int) -> None:
        self.limit = max(1, min(enough, self.limit), int(self.limit * _LEFT_AFTER_FALL))
        self._fell = now
        self._before = self._after_fall = None
        self._open(now)

    def _judge(self, most: int, now: float) -> None:
        seconds = max(now - self._since, 1e-9)
        level = _Level(
            self.limit,
            len(self._latencies) / seconds,
            median(self._latencies),
            self._busy / (self.limit * seconds),
        )
        before, self._before = self._before, None
        if before is not None and not level.pays_over(before):
            self.limit = before.limit
            self._rest, self._next_rest = self._next_rest, self._next_rest * 2
        elif level.used >= _USED:  # slots that are not used say nothing about what more of them would bring
            self._grow(level, most)
        self._open(now)

    def _grow(self, level: _Level, most: int) -> None:
        if self._rest:
            self._rest -= 1
        elif self._fell is None:
            if self.limit < most:
                self._before = level
            self.limit = min(2 * self.limit, most)
        else:
            self._after_fall = self._after_fall or level
            if level.is_as_fast_as(self._after_fall):
                self.limit = min(self.limit + max(1, self.limit // 10), most)
