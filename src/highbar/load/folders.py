"""An argument that names a file, a folder or a pattern → the paths to read.

Nothing is skipped silently: whatever is found and could be results is read or refused. Left out are files whose names
are not those of results (a note lists them), and names that start with a dot or an underscore, such as Spark's own.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from highbar.documents.files import similar_file
from highbar.errors import InputError, Problem
from highbar.load import run_folders

WANTED = "wanted .jsonl, .json, .csv or .parquet (.gz or .zst behind the first three), or another tool's log"
_MOST_LISTED = 10
"""Files in one message."""
_NEAR_FORMAT = r"(?i)\.(jsonl|ndjson|json|csv|parquet)\.\w+$"
"""The name of results that are compressed in another way, or not yet complete: `part-1.jsonl.bz2`, `part-2.csv.tmp`."""
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


def expand(argument: str, is_results: Callable[[str], bool]) -> Named:
    """The files that an argument names. Raises InputError if there are none, or if one of them cannot be read."""
    path = Path(argument)
    of_run = run_folders.results_in(argument)
    if of_run is not None:
        return Named(((of_run, None),))
    # os.path, not Path: Path.is_dir and Path.exists fail if the text is too long for a path.
    if os.path.isdir(path):
        return _folder(argument, is_results)
    if os.path.exists(path):
        return Named(((argument, None),))
    if os.path.lexists(path):
        raise InputError(Problem(_BROKEN, file=argument, hint=_LINK_HINT))
    if not glob.has_magic(argument):
        raise InputError(Problem("no such file", file=argument, hint=similar_file(path)))
    return _match_pattern(argument, is_results)


def _match_pattern(pattern: str, is_results: Callable[[str], bool]) -> Named:
    """The files that match a pattern. A matching folder is read as if it were named, unless the pattern enters it."""
    problems = [_folder_problem(path) for path in _searched_folders(pattern)]
    matches = sorted(glob.glob(pattern, recursive=True))
    files: list[tuple[str, str | None]] = []
    notes: list[str] = []
    for match in matches:
        inside = match.rstrip(os.sep) + os.sep
        if os.path.isdir(match) and any(other.startswith(inside) and other != inside for other in matches):
            continue
        try:
            named = expand(match, is_results)
        except InputError as error:
            problems += error.problems
            continue
        files += named.found
        notes += [named.note] if named.note else []
    found = [problem for problem in problems if problem]
    if not files and not found:
        found = [Problem("no file matches this pattern", file=pattern)]
    if found:
        raise InputError(*found)
    return Named(tuple(files), "; ".join(notes) or None)


def _searched_folders(pattern: str) -> Iterator[str]:
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
        return Problem(_BROKEN, file=path, hint=_LINK_HINT)
    if os.path.isdir(path):
        try:
            with os.scandir(path):
                return None
        except OSError as error:
            return Problem(f"cannot be read: {error.strerror}", file=path)
    return None


class _FolderWalk(Struct):
    """What the walk through a folder has found so far."""

    is_results: Callable[[str], bool]
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
            self.problems.append(Problem(message, file=folder, hint="remove the link"))
            return
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            if not hidden:
                self.problems.append(Problem(f"cannot be read: {error.strerror}", file=folder))
            return
        if not entries and above and not hidden:
            hint = "results are missing, or remove the folder"
            self.problems.append(Problem("this folder is empty", file=folder, hint=hint))
        for entry in entries:
            if not entry.name.startswith(".") or entry.is_dir():
                self._entry(entry, above | {real}, hidden=hidden or entry.name.startswith((".", "_")))

    def _entry(self, entry: os.DirEntry[str], above: frozenset[str], *, hidden: bool) -> None:
        if entry.is_dir():
            of_run = None if hidden else run_folders.results_in(entry.path)
            if of_run is None:
                self.add_folder(entry.path, above, hidden=hidden)
            else:  # the other files in the folder of a run are not results
                self.runs.append(of_run)
        elif not hidden and entry.is_file() and not self.is_results(entry.name) and re.search(_NEAR_FORMAT, entry.name):
            message, hint = "this looks like results, in a form that is not read", "unpack it, or move it elsewhere"
            self.problems.append(Problem(message, file=entry.path, hint=hint))
        elif hidden or (entry.is_file() and not self.is_results(entry.name)):
            self.left.append(entry.path)
        elif entry.is_file():
            linked = run_folders.results_in(entry.path) if entry.is_symlink() else None
            (self.files if linked is None else self.runs).append(linked or entry.path)
        elif entry.is_symlink():
            self.problems.append(Problem(_BROKEN, file=entry.path, hint=_LINK_HINT))
        elif self.is_results(entry.name):
            self.problems.append(Problem("not a regular file", file=entry.path))
        else:
            self.left.append(entry.path)


def _folder(folder: str, is_results: Callable[[str], bool]) -> Named:
    walk = _FolderWalk(is_results, [], [], [], [])
    walk.add_folder(folder, frozenset(), hidden=False)
    if walk.problems:
        raise InputError(*walk.problems)
    if walk.runs:
        return Named(((run_folders.only_run(folder, walk.runs, walk.files), None),), _note(folder, walk.left))
    if not walk.files:
        raise InputError(Problem("no results file in this folder", file=folder, hint=WANTED))
    return Named(tuple((path, folder) for path in walk.files), _note(folder, walk.left))


def _note(folder: str, left: list[str]) -> str | None:
    if not left:
        return None
    names = [os.path.relpath(path, folder) for path in left]
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    what = "1 file was" if len(names) == 1 else f"{len(names)} files were"
    return f"{folder}: {what} not read: {', '.join(names[:_MOST_LISTED])}{more}"
