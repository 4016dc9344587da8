"""Files as they were at a git ref, read through git into a temporary folder."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from msgspec import Struct

from highbar.errors import InputError, Problem

_PATIENCE = 60
_NOT_A_REF = re.compile(r"^-|[\x00-\x20\x7f:?*\[\\]|\.\.|\{/|^$")
"""Text that could be an option, a range, a search or the name of a file, or that git forbids in a ref."""
_OPTIONS = (
    *("--no-replace-objects", "--literal-pathspecs", "-c", "core.warnAmbiguousRefs=true"),
    *("-c", "core.fsmonitor=false", "-c", "safe.bareRepository=explicit"),
)
"""A replaced object would be another file under the same commit, an ambiguous name another commit. A tracked folder
may look like a bare repository, whose configuration names programs: it must not be taken for a submodule. A file
system monitor is a program that git's configuration names."""
_FOUND = re.compile(rb"([0-7]{6}) (\w+) ([0-9a-f]{40,64})\t")
_FILE_MODE = ("100644", "100755")
_LISTED = re.compile(rb"(100644|100755) blob ([0-9a-f]{40,64}) +([0-9]+)\t(.*)", re.DOTALL)
_LINK, _SUBMODULE = "120000", "160000"
_PLAIN = "name the file that it leads to"
_LFS = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n")
_LARGEST_POINTER = 1024
"""Bytes of a pointer of Git LFS, by its specification."""
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
        found = self.inside(file)
        if found is None:
            message = f"is outside the repository {self.root}, so {self.ref} does not have it"
            raise InputError(
                Problem("ref.outside-repository", message, str(file), hint="name one that is under version control")
            )
        return found

    def inside(self, file: Path | str) -> str | None:
        """The same; None outside. The path is as written: a link inside is a name like any other, and not followed."""
        return path_below(self.root, file)

    def beside(self, path: str, name: str) -> str:
        """The path in the repository of the file that the file at `path` calls `name`. Raises InputError outside it."""
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
        if posixpath.isabs(inside) or inside.split("/")[0] == "..":
            message = f"names {name}, which is outside the repository, so it cannot be read as it was"
            raise InputError(Problem("ref.outside-repository", message, self.name(path)))
        return inside

    def folders(self) -> list[str]:
        """The working folder and those above it, as paths in the repository; the last one is the root, as `""`."""
        parts = [part for part in self.path(os.curdir).split("/") if part != "."]
        return ["/".join(parts[:end]) for end in range(len(parts), -1, -1)]

    def link_to(self, path: str) -> str | None:
        """A link beside a path in the repository that leads to it or above it, and is something else at the ref.

        With its text; None if there is none. Whoever replaced a folder by it may have chosen where a command runs.
        """
        here = os.path.realpath(self.root / path)
        listed = self.tracked_now()
        for name in sorted({place for one in listed for place in (one, *_folders_above(one))}):
            place = self.root / name
            is_beside = place.is_symlink() and not f"{path}/".startswith(f"{name}/")
            if not is_beside or os.path.commonpath((here, to := os.path.realpath(place))) != to:
                continue
            mode = self.mode(name)
            if mode is not None and (mode != _LINK or self._link(name) != os.fsencode(place.readlink())):
                return f"{name} → {place.readlink()}"
        return None

    def has(self, path: str) -> bool:
        """Whether there was anything at that path. Raises InputError if it is in a submodule that is not here."""
        return bool(self._found(path)[1])

    def mode(self, path: str) -> str | None:
        """The mode in git of what was there: `120000` is a link, `160000` a submodule; None if nothing was."""
        return self._entry(path)[:6].decode("ascii") or None

    def content(self, path: str) -> bytes | None:
        """The bytes of the plain file that was there; None if nothing was. Raises InputError if it was no plain file.

        Also if git does not have them here: a Git LFS file, or one in a submodule, that was not fetched.
        """
        where, found = self._found(path)
        entry = _FOUND.match(found)
        if entry is None:
            return None
        mode, kind, digest = (part.decode("ascii") for part in entry.groups())
        if kind != "blob" or mode not in _FILE_MODE:
            hint = _PLAIN if mode == _LINK else None
            raise InputError(Problem("ref.not-a-file", "is not a plain file there", self.name(path), hint=hint))
        done = run_git(*where, "cat-file", "blob", digest)
        if done.returncode:
            hint = f"git fetch --refetch --no-filter origin {self.ref.removeprefix('origin/')}"
            raise InputError(Problem("ref.not-fetched", "its content is not in this clone", self.name(path), hint=hint))
        content = _from_lfs(done.stdout, where)
        if content is None:
            hint = f"git lfs fetch origin {self.ref.removeprefix('origin/')}"
            raise InputError(
                Problem("file.git-lfs", "is kept by Git LFS, and was not fetched", self.name(path), hint=hint)
            )
        return content

    def read(self, path: str) -> Path:
        """Copy the file and return the path of the copy. Raises InputError as `content`, and if nothing was there."""
        content = self.content(path)
        if content is None:
            raise InputError(self.missing(path))
        return self._copied(path, content)

    def read_below(self, folder: str, largest: int) -> None:
        """Copy all plain files below a folder that have at most `largest` bytes; `.` is the whole repository."""
        listed = read_git(
            "ls-tree", "-r", "-l", "-z", "--full-tree", self.commit, "--", *([] if folder == "." else [folder])
        )
        found = (_LISTED.match(entry) for entry in listed.split(b"\0"))
        files = [(os.fsdecode(one[4]), one[2].decode("ascii"), int(one[3])) for one in found if one is not None]
        wanted = [file for file in files if file[2] <= largest]
        for group in _groups(wanted):
            contents = _blobs([digest for _, digest, _ in group])
            for (path, _, _), blob in zip(group, contents, strict=True):
                content = _from_lfs(blob)
                if content is not None:  # else whatever needs it finds nothing, rather than something else
                    self._copied(path, content)

    def kept(self) -> frozenset[str]:
        """The paths of all files of the commit."""
        listed = read_git("ls-tree", "-r", "-z", "--name-only", "--full-tree", self.commit)
        return frozenset(map(os.fsdecode, listed.split(b"\0")[:-1]))

    def tracked_now(self) -> list[str]:
        """The paths of all files that are under version control now."""
        return [os.fsdecode(name) for name in read_git("-C", str(self.root), "ls-files", "-z").split(b"\0")[:-1]]

    def name(self, path: str) -> str:
        """The name of the file for git: `main:highbar.yaml`."""
        return f"{self.ref}:{path}"

    def place_of(self, copy: str) -> str:
        """The path in the repository of the file that this is a copy of."""
        return PurePosixPath(os.path.relpath(copy, self.folder)).as_posix()

    def renamed(self, text: str) -> str:
        """`text` with the paths of copies replaced by their names for git."""
        return text.replace(f"{self.folder}{os.sep}", f"{self.ref}:")

    def _copied(self, path: str, content: bytes) -> Path:
        copy = self.folder / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(content)
        return copy

    def _entry(self, path: str) -> bytes:
        return read_git("ls-tree", "-z", "--full-tree", self.commit, "--", path)

    def _link(self, path: str) -> bytes:
        """The text of the link that was there."""
        return read_git("cat-file", "blob", self._entry(path).split()[2].decode("ascii"))

    def _found(self, path: str) -> tuple[tuple[str, ...], bytes]:
        """The entry of that path, after the options with which git reads it: a submodule is in another repository."""
        found = self._entry(path)
        inside = None if found else self.submodule(path)
        if inside is None:
            return (), found
        commit = self._entry(inside).split()[2].decode("ascii")
        where = ("-C", str(self.root / inside))
        done = run_git(*where, "ls-tree", "-z", "--full-tree", commit, "--", posixpath.relpath(path, inside))
        if done.returncode:
            hint = f"git submodule update --init {inside}, then git -C {inside} fetch origin {commit}"
            message = f"is in the submodule {inside}, of which the commit {commit[:12]} is not here"
            raise InputError(Problem("ref.submodule", message, self.name(path), hint=hint))
        return where, done.stdout

    def submodule(self, path: str) -> str | None:
        """The submodule that the path is in; None if it is in none."""
        return self._above(path, _SUBMODULE)

    def _above(self, path: str, mode: str) -> str | None:
        """The outermost folder above a path that has this mode."""
        above = (str(one) for one in reversed(PurePosixPath(path).parents[:-1]))
        return next((one for one in above if self.mode(one) == mode), None)

    def missing(self, path: str, hint: str | None = None) -> Problem:
        """The problem that nothing was there: it may have been behind a link."""
        link = self._above(path, _LINK)
        if link is not None:
            return Problem("ref.not-a-file", f"is behind {link}, which is a link at {self.ref}", path, hint=_PLAIN)
        return Problem(
            "ref.file-missing", f"is not there at {self.ref}", path, hint=hint or f"git show {self.name(path)}"
        )


def path_below(root: Path, file: Path | str) -> str | None:
    """The path of a file from the `root` of its repository, as written; None if it is outside.

    Links above the root are followed, those inside are not: where they lead is for a change to say.
    """
    parts = PurePosixPath(os.path.abspath(file)).parts
    for end in range(1, len(parts) + 1):
        if os.path.realpath(os.path.join(*parts[:end])) == str(root):
            return "/".join(parts[end:]) or "."
    return None


def path_in_repository(file: Path) -> str | None:
    """The path of a file from the root of the repository around the working folder; None if there is none."""
    root = ask_git("rev-parse", "--show-toplevel")
    return None if root is None else path_below(Path(os.fsdecode(root.removesuffix(b"\n"))), file)


def place_in_outer_repository() -> str | None:
    """Where the repository around the working folder lies in another one; None if it lies in none.

    Whoever makes a folder a repository of its own, such as a submodule, makes every path in it another one.
    """
    root = ask_git("rev-parse", "--show-toplevel")
    if root is None:
        return None
    inner = Path(os.fsdecode(root.removesuffix(b"\n")))
    outer = ask_git("-C", str(inner.parent), "rev-parse", "--show-toplevel")
    return None if outer is None else path_below(Path(os.fsdecode(outer.removesuffix(b"\n"))), inner)


def revision_at(ref: str, folder: Path) -> Revision:
    """The repository around the working folder as it was at `ref`. Raises InputError if git does not know the ref."""
    if _NOT_A_REF.search(ref):
        raise InputError(
            Problem("ref.unknown", f"--against-ref {ref!r} is not the name of a commit", hint="write main, or a commit")
        )
    root = Path(os.fsdecode(read_git("rev-parse", "--show-toplevel").removesuffix(b"\n")))
    _refuse_a_submodule(root, ref)
    done = run_git("rev-parse", "--verify", f"{ref}^{{commit}}")
    if done.returncode:
        branch = ref.removeprefix("origin/")
        # A shallow clone of one branch knows no other one of origin, unless it is told where to keep it.
        where = f":refs/remotes/{ref}" if branch != ref else ""
        hint = f"is it fetched? git fetch origin {branch}{where}"
        raise InputError(
            Problem("ref.unknown", f"--against-ref {ref}: there is no such branch, tag or commit", hint=hint)
        )
    if b"ambiguous" in done.stderr:
        hint = f"write refs/heads/{ref}, refs/tags/{ref}, or the commit itself"
        raise InputError(
            Problem(
                "ref.unknown", f"--against-ref {ref} is ambiguous: it is the name of more than one thing", hint=hint
            )
        )
    return Revision(ref, done.stdout.decode("ascii").strip(), root, folder)


def _refuse_a_submodule(root: Path, ref: str) -> None:
    """Refuse to run in a submodule: its `main` is not the bar of the repository that a change is merged into."""
    around = os.fsdecode(read_git("rev-parse", "--show-superproject-working-tree").removesuffix(b"\n"))
    if around:
        message = f"--against-ref {ref}: this is the submodule {root}, whose {ref} is not that of {around}"
        hint = f"keep the policy in {around}, and run from there; or check out the submodule by itself"
        raise InputError(Problem("ref.submodule", message, hint=hint))


def _folders_above(name: str) -> Iterator[str]:
    while name := name.rpartition("/")[0]:
        yield name


def _from_lfs(blob: bytes, where: Sequence[str] = ()) -> bytes | None:
    """What a file holds: itself, or if it is a pointer of Git LFS what that names; None if that was not fetched."""
    pointer = _LFS.match(blob) if len(blob) <= _LARGEST_POINTER else None
    if pointer is None:
        return blob
    digest = pointer[1].decode("ascii")
    folder = Path(
        os.fsdecode(read_git(*where, "rev-parse", "--path-format=absolute", "--git-common-dir").rstrip(b"\n"))
    )
    try:
        content = (folder / "lfs" / "objects" / digest[:2] / digest[2:4] / digest).read_bytes()
    except OSError:
        return None
    return content if hashlib.sha256(content).hexdigest() == digest else None


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
    answer = read_git("cat-file", "--batch", stdin="".join(f"{digest}\n" for digest in digests).encode())
    # Each object is a line "digest type size", its bytes, and a line feed. The size is needed: bytes may be anything.
    at = 0
    for _ in digests:
        end = answer.index(b"\n", at)
        size = int(answer[at:end].rsplit(b" ", 1)[1])
        yield answer[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def read_git(*arguments: str, stdin: bytes = b"") -> bytes:
    """What git prints. Raises InputError if it fails."""
    done = run_git(*arguments, stdin=stdin)
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split()).removeprefix("fatal: ")
        hint = "run it inside a git repository" if "not a git repository" in reason else None
        raise InputError(Problem("git.failed", f"--against-ref: git {arguments[0]} failed: {reason}", hint=hint))
    return done.stdout


def run_git(*arguments: str, stdin: bytes = b"", into: BinaryIO | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run git with these arguments. Raises InputError if it could not be run at all; a failure is in the result.

    Its output goes `into` a file, or into the result.
    """
    command: Sequence[str] = ("git", *_OPTIONS, *arguments)
    # No questions, no locks, nothing fetched, and messages in English, since some are searched for above.
    alone = {"GIT_ALLOW_PROTOCOL": "", "GIT_NO_LAZY_FETCH": "1"}
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", **alone}
    try:
        return subprocess.run(  # noqa: S603 - no shell; a ref that could be an option is refused above
            command,
            input=stdin,
            stdout=into or subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=_PATIENCE,
            check=False,
            env=environment,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(Problem("git.failed", f"--against-ref: git could not be run: {error}")) from None


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
