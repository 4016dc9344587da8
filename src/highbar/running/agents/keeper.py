"""A process that runs commands, one after the other, and makes sure that none leaves a process behind.

`command_agent` starts it as a separate script, so it uses only the standard library. On Linux it is a child subreaper:
whatever a command leaves running, in any session, becomes a child of this process when its own parent ends. So all
children of the keeper are left over from the one command that it ran, and are killed before the next. On other systems
only the command's process group is killed. If standard input closes, because the process that started the keeper was
killed or gave up, the keeper kills everything and exits.

    a request:  4 bytes, the length of a JSON header; the header; the bytes for the command's standard input.
                The header has words, folder, timeout, linger (how long pipes are read after the command has ended, if
                another process keeps them open) and max_reply.
    a reply:    the same, with the bytes of the command's standard output
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

LENGTH = struct.Struct(">I")
_CHUNK = 2**16
_MOST_OF_ERRORS = 4096
"""Bytes at the end of standard error that are returned."""
_TO_END = 0.5
"""Seconds between SIGTERM and SIGKILL when a command times out."""
_TO_BE_KILLED = 2.0
"""Seconds after which a killed process that still exists counts as escaped."""
_ROOM = 4
"""Processes for which there must be room if a failure is to be the command's own."""
_TICK = 0.1
_STILL = 1.0
"""Seconds that it must wake up late to have stood still."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None) if sys.platform.startswith("linux") else None


class Abandoned(Exception):
    """The process that started the keeper is gone, or wants the keeper to end."""


class Command:
    """One run of a command: its input, what it has written, and how it ended."""

    def __init__(self, request: dict[str, Any], given: bytes, ended: socket.socket) -> None:
        self.began = time.monotonic()
        self.deadline: float = self.began + request["timeout"]
        self.linger: float = request["linger"]
        self.most: int = request["max_reply"]
        self.output = bytearray()
        self.errors = b""
        self.exit: int | None = None
        self.exited: float | None = None
        self.timed_out = self.is_too_large = self.is_killed = self.stood_still = False
        self._given = memoryview(given)
        self._ended = ended
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(  # noqa: S603 - the words of the suite's own command, and no shell
            request["words"],
            cwd=request["folder"],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - there is one thread only
        )
        self._selector = selectors.DefaultSelector()
        self._selector.register(0, selectors.EVENT_READ, self._stop)
        self._selector.register(ended, selectors.EVENT_READ, self._reap)
        self._watch(self.process.stdin, selectors.EVENT_WRITE, self._give)
        self._watch(self.process.stdout, selectors.EVENT_READ, self._read_output)
        self._watch(self.process.stderr, selectors.EVENT_READ, self._read_errors)

    def _watch(self, pipe: Any, event: int, what: Any) -> None:
        os.set_blocking(pipe.fileno(), False)
        self._selector.register(pipe, event, what)

    def run(self) -> None:
        """Wait until the command has ended and its pipes are closed, or until its time is up."""
        while not self._is_over():
            began = time.monotonic()
            events = self._selector.select(min(max(0.0, self._next() - began), _TICK))
            self._note_stillness(began)
            for key, _ in events:
                if key.fd in self._selector.get_map():  # an earlier event of this batch may have closed it
                    key.data(key.fileobj)
            self._end_in_time()

    def _note_stillness(self, began: float) -> None:
        """Give the command the time back in which this process was stopped, or its container paused, once."""
        now = time.monotonic()
        if now - began < _STILL + _TICK:
            return
        if not self.stood_still and not self.timed_out:
            # Never at once: what has been written in the meantime is still to be read.
            self.deadline = now + max(self.deadline - began, min(_STILL, self.deadline - self.began))
        self.stood_still = True

    def _is_over(self) -> bool:
        if self.exited is None:
            return False
        open_pipes = {self.process.stdout, self.process.stderr} & {
            key.fileobj for key in self._selector.get_map().values()
        }
        return not open_pipes or self.is_killed or self.timed_out or time.monotonic() >= self.exited + self.linger

    def _next(self) -> float:
        """When to wake up if nothing happens."""
        if self.exited is not None:
            return self.exited + self.linger
        return self.deadline + (_TO_END if self.timed_out else 0.0)

    def _end_in_time(self) -> None:
        now = time.monotonic()
        if self.exited is not None or self.is_killed:
            return
        if self.is_too_large or (self.timed_out and now >= self.deadline + _TO_END):
            self.is_killed = True
            self._signal(signal.SIGKILL)
            self.deadline = now + _TO_BE_KILLED
        elif now >= self.deadline and not self.timed_out:
            self.timed_out = True
            self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        """Signal the whole group. Its leader has not been reaped, so that no other group can have the same id."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def _stop(self, _control: Any) -> None:
        raise Abandoned

    def _reap(self, _ended: Any) -> None:
        with suppress(BlockingIOError):
            while self._ended.recv(_CHUNK):
                pass
        for pid, status in reaped():
            if pid == self.process.pid:
                self.exit = self.process.returncode = os.waitstatus_to_exitcode(status)
                self.exited = time.monotonic()
                self._close(self.process.stdin)

    def _give(self, pipe: Any) -> None:
        try:
            self._given = self._given[os.write(pipe.fileno(), self._given[:_CHUNK]) :]
        except BlockingIOError:
            return
        except OSError:  # the command does not read its input
            self._given = self._given[:0]
        if not self._given:
            self._close(pipe)

    def _read_output(self, pipe: Any) -> None:
        self.output += self._read(pipe)
        if len(self.output) > self.most:
            self.is_too_large = True
            del self.output[self.most :]

    def _read_errors(self, pipe: Any) -> None:
        self.errors = (self.errors + self._read(pipe))[-_MOST_OF_ERRORS:]

    def _read(self, pipe: Any) -> bytes:
        try:
            data = os.read(pipe.fileno(), _CHUNK)
        except BlockingIOError:
            return b""
        if not data:
            self._close(pipe)
        return data

    def _close(self, pipe: Any) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(pipe)
        with suppress(OSError):
            pipe.close()

    def close(self) -> list[str]:
        """Kill everything that is left of the command, and return the names of processes that could not be ended."""
        for pipe, read in ((self.process.stdout, self._read_output), (self.process.stderr, self._read_errors)):
            if pipe is not None and not pipe.closed:
                read(pipe)  # what it wrote just before it ended
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            self._close(pipe)
        self._selector.close()
        # On Linux `end_children` kills the rest, one by one; elsewhere only the group can be found.
        if self.exited is None or _libc is None:
            self._signal(signal.SIGKILL)
        return end_children()


def reaped() -> Iterator[tuple[int, int]]:
    """Reap every child that has ended, and yield its id and status."""
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            yield found


def end_children() -> list[str]:
    """Kill all children until none is left, and return the names of those that remain after two seconds.

    A loop, because the children of a killed process become children of this one.
    """
    end = time.monotonic() + _TO_BE_KILLED
    pause = 0.001
    while True:
        list(reaped())
        left = list(children())
        if not left or time.monotonic() > end:
            return [process_name(pid) for pid in left]
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def children() -> Iterator[int]:
    """The children of this process that have not been reaped, on Linux."""
    if _libc is None:
        return
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return  # no children: the usual case, which needs no look at all processes
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                stat = Path(entry.path, "stat").read_bytes()
                if int(stat.rpartition(b")")[2].split()[1]) == os.getpid():
                    yield int(entry.name)


def process_name(pid: int) -> str:
    """The id and the name of a process."""
    try:
        return f"{pid} ({Path(f'/proc/{pid}/comm').read_text('utf-8', 'replace').strip()})"
    except OSError:
        return str(pid)


def answer(request: dict[str, Any], given: bytes, ended: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Run the command of a request, and return the header of the reply and the command's output."""
    before = refusals()
    try:
        command = Command(request, given, ended)
    except (OSError, ValueError) as error:
        return {"failed": getattr(error, "errno", None) or errno.EINVAL}, b""
    try:
        command.run()
    finally:
        escaped = command.close()
    header = {
        "exit": command.exit,
        "timed_out": command.timed_out,
        "too_large": command.is_too_large,
        "latency_ms": None if command.stood_still else ((command.exited or time.monotonic()) - command.began) * 1000,
        "errors": command.errors.decode("utf-8", "replace"),
        "escaped": escaped,
        "refused": bool(command.exit) and (refusals() != before or not has_room()),
    }
    return header, bytes(command.output)


def refusals() -> int:
    """How often the kernel has refused a process to our control group, such as a container; 0 if it does not say."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/self/cgroup").read_text("ascii").splitlines():
            _, controllers, path = line.split(":", 2)
            folder = {"": "/sys/fs/cgroup", "pids": "/sys/fs/cgroup/pids"}.get(controllers)
            # In a container the path may be that outside of it, and the group is at the top.
            for group in () if folder is None else (folder + path, folder):
                with suppress(OSError):
                    return int(Path(group, "pids.events").read_text("ascii").split()[1])
    return 0


def has_room() -> bool:
    """Whether this system allows a few more processes at this moment. A command may fail because it does not."""
    reading, writing = os.pipe()
    started: list[int] = []
    try:
        for _ in range(_ROOM):
            process = os.fork()
            if not process:
                os.close(writing)
                os.read(reading, 1)
                os._exit(0)
            started.append(process)
    except OSError:
        return False
    finally:
        os.close(writing)
        os.close(reading)
        for process in started:
            os.waitpid(process, 0)
    return True


def received(size: int) -> bytes:
    """Read this many bytes from standard input. Raises Abandoned if it ends before."""
    data = bytearray()
    while len(data) < size:
        chunk = os.read(0, size - len(data))
        if not chunk:
            raise Abandoned
        data += chunk
    return bytes(data)


def send(header: dict[str, Any], payload: bytes) -> None:
    """Write a frame to standard output."""
    head = json.dumps({**header, "size": len(payload)}).encode()
    rest = memoryview(LENGTH.pack(len(head)) + head + payload)
    while rest:
        rest = rest[os.write(1, rest) :]


def _control_process(option: int, value: int) -> None:
    """Call `prctl` on Linux; do nothing on other systems."""
    if _libc is not None:
        _libc.prctl(option, value, 0, 0, 0)


def _die_with_parent() -> None:
    """Called in the command's process: if the keeper is killed, so is the command."""
    _control_process(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    """Answer requests until standard input is closed."""
    _control_process(_PR_SET_CHILD_SUBREAPER, 1)
    ended, woken = socket.socketpair()
    ended.settimeout(0)
    woken.settimeout(0)
    signal.set_wakeup_fd(woken.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # a handler, because an ignored signal does not wake the selector
    with suppress(Abandoned, BrokenPipeError):
        while True:
            request = json.loads(received(LENGTH.unpack(received(LENGTH.size))[0]))
            header, output = answer(request, received(request["size"]), ended)
            send(header, output)
            if header.get("escaped"):
                return  # otherwise they would count as leftovers of the next command


if __name__ == "__main__":
    main()
