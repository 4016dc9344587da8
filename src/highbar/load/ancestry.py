"""The commits that a change is based on: the merge base with a git ref, and its ancestors; and what a clone has."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from msgspec import Struct, field

from highbar.errors import InputError, Problem
from highbar.load.revision import Revision, answer_of_git, run_git

MOST_COMMITS = 20_000
"""How many ancestors are listed: some 50 MB and a tenth of a second."""
_LARGEST_RECORD = 128 * 1024 * 1024
"""Bytes of a record that is copied from git."""
_LINK, _SUBMODULE = "120000", "160000"
_SHALLOW = "; the clone is shallow: fetch the whole history (fetch-depth: 0)"


class Ancestry(Struct, frozen=True, eq=False):
    """By commit, how far it is before the merge base. `problem` says why nothing is known; then it is empty."""

    commits: Mapping[str, int] = field(default_factory=dict)
    problem: str | None = None


def ancestors_of_merge_base(there: Revision) -> Ancestry:
    """The merge base of HEAD and the ref, and its last ancestors, without HEAD: its runs are those of the change."""
    head = answer_of_git("rev-parse", "--verify", "HEAD^{commit}")
    base = head and answer_of_git("merge-base", head, there.commit)
    if not base:
        return Ancestry(problem=f"HEAD and {there.ref} have no commit in common{_SHALLOW if is_shallow() else ''}")
    listed = answer_of_git("rev-list", f"--max-count={MOST_COMMITS}", base)
    if not listed:
        return Ancestry(problem=f"git lists no ancestors of {base}")
    return Ancestry({commit: place for place, commit in enumerate(listed.split()) if commit != head})


def is_shallow() -> bool:
    """Whether the clone lacks a part of its past; false outside of a repository."""
    return answer_of_git("rev-parse", "--is-shallow-repository") == "true"


def commits_here(commits: Iterable[str]) -> frozenset[str]:
    """The commits that the clone has, by their full names."""
    # One process for all commits, however many records a history has.
    asked = "".join(f"{commit}^{{commit}}\n" for commit in commits if commit.isalnum())
    try:
        done = run_git("cat-file", "--batch-check=%(objectname)", stdin=asked.encode("utf-8", "replace"))
    except InputError:
        return frozenset()
    return frozenset(line for line in done.stdout.decode("utf-8", "replace").splitlines() if line.isalnum())


def folder_as_there(there: Revision, folder: Path) -> Path:
    """The folder itself; or, if git tracks files in it, a copy with exactly what the ref has in it. Raises InputError.

    Otherwise records that a change adds, alters or deletes would decide about its own failures, and so would untracked
    records beside those of the ref. A folder of which git tracks nothing (fetched by a job, or on a shared disk) cannot
    be touched by a change. The ref has no files of a submodule: a history in one is refused.
    """
    # Three ways to name the folder: as given, with links above it resolved, and with all links resolved.
    named = os.path.join(os.path.realpath(folder.parent), folder.name)
    candidates = (os.path.normpath(folder), named, os.path.realpath(folder))
    paths = dict.fromkeys(path for one in candidates if (path := _inside(there, one)) is not None)
    tracked = [path for path in paths if not _is_link(there, path) and _is_tracked(there, path)]
    if not tracked:
        return folder
    there.read_below(tracked[0], _LARGEST_RECORD)
    return there.folder / tracked[0]


def _is_link(there: Revision, path: str) -> bool:
    """Whether the path leads through a link that is the same at the ref. Raises InputError if it is not the same.

    If it does, the target of the link has a path of its own, which is tested too.
    """
    for place in _places(path):
        modes = {there.mode(place), _mode_now(there, place)}
        if _SUBMODULE in modes:
            message = f"is in the submodule {place}, of which {there.ref} does not hold the files"
            raise InputError(Problem("ref.submodule", message, path, hint="keep the history outside of submodules"))
        if _LINK in modes:
            if modes != {_LINK} or _differs(there, place):
                raise InputError(
                    Problem(
                        "ref.not-a-file", f"leads through the link {place}, which is not the same at {there.ref}", path
                    )
                )
            return True
    return False


def _places(path: str) -> Iterator[str]:
    """The path and the folders above it, the outermost first."""
    parts = PurePosixPath(path).parts
    return ("/".join(parts[: end + 1]) for end in range(len(parts)))


def _is_tracked(there: Revision, path: str) -> bool:
    """Whether the ref has anything there, or a file there is under version control now."""
    return path == "." or there.has(path) or bool(_in_index(there, path))


def _mode_now(there: Revision, path: str) -> str | None:
    """The mode of the entry under version control at exactly that path; None if there is none, or if it is a folder."""
    for entry in _in_index(there, path).split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        if os.fsdecode(name) == path:
            return facts[:6].decode("ascii")
    return None


def _in_index(there: Revision, path: str) -> bytes:
    done = run_git("-C", str(there.root), "ls-files", "--stage", "-z", "--", path)
    if done.returncode:
        raise InputError(
            Problem("git.failed", f"git does not say whether it is under version control at {there.ref}", path)
        )
    return done.stdout


def _differs(there: Revision, path: str) -> bool:
    options = ("--quiet", "--no-ext-diff", "--ignore-submodules=none")
    return run_git("-C", str(there.root), "diff", *options, there.commit, "--", path).returncode != 0


def _inside(there: Revision, path: str) -> str | None:
    """The path in the repository; None if it is outside of it."""
    inside = os.path.relpath(path, there.root)
    outside = inside.split(os.sep)[0] == os.pardir or os.path.isabs(inside)
    return None if outside else Path(inside).as_posix()
