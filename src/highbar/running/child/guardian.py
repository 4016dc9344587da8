"""A process between ours and the one with the user's functions: when that one ends, all that it started is ended too.

    ours  →  guardian  →  the functions  →  whatever they start

The guardian reads its standard input, which nobody writes to: its end means that everything must end, because we want
it or because we are gone, by SIGKILL too. It ends the way the process of the functions ended, so its exit status says
how that was. On Linux it adopts every orphan below it, so that nothing escapes by leaving its process group.
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
"""Seconds in which descendants are searched for and ended. More means that they multiply faster than they are ended."""


def fork_under_guardian(files: Iterable[int]) -> None:
    """Returns in a new process, in which functions may run; this process is its guardian and closes the files."""
    _control(_SET_CHILD_SUBREAPER, 1)
    guardian = os.getpid()
    process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        _control(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != guardian:  # it died before the line above
            os._exit(1)
        return
    for file in files:
        os.close(file)
    _guard(process)


def _guard(process: int) -> None:
    """Wait until the process or standard input ends; then end the rest, and this process in the same way."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    status = _reaped(process)  # it may have ended before the handler was there
    while status is None:
        ready, _, _ = select.select([0, reading], [], [])
        if reading in ready:
            os.read(reading, 4096)
        if 0 in ready and not os.read(0, 4096):
            break
        status = _reaped(process)
    end_like(_end_all(process, status))


def _reaped(process: int) -> int | None:
    """The status of the process if it has ended. Orphans that have ended are forgotten on the way."""
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
    """Kill the process, its group and every descendant; the status of the process."""
    limit = time.monotonic() + _LONGEST_ENDING
    while time.monotonic() < limit:
        _kill(process, group=True)
        remaining = descendants(os.getpid()) if _IS_LINUX else []
        for one in remaining:
            _kill(one)
        reaped = _reaped(process)
        status = reaped if status is None else status
        if status is not None and not remaining:
            break
        time.sleep(0.002)
    return signal.SIGKILL if status is None else status


def _kill(process: int, *, group: bool = False) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended, or it became another user's
        (os.killpg if group else os.kill)(process, signal.SIGKILL)


def descendants(ancestor: int) -> list[int]:
    """The processes below this one, on Linux."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  # pathlib is slow to load
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  # likewise
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
    """End this process the way another one ended."""
    if os.WIFSIGNALED(status):
        sent = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
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
