"""Whether and when a call that failed through no fault of the agent is made again, and the trials that wait for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from msgspec import Struct

from highbar.running.calls import Attempt

if TYPE_CHECKING:  # which has tries
    from highbar.running.conversation import Conversation

_LONGEST = 60.0
"""Seconds: a server that asks for more advises to give up, and a header can contain any number."""
_LEAST_PACED = 5.0
"""Seconds without an answer after which a pace helps no more, with a shorter patience."""


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
        >>> half.wait(0, 20.0)
        20.0
        """
        # The exponent is limited as well: a float overflows at 2**1024.
        window = min(self.first * 2.0 ** min(attempts - 1, 32), _LONGEST) if attempts else 0.0
        # A comparison with NaN is false, so NaN counts as no request to wait.
        asked = retry_after if retry_after is not None and retry_after > 0 else 0.0
        return min(asked, _LONGEST) + self.random() * window


class Tries:
    """The attempts of one question: `failures` used up a retry, `overtaken` were refused while others got through.

    `wait` is what `Pace.begin` returned for the last one.
    """

    __slots__ = ("attempts", "failures", "overtaken", "refused_at", "wait")

    def __init__(self) -> None:
        self.attempts = self.failures = self.overtaken = self.wait = 0
        self.refused_at: float | None = None


class RetryRule:
    """Says how long a question waits for its next attempt, and when it has none left. Times are those of one clock.

    A refusal for lack of room (429, 503, 529) uses up a retry only if nothing was answered since the question was
    refused before, nor within the last `patience` seconds: such a limit is no failure, and passes. Without patience
    each refusal uses up a retry.
    """

    def __init__(self, retries: int, patience: float, backoff: Backoff, start: float) -> None:
        self._retries, self._patience, self._backoff = retries, patience, backoff
        self._answered = start

    def answered(self, now: float) -> None:
        """Note that some call got through."""
        self._answered = now

    def is_hopeful(self, now: float) -> bool:
        """Whether the last answer, or the start, is so recent that it helps to make fewer calls."""
        return now - self._answered <= max(self._patience, _LEAST_PACED)

    def wait(self, tries: Tries, attempt: Attempt, began: float, now: float) -> float | None:
        """The seconds to wait after an attempt that began at `began` and got no answer; None if it was the last one."""
        if not attempt.busy:
            tries.failures += 1
        else:
            before = began if tries.refused_at is None else tries.refused_at
            tries.refused_at = now
            is_overtaken = self._patience > 0 and self._answered > before
            tries.overtaken += is_overtaken
            tries.failures += not is_overtaken and now - self._answered >= self._patience
        if tries.failures > self._retries:
            return None
        return self._backoff.wait(tries.failures + tries.overtaken, attempt.retry_after)


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
