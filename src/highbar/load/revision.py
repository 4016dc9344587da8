"""Files as they were at a git ref, read through git into a temporary folder."""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec import Struct

from highbar.errors import InputError, Problem

_PATIENCE = 60
_NOT_A_REF = re.compile(r"^-|[\x00-\x20\x7f:?*\[\\]|\.\.|\{/|^$")
"""Text that could be an option, a range, a search or the name of a file, or that git forbids in a ref."""
_OPTIONS = (
    *("--no-replace-objects", "--literal-pathspecs", "-c", "core.warnAmbiguousRefs=true"),
    *("-c", "core.fsmonitor=false"),
)
"""A replaced object would be another file under the same commit, an ambiguous name another commit. A file
system monitor is a program that git's configuration names."""
_FOUND = re.compile(rb"([0-7]{6}) (\w+) ([0-9a-f]{40,64})\t")
_FILE_MODE = ("100644", "100755")
_LISTED = re.compile(rb"(100644|100755) blob ([0-9a-f]{40,64}) +([0-9]+)\t(.*)", re.DOTALL)
_LARGEST_GROUP = 64 * 1024 * 1024
"""Bytes of files that are read from git at once."""


class Revision(Struct, frozen=True):
    """The repository around the working folder, as it was at one commit; `folder` receives the copies of its files."""

    ref: str
    commit: str
    root: Path
    folder: Path

    def path(self, file: Path | str) -> str:
        """The path in the repository of `file`, a path from the working folder. Raises InputError outside it."""
        # The folder is resolved, the name is not: if it is a link, it is a link at the ref, too.
        found = Path(file)
        inside = os.path.relpath(os.path.join(os.path.realpath(found.parent), found.name), self.root)
        if inside.startswith(os.pardir) or os.path.isabs(inside):
            message = f"is outside the repository {self.root}, so {self.ref} does not have it"
            raise InputError(Problem(message, str(file), hint="name one that is under version control"))
        return Path(inside).as_posix()

    def beside(self, path: str, name: str) -> str:
        """The path in the repository of the file that the file at `path` calls `name`. Raises InputError outside it."""
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        if posixpath.isabs(inside) or inside.split("/")[0] == "..":
            message = f"names {name}, which is outside the repository, so it cannot be read as it was"
            raise InputError(Problem(message, self.name(path)))
        return inside

    def has(self, path: str) -> bool:
        """Whether there was anything at that path."""
        return bool(self._entry(path))

    def mode(self, path: str) -> str | None:
        """The mode in git of what was there: `120000` is a link, `160000` a submodule; None if nothing was."""
        return self._entry(path)[:6].decode("ascii") or None

    def submodule(self, path: str) -> str | None:
        """The submodule that the path is in, whose files this repository does not have; None if it is in none."""
        folders = (str(folder) for folder in reversed(PurePosixPath(path).parents))
        return next((folder for folder in folders if self._entry(folder).startswith(b"160000 ")), None)

    def read(self, path: str) -> Path:
        """Copy the file and return the path of the copy. Raises InputError if it was not there, or no plain file."""
        entry = _FOUND.match(self._entry(path))
        if entry is None:
            raise InputError(Problem(f"is not there at {self.ref}", path, hint=f"git show {self.name(path)}"))
        mode, kind, digest = (part.decode("ascii") for part in entry.groups())
        if kind != "blob" or mode not in _FILE_MODE:
            raise InputError(Problem("is no plain file there", self.name(path)))
        copy = self.folder / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(_git("cat-file", "blob", digest))
        return copy

    def read_below(self, folder: str, largest: int) -> None:
        """Copy all plain files below a folder that have at most `largest` bytes; `.` is the whole repository."""
        listed = _git(
            "ls-tree", "-r", "-l", "-z", "--full-tree", self.commit, "--", *([] if folder == "." else [folder])
        )
        found = (_LISTED.match(entry) for entry in listed.split(b"\0"))
        files = [(os.fsdecode(one[4]), one[2].decode("ascii"), int(one[3])) for one in found if one is not None]
        wanted = [file for file in files if file[2] <= largest]
        for group in _groups(wanted):
            contents = _blobs([digest for _, digest, _ in group])
            for (path, _, _), content in zip(group, contents, strict=True):
                copy = self.folder / path
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(content)

    def name(self, path: str) -> str:
        """The name of the file for git: `main:highbar.yaml`."""
        return f"{self.ref}:{path}"

    def renamed(self, text: str) -> str:
        """`text` with the paths of copies replaced by their names for git."""
        return text.replace(f"{self.folder}{os.sep}", f"{self.ref}:")

    def _entry(self, path: str) -> bytes:
        return _git("ls-tree", "-z", "--full-tree", self.commit, "--", path)


def revision_at(ref: str, folder: Path) -> Revision:
    """The repository around the working folder as it was at `ref`. Raises InputError if git does not know the ref."""
    if _NOT_A_REF.search(ref):
        raise InputError(Problem(f"--against-ref {ref!r} is not the name of a commit", hint="write main, or a commit"))
    root = Path(os.fsdecode(_git("rev-parse", "--show-toplevel").removesuffix(b"\n")))
    _refuse_a_submodule(root, ref)
    done = run_git("rev-parse", "--verify", f"{ref}^{{commit}}")
    if done.returncode:
        hint = f"is it fetched? git fetch origin {ref.removeprefix('origin/')}"
        raise InputError(Problem(f"--against-ref {ref}: there is no such branch, tag or commit", hint=hint))
    if b"ambiguous" in done.stderr:
        hint = f"write refs/heads/{ref}, refs/tags/{ref}, or the commit itself"
        raise InputError(Problem(f"--against-ref {ref} is ambiguous: it is the name of more than one thing", hint=hint))
    return Revision(ref, done.stdout.decode("ascii").strip(), root, folder)


def _refuse_a_submodule(root: Path, ref: str) -> None:
    """Refuse to run in a submodule: its `main` is not the bar of the repository that a change is merged into."""
    around = os.fsdecode(_git("rev-parse", "--show-superproject-working-tree").removesuffix(b"\n"))
    if around:
        message = f"--against-ref {ref}: this is the submodule {root}, whose {ref} is not that of {around}"
        hint = f"keep the policy in {around}, and run from there; or check out the submodule by itself"
        raise InputError(Problem(message, hint=hint))


def _groups(files: Sequence[tuple[str, str, int]]) -> Iterator[list[tuple[str, str, int]]]:
    """The files (path, digest, size) in groups that fit into memory."""
    group: list[tuple[str, str, int]] = []
    size = 0
    for file in files:
        if group and size + file[2] > _LARGEST_GROUP:
            yield group
            group, size = [], 0
        group.append(file)
        size += file[2]
    if group:
        yield group


def _blobs(digests: Sequence[str]) -> Iterator[bytes]:
    """The contents of objects, in the given order."""
    answer = _git("cat-file", "--batch", stdin="".join(f"{digest}\n" for digest in digests).encode())
    # Each object is a line "digest type size", its bytes, and a line feed. The size is needed: bytes may be anything.
    at = 0
    for _ in digests:
        end = answer.index(b"\n", at)
        size = int(answer[at:end].rsplit(b" ", 1)[1])
        yield answer[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def _git(*arguments: str, stdin: bytes = b"") -> bytes:
    done = run_git(*arguments, stdin=stdin)
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split()).removeprefix("fatal: ")
        hint = "run it inside a git repository" if "not a git repository" in reason else None
        raise InputError(Problem(f"--against-ref: git {arguments[0]} failed: {reason}", hint=hint))
    return done.stdout


def run_git(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git with these arguments. Raises InputError if it could not be run at all; a failure is in the result."""
    command: Sequence[str] = ("git", *_OPTIONS, *arguments)
    # No questions, no locks, and messages in English, since some are searched for above.
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        return subprocess.run(  # noqa: S603 - no shell; a ref that could be an option is refused above
            command, input=stdin, capture_output=True, timeout=_PATIENCE, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(Problem(f"--against-ref: git could not be run: {error}")) from None


def ask_git(*arguments: str) -> bytes | None:
    """What git prints; None if it fails. Outside of a repository nothing is known, which is no error."""
    try:
        done = run_git(*arguments)
    except InputError:
        return None
    return None if done.returncode else done.stdout


def answer_of_git(*arguments: str) -> str | None:
    """The output of git without surrounding white space; None if it fails or prints nothing."""
    found = ask_git(*arguments)
    return None if found is None else found.decode("utf-8", "replace").strip() or None
