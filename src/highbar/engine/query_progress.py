"""Reports at intervals how much of a running query is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SECONDS = 0.2
"""Often enough for a bar that moves, rarely enough to cost nothing."""


@contextmanager
def report_progress(progress: Callable[[float], None], share: Callable[[], float]) -> Iterator[None]:
    """Call `progress` with the finished `share`, from 0 to 1, from another thread: this one runs the query."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_SECONDS):
            progress(share())

    thread = threading.Thread(target=watch, daemon=True)
    try:
        thread.start()
    except RuntimeError:  # this system allows no more threads
        yield
        return
    try:
        yield
    finally:
        done.set()
        thread.join()
