"""Run a command as a process of its own, and measure it: time, processor time, memory of its tree; or kill it.

The agent under test writes a line to a log when it is asked and when it answers (see runners_programs.py). What a tool
did is read from there, not from what the tool says. Needs /proc, so Linux.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

MEBIBYTE = 1024 * 1024
PAUSE = 0.02
"""Seconds between two looks at a process that is measured."""
LONGEST = 1800.0
"""Seconds after which a command is thought to hang."""


@dataclass(frozen=True, slots=True)
class Took:
    """What a command and its descendants took."""

    seconds: float
    processor: float  # seconds, of all threads and of all descendants that were waited for
    mebibytes: float = 0.0  # the highest sum of the tree's resident memory, if it was watched


@dataclass(frozen=True, slots=True)
class Calls:
    """What the agent wrote: when each question was asked and answered, in seconds of the monotonic clock."""

    asked: tuple[tuple[str, float], ...]
    answered: tuple[tuple[str, float], ...]

    @property
    def seconds(self) -> float:
        """From the first question to the last answer."""
        return max(at for _, at in self.answered) - min(at for _, at in self.asked)

    @property
    def at_once(self) -> int:
        """The most questions that were open at the same time."""
        steps = sorted([(at, 1) for _, at in self.asked] + [(at, -1) for _, at in self.answered])
        most = open_now = 0
        for _, step in steps:
            open_now += step
            most = max(most, open_now)
        return most


def read_calls(log: Path) -> Calls:
    """Read the agent's log; a line that was torn by a kill is left out."""
    found: dict[str, list[tuple[str, float]]] = {"asked": [], "answered": []}
    for line in log.read_text("utf-8").splitlines(keepends=True) if log.exists() else []:
        if line.endswith("\n"):
            what, question, at = line.split()
            found[what].append((question, float(at)))
    return Calls(tuple(found["asked"]), tuple(found["answered"]))


def run(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], *, watch: bool = False, check: bool = True
) -> Took:
    """Run to the end; with `check`, raise if the exit code is not 0. `watch` samples the memory of the whole tree."""
    start, output = time.perf_counter(), folder / "printed.txt"
    with output.open("wb") as file:
        process = _started(command, folder, environment, file.fileno())
        highest = _watched(process.pid) if watch else 0.0
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if check and process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}\n{output.read_text('utf-8')[-3000:]}")
    return Took(seconds, usage.ru_utime + usage.ru_stime, highest)


def kill_after(answers: int, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    """Start, and kill the whole tree with signal 9 once the agent has given that many answers."""
    log = Path(environment["BENCH_LOG"])
    with (folder / "killed.txt").open("wb") as file:
        process = _started(command, folder, environment, file.fileno())
        end = time.monotonic() + LONGEST
        while len(read_calls(log).answered) < answers:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{' '.join(command)}: ended before {answers} answers")
            time.sleep(PAUSE / 4)
        for pid in tree(process.pid):
            _kill(pid)
        process.wait()


def tree(root: int) -> list[int]:
    """A process and all its descendants, the root first."""
    found = [root]
    for pid in found:  # grows while it is walked
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            found += [int(word) for word in _words(children)]
    return found


def resident(pids: Sequence[int]) -> float:
    """The sum of resident memory, in MiB; pages that processes share count for each."""
    pages = [_words(Path(f"/proc/{pid}/statm")) for pid in pids]
    return sum(int(words[1]) for words in pages if words) * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE


def _started(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], output: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _watched(root: int) -> float:
    highest, end = 0.0, time.monotonic() + LONGEST
    while os.waitid(os.P_PID, root, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() > end:
            raise RuntimeError(f"process {root} has run for {LONGEST:.0f} seconds")
        highest = max(highest, resident(tree(root)))
        time.sleep(PAUSE)
    return highest


def _words(path: Path) -> list[str]:
    try:
        return path.read_text("ascii").split()
    except OSError:  # the process has ended
        return []


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):  # it ended by itself, or with its parent
        os.kill(pid, signal.SIGKILL)
