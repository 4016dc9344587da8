"""Reports now and then how much of a running query is done."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SECONDS = 0.2
"""Often enough for a bar that moves, and seldom enough to cost nothing."""


@contextmanager
def reported(progress: Callable[[float], None], share: Callable[[], float]) -> Iterator[None]:
    """Tell `progress` the `share` that is done, from 0 to 1, from a thread of its own: the query keeps this one."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_SECONDS):
            progress(share())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
