"""Which calls run at this moment, and since when, in memory that two processes share.

The process of the user's functions writes, ours reads: when a call is overdue, and when that process has died or hangs.
No message could say it then, and a message for each start would cost more than many calls take.
"""

from __future__ import annotations

import mmap
import os
from struct import Struct

from highbar.running.child.clocks import monotonic

MOST = 10_000
"""Calls at once: as many as a suite can ask for."""
_SLOT = Struct("<Qd")  # the number of the call, 0 if none; when it began, by the monotonic clock
_SIZE = MOST * _SLOT.size


def make_shared() -> int:
    """A file without a name that holds the slots."""
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("highbar")
    else:  # not Linux
        import tempfile  # slow to load, and needed here alone

        file, path = tempfile.mkstemp()
        os.unlink(path)  # noqa: PTH108  # the file stays until it is closed
    os.ftruncate(file, _SIZE)
    return file


class Slots:
    """The slots of one process."""

    def __init__(self, file: int) -> None:
        self._memory = mmap.mmap(file, _SIZE)

    def mark(self, slot: int, call: int) -> None:
        """A call begins now."""
        _SLOT.pack_into(self._memory, slot * _SLOT.size, call, monotonic())

    def clear(self, slot: int) -> None:
        """The call in this slot has ended."""
        _SLOT.pack_into(self._memory, slot * _SLOT.size, 0, 0.0)

    def running(self) -> dict[int, float]:
        """When every call that runs began."""
        used = self._memory[:].rstrip(b"\0")  # the last slots are free, and there are many
        used += bytes(-len(used) % _SLOT.size)
        return {call: start for call, start in _SLOT.iter_unpack(used) if call}

    def close(self) -> None:
        """Let go of the memory."""
        self._memory.close()
