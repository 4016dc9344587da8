"""Sync written lines in groups, in a separate thread, so that the writer never waits for the disk."""

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
    """Syncs an open journal. One thread calls `wrote`; that thread and the syncing thread read the fields.

    `lines` and `size` are what was written, `synced_lines` and `synced_size` what is durable. `under_way` is the `size`
    after the write in progress. `failure` is why nothing more can be written. After a failed sync the kernel has
    dropped what it could not write, and another sync would succeed without meaning anything; so none is tried.
    """

    def __init__(self, descriptor: int, name: str, end: JournalEnd) -> None:
        self._descriptor = descriptor
        self._name = name
        self.lines = self.synced_lines = end.lines
        self.size = self.synced_size = self.under_way = end.size
        self.failure: HighbarError | None = None
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        # An event loop takes `_waking`, so it is only held for a moment; `_syncing` is held as long as the disk takes.
        self._syncing, self._waking = threading.Lock(), threading.Lock()
        self._had_name = os.fstat(descriptor).st_nlink > 0  # some file systems report 0 links for every file
        self._is_pending = self._is_over = False
        self._since = 0.0
        self._begun, self._full = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def wrote(self, length: int) -> None:
        """Note that a line of this length was written."""
        self.lines += 1
        self.size += length
        # Not for every line: setting an event takes as long as writing a line.
        if not self._is_pending:
            self._is_pending = True
            self._since = monotonic()
            self._begun.set()
        if self.size - self.synced_size >= LARGEST_GROUP:
            self._full.set()

    async def wait(self, offset: int) -> None:
        """Return when the line at this offset is durable. Raises `failure` if it cannot become durable."""
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
        """Make everything written so far durable. Raises `failure`, of now or earlier."""
        self._sync()
        if self.failure is not None:
            raise self.failure

    def stop(self) -> None:
        """End the thread, without syncing what is left."""
        self._is_over = True
        self._full.set()
        self._begun.set()
        self._thread.join()

    def fail(self, error: HighbarError) -> HighbarError:
        """Note that nothing more can be written. Returns the first reason, which counts."""
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
            # The flags are cleared before the sync: a line written in between is in this sync, or begins a new group.
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
        # The other thread may be writing now. So the lower bound is read before the size of the file, the upper after.
        least = self.size
        found = os.fstat(self._descriptor)
        most = self.under_way
        if found.st_nlink == 0 and self._had_name:
            raise InputError(Problem("file.changed", "was removed while the run went on", self._name, hint=_FOREIGN))
        if not least <= found.st_size <= most:
            message = f"was changed by another process: it has {found.st_size} bytes, and this run wrote {most}"
            raise InputError(Problem("file.changed", message, self._name, hint=_FOREIGN))

    def _wake(self) -> None:
        with self._waking:
            waiters, self._waiters = self._waiters, []
        for loop, waiter in waiters:
            with suppress(RuntimeError):  # the loop has been closed, so nobody waits any more
                loop.call_soon_threadsafe(_resume, waiter)


def _resume(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
