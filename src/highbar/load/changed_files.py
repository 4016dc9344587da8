"""What git would store otherwise than a commit has it, and both sides of it."""

from __future__ import annotations

import os
from contextvars import ContextVar
from pathlib import Path

from msgspec import Struct

from highbar.load.revision import Revision, read_git

_LINK, _SUBMODULE, _NOTHING = "120000", "160000", "000000"
_OPTIONS = ("--raw", "-z", "--no-abbrev", "--no-renames", "--no-relative", "--no-ext-diff", "-O/dev/null")
_OF_SUBMODULES = "--ignore-submodules=dirty"
"""The commit of a submodule counts, not what else is in its folder."""

MAY_LOOK: ContextVar[bool] = ContextVar("MAY_LOOK", default=True)
"""Whether git may look at the working copy, where it runs the filters that its configuration names."""


class ChangedFile(Struct, frozen=True):
    """A path whose entry is not what a commit has: mode and name in git on both sides; None where there is nothing."""

    path: str
    before: tuple[str, str] | None
    now: tuple[str, str] | None


def changed_files(there: Revision) -> dict[str, ChangedFile]:
    """By path, each entry that is not what the commit has. What a checkout alone alters, such as line ends, is none."""
    done = read_git("-C", str(there.root), "diff", *_OPTIONS, _OF_SUBMODULES, there.commit, "--")
    found = done.split(b"\0")[:-1]
    listed = zip(found[::2], found[1::2], strict=True)
    return {(path := os.fsdecode(name)): _read(there.root, path, facts.decode("ascii")) for facts, name in listed}


def size_of(there: Revision, file: ChangedFile) -> int:
    """How many bytes the larger side of a file has."""
    place = there.root / file.path
    now = place.lstat().st_size if file.now is not None and os.path.lexists(place) else 0
    if file.before is None or file.before[0] == _SUBMODULE:
        return now
    return max(now, int(read_git("cat-file", "-s", file.before[1])))


def contents(there: Revision, file: ChangedFile) -> tuple[bytes | None, bytes | None]:
    """Both sides of a file, or the texts of a link, or the commits of a submodule."""
    place = there.root / file.path
    before, now = (_commit_of(side) for side in (file.before, file.now))
    if file.before is not None and before is None:
        before = read_git("cat-file", "blob", file.before[1])
    if file.now is not None and now is None:
        is_here = os.path.lexists(place)  # a sparse checkout leaves files out
        now = _bytes_of(place) if is_here else read_git("cat-file", "blob", file.now[1])
    return before, now


def _commit_of(side: tuple[str, str] | None) -> bytes | None:
    return f"Subproject commit {side[1]}\n".encode() if side is not None and side[0] == _SUBMODULE else None


def _bytes_of(place: Path) -> bytes:
    return os.fsencode(place.readlink()) if place.is_symlink() else place.read_bytes()


def _read(root: Path, path: str, facts: str) -> ChangedFile:
    """The entry of a line of git's raw diff: `:100644 100644 NAME NAME M`."""
    mode, mode_now, name, name_now, _ = facts.removeprefix(":").split(" ")
    if mode_now != _NOTHING and not name_now.strip("0"):  # git does not say what is not in its index
        name_now = _name_now(root, path, mode_now)
    return ChangedFile(
        path,
        None if mode == _NOTHING else (mode, name),
        None if mode_now == _NOTHING else (mode_now, name_now),
    )


def _name_now(root: Path, path: str, mode: str) -> str:
    if mode == _SUBMODULE:
        return read_git("-C", str(root / path), "rev-parse", "HEAD").decode("ascii").strip()
    if mode == _LINK:
        content = os.fsencode((root / path).readlink())
        return read_git("hash-object", "--no-filters", "--stdin", stdin=content).decode("ascii").strip()
    return read_git("-C", str(root), "hash-object", "--", path).decode("ascii").strip()
