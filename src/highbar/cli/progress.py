"""A progress bar on standard error, for reads that take longer than a second."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from highbar.cli import streams
from highbar.model.job import JobWatch

_PATIENCE = 1.0
DRAWN_EVERY = 0.2
"""Seconds between two drawings on a terminal."""
_WIDTH = 30
_BLOCK = 6
_ERASE = "\r\x1b[K"


@contextmanager
def watching(*, quiet: bool) -> Iterator[JobWatch]:
    """Show a job's progress bar and its notes on standard error; if `quiet`, only the urgent notes."""
    with progress_bar(quiet=quiet) as progress:
        yield JobWatch(progress, say=None if quiet else streams.say, say_urgent=streams.say if quiet else None)


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """Yield a function to call with the share that is done; None if no bar is shown. Erases the bar at the end."""
    stream = sys.stderr
    if quiet or stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    share = [0.0]
    with in_background(lambda done: _draw_until(done, share, stream)):
        yield lambda done_share: share.__setitem__(0, done_share)


@contextmanager
def in_background(show: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `show` in a thread until the end of the block, when the event that it gets is set."""
    done = threading.Event()

    def run() -> None:
        with suppress(OSError, ValueError):  # progress that cannot be shown is no error
            show(done)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _draw_until(done: threading.Event, share: list[float], stream: TextIO) -> None:
    """Redraw at fixed times, not on each report: engines report progress rarely, and for some of their work never."""
    start = time.monotonic()
    if done.wait(_PATIENCE):
        return
    while not done.wait(DRAWN_EVERY):
        seconds = time.monotonic() - start
        stream.write(f"{_ERASE}reading [{_bar(share[0], seconds)}] {seconds:.0f} s")
        stream.flush()
    stream.write(_ERASE)
    stream.flush()


def _bar(share: float, seconds: float) -> str:
    """A bar of the share that is done, or a moving block if that is unknown."""
    if share > 0:
        return ("=" * round(min(share, 1.0) * _WIDTH)).ljust(_WIDTH)
    place = round(seconds / DRAWN_EVERY) % (_WIDTH - _BLOCK + 1)
    return (" " * place + "=" * _BLOCK).ljust(_WIDTH)
