"""Runs the real command line in a folder of its own and hands back what a caller of it can see."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from highbar.cli import run_guarded
from highbar.codes import read_codes
from tests.patience import PATIENCE, is_waiting, wait_for

EXIT = {"pass": 0, "fail": 1, None: 2, "inconclusive": 3}
"""The exit code of each verdict, and of none."""


_CODE = re.compile(rf" \[({'|'.join(map(re.escape, read_codes()))})\]")
"""The code at the end of a problem's line: no part of its wording."""


def without_codes(text: str) -> str:
    """The text without the codes at the ends of problems."""
    return _CODE.sub("", text)


@dataclass(frozen=True, slots=True)
class Run:
    """One finished call: its exit code and the bytes of both streams."""

    exit: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        """Standard output as text, without the codes of problems; bytes that are not UTF-8 are an error."""
        return without_codes(self.stdout.decode("utf-8"))

    @property
    def err(self) -> str:
        """Standard error as text, without the codes of problems; bytes that are not UTF-8 are an error."""
        return without_codes(self.stderr.decode("utf-8"))

    @property
    def codes(self) -> list[str]:
        """The codes of the problems on standard error, in order."""
        return _CODE.findall(self.stderr.decode("utf-8"))

    @property
    def json(self) -> dict[str, Any]:
        """The JSON verdict on standard output, read by a parser that refuses NaN and duplicate keys."""
        verdict = json.loads(self.out, parse_constant=_refuse, object_pairs_hook=_unique)
        assert isinstance(verdict, dict), f"not an object: {self.out!r}"
        return verdict

    def rule(self, name: str) -> dict[str, Any]:
        """The rule of that name in the JSON verdict."""
        found = [rule for rule in self.json["rules"] if rule["rule"] == name]
        assert len(found) == 1, f"{name!r} is there {len(found)} times: {[r['rule'] for r in self.json['rules']]}"
        rule: dict[str, Any] = found[0]
        return rule

    @property
    def problems(self) -> str:
        """Every problem of a refused call as one text: messages, hints, files and lines."""
        return "\n".join(
            f"{problem['file']}:{problem['line']}: {problem['message']}\nhint: {problem['hint']}"
            for problem in self.json["problems"]
        )


def run(
    folder: Path,
    *arguments: str,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    process: bool = False,
) -> Run:
    """`highbar` with these arguments, in that folder.

    It runs in this process, in a third of the time, unless `process` is set: for tests of exit codes, signals, pipes,
    encodings, memory and what Python itself reads from the environment.
    """
    # A policy is looked for upward to the repository's root; this makes the folder one, so none is found outside it.
    if not (folder / ".git").exists():  # of a submodule it is a file
        (folder / ".git").mkdir()
    inherited = {
        name: value
        for name, value in os.environ.items()
        # Workers of pytest-xdist have LINES and COLUMNS, and a single process has not: reports would differ.
        if not name.startswith(("GITHUB_", "GITLAB_", "CI_", "HIGHBAR_")) and name not in ("LINES", "COLUMNS")
    }
    wanted = {**inherited, "PYTHONUTF8": "1", **(environment or {})}
    if process or any(name.startswith("PYTHON") for name in environment or {}):
        return _run_process(folder, arguments, stdin, wanted)
    return _run_here(folder, arguments, stdin, wanted)


def _run_process(folder: Path, arguments: Sequence[str], stdin: bytes, environment: Mapping[str, str]) -> Run:
    done = subprocess.run(
        [sys.executable, "-m", "highbar", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
        env=environment,
    )
    return Run(done.returncode, done.stdout, done.stderr)


def _run_here(folder: Path, arguments: Sequence[str], stdin: bytes, environment: Mapping[str, str]) -> Run:
    streams = [io.TextIOWrapper(io.BytesIO(data), "utf-8", "surrogateescape", newline="") for data in (stdin, b"", b"")]
    streams[2].reconfigure(errors="backslashreplace")  # as Python's own standard error
    outside = os.environ.copy(), Path.cwd(), sys.stdin, sys.stdout, sys.stderr
    try:
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.stdin, sys.stdout, sys.stderr = streams
        code = run_guarded(arguments)
    finally:
        os.environ.clear()
        os.environ.update(outside[0])
        os.chdir(outside[1])
        sys.stdin, sys.stdout, sys.stderr = outside[2:]
    for stream in streams:
        stream.flush()
    return Run(code, *(cast("io.BytesIO", stream.buffer).getvalue() for stream in streams[1:]))


def wait_until_read(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process has read all that was written to its standard input, and waits for more."""
    pipe = process.stdin
    assert pipe is not None

    def waits() -> bool:
        unread: int = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]
        return unread == 0 and is_waiting(process.pid)

    wait_for(waits, "its input stays unread")


def check(
    folder: Path,
    results: bytes | Sequence[Mapping[str, Any] | str],
    policy: Mapping[str, Any] | str | None,
    *arguments: str,
    name: str = "results.jsonl",
) -> Run:
    """`highbar check --format json` on results (rows for JSONL, or the bytes of a file) and a policy (text is YAML)."""
    if not isinstance(results, bytes):
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in results]
        results = "".join(line + "\n" for line in lines).encode()
    (folder / name).write_bytes(results)
    if policy is not None:
        named = folder / ("policy.yaml" if isinstance(policy, str) else "policy.json")
        named.write_text(policy if isinstance(policy, str) else json.dumps(policy, ensure_ascii=False), "utf-8")
        arguments = ("--policy", named.name, *arguments)
    return run(folder, "check", name, "--format", "json", *arguments)


def judged(done: Run, verdict: str) -> dict[str, Any]:
    """The JSON verdict, which must be this one and have the exit code that belongs to it."""
    assert done.exit == EXIT[verdict], f"exit {done.exit}\n{done.out}\n{done.err}"
    assert done.json["verdict"] == verdict
    assert "Traceback" not in done.err
    return done.json


def refused(done: Run, *fragments: str, line: int | None = None, code: str | None = None) -> None:
    """Exit 2: nothing was judged. The problems name these values (in any case), and one of them is on that line.

    All of them have that code.
    """
    assert done.exit == EXIT[None], f"exit {done.exit}\n{done.out}\n{done.err}"
    assert done.json["verdict"] is None
    assert done.json["problems"]
    assert "Traceback" not in done.err
    missing = [fragment for fragment in fragments if fragment.casefold() not in done.problems.casefold()]
    assert not missing, f"{missing} not in\n{done.problems}"
    lines = [problem["line"] for problem in done.json["problems"]]
    assert line is None or line in lines, f"line {line} not in {lines}\n{done.problems}"
    codes = {problem["code"] for problem in done.json["problems"]}
    assert code is None or codes == {code}, f"{codes}\n{done.problems}"


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    assert len({key for key, _ in pairs}) == len(pairs), f"duplicate key in {[key for key, _ in pairs]}"
    return dict(pairs)
