"""When the next call may begin if the other side limits calls. Events go in with their time, a time comes out.

Before the first refusal (429, 503 or 529) nothing is limited. A refusal opens an episode: nothing begins for a moment,
then a call finds out whether the other side takes calls again.

    others were taken     a rate was exceeded. Between two such refusals the other side took exactly what it allows, so
                          calls are paced by that, and the pace rises again until the next refusal
    nothing was taken     all is refused. Calls begin ever more rarely, as `Retry-After` says if it is there; after the
                          first answer, what may have been saved up in that time may begin at once

Nothing here reads a clock.
"""

from __future__ import annotations

from collections import deque
from math import ceil, inf

from msgspec import Struct

from highbar.running.calls import Attempt
from highbar.running.concurrency import Concurrency

_FIRST_WAIT = 0.25
"""Seconds to wait after a refusal while no rate is known."""
_RARER = 12
"""While all is refused, the next call begins after this part of the time since the first refusal."""
_LONGEST_WAIT = 60.0
"""Seconds: a server that asks for more, or takes less, is asked once a minute all the same."""
_ENOUGH_TAKEN = 20
"""Calls that were taken between refusals, so that the rate is known well enough."""
_TO_DOUBLE = 80
"""Calls without a refusal after which the pace is twice the known rate; at most four for each that it is known from."""
_ENOUGH_AT_ONCE = 6
"""Calls at once while no rate is known."""
_LATE = 0.005
"""Seconds by which timers are late: without them a fast pace would be too slow."""
_WORTH_SAVING = 10
"""Calls that may begin at once after all was refused for so long. Fewer are no window that has begun anew."""
_MOST_MISSED, _BELOW_FASTEST = 1.15, 0.95
"""If the pace was too slow for a while, more would have been taken: up to 15 %, but not as many as at the end."""


class AllowedRate(Struct, frozen=True):
    """What the other side allowed: calls per second, and how many calls at once are enough for that."""

    per_second: float
    at_once: int

    def __str__(self) -> str:
        """The rate in words.

        >>> str(AllowedRate(4.96, 2)), str(AllowedRate(0.33, 1)), str(AllowedRate(0.0166, 1))
        ('about 5 calls per second', 'about 20 calls per minute', 'about 1 call per minute')
        """
        count, unit = (self.per_second, "second") if self.per_second >= 1 else (self.per_second * 60, "minute")
        text = f"{float(f'{count:.2g}'):,g}"
        return f"about {text} {'call' if text == '1' else 'calls'} per {unit}"


class Pace:
    """`due` is when the next call may begin.

    Report every call: `begin`, then `refused` or `taken`, or neither if it got no answer at all. `begin` returns the
    number of the wait after which the call begins, which both want back.
    """

    def __init__(self) -> None:
        self._due = -inf
        self._early = 0  # calls taken since the episode began, before a refusal that began no other one
        self._credit = 0.0  # seconds by which `_due` may lie in the past: calls that were saved up
        self._episode: float | None = None  # when the last episode began; None before the first refusal
        self._wait = 0  # the number of the last wait: only calls that began after it say anything new
        self._opened = -inf  # when the first call after it began
        self._is_closed = False  # all calls since the last wait were refused
        self._begun = self._refused = self._answered = 0  # calls that began since the last wait
        self._rate: float | None = None  # calls per second that are known to be taken
        self._stretches: deque[tuple[int, float]] = deque()  # calls taken between two episodes, and its seconds
        self._taken, self._seconds = 0, 0.0  # of all stretches
        self._measured = -1  # the wait after which the calls of the last stretch began
        self._latency, self._latencies = 0.0, 0

    def due(self) -> float:
        """The time at which the next call may begin."""
        return self._due

    def after_next(self, now: float) -> float:
        """A time after the next call: a refused call that came first again and again would hold all others up."""
        return self._due + self._gap(now) / 2

    def begin(self, now: float) -> int:
        """Note that a call begins."""
        self._opened = self._opened if self._begun else now
        self._begun += 1
        if self._episode is not None:
            gap = self._gap(now)
            # A call that begins much too late does not let the next one begin early: it could be too early.
            self._due = max(self._due, now - max(self._credit, min(gap, _LATE))) + gap
        return self._wait

    def taken(self, now: float, wait: int, latency: float) -> None:
        """Note that a call was answered, with anything but a refusal. `latency` is in seconds."""
        self._latency += latency
        self._latencies += 1
        if self._episode is None or wait < self._wait:
            return
        self._answered += 1
        if self._is_closed:
            self._is_closed = False
            closed = self._opened - self._episode
            if self._rate is not None and self._rate * closed >= _WORTH_SAVING:
                self._credit = closed
                self._due = now - closed

    def refused(self, now: float, wait: int, retry_after: float | None) -> bool:
        """Note that a call was refused, and the seconds that the other side asks to wait.

        Returns whether a new episode begins: calls were too many, and not only too early.
        """
        if wait < self._wait:  # it was refused for what is known already
            self._correct(wait)
            return False
        self._refused += 1
        others = self._begun - self._refused
        # If what was saved up is not there yet, it comes: a window that slides opens as slowly as it was filled.
        is_early = self._credit > 0 and now - self._due > self._credit / 2
        is_new = self._episode is None or (others > 0 and not is_early)
        if is_new:
            self._begin_episode(now, others)
        elif others > 0:
            self._early += others
        # In whole seconds it is often longer than needed, so a call that was refused as the only one tries once more.
        asked = retry_after if self._is_closed and retry_after is not None else 0.0
        self._is_closed = others <= 0 or is_early
        self._wait += 1
        self._begun = self._refused = self._answered = 0
        gap = self._gap(now)
        gap = gap if self._is_closed or self._rate is None else gap / 2
        self._due = now + min(max(asked, gap), _LONGEST_WAIT)
        return is_new

    def _begin_episode(self, now: float, taken: int) -> None:
        if self._episode is not None:
            self._measure(taken + self._early, now - self._episode, 1 / self._gap(now))
        self._episode = now
        self._credit, self._early = 0.0, 0

    def _measure(self, taken: int, seconds: float, fastest: float) -> None:
        """Note that so many calls were taken since the last episode, by a pace that was `fastest` at its end."""
        self._taken, self._seconds, self._measured = self._taken + taken, self._seconds + seconds, self._wait
        self._stretches.append((taken, max(seconds, 1e-9)))
        while sum(count for count, _ in self._stretches) - self._stretches[0][0] >= _ENOUGH_TAKEN:
            self._stretches.popleft()
        rate = self._answered_rate()
        self._rate = max(rate, min(rate * _MOST_MISSED, fastest * _BELOW_FASTEST))

    def _answered_rate(self) -> float:
        """Calls per second that were taken lately, and one more: the refused call is the first that was too much."""
        return (sum(count for count, _ in self._stretches) + 1) / sum(seconds for _, seconds in self._stretches)

    def _correct(self, wait: int) -> None:
        """Note that a call of an earlier wait was refused: it counted as taken, because it was under way."""
        if wait == self._measured and self._stretches[-1][0] > 0:
            taken, seconds = self._stretches[-1]
            self._stretches[-1] = (taken - 1, seconds)
            self._taken -= 1
            self._rate = self._answered_rate()

    def _gap(self, now: float) -> float:
        """The seconds between two calls now."""
        first = _FIRST_WAIT if self._rate is None else min(1 / self._rate, _LONGEST_WAIT)
        if self._is_closed and self._episode is not None:
            return min(max(first, (now - self._episode) / _RARER), _LONGEST_WAIT)
        if self._rate is None:  # half of it after each answer
            return first * 0.5 ** min(self._answered, 60)
        known = sum(count for count, _ in self._stretches)
        return first / (1 + (self._begun / min(_TO_DOUBLE, 4 * max(known, 1))) ** 2)

    @property
    def allowance(self) -> AllowedRate | None:
        """What the other side allowed in the whole run; None if it is not known."""
        if self._seconds <= 0 or not self._taken or not self._latencies:
            return None
        rate = self._taken / self._seconds
        return AllowedRate(rate, max(1, ceil(rate * self._latency / self._latencies - 0.05)))


def note_attempt(
    concurrency: Concurrency, pace: Pace, attempt: Attempt | None, wait: int, began: float, now: float
) -> None:
    """Note the end of a call in both: how many may run at once, and how fast they begin. None: it was canceled."""
    latency: float | None = None
    limited = attempt is not None and attempt.limited
    if attempt is not None and attempt.busy:
        # While all is refused, fewer calls at once change nothing.
        limited = pace.refused(now, wait, attempt.retry_after) and limited
    elif attempt is not None and attempt.outcome != "infrastructure":
        latency = (now - began) * 1000 if attempt.latency_ms is None else attempt.latency_ms
        pace.taken(now, wait, latency / 1000)
    enough = _enough_at_once(pace.allowance) if limited and attempt is not None and attempt.busy else 1
    concurrency.ended(now, began, latency, limited=limited, enough=enough)


def _enough_at_once(allowance: AllowedRate | None) -> int:
    """As many calls as are never too many: it is the pace that keeps the rate."""
    return _ENOUGH_AT_ONCE if allowance is None else 2 * allowance.at_once + 2
