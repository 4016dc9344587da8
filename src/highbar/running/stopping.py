"""What ends a run before its last trial: the user, a wrong key or address, and money."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from decimal import Context, Decimal
from fractions import Fraction
from typing import Literal

from highbar.running.calls import Attempt
from highbar.running.records import TrialEnded

_ENOUGH = 5
"""Refusals that make a wrong key or address certain."""
# A reply can name any cost. Without traps a sum that is too large is infinite, and so above every budget.
_SUMS = Context(prec=28, traps=[])


class NothingCalled(Exception):
    """A stop was requested before the agent was ready, so nothing was called."""


class StopRequest:
    """Asks a run to stop: at the first request it begins nothing and finishes what runs, at the second it stops.

    `request` may be called from any thread, from a signal's function, and from the run's own callbacks. `decide` is no
    request of the user: nothing more begins, since the verdict is certain, and what runs is finished and judged.
    """

    def __init__(self) -> None:
        self.stage: Literal[0, 1, 2] = 0
        self.is_decided = False
        self._notify: Callable[[], object] | None = None

    def request(self) -> None:
        """Go one stage further. There is no lock: a signal that interrupts its owner would wait for it forever."""
        self.stage = 1 if self.stage == 0 else 2
        self._tell()

    def decide(self) -> None:
        """The verdict is certain."""
        self.is_decided = True
        self._tell()

    def _tell(self) -> None:
        if self._notify is not None:
            with suppress(RuntimeError):  # the loop was closed in the meantime: there is nothing left to stop
                self._notify()

    @property
    def is_watched(self) -> bool:
        """Whether something runs that hears of requests."""
        return self._notify is not None

    @contextmanager
    def watched(self, loop: asyncio.AbstractEventLoop, changed: Callable[[], object]) -> Iterator[None]:
        """Calls `changed` in the loop at each request."""
        self._notify = lambda: loop.call_soon_threadsafe(changed)
        try:
            yield
        finally:
            self._notify = None


class FirstRefusals:
    """Whether the first trials are all refused in the same way: that is a wrong key or address, and says nothing else.

    A trial counts at its first attempt: a refused connection is tried again, but nobody should wait for that five
    times. Until it is known, ends of trials are `held`: if the key was wrong, they are asked again when it is right.
    """

    def __init__(self, planned: int) -> None:
        self.held: list[TrialEnded] = []
        self.refusal: str | None = None  # in words, with what the server said
        self._kind: str | None = None
        self._wanted = min(_ENOUGH, planned)
        self._trials: set[tuple[str, int]] = set()

    def note(self, id_: str, trial: int, attempt: Attempt) -> Literal["open", "refused", "accepted"]:
        """What is known after this attempt."""
        if attempt.refusal is None or self._kind not in (None, attempt.refusal):
            return "accepted"
        self._kind = attempt.refusal
        self.refusal = self.refusal or attempt.reason or attempt.refusal
        self._trials.add((id_, trial))
        return "refused" if len(self._trials) >= self._wanted else "open"


class Spending:
    """What the trials have cost so far, and whether the budget allows another one. Both in USD.

    `unknown` counts the answered turns that came without a cost. With a budget one of them ends the run: an unknown
    price is not 0, so nobody could say that the budget was kept.
    """

    def __init__(self, budget: Fraction | None, cost: Decimal, unknown: int) -> None:
        self.cost = cost
        self.unknown = unknown
        self._budget = None if budget is None else Decimal(budget.numerator) / Decimal(budget.denominator)

    def note(self, ended: TrialEnded) -> None:
        """Add what a trial cost. The cost of a turn that failed counts if it is known."""
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
            return "the cost of an answer is not known, so the budget cannot be kept"
        return f"the budget of ${self._budget.normalize():f} is used up" if self.cost >= self._budget else None
