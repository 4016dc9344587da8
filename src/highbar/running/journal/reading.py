"""The file of a journal → its payloads, each with the offset of its line. Reading changes nothing and takes no lock."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from zlib import crc32

from highbar.errors import InputError, Problem
from highbar.running.journal.lines import (
    HEADER,
    LONGEST_PAYLOAD,
    START,
    JournalEnd,
    checksum_before,
    is_beginning,
    is_whole,
    payload_length,
    synced_lines,
)

_BLOCK = 1 << 20
_FIRST_LOOK = 4096  # bytes: most lines are shorter, so one call reads them
_HINT = "restore the folder from a copy, or start a new run; no process but Highbar may write into the folder of a run"


@contextmanager
def open_journal(path: Path) -> Iterator[int]:
    """Open a journal for reading, as a file descriptor. Raises InputError if it cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError as error:
        raise InputError(Problem("file.unreadable", f"cannot be read: {error.strerror}", str(path))) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class JournalReader:
    """Reads an open journal once: every payload with the offset of its line, in order.

    Raises InputError when it comes to damage: do not act on the first payloads before the last one was read. After the
    last one, `end` is the end of the good part.

    `torn`: a torn tail follows the good part. `size` is the length of the file when reading began: lines that a running
    run adds in the meantime are not read.
    """

    def __init__(self, descriptor: int, name: str) -> None:
        self._descriptor = descriptor
        self._name = name
        self.size = os.fstat(descriptor).st_size
        self.end = START
        self.torn = False

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        before, lines, end = START.checksum, 0, 0
        parts = self._parts()
        # A correct checksum proves that length and line end are correct, too. The loop calls none of our functions:
        # so a journal of a million lines is read in two seconds.
        for at, line in parts:
            checksum = line[:8]
            if line[8:17] != b" " + before or checksum != b"%08x" % crc32(line[9:]):
                self.end = JournalEnd(end, lines, before)
                self.torn = True
                _examine_tail(chain([(at, line)], parts), self.end, self._name)
                return
            yield at, line[HEADER:-1]
            before = checksum
            lines += 1
            end = at + len(line)
        self.end = JournalEnd(end, lines, before)

    def refuse_loss(self, known: JournalEnd | None) -> None:
        """Raise InputError unless the `known` end, which run.json stores, is the end of a line of this journal."""
        if known is None or known == self.end:
            return
        # The line after the known end has the checksum of the line before it, so no earlier line has to be read again.
        if known.size >= self.end.size or checksum_before(self._read(HEADER, known.size)) != known.checksum:
            message = f"damaged: not the journal that had {known.lines} lines and {known.size} bytes when the run ended"
            raise InputError(
                Problem("run.damaged", message, self._name, hint="restore the folder from a copy, or start a new run")
            )

    def _parts(self) -> Iterator[tuple[int, bytes]]:
        """Split the file after each line end; yields offset and bytes. The last part may have no line end."""
        at, rest = 0, b""
        while left := self.size - at - len(rest):
            # Double what there is of an unfinished line, so that a long line is not copied again for every block.
            block = self._read(min(max(_BLOCK, len(rest)), left), at + len(rest))
            if not block:
                break
            data = rest + block
            begin = 0
            while end := data.find(b"\n", begin) + 1:
                yield at + begin, data[begin:end]
                begin = end
            at, rest = at + begin, data[begin:]
            if len(rest) > HEADER + LONGEST_PAYLOAD:  # no line is that long, so this is damage
                yield at, rest
                at, rest = at + len(rest), b""
        if rest:
            yield at, rest

    def _read(self, size: int, at: int) -> bytes:
        try:
            return os.pread(self._descriptor, size, at)
        except OSError as error:
            raise InputError(
                Problem("file.unreadable", f"cannot be read at byte {at}: {error.strerror}", self._name)
            ) from None


def _examine_tail(parts: Iterable[tuple[int, bytes]], good: JournalEnd, name: str) -> None:
    """Raise InputError unless the parts after `good` are a torn tail. Only the last part may lack a line end."""
    before: bytes | None = good.checksum
    for at, part in parts:
        # Zeros hide line ends, so a whole line may follow them in the same part.
        line = part[part.rfind(b"\0") + 1 :]
        has_zeros = len(line) < len(part)
        if has_zeros:
            before = None
        if is_whole(line):
            _examine_line(line, before, good, at, name)
            before = line[:8]
        elif not has_zeros and not is_beginning(part, before):
            raise _damaged(good, at, "text that this run did not write, or that was changed afterwards", name)


def _examine_line(line: bytes, before: bytes | None, good: JournalEnd, at: int, name: str) -> None:
    if before is not None and checksum_before(line) != before:
        raise _damaged(good, at, "a line that does not follow the one before it", name)
    if (synced := synced_lines(line)) > good.lines:
        raise _damaged(good, at, f"a line that says that {synced} lines were synced", name)


def _damaged(good: JournalEnd, at: int, what: str, name: str) -> InputError:
    found = what if at == good.size else f"byte {at} has {what}"
    return InputError(Problem("run.damaged", f"damaged at byte {good.size}: {found}", name, good.lines + 1, hint=_HINT))


def payload_at(descriptor: int, offset: int, name: str) -> bytes:
    """The payload of the line at an offset. Raises InputError if the line is not as it was written."""
    try:
        line = os.pread(descriptor, _FIRST_LOOK, offset)
        end = line.find(b"\n") + 1
        if end:
            line = line[:end]
        elif len(line) == _FIRST_LOOK:
            line += _rest(descriptor, line, offset)
    except (OSError, ValueError):
        line = b""
    if not is_whole(line):
        raise InputError(Problem("run.damaged", f"damaged: no line of the journal at byte {offset}", name))
    return line[HEADER:-1]


def _rest(descriptor: int, line: bytes, offset: int) -> bytes:
    """The rest of a long line. Raises ValueError if its header has no length."""
    parts: list[bytes] = []
    missing = HEADER + payload_length(line) + 1 - len(line)
    while missing > 0 and (part := os.pread(descriptor, missing, offset + len(line) + sum(map(len, parts)))):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)
