"""All files of a commit, written from git's objects into the folder of its revision, for code that runs there.

Nothing is checked out: no filter, hook or attribute has a say in what is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from msgspec import Struct

from highbar.errors import InputError, Problem
from highbar.load.revision import Revision, run_git

LARGEST_COPY = 2 * 2**30
"""Bytes of all files of a commit."""
_AT_ONCE = 64 * 2**20
"""Bytes of files that are read from git at once."""
_ENTRY = re.compile(rb"([0-7]{6}) (\w+) ([0-9a-f]{40,64}) +([0-9]+|-|BAD)\t(.*)", re.DOTALL)
_LINK, _SUBMODULE, _PROGRAM = b"120000", b"160000", b"100755"
_FETCH = "git fetch --refetch --no-filter origin, if this is a partial clone"
_POINTER = b"version https://git-lfs.github.com/spec/"
_LARGEST_POINTER = 1024
"""Bytes of such a pointer, at most, as Git LFS itself demands it."""


class _File(Struct, frozen=True):
    """A file of a commit. Git is asked for it with the options in `where`."""

    path: str
    mode: bytes
    digest: str
    size: int
    where: tuple[str, ...] = ()


class CommitCopy(Struct, frozen=True):
    """The copy of a commit: the paths of its files, and what it lacks, by path, with the problem of whoever needs it.

    `links` are links that would lead out of the copy; they are not in it either.
    """

    folder: Path
    paths: frozenset[str]
    missing: Mapping[str, Problem]
    links: tuple[str, ...] = ()


def copy_commit(there: Revision) -> CommitCopy:
    """Write all files of the commit into the folder of the revision. Raises InputError if that cannot be done."""
    missing: dict[str, Problem] = {}
    files = list(_files(there, missing))
    size = sum(file.size for file in files)
    if size > LARGEST_COPY:
        message = f"the functions of checks need a copy of {there.ref}, whose files have {size:,} bytes"
        hint = f"at most {LARGEST_COPY:,} are copied; keep the suite in a smaller repository, or checks without python"
        raise InputError(Problem("file.too-large", message, hint=hint))
    links: list[tuple[Path, str]] = []
    large = [file for file in files if file.size > _AT_ONCE and file.mode != _LINK]
    for file in large:
        _write_large(file, there.folder / file.path)
    for group in _groups([file for file in files if file not in large]):
        for file, content in zip(group, _contents(group), strict=True):
            path = there.folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.mode == _LINK:
                links.append((path, os.fsdecode(content)))
                continue
            if len(content) <= _LARGEST_POINTER and content.startswith(_POINTER):
                problem = _lfs_problem(there, file.path)
                if problem is not None:
                    missing[file.path] = problem
                continue
            path.write_bytes(content)
            if file.mode == _PROGRAM:
                path.chmod(0o755)
    (there.folder / ".git").mkdir()  # by which code finds the root; it is no repository
    outside = tuple(path.relative_to(there.folder).as_posix() for path in _link(links, there.folder))
    return CommitCopy(there.folder, frozenset((*(file.path for file in files), *missing)), missing, outside)


def _write_large(file: _File, path: Path) -> None:
    """Write a file that would need too much memory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        _ask(*file.where, "cat-file", "blob", file.digest, into=stream)
    if file.mode == _PROGRAM:
        path.chmod(0o755)


def _lfs_problem(there: Revision, path: str) -> Problem | None:
    """Write the file that a pointer of Git LFS names; the problem if it was not fetched."""
    try:
        copy = there.read(path)
    except InputError as error:
        return error.problems[0]
    if not copy.read_bytes().startswith(_POINTER):
        return None
    copy.unlink()
    hint = f"git lfs fetch origin {there.ref.removeprefix('origin/')}"
    return Problem("file.git-lfs", "is kept by Git LFS, and was not fetched", there.name(path), hint=hint)


def _link(links: Sequence[tuple[Path, str]], folder: Path) -> list[Path]:
    """Write links, after all files: nothing is written through one. Returns those that lead out, without them."""
    for path, target in links:
        path.symlink_to(target)
    # Only now: where a link leads depends on the others.
    outside = [path for path, target in links if PurePosixPath(target).is_absolute() or not _is_inside(path, folder)]
    for path in outside:
        path.unlink()
    return outside


def _is_inside(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(folder)


def _files(
    there: Revision, missing: dict[str, Problem], commit: str = "", inside: str = "", where: tuple[str, ...] = ()
) -> Iterator[_File]:
    """All files of a commit, and of the submodules whose objects are here."""
    listed = _ask(*where, "ls-tree", "-r", "-l", "-z", "--full-tree", commit or there.commit)
    for entry in listed.removesuffix(b"\0").split(b"\0") if listed else ():
        found = _ENTRY.fullmatch(entry)
        if found is None:
            raise InputError(
                Problem("git.failed", f"--against-ref {there.ref}: git listed something else than a file: {entry!a}")
            )
        mode, _, digest, size, name = found.groups()
        path = inside + os.fsdecode(name)
        if any(part in ("", ".", "..", ".git") for part in path.split("/")):
            raise InputError(Problem("ref.not-a-file", f"{there.name(path)} is not a path that can be written"))
        if size == b"BAD":  # as git says it of a file whose content it does not have
            missing[path] = Problem(
                "ref.not-fetched", "its content is not in this clone", there.name(path), hint=_FETCH
            )
            continue
        if mode != _SUBMODULE:
            yield _File(path, mode, digest.decode("ascii"), int(size), where)
            continue
        (there.folder / path).mkdir(parents=True, exist_ok=True)
        within, wanted = ("-C", str(there.root / path)), digest.decode("ascii")
        if run_git(*within, "cat-file", "-e", f"{wanted}^{{commit}}").returncode:
            hint = f"git submodule update --init {path}, then git -C {path} fetch origin {wanted}"
            message = f"is a submodule, of which the commit {wanted[:12]} is not here"
            missing[path] = Problem("ref.submodule", message, there.name(path), hint=hint)
        else:
            yield from _files(there, missing, wanted, f"{path}/", within)


def _groups(files: Sequence[_File]) -> Iterator[list[_File]]:
    """The files in groups of one repository that fit into memory."""
    group: list[_File] = []
    size = 0
    for file in files:
        if group and (size + file.size > _AT_ONCE or file.where != group[0].where):
            yield group
            group, size = [], 0
        group.append(file)
        size += file.size
    if group:
        yield group


def _contents(group: Sequence[_File]) -> Iterator[bytes]:
    """What the files hold, in their order."""
    asked = "".join(f"{file.digest}\n" for file in group).encode()
    answer = _ask(*group[0].where, "cat-file", "--batch", stdin=asked)
    # Each object is a line "digest type size", its bytes, and a line feed. The size is needed: bytes may be anything.
    at = 0
    for file in group:
        end = answer.index(b"\n", at)
        words = answer[at:end].split()
        if len(words) != 3:
            raise InputError(Problem("ref.not-fetched", "its content is not in this clone", file.path, hint=_FETCH))
        size = int(words[2])
        yield answer[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def _ask(*arguments: str, stdin: bytes = b"", into: BinaryIO | None = None) -> bytes:
    done = run_git(*arguments, stdin=stdin, into=into)
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split()).removeprefix("fatal: ")
        raise InputError(Problem("git.failed", f"--against-ref: git could not read the commit: {reason}", hint=_FETCH))
    return done.stdout or b""
