"""The journal of a running run: each line is with the kernel when `append` returns, and on the disk soon after."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn, Self

from highbar.errors import InputError, Problem, ReportError
from highbar.running.journal.lines import LONGEST_PAYLOAD, START, JournalEnd, encode_line
from highbar.running.journal.reading import JournalReader
from highbar.running.journal.syncing import GroupSync

_FLAGS = os.O_RDWR | os.O_APPEND
_LOCKS = Path("/proc/locks")  # on Linux


class Journal:
    """A journal that only this process appends to, from one thread. Offsets are those of lines in the file."""

    def __init__(self, descriptor: int, name: str, end: JournalEnd) -> None:
        self._descriptor = descriptor
        self.name = name
        self._checksum = end.checksum
        self._sync = GroupSync(descriptor, name, end)
        self._is_closed = False
        self._is_refused = False  # `append` has raised why nothing can be written

    @classmethod
    def create(cls, path: Path, name: str | None = None) -> Self:
        """Create a journal; messages use `name` for it. Raises InputError if that fails, or if the path exists."""
        try:
            descriptor = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666)
        except OSError as error:
            raise InputError(Problem("file.unwritable", f"cannot be made: {error.strerror}", str(path))) from None
        with _closed_on_error(descriptor):
            lock(descriptor, str(path))
            return cls(descriptor, name or str(path), START)

    @classmethod
    def reopen(
        cls, path: Path, each: Callable[[int, bytes], object] | None = None, known: JournalEnd | None = None
    ) -> Self:
        """Open a journal that was closed or that a crash left; `each` gets the offset and payload of every line.

        Cuts a torn tail, and makes everything else durable before it returns. Raises InputError if another process
        writes the journal, if it cannot be written, if it is damaged, or if it does not contain the `known` end.
        """
        try:
            descriptor = os.open(path, _FLAGS)
        except OSError as error:
            raise InputError(Problem("file.unwritable", f"cannot be written: {error.strerror}", str(path))) from None
        with _closed_on_error(descriptor):
            lock(descriptor, str(path))
            reader = JournalReader(descriptor, str(path))
            for offset, payload in reader:
                if each is not None:
                    each(offset, payload)
            reader.refuse_loss(known)
            _cut(descriptor, reader, str(path))
            return cls(descriptor, str(path), reader.end)

    def append(self, payload: bytes) -> int:
        """Write a payload as one line, and return the offset of the line. It is durable after `wait_synced`.

        Raises ReportError if it cannot be written; the file then ends with the last whole line, and nothing more is
        written. Raises InputError if something else wrote into the file.
        """
        group = self._sync
        # A signal handler that raises can interrupt a write before it is counted: then the end of the file is unknown.
        if group.failure is not None or group.under_way != group.size:
            self._refuse()
        if b"\n" in payload or b"\0" in payload or len(payload) > LONGEST_PAYLOAD:
            raise ValueError("a record is one line of JSON")
        line = encode_line(payload, self._checksum, group.synced_lines)
        offset, length = group.size, len(line)
        group.under_way = offset + length
        try:
            written = os.write(self._descriptor, line)
            while written < length:
                written += os.write(self._descriptor, memoryview(line)[written:])
        except OSError as error:
            self._give_up(offset, error)
        self._checksum = line[:8]
        group.wrote(length)
        return offset

    @property
    def size(self) -> int:
        """The offset of the next line."""
        return self._sync.size

    @property
    def end(self) -> JournalEnd:
        """The end of the last line."""
        return JournalEnd(self._sync.size, self._sync.lines, self._checksum)

    @property
    def synced(self) -> int:
        """How many lines are durable."""
        return self._sync.synced_lines

    async def wait_synced(self, offset: int) -> None:
        """Return when the line at this offset is durable. Raises ReportError if it cannot be made so."""
        await self._sync.wait(offset)

    def sync(self) -> None:
        """Make all lines durable now. Raises ReportError if that fails."""
        self._sync.sync()

    def close(self) -> None:
        """Make all lines durable, and unlock the journal. Raises what went wrong, unless `append` has raised it."""
        if self._is_closed:
            return
        self._is_closed = True
        self._sync.stop()
        try:
            if not self._is_refused:
                self._sync.sync()
        finally:
            self._sync.fail(ReportError(f"{self.name} is closed"))
            os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refuse(self) -> NoReturn:
        self._is_refused = True
        raise self._sync.fail(ReportError(f"{self.name} could not be written: writing a line was interrupted"))

    def _give_up(self, offset: int, error: OSError) -> NoReturn:
        """Cut off the part of a line that was written, and refuse to write anything more."""
        # If this fails, a torn tail remains, which is cut when the run is resumed.
        with suppress(OSError):
            os.ftruncate(self._descriptor, offset)
            os.fsync(self._descriptor)
        self._is_refused = True
        raise self._sync.fail(ReportError(f"{self.name} could not be written: {error.strerror or error}")) from error


def _cut(descriptor: int, reader: JournalReader, name: str) -> None:
    """Cut a torn tail, and make durable what was read, because the next line will say that it was synced."""
    try:
        if reader.torn:
            os.ftruncate(descriptor, reader.end.size)
        os.fsync(descriptor)
    except OSError as error:
        raise InputError(Problem("file.unwritable", f"cannot be written: {error.strerror}", name)) from None


@contextmanager
def _closed_on_error(descriptor: int) -> Iterator[None]:
    try:
        yield
    except BaseException:
        os.close(descriptor)
        raise


# --- the lock ---------------------------------------------------------------------------------


def lock(descriptor: int, name: str) -> None:
    """Lock an open journal until it is closed. Raises InputError if another process has locked it.

    Children must not inherit the descriptor, or an orphan keeps the lock. Descriptors of `os.open` are not inherited.
    """
    try:
        import fcntl  # not on every system
    except ImportError:
        raise InputError(Problem("machine.unsupported", "this system cannot lock the journal of a run", name)) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(os.fstat(descriptor).st_ino)
        who = f" (process {holder})" if holder else ""
        hint = "wait until it has ended, or stop it"
        raise InputError(Problem("run.locked", f"locked by another run{who}", name, hint=hint)) from None
    except OSError as error:
        raise InputError(Problem("run.locked", f"cannot be locked: {error.strerror}", name)) from None


def _holder(inode: int) -> int | None:
    """The id of the process that holds the lock; None if the system does not say."""
    try:
        table = _LOCKS.read_text("ascii")
    except (OSError, ValueError):
        return None
    for line in table.splitlines():
        match line.split():
            case [_, "FLOCK", "ADVISORY", "WRITE", process, file, *_] if file.endswith(f":{inode}"):
                # A process of another container has no id here.
                return int(process) if process.isdigit() and int(process) else None
    return None
