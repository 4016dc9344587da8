"""Runs the real command line in a folder of its own and hands back what a caller of it can see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any
from unittest.mock import patch

EXIT = {"pass": 0, "fail": 1, None: 2, "inconclusive": 3}
"""The exit code of each verdict, and of none."""


@dataclass(frozen=True, slots=True)
class Run:
    """One finished call: its exit code and the bytes of both streams."""

    exit: int
    stdout: bytes
    stderr: bytes

    @property
    def out(self) -> str:
        """Standard output as text; bytes that are not UTF-8 are an error."""
        return self.stdout.decode("utf-8")

    @property
    def err(self) -> str:
        """Standard error as text; bytes that are not UTF-8 are an error."""
        return self.stderr.decode("utf-8")

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


def run(folder: Path, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> Run:
    """`python -m highbar` with these arguments, in that folder."""
    # A policy is looked for upward to the repository's root; this makes the folder one, so none is found outside it.
    (folder / ".git").mkdir(exist_ok=True)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "HIGHBAR_"))}
    if "MUTANT_UNDER_TEST" in os.environ:
        return _in_this_process(folder, arguments, stdin, {**inherited, **(environment or {})})
    done = subprocess.run(
        [sys.executable, "-m", "highbar", *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        timeout=120,
        check=False,
        env={**inherited, "PYTHONUTF8": "1", **(environment or {})},
    )
    return Run(done.returncode, done.stdout, done.stderr)


def _in_this_process(folder: Path, arguments: Sequence[str], stdin: bytes, environment: Mapping[str, str]) -> Run:
    """The same without a new process, for scripts/mutation, which must see which functions a test reaches."""
    from highbar.cli import main

    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, environment, clear=True))
        stack.enter_context(chdir(folder))
        streams = [TextIOWrapper(BytesIO(data), encoding="utf-8") for data in (stdin, b"", b"")]
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            stack.enter_context(patch.object(sys, name, stream))
        code = main(arguments)
        written = []
        for stream in streams[1:]:
            stream.flush()
            written.append(stream.buffer.getvalue())
    return Run(code, *written)


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


def refused(done: Run, *fragments: str, line: int | None = None) -> None:
    """Exit 2: nothing was judged, and the problems say these things (in any case), one of them on that line."""
    assert done.exit == EXIT[None], f"exit {done.exit}\n{done.out}\n{done.err}"
    assert done.json["verdict"] is None
    assert done.json["problems"]
    assert "Traceback" not in done.err
    missing = [fragment for fragment in fragments if fragment.casefold() not in done.problems.casefold()]
    assert not missing, f"{missing} not in\n{done.problems}"
    lines = [problem["line"] for problem in done.json["problems"]]
    assert line is None or line in lines, f"line {line} not in {lines}\n{done.problems}"


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    assert len({key for key, _ in pairs}) == len(pairs), f"duplicate key in {[key for key, _ in pairs]}"
    return dict(pairs)
