"""Runs pytest with the plugin on a project of its own, and hands back what a user of it can see."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE

FILE = "results.jsonl"
# Neither what a project's own folder would hold, nor plugins that change this process, nor those that collect garbage
# at the end of each session: all that this process has.
LEFT_OUT = ("cacheprovider", "faulthandler", "unraisableexception", "threadexception")
PLAIN = tuple(word for name in LEFT_OUT for word in ("-p", f"no:{name}"))
PLUGIN = ("-p", "highbar.pytest_plugin")
HALF = "thresholds: { blocking: { pass_rate: 50% } }\n"
"""A policy that tolerates half of the failures."""


@dataclass(frozen=True)
class Session:
    """A finished session: its exit code, what it printed, and the file that it wrote."""

    exit: int
    out: str
    file: Path

    @property
    def lines(self) -> list[Any]:
        """Every line of the file."""
        return [json.loads(line) for line in self.file.read_text("utf-8").splitlines()]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows, if the file is complete."""
        assert all(isinstance(line, dict) for line in self.lines), self.lines[-1]
        return self.lines

    @property
    def incomplete(self) -> str:
        """Why the file is not complete."""
        last = self.lines[-1]
        assert isinstance(last, str), f"complete: {last}"
        return last

    def row(self, id_: str) -> dict[str, Any]:
        """The only row of a scenario."""
        (found,) = [row for row in self.lines if isinstance(row, dict) and row["id"] == id_]
        return found

    def passed(self) -> dict[str, list[bool | None]]:
        """By scenario, what `passed` says in each of its trials."""
        found: dict[str, list[bool | None]] = {}
        for row in self.rows:
            found.setdefault(row["id"], []).append(row.get("passed"))
        return found


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text if name.endswith(".yaml") else f"import pytest\n{text}", "utf-8")


def run(folder: Path, tests: str | Mapping[str, str] = "", *options: str, rows: bool = True) -> Session:
    """Run the tests in this process: quick, and enough for all that happens inside of one session."""
    write(folder, {"test_it.py": tests} if isinstance(tests, str) and tests else tests or {})
    asked = ("--highbar", FILE) if rows else ()
    arguments = [*PLAIN, *PLUGIN, "--import-mode=importlib", f"--rootdir={folder}", "--tb=short", *asked, *options]
    printed = io.StringIO()
    with _alone(folder), redirect_stdout(printed), redirect_stderr(printed):
        code = pytest.main(arguments)
    return Session(int(code), printed.getvalue(), folder / FILE)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Work in the folder, and forget its modules afterwards: another project has some of the same names."""
    before, environment = os.getcwd(), dict(os.environ)  # noqa: PTH109 - as os.chdir
    os.chdir(folder)
    # The plugins that are installed here are none of the project's, and to look for them takes longer than its tests.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        yield
    finally:
        os.chdir(before)
        os.environ.clear()
        os.environ.update(environment)
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


def start(folder: Path, tests: str | Mapping[str, str], *options: str, environment: Mapping[str, str] = {}) -> Session:
    """Run the tests in a process of its own, as a user does."""
    write(folder, {"test_it.py": tests} if isinstance(tests, str) else tests)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *PLUGIN, "--highbar", FILE, *options]
    done = _ended(command, folder, {**os.environ, **environment})
    return Session(done.returncode, done.stdout + done.stderr, folder / FILE)


def _ended(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    alone = {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # as above
    return subprocess.run(command, cwd=folder, env=alone, capture_output=True, text=True, check=False, timeout=PATIENCE)
