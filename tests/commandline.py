"""Runs the real command line in a folder of its own and hands back what a caller of it can see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    assert len({key for key, _ in pairs}) == len(pairs), f"duplicate key in {[key for key, _ in pairs]}"
    return dict(pairs)
