"""Which calls run at this moment, and since when, in memory that two processes share.

The process of the user's functions writes. Ours reads when a call is overdue, or when that process has died or hangs:
then it can send no message, and a message for each start would cost more than many calls take.
"""

from __future__ import annotations

import mmap
import os
from struct import Struct

from highbar.running.child.clocks import monotonic

MOST = 10_000
"""Calls at once: as many as a suite can ask for."""
_SLOT = Struct("<Qd")  # the number of the call, 0 if the slot is free; when it began, by the monotonic clock
_CALLED = MOST * _SLOT.size  # where the number of the last call stands that began
_SIZE = _CALLED + _SLOT.size


def make_shared() -> int:
    """Create a file without a name for the slots."""
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
        """Note that a call begins now."""
        _SLOT.pack_into(self._memory, slot * _SLOT.size, call, monotonic())
        _SLOT.pack_into(self._memory, _CALLED, call, 0.0)

    def clear(self, slot: int) -> None:
        """Note that the call in this slot has ended."""
        _SLOT.pack_into(self._memory, slot * _SLOT.size, 0, 0.0)

    @property
    def has_called(self) -> bool:
        """Whether any call has begun in this process."""
        return bool(_SLOT.unpack_from(self._memory, _CALLED)[0])

    def running(self) -> dict[int, float]:
        """The calls that run, with the time at which each began."""
        used = self._memory[:_CALLED].rstrip(b"\0")  # skips the free slots at the end, which are many
        used += bytes(-len(used) % _SLOT.size)
        return {call: start for call, start in _SLOT.iter_unpack(used) if call}

    def close(self) -> None:
        """Release the memory."""
        self._memory.close()
