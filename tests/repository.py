"""A git repository of a test's own, with whatever was committed to it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}


def git(folder: Path, *arguments: str) -> str:
    """What git says to these arguments in that folder."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def put(folder: Path, files: Mapping[str, Any]) -> None:
    """Write files; what is not text is written as JSON, and None takes the file away."""
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), "utf-8")


def commit(folder: Path, files: Mapping[str, Any], branch: str = "main") -> str:
    """A repository with these files on its branch, or the files on top of the one that is there; the commit's name."""
    if not (folder / ".git" / "HEAD").exists():
        git(folder, "init", "--quiet", f"--initial-branch={branch}")
    put(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message=files")
    return git(folder, "rev-parse", "HEAD").strip()


def rows(*outcomes: bool, **columns: object) -> str:
    """Results of as many scenarios, `S0` and on, as lines of JSON."""
    lines = (json.dumps({"id": f"S{n}", "passed": passed, **columns}) for n, passed in enumerate(outcomes))
    return "".join(f"{line}\n" for line in lines)
