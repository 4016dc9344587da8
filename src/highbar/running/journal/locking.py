"""One process at a time writes a journal. The lock ends with the process, however that ends."""

from __future__ import annotations

import os
from pathlib import Path

from highbar.errors import InputError, Problem

_LOCKS = Path("/proc/locks")  # on Linux


def lock(descriptor: int, name: str) -> None:
    """Lock an open journal until it is closed. Raises InputError if another process has locked it.

    Children must not inherit the descriptor, or an orphan keeps the lock: `os.open` sees to that.
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
    """The process that holds the lock, if the system says so."""
    try:
        table = _LOCKS.read_text("ascii")
    except (OSError, ValueError):
        return None
    for line in table.splitlines():
        match line.split():
            case [_, "FLOCK", "ADVISORY", "WRITE", process, file, *_] if file.endswith(f":{inode}"):
                # In another container it has no number here.
                return int(process) if process.isdigit() and int(process) else None
    return None
