"""How long to wait before retrying a call that failed through no fault of the agent, and the trials that wait."""

from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from msgspec import Struct

from highbar.running.conversation import Conversation

_LONGEST = 60.0
"""Seconds: a server that asks for more advises to give up, and a header can contain any number."""


class Backoff(Struct, frozen=True):
    """Exponential backoff with full jitter: before retry n, a random part of `first` × 2ⁿ⁻¹ seconds, at most 60.

    What the other side asks for (`Retry-After`) is added, at most 60 seconds of it: without the random part, trials
    that were refused together would come back together. `random` returns numbers from 0 to 1.
    """

    first: float = 1.0
    random: Callable[[], float] = random.random

    def wait(self, attempts: int, retry_after: float | None) -> float:
        """The seconds to wait after this many attempts.

        >>> half = Backoff(random=lambda: 0.5)
        >>> half.wait(1, None), half.wait(3, None), half.wait(1, 20.0), half.wait(2, 1e9), half.wait(1, -5.0)
        (0.5, 2.0, 20.5, 61.0, 0.5)
        """
        # The exponent is limited as well: a float overflows at 2**1024.
        window = min(self.first * 2.0 ** min(attempts - 1, 32), _LONGEST)
        # A comparison with NaN is false, so NaN counts as no request to wait.
        asked = retry_after if retry_after is not None and retry_after > 0 else 0.0
        return min(asked, _LONGEST) + self.random() * window


class WaitingTrials:
    """Trials that wait for a retry, by the time at which each is due."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Conversation]] = []
        self._number = count()  # breaks ties: trials that are due at the same time come in the order of `add`

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_due(self) -> float | None:
        """When the first trial is due; None if no trial waits."""
        return self._heap[0][0] if self._heap else None

    def add(self, due: float, trial: Conversation) -> None:
        """Let a trial wait until `due`."""
        heappush(self._heap, (due, next(self._number), trial))

    def pop(self, now: float) -> Conversation | None:
        """Remove and return the trial that has been due for longest; None if no trial is due."""
        return heappop(self._heap)[2] if self._heap and self._heap[0][0] <= now else None

    def clear(self) -> None:
        """Give up all of them."""
        self._heap.clear()
