"""What was written is made durable in groups, by a thread of its own, so that nobody who writes waits for a disk."""

from __future__ import annotations

import asyncio
import os
import threading
from contextlib import suppress
from time import monotonic

from highbar.errors import HighbarError, InputError, Problem, ReportError
from highbar.running.journal.lines import JournalEnd

LONGEST_WAIT = 0.05
"""Seconds that a line waits for others before it is synced with them."""
LARGEST_GROUP = 1 << 20
"""Bytes that are synced without waiting for more."""
_FOREIGN = "does the agent write into the folder of the run? Nothing but Highbar may"
_fdatasync = getattr(os, "fdatasync", os.fsync)  # macOS has only the latter


class GroupSync:
    """Syncs an open journal. `wrote` is called by one thread; the fields are read by both.

    `lines` and `size` are what was written, `synced_lines` and `synced_size` what is durable. `under_way` is `size`
    after the write that has begun. `failure` is why nothing more can be written. After a failed sync the kernel has
    dropped what it could not write, so a second sync would succeed and mean nothing: there is none.
    """

    def __init__(self, descriptor: int, name: str, end: JournalEnd) -> None:
        self._descriptor = descriptor
        self._name = name
        self.lines = self.synced_lines = end.lines
        self.size = self.synced_size = self.under_way = end.size
        self.failure: HighbarError | None = None
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        # The second is held for a moment only, since an event loop takes it; the first as long as a disk takes.
        self._syncing, self._waking = threading.Lock(), threading.Lock()
        self._had_name = os.fstat(descriptor).st_nlink > 0  # some file systems never say so
        self._is_pending = self._is_over = False
        self._since = 0.0
        self._begun, self._full = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def wrote(self, length: int) -> None:
        """A line of this length was written."""
        self.lines += 1
        self.size += length
        # Not an event for every line: setting one takes as long as writing a line.
        if not self._is_pending:
            self._is_pending = True
            self._since = monotonic()
            self._begun.set()
        if self.size - self.synced_size >= LARGEST_GROUP:
            self._full.set()

    async def wait(self, offset: int) -> None:
        """Return when the line at this offset is durable. Raises what went wrong if it cannot be."""
        loop = asyncio.get_running_loop()
        while self.synced_size <= offset:
            waiter = loop.create_future()
            with self._waking:
                if self.failure is not None:
                    raise self.failure
                if self.synced_size <= offset:
                    self._waiters.append((loop, waiter))
                else:
                    return
            await waiter

    def sync(self) -> None:
        """Make durable what was written until now. Raises what went wrong, now or earlier."""
        self._sync()
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        """End the thread. What was not synced stays so."""
        self._is_over = True
        self._full.set()
        self._begun.set()
        self._thread.join()

    def fail(self, error: HighbarError) -> HighbarError:
        """Nothing more can be written. The first reason counts, and is returned."""
        with self._waking:
            self.failure = first = self.failure or error
        self._wake()
        return first

    def _run(self) -> None:
        while True:
            self._begun.wait()
            self._full.wait(max(0.0, self._since + LONGEST_WAIT - monotonic()))
            if self._is_over:
                return
            # In this order: a line that is written meanwhile is counted in `_sync`, or begins a new group.
            self._full.clear()
            self._begun.clear()
            self._is_pending = False
            self._sync()

    def _sync(self) -> None:
        with self._syncing:
            lines, written = self.lines, self.size
            if self.failure is not None or written == self.synced_size:
                return
            try:
                _fdatasync(self._descriptor)
                self._look()
            except OSError as error:
                self.fail(ReportError(f"{self._name} could not be written: {error.strerror or error}"))
            except InputError as error:
                self.fail(error)
            else:
                with self._waking:
                    self.synced_lines, self.synced_size = lines, written
                self._wake()

    def _look(self) -> None:
        """Raise InputError if the file is not what this process wrote: an agent may try to add results of its own."""
        least = self.size
        found = os.fstat(self._descriptor)
        most = self.under_way
        if found.st_nlink == 0 and self._had_name:
            raise InputError(Problem("was removed while the run went on", self._name, hint=_FOREIGN))
        if not least <= found.st_size <= most:
            message = f"was changed by another process: it has {found.st_size} bytes, and this run wrote {most}"
            raise InputError(Problem(message, self._name, hint=_FOREIGN))

    def _wake(self) -> None:
        with self._waking:
            waiters, self._waiters = self._waiters, []
        for loop, waiter in waiters:
            with suppress(RuntimeError):  # its loop was closed: nobody waits any more
                loop.call_soon_threadsafe(_resume, waiter)


def _resume(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
