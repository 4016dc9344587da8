"""Only one process at a time writes a journal. The lock ends with the process, however the process ends."""

from __future__ import annotations

import os
from pathlib import Path

from highbar.errors import InputError, Problem

_LOCKS = Path("/proc/locks")  # on Linux


def lock(descriptor: int, name: str) -> None:
    """Lock an open journal until it is closed. Raises InputError if another process has locked it.

    Children must not inherit the descriptor, or an orphan keeps the lock. Descriptors of `os.open` are not inherited.
    """
    try:
        import fcntl  # not on every system
    except ImportError:
        raise InputError(Problem("this system cannot lock the journal of a run", name)) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(os.fstat(descriptor).st_ino)
        who = f" (process {holder})" if holder else ""
        hint = "wait until it has ended, or stop it"
        raise InputError(Problem(f"locked by another run{who}", name, hint=hint)) from None
    except OSError as error:
        raise InputError(Problem(f"cannot be locked: {error.strerror}", name)) from None


def _holder(inode: int) -> int | None:
    """The id of the process that holds the lock; None if the system does not say."""
    try:
        table = _LOCKS.read_text("ascii")
    except (OSError, ValueError):
        return None
    for line in table.splitlines():
        match line.split():
            case [_, "FLOCK", "ADVISORY", "WRITE", process, file, *_] if file.endswith(f":{inode}"):
                # A process of another container has no id here.
                return int(process) if process.isdigit() and int(process) else None
    return None
