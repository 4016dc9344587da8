"""Processes that carry a mark in their environment: how a command's leftovers are found if its keeper was killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MARK = "HIGHBAR_COMMAND"
"""The variable of the environment that all descendants of a keeper inherit."""
_TO_BE_KILLED = 2.0
"""Seconds in which leftovers are searched for and killed."""


def end_marked(mark: str) -> list[str]:
    """Kill every process with this mark, on Linux; the numbers of those that are still there after some time."""
    end = time.monotonic() + _TO_BE_KILLED
    while True:
        left = list(_marked(f"{MARK}={mark}".encode()))
        if not left or time.monotonic() > end:
            return [str(pid) for pid in left]
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def _marked(entry: bytes) -> Iterator[int]:
    """A process that has ended has no environment any more, so that it is not found."""
    processes = Path("/proc")
    for process in processes.iterdir() if processes.is_dir() else ():
        if process.name.isdigit():
            with suppress(OSError):  # it is another user's, or has ended
                if entry in (process / "environ").read_bytes().split(b"\0"):
                    yield int(process.name)
