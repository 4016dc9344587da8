"""How many results a file holds, counted without the engine: what it used is compared with this.

Every counter takes the unpacked bytes in blocks, in bounded memory, and is fast: it runs beside the engine. None of
them understands results. That a line is JSON, or a field in place, is for the engine to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import IO

from highbar.errors import InputError
from highbar.model import Format

LONGEST = 16 * 1024 * 1024
"""The most bytes of one result as text: its line, its CSV record, or its element of an array."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\x0b\x0c"
_STARTS = re.compile(rb"\n[ \t\r\x0b\x0c]*[^ \t\r\x0b\x0c\n]")
"""A line that is not blank, from the line feed before it; found by memchr, so long lines cost next to nothing."""
_SMALL_ARRAY = 256 * 1024
_LARGE_ARRAY = 128 * 1024 * 1024
"""Bytes beyond which the elements are counted in bounded memory, which takes longer."""


class TooLong(ValueError):
    """A result of more than LONGEST bytes; `offset` is a byte of it, if that is known."""

    def __init__(self, offset: int | None) -> None:
        super().__init__(offset)
        self.offset = offset


class Uncountable(ValueError):
    """What is there cannot be counted, since it does not have the form that its name says."""


def count_lines(blocks: Iterable[bytes]) -> int:
    """Lines that are not blank, with any line ending; the last may have none."""
    found, blank = 0, True  # `blank`: of the line that is not at its end yet nothing was seen but blanks
    for block in _measured(without_mark(blocks)):
        # A line may begin in one block and go on in the next: it counts once, where its first visible byte is.
        text = b"\n" + block if blank else block
        found += len(_STARTS.findall(text))
        end = text.rfind(b"\n")
        if end >= 0:
            blank = not text[end:].strip(_BLANKS + b"\n")
    return found


def count_records(blocks: Iterable[bytes]) -> int:
    """CSV records that are not blank, the header not counted: lines, unless the line feed is between quotes.

    A quote inside of quotes is doubled, so that it ends them and begins them again: counting quotes is enough. A quote
    inside of a field that has none around it (`5" screen`) deceives this; `records_one_by_one` is not deceived.
    """
    return max(count_lines(_without_quoted(without_mark(blocks))) - 1, 0)


def records_one_by_one(stream: IO[bytes]) -> int:
    """The same, slower, by the rules of CSV: a quote is one only at the start of a field."""
    import csv  # seldom needed

    # Python's own limit is 128 KiB, which the texts of agents exceed.
    csv.field_size_limit(LONGEST)
    found = 0
    try:
        for cells in csv.reader(_texts(stream)):
            found += bool(cells)
            if sum(map(len, cells)) > LONGEST:
                raise TooLong(None)
    except csv.Error as error:
        raise (TooLong(None) if "field limit" in str(error) else Uncountable(str(error))) from error
    return max(found - 1, 0)


def _texts(stream: IO[bytes]) -> Iterator[str]:
    seen = 0
    while line := stream.readline(LONGEST + 1):
        if len(line) > LONGEST:
            raise TooLong(seen)
        seen += len(line)
        yield line.decode("utf-8", "replace")


def _without_quoted(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text with an `x` in place of everything between quotes; a record that is too long raises."""
    quoted, run, seen = False, 0, 0
    for block in blocks:
        # Cut at the quotes, every second piece is between them: no byte is looked at in Python.
        pieces = block.split(b'"')
        first, last = _line_feeds_outside(pieces, quoted=quoted)
        run += len(block) if first < 0 else first
        if run > LONGEST:
            raise TooLong(seen)
        if last >= 0:
            run = len(block) - last - 1
        seen += len(block)
        yield b"x" + b"x".join(pieces[1::2]) if quoted else b"x".join(pieces[0::2])
        # An odd number of quotes leaves the next block inside of quotes, or takes it out of them.
        quoted ^= len(pieces) % 2 == 0


def _line_feeds_outside(pieces: Sequence[bytes], *, quoted: bool) -> tuple[int, int]:
    """Where the first and the last line feed outside of quotes are in the block that was cut at its quotes, or -1."""
    first, before = -1, 0
    for place, piece in enumerate(pieces):
        if place % 2 == quoted and b"\n" in piece:
            first = before + piece.index(b"\n")
            break
        before += len(piece) + 1
    if first < 0:
        return -1, -1
    after = 0
    for place in range(len(pieces) - 1, -1, -1):
        if place % 2 == quoted and b"\n" in pieces[place]:
            after += len(pieces[place]) - pieces[place].rindex(b"\n")
            break
        after += len(pieces[place]) + 1
    return first, sum(map(len, pieces)) + len(pieces) - 1 - after


def count_elements(blocks: Iterable[bytes]) -> int:
    """Elements of the one array that the text is."""
    # Three ways, by size: `json` needs no import, msgspec decodes no element, and the last one never has them all in
    # memory but takes longer.
    taken, size = [], 0
    rest = iter(without_mark(blocks))
    for block in rest:
        taken.append(block)
        size += len(block)
        if size > _LARGE_ARRAY:
            return _elements_of_large(_joined(taken, rest))
    text = b"".join(taken)
    if not text.strip():
        return 0
    return _elements_of_small(text) if size <= _SMALL_ARRAY else _elements_of(text)


def _elements_of_small(text: bytes) -> int:
    import json  # as below; msgspec takes longer to import than this to read a small array

    try:
        array = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Uncountable(str(error)) from error
    if not isinstance(array, list):
        raise Uncountable("this is not an array")
    return len(array)


def _elements_of(text: bytes) -> int:
    import msgspec  # only for arrays that are worth it

    try:
        array = msgspec.json.decode(text, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Uncountable(str(error)) from error
    if any(memoryview(element).nbytes > LONGEST for element in array):
        raise TooLong(None)
    return len(array)


def _elements_of_large(stream: _Stream) -> int:
    from highbar.importers.reading.json import json_parts  # bounded memory, and slower

    found = 0
    try:
        for _, element in json_parts(stream, {""}):  # type: ignore[arg-type] # it is only read from
            found += 1
            if len(element) > LONGEST:
                raise TooLong(None)
    except InputError as error:
        raise Uncountable(str(error)) from error
    return found


class _Stream:
    """Blocks as something to read from."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)

    def read(self, size: int) -> bytes:
        """At least so many bytes, fewer only at the end."""
        taken, length = [], 0
        while length < size and (block := next(self._blocks, b"")):
            taken.append(block)
            length += len(block)
        return b"".join(taken)


def _joined(taken: list[bytes], rest: Iterable[bytes]) -> _Stream:
    return _Stream(chain(taken, rest))


def without_mark(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text without its byte order mark."""
    first = True
    for block in blocks:
        yield block.removeprefix(BYTE_ORDER_MARK) if first else block
        first = False


def _measured(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same blocks; a line that is too long raises."""
    run = seen = 0  # bytes since the last line feed, and bytes before this block
    for block in blocks:
        first = block.find(b"\n")
        run += len(block) if first < 0 else first
        if run > LONGEST:
            raise TooLong(seen)
        if first >= 0:
            run = len(block) - block.rfind(b"\n") - 1
        seen += len(block)
        yield block


COUNT_BY_FORMAT: dict[Format, Callable[[Iterable[bytes]], int]] = {
    "jsonl": count_lines,
    "csv": count_records,
    "json": count_elements,
}
"""Parquet is counted by its footer."""
