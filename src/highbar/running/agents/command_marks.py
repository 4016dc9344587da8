"""Find a command's leftover processes by a mark in their environment, if its keeper was killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

MARK = "HIGHBAR_COMMAND"
"""The environment variable that all descendants of a keeper inherit."""
_TO_BE_KILLED = 2.0
"""Seconds to find and kill leftover processes."""


def end_marked(mark: str) -> list[str]:
    """Kill every process with this mark, on Linux. Returns the ids of those that are left after two seconds."""
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
    """The ids of processes with this entry in their environment. Zombies have none, so they are not found."""
    processes = Path("/proc")
    for process in processes.iterdir() if processes.is_dir() else ():
        if process.name.isdigit():
            with suppress(OSError):  # it belongs to another user, or has ended
                if entry in (process / "environ").read_bytes().split(b"\0"):
                    yield int(process.name)
