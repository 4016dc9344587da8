"""A progress bar on standard error, for reads that take longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE = 1.0
_WIDTH = 30
_ERASE = "\r\x1b[K"


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """What to call with the share that is done; None where nobody watches. The line is erased at the end."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    start, stream, drawn = time.monotonic(), sys.stderr, False

    def draw(share: float) -> None:
        nonlocal drawn
        if time.monotonic() - start < _PATIENCE:
            return
        drawn = True
        done = round(min(max(share, 0.0), 1.0) * _WIDTH)
        stream.write(f"{_ERASE}reading [{'=' * done}{' ' * (_WIDTH - done)}] {time.monotonic() - start:.0f} s")
        stream.flush()

    try:
        yield draw
    finally:
        if drawn:
            stream.write(_ERASE)
            stream.flush()
