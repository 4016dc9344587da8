"""What this clone knows about commits: whether its past is cut off, and which of a history's commits it has."""

from __future__ import annotations

from collections.abc import Iterable

from highbar.errors import InputError
from highbar.load.revision import run_git


def is_shallow() -> bool:
    """Whether the clone lacks a part of its past; false outside of a repository."""
    try:
        return run_git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"
    except InputError:
        return False


def commits_here(commits: Iterable[str]) -> frozenset[str]:
    """The commits that the clone has, by their full names."""
    # One process for all commits, however many records a history has.
    asked = "".join(f"{commit}^{{commit}}\n" for commit in commits if commit.isalnum())
    try:
        done = run_git("cat-file", "--batch-check=%(objectname)", stdin=asked.encode("utf-8", "replace"))
    except InputError:
        return frozenset()
    return frozenset(line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.isalnum())
