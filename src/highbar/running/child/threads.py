"""Call a sync function in threads, with a limited number of calls at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from queue import Empty, SimpleQueue
from typing import Any

from highbar.running.child import frames, watching
from highbar.running.child.slots import Slots
from highbar.running.child.values import call_function

Task = tuple[int, list[Any]]
"""The number of a call, and its arguments."""


class ThreadWriter:
    """Writes from many threads. While one of them writes, the others leave their messages for its next write."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._waiting: deque[bytes] = deque()  # its methods are atomic; swapping a list for an empty one is not
        self._writing = threading.Lock()

    def write(self, message: bytes) -> None:
        """Write a message, or leave it to the thread that is writing."""
        self._waiting.append(message)
        # A loop: another thread may add a message after the writer's last look, but before it releases the lock.
        while self._waiting and self._writing.acquire(blocking=False):
            try:
                self._write_all()
            finally:
                self._writing.release()

    def _write_all(self) -> None:
        while self._waiting:
            messages = [self._waiting.popleft() for _ in range(len(self._waiting))]
            watching.note_modules()
            try:
                frames.write_message(self._file, b"".join(messages))
            except BrokenPipeError:  # the parent was killed; `requests` will end, and this process with it
                return


class ThreadCalls:
    """Threads that take calls from a queue. All methods but `_work` run in the main thread."""

    def __init__(self, function: Callable[..., Any], writer: ThreadWriter, slots: Slots, largest: int) -> None:
        self._function = function
        self._writer = writer
        self._slots = slots
        self._largest = largest
        self._context = copy_context()  # as the import of the module left it
        self._tasks: SimpleQueue[Task | None] = SimpleQueue()
        # Removing a call is atomic. Whoever removes it from `_waiting` begins or cancels it; whoever removes it from
        # `_running` sends the message about it.
        self._waiting: dict[int, bool] = {}
        self._running: dict[int, int] = {}  # from calls to slots
        self._allowed = 0
        self._most: int | None = None  # as far as the system allows threads
        self._free: deque[int] = deque()
        self._used = 0

    def receive(self, message: frames.Message) -> None:
        """Carry out a message."""
        kind, call, _, value = message
        if kind == frames.CALL:
            self._waiting[call] = True
            self._tasks.put((call, value))
        elif kind == frames.CANCEL:
            self._cancel(call, is_overdue=value)
        elif kind == frames.ALLOW:
            self._allow(call)

    def _allow(self, at_once: int) -> None:
        """Set how many calls may run at once from now on. Calls that run already are not touched."""
        if self._most is not None:
            at_once = min(at_once, self._most)
        try:
            while self._allowed < at_once:
                self._start_thread()
                self._allowed += 1
        except (RuntimeError, MemoryError):  # this system allows no more
            # Half of them end again: the function itself may need threads and processes.
            at_once = self._most = (self._allowed + 1) // 2
            self._writer.write(frames.encoded(frames.THREADS, at_once))
        if at_once < self._allowed:
            # The ends go in front of the waiting calls: otherwise threads would end only after all of these.
            waiting = self._take_all()
            for _ in range(at_once, self._allowed):
                self._tasks.put(None)  # the next thread that is free ends
            for task in waiting:
                self._tasks.put(task)
        self._allowed = at_once

    def _start_thread(self) -> None:
        if not self._free:
            self._free.append(self._used)
            self._used += 1
        threading.Thread(target=self._work, args=(self._free[0],), daemon=True).start()
        self._free.popleft()

    def _take_all(self) -> list[Task | None]:
        """Remove everything from the queue, and return it."""
        found = []
        try:
            while True:
                found.append(self._tasks.get_nowait())
        except Empty:
            return found

    def _cancel(self, call: int, *, is_overdue: bool) -> None:
        """Give up a call that has not begun or is overdue. All other calls end with their reply."""
        if self._waiting.pop(call, False):
            self._writer.write(frames.encoded(frames.CANCELED, call, 0.0, value=False))
        elif is_overdue and (slot := self._running.pop(call, None)) is not None:
            self._slots.clear(slot)
            self._writer.write(frames.encoded(frames.CANCELED, call, 0.0, value=True))

    def _work(self, slot: int) -> None:
        while (task := self._tasks.get()) is not None:
            call, arguments = task
            if not self._waiting.pop(call, False):
                continue  # it was canceled
            self._running[call] = slot
            self._slots.mark(slot, call)
            message = call_function(self._function, arguments, call, largest=self._largest, context=self._context)
            if self._running.pop(call, None) is not None:
                self._writer.write(message)
                self._slots.clear(slot)
        self._free.append(slot)


def serve(function: Callable[..., Any], requests: int, replies: int, slots: Slots, largest: int) -> None:
    """Carry out messages until there are no more."""
    calls = ThreadCalls(function, ThreadWriter(replies), slots, largest)
    reader = frames.MessageReader()
    while reader.read(requests, calls.receive):
        pass
