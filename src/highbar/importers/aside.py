"""Rows that wait: what a row says may depend on records that come later, and memory does not hold a log."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Any, Self

import msgspec

_IN_MEMORY = 128 * 1024 * 1024
_ROW = 2000
"""About what a row takes beside its texts."""


class Aside:
    """Takes rows one by one, each with what belongs to it, and gives them back in the same order.

    The first hundred megabytes stay in memory; what comes after them is written to disk.
    """

    def __init__(self) -> None:
        self._held: deque[tuple[dict[str, Any], Any]] = deque()
        self._room = _IN_MEMORY
        self._file = TemporaryFile()  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, row: dict[str, Any], more: Any = None) -> None:
        """Keep a row, and what belongs to it."""
        if self._room > 0:
            self._room -= _ROW + sum(len(value) for value in row.values() if type(value) is str)
            self._held.append((row, more))
            return
        with suppress(UnicodeEncodeError):
            self._file.write(msgspec.json.encode((row, more)) + b"\n")
            return
        # Half of a surrogate pair survives, since this encoder writes it out.
        self._file.write(json.dumps((row, more), separators=(",", ":")).encode() + b"\n")

    def __iter__(self) -> Iterator[tuple[dict[str, Any], Any]]:
        """All rows, once no more will come; what was given back is no longer held."""
        while self._held:
            yield self._held.popleft()
        self._file.seek(0)
        for line in self._file:
            try:
                row, more = msgspec.json.decode(line)
            except msgspec.DecodeError:
                row, more = json.loads(line)
            yield row, more
