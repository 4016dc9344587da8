"""A process between ours and the one of the user's functions, which ends everything that the functions started.

    ours  →  guardian  →  the functions  →  whatever they start

The guardian reads its standard input, which nobody writes to. When that closes, everything must end: either we closed
it, or our process is gone, even by SIGKILL. The guardian exits the same way as the process of the functions, so that
its exit status says how that ended. On Linux it adopts every orphan below it, so that nothing escapes by leaving its
process group.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import suppress

_IS_LINUX = sys.platform == "linux"
_SET_PARENT_DEATH_SIGNAL = 1  # of prctl
_SET_CHILD_SUBREAPER = 36
_LONGEST_ENDING = 3.0
"""Seconds to find and kill descendants. If that is not enough, they multiply faster than they can be killed."""


def fork_under_guardian(files: Iterable[int]) -> None:
    """Fork, and return in the child, where functions may run. The parent closes the files and becomes the guardian."""
    _control(_SET_CHILD_SUBREAPER, 1)
    guardian = os.getpid()
    process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        _control(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != guardian:  # it died before the line above, so that its death sends no signal
            os._exit(1)
        return
    for file in files:
        os.close(file)
    _guard(process)


def _guard(process: int) -> None:
    """Wait until the process ends or standard input closes; then kill the rest, and exit in the same way."""
    # The wakeup descriptor turns SIGCHLD into something to select on, together with standard input.
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    status = _reaped(process)  # it may have ended before the handler was installed
    while status is None:
        ready, _, _ = select.select([0, reading], [], [])
        if reading in ready:
            os.read(reading, 4096)
        if 0 in ready and not os.read(0, 4096):
            break
        status = _reaped(process)
    end_like(_end_all(process, status))


def _reaped(process: int) -> int | None:
    """The exit status of the process; None if it has not ended. Adopted orphans that have ended are reaped, too."""
    found = None
    try:
        while True:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended == 0:
                return found
            if ended == process:
                found = status
    except ChildProcessError:
        return found


def _end_all(process: int, status: int | None) -> int:
    """Kill the process, its group and every descendant. Returns the exit status of the process."""
    limit = time.monotonic() + _LONGEST_ENDING
    # Repeated, because a process may fork while the others are being killed.
    while time.monotonic() < limit:
        _kill(process, group=True)
        left = descendants(os.getpid()) if _IS_LINUX else []
        for one in left:
            _kill(one)
        reaped = _reaped(process)
        status = reaped if status is None else status
        if status is not None and not left:
            break
        time.sleep(0.002)
    return signal.SIGKILL if status is None else status


def _kill(process: int, *, group: bool = False) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended, or runs as another user now
        (os.killpg if group else os.kill)(process, signal.SIGKILL)


def descendants(ancestor: int) -> list[int]:
    """The ids of all processes below this one, without zombies, on Linux."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  # pathlib is slow to load
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  # likewise
                    # After the last bracket: the name of the program, in brackets, may have spaces and brackets.
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except (OSError, ValueError):
                continue  # it has ended
            if state != b"Z":
                children.setdefault(int(parent), []).append(int(name))
    found = [ancestor]
    for one in found:
        found += children.get(one, [])
    return found[1:]


def end_like(status: int) -> None:
    """End this process with the exit status of another one: with its exit code, or by its signal."""
    if os.WIFSIGNALED(status):
        sent = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no second core dump, of the wrong process
        if sent != signal.SIGKILL:
            signal.signal(sent, signal.SIG_DFL)
        os.kill(os.getpid(), sent)
        os._exit(128 + sent)
    os._exit(os.waitstatus_to_exitcode(status))


def _control(option: int, value: int) -> None:
    """Set an attribute of this process that only Linux has."""
    if _IS_LINUX:
        import ctypes  # not everywhere

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
