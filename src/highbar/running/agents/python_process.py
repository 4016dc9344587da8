"""The process of a Python agent, connected to our event loop: calls go in, their outcomes come out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from highbar.running.calls import AgentCall, Attempt
from highbar.running.child import frames
from highbar.running.child.loop import LoopWriter
from highbar.running.child.process import LONGEST_END, FunctionProcess
from highbar.running.histogram import Histogram
from highbar.running.watched import Fact, facts_in
from highbar.scarcity import NO_THREAD

_OUTCOMES = {frames.ANSWERED, frames.MALFORMED, frames.RAISED, frames.TOO_LARGE, frames.CANCELED}


class PendingCall(Struct, eq=False):
    """A call without an outcome yet. `overdue_since` is when the process was told to cancel it."""

    number: int
    call: AgentCall
    future: asyncio.Future[frames.Message | Attempt]
    overdue_since: float | None = None
    is_given_up: bool = False  # to be canceled, unless it runs already
    is_withdrawn: bool = False  # the process confirmed that it will not begin it

    def settle(self, outcome: frames.Message | Attempt) -> None:
        """Set the outcome, unless nobody waits for it any more."""
        if not self.future.done():
            self.future.set_result(outcome)


class AgentProcess:
    """One process, and the calls that it was given.

    `changed` is set when the supervisor must look: the process `is_gone`, a thread in it `is_stuck` in a call that was
    given up, or its only call has ended. It is also set at the first call if the process `is_unwatched` because it had
    none. `is_alone`: the process gets one call and no other. `facts` receives what it read, if it notes that.
    """

    def __init__(self, setup: Mapping[str, Any], delays: Histogram, facts: list[Fact]) -> None:
        self._process = FunctionProcess(setup)
        self._loop = asyncio.get_running_loop()
        self._reader = frames.MessageReader(setup["largest"])
        self._writer = LoopWriter(self._process.requests, self._loop)
        self._delays = delays
        self._facts = facts
        self.given: dict[int, PendingCall] = {}
        self.running_at_end: dict[int, float] = {}
        self._first = self._last = 0  # numbers of calls
        self.ready: asyncio.Future[frames.Message | None] = self._loop.create_future()
        self.changed = asyncio.Event()
        self.idle_since: float | None = None
        self.stuck_since = 0.0
        self.fault: str | None = None
        self.replies = 0
        self.threads: int | None = None  # how many there are, if the system allows no more
        self.lack: str | None = None  # what the system refused, so that nothing can be called
        self.has_loaded = self.has_called = False
        self.is_gone = self.is_stuck = self.is_alone = self.is_unwatched = self._is_closed = False
        self._loop.add_reader(self._process.replies, self._readable)

    # --- calls ---------------------------------------------------------------------------------

    def give(self, pending: PendingCall, message: bytes) -> None:
        """Give the process a call, whose message this is."""
        if self.is_unwatched:
            self.changed.set()
        self.given[pending.number] = pending
        self._first = min(self._first or pending.number, pending.number)
        self._last = max(self._last, pending.number)
        self.send(message)

    def send(self, message: bytes) -> None:
        """Write a message in the next iteration of the loop, together with others."""
        self._writer.write(message)

    def give_up_waiting(self) -> None:
        """Give up calls that are the first of their trial, unless they run already.

        The process decides: a call may have begun or ended, and its message is not read yet.
        """
        running = self.running()
        for number, pending in self.given.items():
            if number not in running and pending.call.turn == 1 and not pending.is_given_up:
                pending.is_given_up = True
                self.send(frames.encoded(frames.CANCEL, number, 0.0, None))

    def withdraw_waiting(self) -> None:
        """Ask the process to begin none of the calls that wait in it, because it will be replaced."""
        for number, pending in self.given.items():
            if pending.overdue_since is None and not pending.is_given_up:
                self.send(frames.encoded(frames.CANCEL, number, 0.0, None))

    @property
    def is_drained(self) -> bool:
        """Whether the process has nothing more to say about any call.

        The slots do not tell: a call may have begun since the last look, or have ended and its message is on the way.
        """
        return all(pending.is_withdrawn for pending in self.given.values())

    def running(self) -> dict[int, float]:
        """The calls that run at this moment, with the time at which each began."""
        return {call: start for call, start in self._process.slots.running().items() if call in self.given}

    def give_back(self, lost: float) -> None:
        """Give the process the seconds back in which nobody could read its messages."""
        self.stuck_since += lost
        if self.idle_since is not None:
            self.idle_since += lost
        for pending in self.given.values() if lost else ():
            if pending.overdue_since is not None:
                pending.overdue_since += lost

    def _readable(self) -> None:
        try:
            if self._reader.read(self._process.replies, self._receive):
                return
        except BlockingIOError:
            return
        except (frames.BrokenMessage, OSError):
            self.fault = "something else than replies was written into its pipe"
        self._gone()

    def _gone(self) -> None:
        self.is_gone = True
        self._writer.close()
        self.running_at_end = self.running()
        self.has_called = bool(self.replies) or self._process.slots.has_called
        self._loop.remove_reader(self._process.replies)
        self.changed.set()
        if not self.ready.done():
            self.ready.set_result(None)

    def _receive(self, message: frames.Message) -> None:
        kind, number, _, value = message
        self.idle_since = None
        if kind == frames.CANCELED and value is False and self._is_withdrawing(number):
            self.given[number].is_withdrawn = True
            self.changed.set()
        elif kind in _OUTCOMES:
            self._settle(message)
        elif not self.ready.done():
            self._receive_start(message)
        else:
            self._receive_of_itself(message)

    def _settle(self, message: frames.Message) -> None:
        kind, number, _, value = message
        pending = self.given.pop(number, None)
        if pending is not None:
            self.replies += 1
            if kind == frames.CANCELED and pending.is_given_up:
                pending.future.cancel()
            pending.settle(message)
        elif not self._first <= number <= self._last:
            raise frames.BrokenMessage(f"a reply to call {number}, which was never made")
        self.is_stuck |= kind == frames.CANCELED and value is True
        if self.is_alone or self.is_stuck:
            self.changed.set()

    def _receive_start(self, message: frames.Message) -> None:
        """Note what the process says before it can be called."""
        kind = message[0]
        if kind in (frames.READY, frames.REFUSED):
            self.ready.set_result(message)
        elif kind == frames.LOADING:
            self.has_loaded = True
        elif kind == frames.NOT_STARTED and not self.has_loaded:
            self.lack = str(message[3])
        else:
            self._receive_of_itself(message)

    def _receive_of_itself(self, message: frames.Message) -> None:
        """Note what the process says of itself, and of no call."""
        kind, number, _, value = message
        if kind == frames.DELAYS and isinstance(value, list) and all(type(one) is float for one in value):
            for delay in value:
                self._delays.add(delay)
        elif kind == frames.NOTED:
            self._facts += facts_in(message)
        elif kind == frames.THREADS and (number > 0 or not self._process.slots.has_called):
            self.threads = number
            if not number:
                self.lack = NO_THREAD
                self._gone()
        else:
            raise frames.BrokenMessage(f"an unexpected message of kind {kind}")

    def _is_withdrawing(self, number: int) -> bool:
        """Whether a call that the process will not begin is one for the next process."""
        return self.is_stuck and number in self.given and not self.given[number].is_given_up

    # --- its end -------------------------------------------------------------------------------

    async def end(self, patience: float = 0.0) -> str:
        """End the process and everything that it started; return how. It first has `patience` seconds to exit."""
        how = self.fault or "it closed its pipe"
        try:
            if not self.fault and await self._ended_within(patience):
                how = self._process.how_it_ended()
            self._process.end()
            await self._ended_within(LONGEST_END)
        finally:
            self.end_now()
        return how

    def close_requests(self) -> None:
        """Close the pipe of calls, so that the process can exit."""
        if self._process.requests >= 0:
            self._writer.close()
            self._process.close_requests()

    def end_now(self) -> None:
        """End the process without awaiting, and release everything except what is known about its calls."""
        if self._is_closed:
            return
        self._is_closed = True
        self.close_requests()
        self._process.end()
        if not self._process.ended_within(LONGEST_END):
            self._process.kill_guardian()
        if not self.is_gone:
            self._gone()
        self._process.close()

    async def _ended_within(self, seconds: float) -> bool:
        limit = time.monotonic() + seconds
        pause = 0.002
        while not self._process.has_ended:
            if time.monotonic() >= limit:
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)
        return True
