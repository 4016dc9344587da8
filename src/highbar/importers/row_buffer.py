"""Stores rows until the end of the file, since later records may change earlier rows, and a log can exceed memory."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Any, Self

import msgspec

from highbar.importers.limits import MEMORY

_ROW_SIZE = 2000
"""The estimated bytes of a row without its texts."""


class RowBuffer:
    """Stores rows, each with a value of the importer's choice, and returns them in order.

    The first rows stay in memory; once MEMORY is used up, the others are written to disk.
    """

    def __init__(self) -> None:
        self._rows: deque[tuple[dict[str, Any], Any]] = deque()
        self._room = MEMORY
        self._file = TemporaryFile()  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, row: dict[str, Any], more: Any = None) -> None:
        """Store a row, and the value that belongs to it."""
        if self._room > 0:
            self._room -= _ROW_SIZE + sum(len(value) for value in row.values() if type(value) is str)
            self._rows.append((row, more))
            return
        with suppress(UnicodeEncodeError):
            self._file.write(msgspec.json.encode((row, more)) + b"\n")
            return
        # msgspec refuses half of a surrogate pair; the standard library writes it as an escape.
        self._file.write(json.dumps((row, more), separators=(",", ":")).encode() + b"\n")

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """Yield all rows once, and free each row that was yielded. Nothing may be stored after that."""
        while self._rows:
            yield self._rows.popleft()
        self._file.seek(0)
        for line in self._file:
            try:
                row, more = msgspec.json.decode(line)
            except msgspec.DecodeError:
                row, more = json.loads(line)
            yield row, more
