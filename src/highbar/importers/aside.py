"""Rows that wait: what a row says may depend on records that come later, and memory does not hold a log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from typing import Any, Self

import msgspec

_IN_MEMORY = 32 * 1024 * 1024


class Aside:
    """Takes values of JSON one by one, and gives them back in the same order; beyond 32 MiB they are on disk."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def put(self, value: object) -> None:
        """Keep a value. Half of a surrogate pair survives, since the slower encoder writes it out."""
        with suppress(UnicodeEncodeError):
            self._file.write(msgspec.json.encode(value) + b"\n")
            return
        self._file.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")

    def __iter__(self) -> Iterator[Any]:
        """All values, once no more will come."""
        self._file.seek(0)
        for line in self._file:
            try:
                yield msgspec.json.decode(line)
            except msgspec.DecodeError:
                yield json.loads(line)
