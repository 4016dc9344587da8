"""The footer of a Parquet file → the number of rows that it declares, read without the engine.

The footer is a Thrift struct in the compact protocol: version, schema, number of rows, and more that is not needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from highbar.load.counting import Uncountable
from highbar.load.unpacking import Damaged

_MARK, _TAIL = b"PAR1", 8
_ROWS, _WHOLE_64 = 3, 6
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_WIDTHS = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}
"""Bytes of the types with a fixed size; in a struct, true and false are types of their own, without a value."""
_DEEPEST = 32
_LARGEST = 1 << 30


def refuse_several(path: str, blocks: Iterable[bytes]) -> None:
    """Raise Damaged if the file is several files joined by `cat`: only the last footer would be read.

    Where two files meet, the mark occurs twice. Data may contain that too, but not right after a footer.
    """
    before, rest = 0, b""
    for block in blocks:
        text = rest + block
        place = text.find(_MARK * 2)
        while place >= 0:
            if _ends_at(path, before - len(rest) + place + len(_MARK)):
                raise Damaged(
                    "several Parquet files are joined into one", "keep them as separate files, and name each of them"
                )
            place = text.find(_MARK * 2, place + 1)
        # Two marks are eight bytes, and may be split between the end of one block and the start of the next.
        before, rest = before + len(block), text[-7:]


def _ends_at(path: str, end: int) -> bool:
    """Whether a Parquet file ends at this byte."""
    try:
        return row_count(path, end) >= 0
    except Uncountable:
        return False


def row_count(path: str, end: int | None = None) -> int:
    """The number of rows that a footer declares: the one that ends at byte `end`, or at the end of the file."""
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END) if end is None else end
        stream.seek(max(0, size - _TAIL))
        tail = stream.read(_TAIL)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MARK or length > min(size - _TAIL, _LARGEST):
            raise Uncountable("there is no Parquet footer at its end")
        stream.seek(size - _TAIL - length)
        footer = stream.read(length)
    try:
        return _FooterReader(footer).rows()
    except IndexError as error:
        raise Uncountable("the Parquet footer is cut off") from error


class _FooterReader:
    """Reads the footer from front to back."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._place = 0

    def rows(self) -> int:
        """The number of rows; skips the fields before it."""
        field = 0
        while True:
            field, type_ = self._field(field)
            if type_ == 0:
                raise Uncountable("the Parquet footer declares no number of rows")
            if field == _ROWS and type_ == _WHOLE_64:
                return self._whole()
            self._skip(type_, 0)

    def _field(self, before: int) -> tuple[int, int]:
        """The number and the type of the next field; the type is 0 at the end of a struct."""
        byte = self._byte()
        if byte == 0:
            return before, 0
        # The upper four bits are the distance from the previous field; 0 means that the number itself follows.
        return (before + (byte >> 4) if byte >> 4 else self._whole()), byte & 15

    def _byte(self) -> int:
        self._place += 1
        return self._data[self._place - 1]

    def _varint(self) -> int:
        value = bits = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << bits
            bits += 7
        return value | byte << bits

    def _whole(self) -> int:
        value = self._varint()
        # Zigzag encoding: 0, -1, 1, -2 … are written as 0, 1, 2, 3 …
        return value >> 1 if value & 1 == 0 else -(value >> 1) - 1

    def _skip(self, type_: int, depth: int) -> None:
        if depth > _DEEPEST:
            raise Uncountable("the Parquet footer is nested too deep")
        if type_ in _WIDTHS:
            self._place += _WIDTHS[type_]
        elif type_ == _BINARY:
            length = self._varint()
            self._place += length
        elif type_ in (_LIST, _SET):
            self._skip_list(depth)
        elif type_ == _STRUCT:
            self._skip_struct(depth)
        elif type_ == _MAP:
            raise Uncountable("the Parquet footer holds a map, which none has")
        else:
            self._varint()

    def _skip_struct(self, depth: int) -> None:
        field = 0
        while True:
            field, type_ = self._field(field)
            if type_ == 0:
                return
            self._skip(type_, depth + 1)

    def _skip_list(self, depth: int) -> None:
        head = self._byte()
        length = head >> 4 if head >> 4 < 15 else self._varint()
        inner = head & 15
        # Each element takes at least a byte: an impossible length must not keep this loop busy for hours.
        if length > len(self._data):
            raise Uncountable("the Parquet footer is cut off")
        for _ in range(length):
            if inner in (_TRUE, _FALSE):
                self._place += 1  # in a list a truth value is a byte
            else:
                self._skip(inner, depth + 1)
