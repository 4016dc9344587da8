"""What ends a run before its last trial: the user, a certain verdict, a wrong key or address, or the budget."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Context, Decimal
from fractions import Fraction
from typing import Literal

from highbar.running.calls import Attempt
from highbar.running.records import TrialEnded

ENOUGH_REFUSALS = 5
"""The number of refused trials, or questions to a judge, that is taken for a wrong key or address."""
# A reply can report any cost. Without traps a sum that is too large becomes infinity, which is above every budget.
_SUMS = Context(prec=28, traps=[])


class NothingCalled(Exception):
    """A stop was requested before the agent was ready, so nothing was called."""


class StopRequest:
    """Asks a run to stop: after the first request it begins nothing and finishes what runs, after the second it stops.

    `request` may be called from any thread, from a signal handler, and from the run's own callbacks. `decide` is not a
    request of the user: nothing more begins, because the verdict is certain, and what runs is finished and judged.
    """

    def __init__(self) -> None:
        self.stage: Literal[0, 1, 2] = 0
        self.is_decided = False
        self._notify: Callable[[], object] | None = None

    def request(self) -> None:
        """Go one stage further. Takes no lock: a signal handler that interrupts the lock's owner would never return."""
        self.stage = 1 if self.stage == 0 else 2
        self._tell()

    def decide(self) -> None:
        """Stop because the verdict is certain."""
        self.is_decided = True
        self._tell()

    def _tell(self) -> None:
        if self._notify is not None:
            with suppress(RuntimeError):  # the loop has been closed, so there is nothing left to stop
                self._notify()

    @property
    def is_watched(self) -> bool:
        """Whether something runs that is notified of requests."""
        return self._notify is not None

    @contextmanager
    def watched(self, loop: asyncio.AbstractEventLoop, changed: Callable[[], object]) -> Iterator[None]:
        """Within this context, each request calls `changed` in the loop."""
        self._notify = lambda: loop.call_soon_threadsafe(changed)
        try:
            yield
        finally:
            self._notify = None


class FirstRefusals:
    """Detects that the first trials are all refused in the same way: then the key or the address is wrong.

    The first attempt of a trial counts: a refused connection is retried, but nobody should wait for that five times.
    Until that is known, ends of trials are `held` back: if the run is refused, or ends before, a resumed run asks them
    again.
    """

    def __init__(self, planned: int) -> None:
        self.held: list[TrialEnded] = []
        self.refusal: str | None = None  # in words, with what the server said
        self._kind: str | None = None
        self._wanted = min(ENOUGH_REFUSALS, planned)
        self._trials: set[tuple[str, int]] = set()

    def note(self, id_: str, trial: int, attempt: Attempt) -> Literal["open", "refused", "accepted"]:
        """Add an attempt. Returns `refused` or `accepted` once that is known, else `open`."""
        if attempt.refusal is None or self._kind not in (None, attempt.refusal):
            return "accepted"
        self._kind = attempt.refusal
        self.refusal = self.refusal or attempt.reason or attempt.refusal
        self._trials.add((id_, trial))
        return "refused" if len(self._trials) >= self._wanted else "open"


class Spending:
    """What the trials have cost so far, and whether the budget allows another one. Both in USD.

    `unknown` counts the answered turns without a cost. With a budget, one of them ends the run: an unknown cost is not
    0, so nobody could say that the run stayed within the budget.
    """

    def __init__(self, budget: Fraction | None, cost: Decimal, unknown: int) -> None:
        self.cost = cost
        self.unknown = unknown
        self._budget = None if budget is None else Decimal(budget.numerator) / Decimal(budget.denominator)

    def note(self, ended: TrialEnded) -> None:
        """Add what a trial cost. The turn in which it failed counts only if its cost is known."""
        failed = len(ended.turns) if ended.outcome == "error" else None
        for number, turn in enumerate(ended.turns, 1):
            cost = None if turn.reply is None else turn.reply.cost_usd
            if cost is not None and cost.is_finite() and cost >= 0:
                self.cost = _SUMS.add(self.cost, cost)
            elif number != failed:
                self.unknown += 1

    @property
    def exhausted(self) -> str | None:
        """Why no other trial may begin; None if one may."""
        if self._budget is None:
            return None
        if self.unknown:
            return "the cost of an answer is not known, so the budget cannot be enforced"
        return f"the budget of ${self._budget.normalize():f} is used up" if self.cost >= self._budget else None
