"""How many results a file holds, counted without the engine, to compare with the number that the engine used.

Every counter takes the unpacked bytes in blocks, in bounded memory, and is fast: it runs beside the engine. No counter
understands results. Whether a line is JSON, or a field is in place, is for the engine to check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import IO

from highbar.errors import InputError
from highbar.model import Format

LONGEST_RESULT = 16 * 1024 * 1024
"""The most bytes of one result as text: its line, its CSV record, or its element of an array. DuckDB holds a row in
memory, once per thread."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_BLANKS = b" \t\r\x0b\x0c"
_STARTS = re.compile(rb"\n[ \t\r\x0b\x0c]*[^ \t\r\x0b\x0c\n]")
"""A line that is not blank, from the line feed before it. memchr finds the line feeds, so long lines cost little."""
_SMALL_ARRAY = 256 * 1024
_LARGE_ARRAY = 128 * 1024 * 1024
"""Bytes beyond which the elements are counted in bounded memory, which takes longer."""


class TooLong(ValueError):
    """A result of more than LONGEST_RESULT bytes; `offset` is the position of one of its bytes, if known."""

    def __init__(self, offset: int | None) -> None:
        super().__init__(offset)
        self.offset = offset


class Uncountable(ValueError):
    """The results cannot be counted, since the file does not have the form that its name promises."""


def count_lines(blocks: Iterable[bytes]) -> int:
    """The number of lines that are not blank, with any line ending; the last may have none."""
    found, blank = 0, True  # `blank`: the current line, which may continue in the next block, has only blanks so far
    for block in _refuse_long_lines(without_mark(blocks)):
        # A line may begin in one block and continue in the next: it counts once, where its first visible byte is.
        text = b"\n" + block if blank else block
        found += len(_STARTS.findall(text))
        end = text.rfind(b"\n")
        if end >= 0:
            blank = not text[end:].strip(_BLANKS + b"\n")
    return found


def count_records(blocks: Iterable[bytes]) -> int:
    """The number of CSV records that are not blank, without the header: lines, unless the line feed is in quotes.

    A quote inside quotes is doubled, so that it ends them and begins them again: counting quotes is enough. A quote in
    a field that has none around it (`5" screen`) makes this wrong; `records_one_by_one` handles it.
    """
    return max(count_lines(_without_quoted(without_mark(blocks))) - 1, 0)


def records_one_by_one(stream: IO[bytes]) -> int:
    """The same by the rules of CSV, slower: only at the start of a field does a quote begin quoted text."""
    import csv  # seldom needed

    from highbar.documents.csv_fields import fields_up_to  # seldom needed

    found = 0
    try:
        with fields_up_to(LONGEST_RESULT):
            for cells in csv.reader(_texts(stream)):
                found += bool(cells)
                if sum(map(len, cells)) > LONGEST_RESULT:
                    raise TooLong(None)
    except csv.Error as error:
        raise (TooLong(None) if "field limit" in str(error) else Uncountable(str(error))) from error
    return max(found - 1, 0)


def _texts(stream: IO[bytes]) -> Iterator[str]:
    seen = 0
    while line := stream.readline(LONGEST_RESULT + 1):
        if len(line) > LONGEST_RESULT:
            raise TooLong(seen)
        seen += len(line)
        yield line.decode("utf-8", "replace")


def _without_quoted(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text with an `x` in place of everything in quotes. Raises TooLong for a record that is too long."""
    quoted, run, seen = False, 0, 0
    for block in blocks:
        # Split at the quotes, every second piece is between them: Python looks at no single byte.
        pieces = block.split(b'"')
        first, last = _line_feeds_outside(pieces, quoted=quoted)
        run += len(block) if first < 0 else first
        if run > LONGEST_RESULT:
            raise TooLong(seen)
        if last >= 0:
            run = len(block) - last - 1
        seen += len(block)
        # The `x` stands for quoted text, so that a record of nothing else does not look blank.
        yield b"x" + b"x".join(pieces[1::2]) if quoted else b"x".join(pieces[0::2])
        # After an odd number of quotes, the next block starts on the other side of a quote.
        quoted ^= len(pieces) % 2 == 0


def _line_feeds_outside(pieces: Sequence[bytes], *, quoted: bool) -> tuple[int, int]:
    """The positions of the first and the last line feed outside of quotes in a block split at its quotes, or -1."""
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
    """The number of elements of the array that the text must be."""
    # Three ways, by size: `json` needs no slow import, msgspec does not decode the elements, and the last one never has
    # all of them in memory but takes longer.
    taken, size = [], 0
    rest = iter(without_mark(blocks))
    for block in rest:
        taken.append(block)
        size += len(block)
        if size > _LARGE_ARRAY:
            return _elements_of_large(_rejoin(taken, rest))
    text = b"".join(taken)
    if not text.strip():
        return 0
    return _elements_of_small(text) if size <= _SMALL_ARRAY else _elements_of(text)


def _elements_of_small(text: bytes) -> int:
    import json  # not needed for other formats; importing msgspec takes longer than this takes for a small array

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
    if any(memoryview(element).nbytes > LONGEST_RESULT for element in array):
        raise TooLong(None)
    return len(array)


def _elements_of_large(stream: _Stream) -> int:
    from highbar.importers.reading.json import json_parts  # bounded memory, and slower

    found = 0
    try:
        for _, element in json_parts(stream, {""}):  # type: ignore[arg-type] # it is only read from
            found += 1
            if len(element) > LONGEST_RESULT:
                raise TooLong(None)
    except InputError as error:
        raise Uncountable(str(error)) from error
    return found


class _Stream:
    """Blocks as a stream to read from."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)

    def read(self, size: int) -> bytes:
        """At least `size` bytes, fewer only at the end."""
        taken, length = [], 0
        while length < size and (block := next(self._blocks, b"")):
            taken.append(block)
            length += len(block)
        return b"".join(taken)


def _rejoin(taken: list[bytes], rest: Iterable[bytes]) -> _Stream:
    return _Stream(chain(taken, rest))


def without_mark(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same text without its byte order mark."""
    first = True
    for block in blocks:
        yield block.removeprefix(BYTE_ORDER_MARK) if first else block
        first = False


def _refuse_long_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same blocks. Raises TooLong for a line that is too long."""
    run = seen = 0  # bytes since the last line feed, and bytes before this block
    for block in blocks:
        first = block.find(b"\n")
        run += len(block) if first < 0 else first
        if run > LONGEST_RESULT:
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
"""Parquet is not among them: its footer has the count."""
