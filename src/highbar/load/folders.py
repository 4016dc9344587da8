"""An argument that names a file, a folder, a pattern or a run → the paths to read.

Nothing is skipped silently: whatever is found and could be results is read or refused. Left out are files whose names
are not those of results (a note lists them), and names that start with a dot or an underscore, such as Spark's own.
"""

from __future__ import annotations

import glob
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from highbar.documents.files import similar_file
from highbar.errors import InputError, Problem
from highbar.language.phrases import count, some
from highbar.model import Format

WANTED = "wanted .jsonl, .json, .csv or .parquet (.gz or .zst behind the first three), or another tool's log"
SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
LOGS = (".eval",)
"""Endings that only results of another tool have; folders are searched for them too."""
_MOST_LISTED = 10
"""Files in one message."""
_NEAR_FORMAT = r"(?i)\.(jsonl|ndjson|json|csv|parquet)\.\w+$"
"""The name of results that are compressed in another way, or not yet complete: `part-1.jsonl.bz2`, `part-2.csv.tmp`."""
# The same as in `store.run_document`, which takes time to load, and few checks read the folder of a run.
JOURNAL, RESULTS, DOCUMENT = "journal", "results.jsonl", "run.json"
_SCHEMA = b'"highbar/run/'
_HEAD = 512
_BROKEN = "this link leads to nothing"
_LINK_HINT = "restore what it points to, or remove the link"


class Named(Struct, frozen=True):
    """The files that an argument names, in order; each with the folder that was searched, None if it was named itself.

    `note` is about files in a folder that are not read.
    """

    found: tuple[tuple[str, str | None], ...]
    note: str | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The paths alone."""
        return tuple(path for path, _ in self.found)


def is_results(name: str) -> bool:
    """Whether a file with this name is read if it is in a folder."""
    return form_named(name)[0] is not None or name.endswith(LOGS)


def form_named(name: str) -> tuple[Format | None, str | None]:
    """The format and the compression of a file by its name; None for one that the name does not tell."""
    stem, suffix = os.path.splitext(name.lower())
    compression = COMPRESSIONS.get(suffix)
    if compression:
        suffix = os.path.splitext(stem)[1]
    return SUFFIXES.get(suffix), compression


def results_in(path: str) -> str | None:
    """The path of the results if a path names a run folder, or the results in one; else None.

    A link to the results is followed: another name must not make an interrupted run look like a whole one.
    """
    if os.path.isdir(path):
        return os.path.join(path, RESULTS) if _is_run(path) else None
    for file in dict.fromkeys((path, os.path.realpath(path))):
        if os.path.basename(file) == RESULTS and _is_run(os.path.dirname(file) or os.curdir):
            return file
    return None


def _is_run(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, JOURNAL)) or _has_document(folder)


def _has_document(folder: str) -> bool:
    """Whether the folder has a `run.json` of ours: a copy of a run folder may have lost its journal."""
    try:
        with open(os.path.join(folder, DOCUMENT), "rb") as stream:
            return _SCHEMA in stream.read(_HEAD)
    except (OSError, ValueError):
        return False


def expand(argument: str) -> Named:
    """The files that an argument names. Raises InputError if there are none, or if one of them cannot be read."""
    path = Path(argument)
    of_run = results_in(argument)
    if of_run is not None:
        return Named(((of_run, None),))
    # os.path, not Path: Path.is_dir and Path.exists fail if the text is too long for a path.
    if os.path.isdir(path):
        return _folder(argument)
    if os.path.exists(path):
        return Named(((argument, None),))
    if os.path.lexists(path):
        raise InputError(Problem("file.broken-link", _BROKEN, file=argument, hint=_LINK_HINT))
    if not glob.has_magic(argument):
        raise InputError(Problem("file.missing", "no such file", file=argument, hint=similar_file(path)))
    return _match_pattern(argument)


def _match_pattern(pattern: str) -> Named:
    """The files that match a pattern. A matching folder is read as if it were named, unless the pattern enters it."""
    problems = [_folder_problem(path) for path in _folders_in(pattern)]
    matches = sorted(glob.glob(pattern, recursive=True))
    files: list[tuple[str, str | None]] = []
    notes: list[str] = []
    for match in matches:
        inside = match.rstrip(os.sep) + os.sep
        if os.path.isdir(match) and any(other.startswith(inside) and other != inside for other in matches):
            continue
        try:
            named = expand(match)
        except InputError as error:
            problems += error.problems
            continue
        files += named.found
        notes += [named.note] if named.note else []
    found = [problem for problem in problems if problem]
    if not files and not found:
        found = [Problem("file.missing", "no file matches this pattern", file=pattern)]
    if found:
        raise InputError(*found)
    return Named(tuple(files), "; ".join(notes) or None)


def _folders_in(pattern: str) -> Iterator[str]:
    """All folders and links that a pattern searches."""
    above = os.path.dirname(pattern.rstrip(os.sep))
    seen: set[str] = set()
    while above and above not in seen:
        seen.add(above)
        yield from glob.glob(above, recursive=True)
        above = os.path.dirname(above)


def _folder_problem(path: str) -> Problem | None:
    """The problem if a pattern cannot search a folder, which glob would skip silently; else None."""
    if os.path.islink(path) and not os.path.exists(path):
        return Problem("file.broken-link", _BROKEN, file=path, hint=_LINK_HINT)
    if os.path.isdir(path):
        try:
            with os.scandir(path):
                return None
        except OSError as error:
            return Problem("file.unreadable", f"cannot be read: {error.strerror}", file=path)
    return None


class _FolderWalk(Struct):
    """What the walk through a folder has found so far."""

    files: list[str]
    left: list[str]
    problems: list[Problem]
    runs: list[str]

    def add_folder(self, folder: str, above: frozenset[str], *, hidden: bool) -> None:
        """Add everything in a folder, in order; `above` has the real paths of the folders around it."""
        # Real paths, since a link to a folder above would be followed without end.
        real = os.path.realpath(folder)
        if real in above:
            message = "this link leads back to a folder that it is in"
            self.problems.append(Problem("file.broken-link", message, file=folder, hint="remove the link"))
            return
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            if not hidden:
                self.problems.append(Problem("file.unreadable", f"cannot be read: {error.strerror}", file=folder))
            return
        if not entries and above and not hidden:
            hint = "results are missing, or remove the folder"
            self.problems.append(Problem("file.no-results", "this folder is empty", file=folder, hint=hint))
        for entry in entries:
            if not entry.name.startswith(".") or entry.is_dir():
                self._entry(entry, above | {real}, hidden=hidden or entry.name.startswith((".", "_")))

    def _entry(self, entry: os.DirEntry[str], above: frozenset[str], *, hidden: bool) -> None:
        if entry.is_dir():
            of_run = None if hidden else results_in(entry.path)
            if of_run is None:
                self.add_folder(entry.path, above, hidden=hidden)
            else:  # the other files in the folder of a run are not results
                self.runs.append(of_run)
        elif not hidden and entry.is_file() and not is_results(entry.name) and re.search(_NEAR_FORMAT, entry.name):
            message, hint = "this looks like results, in a form that is not read", "unpack it, or move it elsewhere"
            self.problems.append(Problem("file.unknown-format", message, file=entry.path, hint=hint))
        elif hidden or (entry.is_file() and not is_results(entry.name)):
            self.left.append(entry.path)
        elif entry.is_file():
            linked = results_in(entry.path) if entry.is_symlink() else None
            (self.files if linked is None else self.runs).append(linked or entry.path)
        elif entry.is_symlink():
            self.problems.append(Problem("file.broken-link", _BROKEN, file=entry.path, hint=_LINK_HINT))
        elif is_results(entry.name):
            self.problems.append(Problem("file.not-regular", "not a regular file", file=entry.path))
        else:
            self.left.append(entry.path)


def _folder(folder: str) -> Named:
    walk = _FolderWalk([], [], [], [])
    walk.add_folder(folder, frozenset(), hidden=False)
    if walk.problems:
        raise InputError(*walk.problems)
    if walk.runs:
        return Named(((_only_run(folder, walk.runs, walk.files), None),), _note(folder, walk.left))
    if not walk.files:
        raise InputError(Problem("file.no-results", "no results file in this folder", file=folder, hint=WANTED))
    return Named(tuple((path, folder) for path in walk.files), _note(folder, walk.left))


def _only_run(folder: str, runs: Sequence[str], others: Sequence[str]) -> str:
    """The results of the only run below a folder. Raises InputError if there are several runs, or other results."""
    if len(runs) == 1 and not others:
        return runs[0]
    named = [os.path.relpath(os.path.dirname(run), folder) for run in runs]
    beside = [os.path.relpath(other, folder) for other in others]
    message = f"this folder has {count(len(runs), 'run')} in it{', and other results' if others else ''}"
    hint = f"name the one that is meant: {os.path.dirname(runs[-1])}"
    raise InputError(Problem("run.mixed", f"{message} ({some([*named, *beside], 5)})", folder, hint=hint))


def _note(folder: str, left: list[str]) -> str | None:
    if not left:
        return None
    names = [os.path.relpath(path, folder) for path in left]
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    what = "1 file was" if len(names) == 1 else f"{len(names)} files were"
    return f"{folder}: {what} not read: {', '.join(names[:_MOST_LISTED])}{more}"


@contextmanager
def exact_path(path: str, suffix: str = "") -> Iterator[str]:
    """The path, or that of a link to it if it has `*`, `?` or `[`, or starts with `~`.

    DuckDB takes these in a path for a pattern, and for the home folder.

    A link, since DuckDB cannot escape them in every path: it takes a backslash before one for the end of a folder.
    """
    if not glob.has_magic(path) and not path.startswith("~"):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="highbar-") as folder:
        link = os.path.join(folder, f"results{suffix}")
        os.symlink(os.path.abspath(path), link)
        yield link
