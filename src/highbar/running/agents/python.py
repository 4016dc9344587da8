"""Call an agent that is a Python function, in a separate process that is replaced when it dies or hangs.

One task supervises: it gives calls to the process, watches it, and decides about the calls in flight when the process
must be replaced. The calls that ran when a process died or hung are suspects: each runs again, alone in a fresh
process, and if that dies or hangs too, the call is an error. All other calls go to the next process.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Self

from msgspec import Struct

from highbar.errors import InputError, Problem
from highbar.running.agents.python_process import AgentProcess, PendingCall
from highbar.running.agents.replies import read_attempt, too_large, without_surrogates
from highbar.running.calls import AgentCall, Attempt
from highbar.running.child import frames
from highbar.running.child.process import LONGEST_START
from highbar.running.histogram import Histogram
from highbar.running.standing_still import StandingStill
from highbar.running.watched import Fact
from highbar.scarcity import NotStarted, fewer_at_once, in_words
from highbar.suite.parts import Agent

GRACE = 1.0
"""Seconds in which a process must confirm that it gave up an overdue call; if it does not, it is blocked."""
_LONGEST_DRAIN = 5.0
"""Seconds in which other calls may end before a process with a stuck thread is replaced. After that they run again."""
_LONGEST_IDLE = 30.0
"""Seconds in which a process that runs no call must begin one that it was given."""
_LONGEST_FAREWELL = 2.0
"""Seconds for the agent's exit handlers, for example to send traces."""
_LONGEST_DYING = 2.0
"""Seconds that a process which closed its pipe may take to exit, while the guardian ends its descendants."""
_MOST_FAILED_STARTS = 3
"""Processes in a row that may die or hang before any call begins."""
_PAUSES = (0.0, 0.2, 1.0)
"""Seconds before each attempt to start a process again."""
_SHORTEST_LOOK = 0.001


class FunctionRole(Struct, frozen=True):
    """The role of a function: its name in messages, its first argument, and how the value that it returns is read."""

    name: str
    first_argument: Callable[[AgentCall], Any]
    read: Callable[[Any, Agent, float | None], Attempt]


AGENT = FunctionRole("agent", lambda call: call.text if call.text is not None else call.messages, read_attempt)


class PythonAgent:
    """An agent `module:function`, from the suite's folder or an installed module. Use it with `async with`.

    Entering raises InputError if the function cannot be used. `loop_delays` has by how many milliseconds the event loop
    of an async agent was late, which is part of its latencies. `facts` has what the function read, if its process is to
    note that (`watch`).
    """

    start = 8
    ahead = True

    def __init__(
        self, agent: Agent, folder: Path, role: FunctionRole = AGENT, watch: Mapping[str, Any] | None = None
    ) -> None:
        self.most = 64
        self.loop_delays = Histogram()
        self._agent = agent
        self._role = role
        self._setup = {
            "role": "agent",
            "name": agent.target,
            "folder": str(folder.absolute()),
            "largest": agent.max_reply,
            "watch": watch,
        }
        self.facts: list[Fact] = []
        self._allowed = self.start
        # Start at a random number, which garbage in the pipe does not hit by chance.
        self._numbers = count(int.from_bytes(os.urandom(5), "big") + 1)
        self._takes_scenario = self._has_loaded = False
        self._shortest = math.inf  # the shortest timeout of all calls so far
        self._waiting: deque[PendingCall] = deque()
        self._suspects: deque[PendingCall] = deque()
        self._still = StandingStill()
        self._wanted = asyncio.Event()  # a call waits, and there is no process
        self._failed_starts = 0
        self._start_failure: str | None = None  # why no other process will be started
        self._process: AgentProcess | None = None  # the one that takes calls; None while it is being replaced
        self._newest: AgentProcess | None = None

    async def __aenter__(self) -> Self:
        await self._still.__aenter__()
        try:
            process = await self._start_process()
        except NotStarted:  # this machine has too little of something at this moment; the first call tries again
            process = None
        self._supervision = asyncio.create_task(self._supervise(process))
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self._still.__aexit__()
        is_idle = self._process is not None and not self._process.given
        self._supervision.cancel()
        try:
            await asyncio.wait([self._supervision])
        finally:
            self._settle_all()
            if self._newest is not None:
                self._newest.close_requests()
                await self._newest.end(_LONGEST_FAREWELL if is_idle and kind is None else 0.0)
        if not self._supervision.cancelled():
            self._supervision.result()  # raises its exception, which would be lost otherwise

    @property
    def shortage(self) -> str | None:
        """What this system allows too little of, and what that led to."""
        threads = None if self._newest is None else self._newest.threads
        return fewer_at_once("threads", threads) if threads else None

    def allow(self, at_once: int) -> None:
        """Set how many calls may run at once. Further calls wait for their turn; 0 gives these up."""
        if not at_once:
            self._give_up_waiting()
            return
        self._allowed = at_once
        if self._process is not None:
            self._process.send(frames.encoded(frames.ALLOW, self._allowed))

    def _give_up_waiting(self) -> None:
        """Give up the trials that have not begun. Only the process knows for certain which calls have begun."""
        for pending in self._waiting:
            if pending.call.turn == 1:
                pending.future.cancel()
        if self._process is not None:
            self._process.give_up_waiting()

    async def call(self, call: AgentCall) -> Attempt:
        """Make one attempt. Its latency and its timeout count from when the function is called."""
        if self._start_failure is not None:
            return Attempt("error", reason=self._start_failure)
        number, began = next(self._numbers), time.monotonic()
        pending = PendingCall(number, call, asyncio.get_running_loop().create_future())
        self._take(pending)
        try:
            outcome = await pending.future
        except asyncio.CancelledError:
            if self._newest is not None and number in self._newest.given:
                self._newest.send(frames.encoded(frames.CANCEL, number, 0.0, value=False))
            raise
        return outcome if isinstance(outcome, Attempt) else self._attempt(call, outcome, began)

    def _take(self, pending: PendingCall) -> None:
        if self._process is None:
            self._waiting.append(pending)
            self._wanted.set()
        else:
            self._give(self._process, pending)
        if pending.call.timeout < self._shortest:
            self._shortest = pending.call.timeout
            if self._process is not None:
                self._process.changed.set()

    def _give(self, process: AgentProcess, pending: PendingCall) -> None:
        call = pending.call
        first_argument = self._role.first_argument(call)
        arguments = [first_argument, call.scenario] if self._takes_scenario else [first_argument]
        process.give(pending, frames.encoded(frames.CALL, pending.number, 0.0, arguments))

    def _attempt(self, call: AgentCall, message: frames.Message, began: float) -> Attempt:
        """The attempt, from the message about the call."""
        kind, _, measured, value = message
        # If this process stood still, the other one may have, too: then the latency says nothing.
        latency = None if self._still.has_since(began) else measured
        # An answer that came after the timeout, but before the call could be canceled, is late as well.
        is_late = kind == frames.CANCELED or (latency is not None and latency > call.timeout * 1000)
        if kind == frames.ANSWERED:
            attempt = self._role.read(value, self._agent, latency)
        elif kind == frames.MALFORMED and isinstance(value, list) and len(value) == 2:
            reply = self._role.read(value[0], self._agent, latency).reply
            attempt = Attempt("error", reply, f"malformed reply: {value[1]}", latency)
        elif kind == frames.TOO_LARGE:
            attempt = Attempt("error", reason=too_large(self._agent.max_reply), latency_ms=latency)
        else:
            attempt = Attempt("error", reason=without_surrogates(str(value)), latency_ms=latency)
        return Attempt("error", attempt.reply, _timed_out(call)) if is_late else attempt

    # --- supervision ---------------------------------------------------------------------------

    async def _supervise(self, process: AgentProcess | None) -> None:
        """Give calls to a process and watch it; replace it when it is gone, and so on."""
        try:
            process = process or await self._start_process_again()
            while process is not None:
                self._give_calls(process)
                while (pause := self._check_process(process)) is not None:
                    process.is_unwatched = pause == math.inf
                    with suppress(TimeoutError):
                        async with asyncio.timeout(None if pause == math.inf else pause):
                            await process.changed.wait()
                    process.changed.clear()
                self._process = None
                has_died = process.is_gone
                how = await process.end(_LONGEST_DYING if has_died else 0.0)
                self._take_back_calls(process, f"the {self._role.name}'s process ended: {how}" if has_died else None)
                process = await self._start_process_again()
        finally:
            self._settle_all()  # without supervision nobody would ever answer them

    def _give_calls(self, process: AgentProcess) -> None:
        """Give the process the next suspect alone, or if there is none, everything that waits."""
        process.send(frames.encoded(frames.ALLOW, self._allowed))
        while self._suspects:
            suspect = self._suspects.popleft()
            if not suspect.future.done():
                process.is_alone = True
                self._give(process, suspect)
                return
        self._process = process
        for pending in self._waiting:
            if not pending.future.done():
                self._give(process, pending)
        self._waiting.clear()

    def _check_process(self, process: AgentProcess) -> float | None:
        """Cancel overdue calls. Returns the seconds until the next look; None if the process must be replaced."""
        if process.is_gone or (process.is_alone and not process.given):
            return None
        process.give_back(self._still.take_lost())
        now = time.monotonic()
        next_look = now + self._shortest if process.given else math.inf  # a call can begin at any time
        running = process.running()
        for number, start in running.items():
            pending = process.given[number]
            due = self._still.due(start, pending.call.timeout)
            if pending.overdue_since is None and now >= due:
                pending.overdue_since = now
                process.send(frames.encoded(frames.CANCEL, number, 0.0, value=True))
            elif now < due:
                next_look = min(next_look, due)
        limit = self._replace_at(process, set(running), now)
        return None if limit <= now else max(min(next_look, limit) - now, _SHORTEST_LOOK)

    def _replace_at(self, process: AgentProcess, running: set[int], now: float) -> float:
        """The time at which the process must be replaced if nothing changes; infinity if never."""
        overdue = [process.given[number].overdue_since for number in running]
        limits = [since + GRACE for since in overdue if since is not None]
        if process.is_stuck:
            if self._process is process:
                self._process = None
                process.stuck_since = now
                process.send(frames.encoded(frames.ALLOW, 0))
                process.withdraw_waiting()
            limits.append(now if process.is_drained else process.stuck_since + _LONGEST_DRAIN)
        elif process.given and not running:  # it should have begun a call
            process.idle_since = now if process.idle_since is None else process.idle_since
            limits.append(process.idle_since + _LONGEST_IDLE)
        else:
            process.idle_since = None
        return min(limits, default=math.inf)

    def _take_back_calls(self, process: AgentProcess, death: str | None) -> None:
        """Decide what to do with the calls that were in flight when a process died, hung, or had a stuck thread.

        `death` is how the process died; None if it was ended because it hung or had a stuck thread.
        """
        for pending in process.given.values():
            if pending.is_given_up and pending.number not in process.running_at_end:
                pending.future.cancel()
        left = [pending for pending in process.given.values() if not pending.future.done()]
        if process.lack is not None:
            for pending in left:
                pending.settle(Attempt("infrastructure", reason=process.lack))
            return
        if process.is_alone:
            for pending in left:
                pending.settle(self._end_alone(process, pending, death))
            return
        is_hung = any(pending.overdue_since is not None for pending in left) or not process.is_stuck
        suspects = [pending for pending in left if pending.number in process.running_at_end]
        if death is None and not is_hung:  # only a thread was stuck, and its call has been settled already
            suspects = []
        self._failed_starts = 0 if suspects or process.replies else self._failed_starts + 1
        # Processes that end before any call begins point at no call. Trying each alone makes sure that this ends.
        if self._failed_starts >= _MOST_FAILED_STARTS:
            suspects = left
        for pending in left:
            pending.overdue_since, pending.is_withdrawn = None, False
        self._suspects.extend(suspects)
        numbers = {pending.number for pending in suspects}
        self._waiting.extendleft(pending for pending in reversed(left) if pending.number not in numbers)

    def _end_alone(self, process: AgentProcess, pending: PendingCall, death: str | None) -> Attempt:
        """What became of the only call of a process that died or hung: an error if the function was called."""
        silence = f"the {self._role.name}'s process does not answer" if pending.overdue_since is None else None
        reason = death or silence or _timed_out(pending.call)
        if process.has_called:
            return Attempt("error", reason=reason)
        return Attempt("infrastructure", reason=f"{reason}, before the function was called")

    # --- starting ------------------------------------------------------------------------------

    async def _start_process_again(self) -> AgentProcess | None:
        """Start a fresh process. Returns None if the function cannot be loaded; then every call is an error.

        If the machine has too little of something, the calls that wait get no answer, and the next one tries again.
        """
        failed = f"the {self._role.name}'s process could not be started{' again' if self._has_loaded else ''}"
        while True:
            for pause in _PAUSES:
                await asyncio.sleep(pause)
                try:
                    return await self._start_process()
                except InputError as error:
                    final, reason = True, f"{failed}: {error.problems[0].message}"
                except NotStarted as error:
                    final, reason = False, f"{failed}: {error}"
            if final:
                self._start_failure = reason
                self._settle_all(Attempt("error", reason=reason))
                return None
            self._wanted.clear()
            self._settle_all(Attempt("infrastructure", reason=reason))
            await self._wanted.wait()

    async def _start_process(self) -> AgentProcess:
        """Start a process and wait until it has loaded the agent.

        Raises InputError if the function cannot be loaded, and NotStarted if the process never came to that.
        """
        try:
            process = self._newest = AgentProcess(self._setup, self.loop_delays, self.facts)
        except (OSError, MemoryError) as error:
            raise NotStarted(in_words(error)) from error
        try:
            async with self._still.timeout(LONGEST_START):
                message = await process.ready
            self._read_facts(message)
        except (InputError, TimeoutError) as error:
            how = await process.end(_LONGEST_DYING if process.is_gone else 0.0)
            if isinstance(error, TimeoutError):
                raise self._not_loaded(f"its import takes longer than {LONGEST_START:g} s") from error
            if message is not None:
                raise
            if not process.has_loaded or self._has_loaded:
                raise NotStarted(process.lack or f"it ended: {how}") from error
            raise self._not_loaded(f"the process ended: {how}") from error
        except BaseException:
            process.end_now()
            raise
        return process

    def _read_facts(self, message: frames.Message | None) -> None:
        match message:
            case (frames.READY, _, _, {"is_async": bool(is_async), "takes_scenario": bool(takes_scenario)}):
                self.most = 64 if is_async else 32
                self._takes_scenario = takes_scenario
                self._has_loaded = True
            case (frames.REFUSED, _, _, {"message": str(text), "hint": hint, "file": file, "line": line}):
                raise InputError(Problem("agent.not-loaded", text, file=file, line=line, hint=hint))
            case _:
                raise self._not_loaded("something else than its replies was written into its pipe")

    def _not_loaded(self, why: str) -> InputError:
        return InputError(
            Problem("agent.not-loaded", f"the {self._role.name} {self._agent.target} cannot be loaded: {why}")
        )

    def _settle_all(self, attempt: Attempt | None = None) -> None:
        """Settle every pending call with this attempt, or cancel it if there is none."""
        given = self._newest.given.values() if self._newest else ()
        for pending in (*self._waiting, *self._suspects, *given):
            if attempt is None:
                pending.future.cancel()
            else:
                pending.settle(attempt)
        self._waiting.clear()
        self._suspects.clear()


def _timed_out(call: AgentCall) -> str:
    return f"timed out after {call.timeout:g} s"
