"""Which commits a change comes after: the merge base with a git ref, and its ancestors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from highbar.errors import InputError
from highbar.load.revision import Revision, run_git

MOST_COMMITS = 20_000
"""How far back ancestors are looked for: some 50 MB and a tenth of a second."""
_LARGEST_RECORD = 128 * 1024 * 1024
_SHALLOW = "; the clone is shallow: fetch the whole history (fetch-depth: 0)"


class Ancestry(Struct, frozen=True, eq=False):
    """By commit how far back it is. `problem` says why nothing is known; then there is none."""

    commits: Mapping[str, int] = field(default_factory=dict)
    problem: str | None = None


def ancestors_of_merge_base(there: Revision) -> Ancestry:
    """The merge base of HEAD and the ref, and its last ancestors. HEAD itself is none: its runs are of the change."""
    head = _said("rev-parse", "--verify", "HEAD^{commit}")
    base = head and _said("merge-base", head, there.commit)
    if not base:
        return Ancestry(problem=f"HEAD and {there.ref} have no commit in common{_if_shallow()}")
    listed = _said("rev-list", f"--max-count={MOST_COMMITS}", base)
    if not listed:
        return Ancestry(problem=f"git lists no ancestors of {base}")
    return Ancestry({commit: place for place, commit in enumerate(listed.split()) if commit != head})


def _if_shallow() -> str:
    return _SHALLOW if _said("rev-parse", "--is-shallow-repository") == "true" else ""


def _said(*arguments: str) -> str | None:
    """What git prints; None if it fails."""
    try:
        done = run_git(*arguments)
    except InputError:
        return None
    return None if done.returncode else done.stdout.decode("ascii", "replace").strip() or None


def folder_as_there(there: Revision, folder: Path) -> Path:
    """The folder, or a copy as it was at the ref, if files in it that git has differ from it. Raises InputError.

    Records that a change adds, alters or deletes would decide about its own failures. What git does not have (a folder
    that a job fetched, or a shared disk) no change can touch.
    """
    named = os.path.join(os.path.realpath(folder.parent), folder.name)
    paths = [path for path in (_inside(there, named), _inside(there, os.path.realpath(folder))) if path is not None]
    if not paths or not _differs(there, paths):
        return folder
    there.read_below(paths[0], _LARGEST_RECORD)  # of a link it reads nothing
    return there.folder / paths[0]


def _differs(there: Revision, paths: Sequence[str]) -> bool:
    done = run_git("-C", str(there.root), "diff", "--quiet", "--no-ext-diff", there.commit, "--", *paths)
    return done.returncode != 0


def _inside(there: Revision, path: str) -> str | None:
    """Where in the repository that is; None outside of it."""
    inside = os.path.relpath(path, there.root)
    return None if inside.startswith(os.pardir) or os.path.isabs(inside) else Path(inside).as_posix()
