"""Files that a suite of another tool names, all below the suite's folder → their text or values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from highbar.documents.files import decode_text, read_bytes, similar_file
from highbar.documents.limits import MOST_SUITE_BYTES
from highbar.documents.problems import ValueCursor
from highbar.errors import InputError
from highbar.suite.decoding import NotPlain, decode, format_of
from highbar.suite.located import locate
from highbar.suite.tools.scalars import odd_scalars

PREFIX = "file://"
_MAGIC = frozenset("*?[")


def files_named(name: str, place: ValueCursor, folder: Path | None) -> Iterator[Path]:
    """The file of that name, or every file that a pattern with `*` matches; a problem with the name is noted."""
    bare = name.removeprefix(PREFIX)
    if folder is None:
        place.refuse("suite.linked-file", "this names a file, and the suite is not in one")
        return
    if not bare or "\0" in bare:
        place.refuse_value(name, "the name of a file")
        return
    if not _MAGIC.isdisjoint(bare):
        yield from _matching_files(bare, place, folder)
        return
    path = folder / bare
    if not _is_below(path, folder):
        hint = "move it there: what a run is judged by must be kept together"
        place.refuse("suite.linked-file", f"the file '{bare[:60]}' is not below the folder of the suite", hint)
    elif not path.is_file():
        place.refuse("file.missing", f"there is no file '{bare[:60]}'", similar_file(path))
    else:
        yield path


def _matching_files(pattern: str, place: ValueCursor, folder: Path) -> Iterator[Path]:
    try:
        found = [path for path in sorted(folder.glob(pattern)) if path.is_file() and _is_below(path, folder)]
    except (ValueError, NotImplementedError):  # an absolute pattern, or one with `**` inside of a name
        found = []
    if not found:
        place.refuse("file.missing", f"no file below the folder of the suite matches '{pattern[:60]}'")
    yield from found


def _is_below(path: Path, folder: Path) -> bool:
    # Resolved, so that neither `..` nor a symbolic link leads out of the folder.
    return path.resolve().is_relative_to(folder.resolve())


def file_text(path: Path) -> str:
    """The text of a file. Raises InputError."""
    return decode_text(read_bytes(path, MOST_SUITE_BYTES), path)


def values_of(path: Path) -> Any:
    """The values of a YAML, JSON or JSONL file that promptfoo names. Raises InputError with all faults of its form."""
    text, format_ = file_text(path), format_of(path.name)
    odd = odd_scalars(text, "promptfoo", str(path)) if format_ == "yaml" else []
    try:
        if not odd:
            return decode(text, format_)
    except NotPlain:
        pass
    located = locate(text, format_, str(path))
    if located.problems or odd:
        raise InputError(*located.problems, *odd)
    return located.values
