"""Await an async function in one event loop, with a limited number of calls at once."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import Any

from highbar.running.child import frames, watching
from highbar.running.child.clocks import monotonic, perf_counter
from highbar.running.child.slots import Slots
from highbar.running.child.values import describe_error, reply

_TICK = 0.05
"""Seconds between two measurements of how late the loop is."""
_MOST_DELAYS = 1000
"""Delays in one message. A loop that was blocked for long counts as late at every measurement that it missed."""


class LoopWriter:
    """Writes messages without blocking the loop, all those of one iteration of the loop at once."""

    def __init__(self, file: int, loop: asyncio.AbstractEventLoop) -> None:
        os.set_blocking(file, False)
        self._file = file
        self._loop = loop
        self._waiting: list[bytes] = []
        self._rest = memoryview(b"")

    @property
    def is_working(self) -> bool:
        """Whether the loop still runs."""
        return self._loop.is_running()

    def write(self, message: bytes) -> None:
        """Write a message in the next iteration of the loop."""
        if not self._waiting and not self._rest:
            self._loop.call_soon(self._write_all)
        self._waiting.append(message)

    def close(self) -> None:
        """Write nothing more. The file stays open."""
        if self._file >= 0:
            self._loop.remove_writer(self._file)
            self._file = -1

    def _write_all(self) -> None:
        if self._file < 0:
            return
        if not self._rest:
            self._rest = memoryview(b"".join(self._waiting))
            self._waiting.clear()
        try:
            self._rest = self._rest[os.write(self._file, self._rest) :]
        except BlockingIOError:
            pass
        except OSError:  # the other process has ended, which the end of its messages will show
            self._rest = memoryview(b"")
        if self._rest:
            self._loop.add_writer(self._file, self._write_all)
            return
        self._loop.remove_writer(self._file)
        if self._waiting:
            self._loop.call_soon(self._write_all)


class DirectWriter:
    """Writes each message at once. Facts are written in between, which a part of a message would not survive."""

    def __init__(self, file: int, loop: asyncio.AbstractEventLoop) -> None:
        self._file = file
        self._loop = loop

    @property
    def is_working(self) -> bool:
        """Whether the loop still runs."""
        return self._loop.is_running()

    def write(self, message: bytes) -> None:
        """Write a message, after what led to it."""
        watching.note_modules()
        with suppress(BrokenPipeError):  # the parent was killed; `requests` will end, and this process with it
            frames.write_message(self._file, message)


class LoopCalls:
    """Calls that run as tasks of a loop, and calls that wait for a slot."""

    def __init__(
        self, function: Callable[..., Any], writer: LoopWriter | DirectWriter, slots: Slots, largest: int
    ) -> None:
        self._function = function
        self._writer = writer
        self._slots = slots
        self._largest = largest
        self._context = copy_context()  # as the import of the module left it; no call sees what another one set
        self._waiting: deque[tuple[int, list[Any]]] = deque()
        # Task and slot by call. Whoever removes a call from here sends the message about it, so there is only one.
        self._running: dict[int, tuple[asyncio.Task[None], int]] = {}
        self._allowed = 0
        self._free: deque[int] = deque()
        self._used = 0
        self._delays: list[float] = []  # milliseconds, sent along with the next message

    def receive(self, message: frames.Message) -> None:
        """Carry out a message."""
        kind, call, _, value = message
        if kind == frames.CALL:
            self._waiting.append((call, value))
        elif kind == frames.CANCEL:
            if value is not None or call not in self._running:
                self._cancel(call)
        elif kind == frames.ALLOW:
            self._allowed = call
        self._start_next()

    def watch_delay(self, due: float | None = None) -> None:
        """Measure how late the loop is while calls run, and schedule the next measurement."""
        now = monotonic()
        if due is not None and self._running:
            late = max(0.0, now - due)
            missed = range(min(int(late / _TICK) + 1, _MOST_DELAYS - len(self._delays)))
            self._delays += [(late - look * _TICK) * 1000 for look in missed]
        asyncio.get_running_loop().call_later(_TICK, self.watch_delay, now + _TICK)

    def _start_next(self) -> None:
        while self._waiting and len(self._running) < self._allowed:
            call, arguments = self._waiting.popleft()
            if not self._free:
                self._free.append(self._used)
                self._used += 1
            slot = self._free.popleft()
            run = self._run(call, arguments, slot)
            task = asyncio.get_running_loop().create_task(run, context=self._context.copy())
            self._running[call] = task, slot

    def _cancel(self, call: int) -> None:
        if call in self._running:
            self._remove(call)[0].cancel()
        else:
            self._waiting = deque(task for task in self._waiting if task[0] != call)
        self._send(frames.encoded(frames.CANCELED, call, 0.0, value=False))

    def _send(self, message: bytes) -> None:
        if self._delays:
            self._writer.write(frames.encoded(frames.DELAYS, 0, 0.0, self._delays))
            self._delays = []
        self._writer.write(message)

    def _remove(self, call: int) -> tuple[asyncio.Task[None], int]:
        found = self._running.pop(call)
        self._slots.clear(found[1])
        self._free.append(found[1])
        return found

    async def _run(self, call: int, arguments: list[Any], slot: int) -> None:
        self._slots.mark(slot, call)
        end = 0.0
        start = perf_counter()
        try:
            value = await self._function(*arguments)
            end = perf_counter()
            message = reply(call, (end - start) * 1000, value, self._largest)
        except BaseException as error:  # noqa: BLE001  # SystemExit and KeyboardInterrupt are errors of the agent as well
            latency = ((end or perf_counter()) - start) * 1000
            message = frames.encoded(frames.RAISED, call, latency, describe_error(error))
        # Otherwise it was canceled, or the process is about to end: then no message gets out, and the slot stays
        # marked, so that the parent knows which calls ran.
        if call in self._running and self._writer.is_working:
            self._send(message)
            self._remove(call)
            self._start_next()


def serve(function: Callable[..., Any], requests: int, replies: int, slots: Slots, largest: int) -> None:
    """Carry out messages until there are no more."""
    loop = asyncio.new_event_loop()
    kind = DirectWriter if watching.is_watched() else LoopWriter
    calls = LoopCalls(function, kind(replies, loop), slots, largest)
    reader = frames.MessageReader()

    def readable() -> None:
        if not reader.read(requests, calls.receive):
            loop.remove_reader(requests)  # the loop runs once more for the cleanup, and must not read the end again
            loop.stop()

    loop.add_reader(requests, readable)
    loop.call_soon(calls.watch_delay)
    is_over = False
    while not is_over:
        try:
            loop.run_forever()
            is_over = True
        except (SystemExit, KeyboardInterrupt):  # raised in a task that the function started, which sees it as well
            continue
    loop.run_until_complete(_end_tasks(loop))


async def _end_tasks(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the tasks that the function left behind, and let them clean up."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await loop.shutdown_asyncgens()
