"""A folder as a user of `highbar run` has it: a suite, an agent and a policy. Everything goes through the command line.

The agent in Python writes down every call before it answers, so that a test knows what was asked, whatever became of
the run. What it answers is in the row again, with a number of its own for every call.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.commandline import Run, run
from tests.patience import PATIENCE, wait_for

POLICY = "suite: suite.json\nthresholds: { blocking: { pass_rate: 100% } }\n"
NOTED = """\
import os, time

def note(said):
    number = os.urandom(6).hex()
    log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, (said + " " + number + "\\n").encode())
    os.close(log)
    return number
"""
"""The beginning of an agent: `note` writes down a call, and returns its number."""


def scenarios(count: int, **keys: object) -> list[dict[str, object]]:
    """Scenarios S0, S1 and so on. Each says its id, and wants "yes" in the answer."""
    return [{"id": f"S{place}", "input": f"S{place}", "answer": {"contains": "yes"}, **keys} for place in range(count)]


class Project:
    """The files of a user, and the runs that were made with them."""

    def __init__(self, folder: Path, agent: Mapping[str, Any], suite: Sequence[Mapping[str, Any]], **keys: Any) -> None:
        self.folder = folder
        self.write_suite(agent, suite, **keys)
        (folder / "highbar.yaml").write_text(POLICY, "utf-8")

    def write_suite(self, agent: Mapping[str, Any], suite: Sequence[Mapping[str, Any]], **keys: Any) -> None:
        """Write the suite; other keys are those of its file, such as `run`."""
        whole = {"agent": agent, "scenarios": suite, **keys}
        (self.folder / "suite.json").write_text(json.dumps(whole), "utf-8")

    @property
    def log(self) -> Path:
        """Where the agent writes down its calls."""
        return self.folder / "calls.log"

    def run(self, *arguments: str, name: str = "out", **keys: Any) -> Run:
        """A new run, with the verdict as JSON."""
        return run(self.folder, "run", "suite.json", "--output", name, "--format", "json", *arguments, **keys)

    def resume(self, *arguments: str, name: str = "out", **keys: Any) -> Run:
        """The same run again, with the verdict as JSON."""
        return run(self.folder, "run", "--resume", name, "--format", "json", *arguments, **keys)

    def check(self, *arguments: str, name: str = "out") -> Run:
        """What `check` says of a run folder."""
        return run(self.folder, "check", name, "--format", "json", *arguments)

    def rows(self, name: str = "out") -> list[dict[str, Any]]:
        """The rows of a run. Lines end with a line feed, and with nothing else that some readers take for one."""
        data = (self.folder / name / "results.jsonl").read_bytes()
        assert data.endswith(b"\n")
        return [json.loads(line) for line in data[:-1].split(b"\n")]

    def row(self, id_: str, name: str = "out") -> dict[str, Any]:
        """The one row of a scenario."""
        found = [row for row in self.rows(name) if row["id"] == id_]
        assert len(found) == 1, found
        return found[0]

    def document(self, name: str = "out") -> dict[str, Any]:
        """What run.json says."""
        found: dict[str, Any] = json.loads((self.folder / name / "run.json").read_text("utf-8"))
        return found

    def done(self, name: str = "out") -> tuple[int, int, int]:
        """How many trials were answered, are errors, and are undecided: by the rows, and run.json must agree."""
        rows = self.rows(name)
        undecided = sum("unjudged" in row for row in rows)
        errors = sum("error" in row for row in rows)
        counted = self.document(name)["done"]
        assert counted == {"answered": len(rows) - errors - undecided, "errors": errors, "undecided": undecided}
        return len(rows) - errors - undecided, errors, undecided

    def asked(self) -> list[tuple[str, str]]:
        """The calls that the agent wrote down, in order: what it was asked, and the number of the call."""
        lines = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        return [(said, number) for said, _, number in (line.rpartition(" ") for line in lines)]

    def counts(self) -> Counter[str]:
        """How often each question was asked."""
        return Counter(said for said, _ in self.asked())

    @contextmanager
    def started(
        self, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """`highbar` as a process of its own, in a group of its own, as a terminal starts it."""
        (self.folder / ".git").mkdir(exist_ok=True)
        pipe = subprocess.PIPE
        with subprocess.Popen(
            [sys.executable, "-m", "highbar", *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONUTF8": "1", **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


def python_project(folder: Path, code: str, suite: Sequence[Mapping[str, Any]], **keys: Any) -> Project:
    """A project whose agent is the function `answer` of this code, which may call `note`."""
    project = Project(folder, {"python": "agent:answer"}, suite, **keys)
    (folder / "agent.py").write_text(NOTED.format(log=str(project.log)) + code, "utf-8")
    return project


def command_project(folder: Path, script: str, suite: Sequence[Mapping[str, Any]], **keys: Any) -> Project:
    """A project whose agent is a script of the shell."""
    (folder / "agent.sh").write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    (folder / "agent.sh").chmod(0o755)
    return Project(folder, {"command": ["./agent.sh"]}, suite, **keys)


def finished(process: subprocess.Popen[bytes]) -> Run:
    """What a process that was started came to."""
    out, err = process.communicate(timeout=PATIENCE)
    return Run(process.returncode, out, err)


def descendants(process: int) -> set[int]:
    """The processes below this one, by their parents. Linux only."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            except OSError:  # it ended meanwhile
                continue
            parents[int(entry.name)] = int(fields[1])
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {process}


def wait_until_gone(processes: set[int]) -> None:
    """Wait until none of them runs any more."""
    wait_for(lambda: not any(_runs(process) for process in processes), "they still run")


def _runs(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")
