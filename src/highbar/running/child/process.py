"""Start the process of the user's functions, and end it with everything that it started."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

import highbar
from highbar.running.child import frames
from highbar.running.child.slots import Slots, make_shared

LONGEST_END = 10.0
"""Seconds until a guardian that does not end is killed. Normally it takes milliseconds."""
LONGEST_START = 300.0
"""Seconds for the import of the user's module, which may load a model."""
_WITHOUT_SITE = "import sys; sys.path += sys.argv[4:]; from highbar.running.child.__main__ import main; main()"
_PIPE = 2**20  # bytes; many replies fit in it


class FunctionProcess:
    """A process with its guardian and two pipes: `requests` to write to, `replies` to read from, both non-blocking."""

    def __init__(
        self, setup: Mapping[str, Any], *, folder: Path | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        """Start the process, and send it what to load. Raises OSError if it cannot be started.

        It runs in `folder` and with the variables in `environment`, or with ours.
        """
        files: list[int] = []
        try:
            theirs_in, self.requests = _pipe(files)
            self.replies, theirs_out = _pipe(files)
            shared = _above_standard(make_shared(), files)
            self.slots = Slots(shared)
            theirs = (theirs_in, theirs_out, shared)
            self._guardian = subprocess.Popen(  # noqa: S603  # our own program
                [sys.executable, "-P", *_program(setup, map(str, theirs))],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # of the guardian; prints of functions go to standard error
                pass_fds=theirs,
                start_new_session=True,  # only our process gets the Ctrl-C of the terminal
                cwd=folder,
                env=_environment(os.environ if environment is None else environment),
            )
        except (OSError, MemoryError):
            for file in files:
                os.close(file)
            raise
        for file in theirs:
            os.close(file)
        for file in (self.requests, self.replies):
            os.set_blocking(file, False)
        with suppress(BrokenPipeError):  # it has died already, which the end of its replies will show
            os.write(self.requests, frames.encoded(frames.SETUP, 0, 0.0, setup))

    @property
    def has_ended(self) -> bool:
        """Whether the process has ended, with everything that it started."""
        return self._guardian.poll() is not None

    def ended_within(self, seconds: float) -> bool:
        """Wait at most this long for its end, and return whether it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self._guardian.wait(seconds)
        return self.has_ended

    def close_requests(self) -> None:
        """Close the pipe of requests. The process exits when it reads the end."""
        if self.requests >= 0:
            os.close(self.requests)
            self.requests = -1

    def end(self) -> None:
        """Kill the process and everything that it started. `has_ended` is True once that is done."""
        if self._guardian.stdin and not self._guardian.stdin.closed:
            self._guardian.stdin.close()

    def kill_guardian(self) -> None:
        """Kill the guardian, as a last resort: its death kills the process, on Linux."""
        self._guardian.kill()
        self._guardian.wait()

    def close(self) -> None:
        """Close the files, after the process has ended."""
        self.end()
        self.close_requests()
        os.close(self.replies)
        self.slots.close()

    def how_it_ended(self) -> str:
        """How the process ended, in words: its exit code, or the signal that killed it."""
        code = self._guardian.poll()
        if code is None:
            return "it closed its pipe"
        if code >= 0:
            return f"exit code {code}"
        with suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
        return f"killed by signal {-code}"


def _program(setup: Mapping[str, Any], files: Iterable[str]) -> list[str]:
    """The arguments of Python. A watched process sees to installed packages itself, so that this is watched, too."""
    if setup.get("watch") is None:
        return ["-m", "highbar.running.child", *files]
    needed = (highbar.__file__, msgspec.__file__)
    places = dict.fromkeys(str(Path(file).absolute().parent.parent) for file in needed)
    return ["-S", "-c", _WITHOUT_SITE, *files, *places]


def _pipe(files: list[int]) -> tuple[int, int]:
    reading, writing = os.pipe()
    reading, writing = _above_standard(reading, files), _above_standard(writing, files)
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # the user's limit for pipes is reached
            fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE)
    return reading, writing


def _above_standard(file: int, files: list[int]) -> int:
    """The same file with a descriptor above 2: if standard streams are closed, a new file may get their number."""
    if file <= 2:
        moved = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3)
        os.close(file)
        file = moved
    files.append(file)
    return file


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    """These variables, without empty parts of PYTHONPATH: they mean the working folder, which must not be searched."""
    environment = dict(variables)
    if "PYTHONPATH" in environment:
        parts = environment["PYTHONPATH"].split(os.pathsep)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, parts))
    return environment
