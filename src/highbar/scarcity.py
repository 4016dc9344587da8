"""What this machine refuses: memory, threads, processes, open files, room on a disk. None of it is an agent's fault."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from highbar.errors import InputError

SCARCE = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""What the operating system says if there is too little of something."""
NO_THREAD = "this system allows no more threads"
_LIMITS = {
    "memory": "out of memory; free some, or raise the limit (ulimit -v, ulimit -d, the container's memory)",
    "threads": "this system allows no more threads or processes; raise the limit (ulimit -u, the container's pids.max)",
    "files": "this system allows no more open files; raise the limit (ulimit -n)",
    "disk": "no room is left on the disk",
    "java": "the Java process of Spark has ended; it may have run out of memory",
}
_NUMBERS = {
    errno.ENOMEM: "memory",
    errno.EAGAIN: "threads",
    errno.EMFILE: "files",
    errno.ENFILE: "files",
    errno.ENOSPC: "disk",
    errno.EDQUOT: "disk",
}
_AMBIGUOUS = frozenset({errno.EAGAIN, errno.ENOSPC, errno.EDQUOT})
_CLASSES = {"OutOfMemoryException": "memory", "Py4JNetworkError": "java"}
"""Of libraries that may not be installed, and are not loaded here."""


class NotStarted(Exception):
    """A process could not be started, or ended before it could do anything; the message says why, in words."""


def is_no_thread(error: BaseException) -> bool:
    """Whether it says that no thread could be started. Python has no class of its own for that."""
    return type(error) is RuntimeError and error.args == ("can't start new thread",)


def machine_fault(error: BaseException) -> str | None:
    """What this machine lacks and what to do, if that caused the error; else None.

    An input can be refused for many reasons, so for an InputError only what has no other meaning counts.
    """
    is_refusal = isinstance(error, InputError)
    for one in _causes(error):
        kind = None if is_refusal else _CLASSES.get(type(one).__name__)
        if isinstance(one, MemoryError):
            kind = "memory"
        elif is_no_thread(one):
            kind = "threads"
        elif isinstance(one, OSError) and not (is_refusal and one.errno in _AMBIGUOUS):
            # Something was not ready, and was tried again: that is usual, and caused nothing.
            is_usual = one.errno == errno.EAGAIN and one not in (error, error.__cause__)
            kind = None if is_usual else _NUMBERS.get(one.errno or 0)
        if kind is not None:
            return _LIMITS[kind]
    return None


def fewer_at_once(what: str, calls: int) -> str:
    """That this system allows no more of something, so that fewer calls ran at once."""
    limits = "ulimit -u, ulimit -v, the container's pids.max and memory"
    return f"this system allows no more {what} ({limits}): at most {calls} call{'s' * (calls != 1)} ran at once"


def in_words(error: OSError | MemoryError) -> str:
    """What the operating system says, without a number."""
    number = errno.ENOMEM if isinstance(error, MemoryError) else error.errno
    return os.strerror(number) if number else str(error)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error, and all that caused it or of which it consists."""
    left, seen = [error], set[int]()
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        left += [cause for cause in (one.__context__, one.__cause__) if cause is not None]
        left += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
