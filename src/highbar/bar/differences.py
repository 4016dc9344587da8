"""What differs between the bar of a change and that of a git ref: a diff for people, and its digest to accept it by.

It decides nothing: the verdict by the bar of the ref is what protects. The digest covers the whole content of all
files that differ, and what differs besides; the diff may be cut.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from msgspec import Struct

from highbar.errors import InputError, Problem
from highbar.language.phrases import count, some_and_more
from highbar.language.tool_names import scenario_id
from highbar.load.changed_files import MAY_LOOK, ChangedFile, changed_files, contents, size_of
from highbar.load.revision import Revision
from highbar.model import DifferingFile

DIGEST = re.compile("[0-9a-f]{32}")
"""128 bits: two changes with one digest cannot be made, and a label of GitHub has room for it."""
_MOST_LINES = 2000
"""Lines of a diff that a verdict holds."""
_MOST_COMPARED = 4000
"""Lines of two texts up to which they are compared line by line; beyond, that would take minutes."""
_MOST_LISTED = 200
"""Files that are named before their diffs."""
_LARGEST_SHOWN = 2**20
"""Bytes of a file that functions may use, up to which its diff is shown."""
_WIDTH = 77
"""Characters of a line of a diff, beside its sign."""
_REST = "… more lines; the digest covers all"
_NAMED = re.compile(rb"[\w./-]+\.(?:json|jsonl|ya?ml|csv|txt|py|js)\b")
"""The name of another file in a suite: a schema, or tests of another tool."""
_MOST_FILES = 1000
"""Files that files name, so that a hostile one cannot name files without end."""


class BarDifferences(Struct, frozen=True):
    """The files that differ, the diff, and its digest; without a digest nothing differs."""

    files: tuple[DifferingFile, ...] = ()
    text: str = ""
    digest: str | None = None


class _BothSides(Struct, frozen=True):
    """A file of both sides, None where it is not there; `link` is a link in its path, now, with the text of it."""

    path: str
    before: bytes | None
    now: bytes | None
    link: tuple[str, str] | None


def differences(
    there: Revision,
    paths: Iterable[str],
    suites: Collection[str],
    words: Sequence[str],
    *,
    code: bool,
    first: Collection[str] = (),
) -> BarDifferences:
    """What differs in the files of the bar, in those that its `suites` name, and in `words`.

    With `code`, functions decide too: then every file of the repository may matter. The files in `first` come first,
    then the suites.
    """
    # If git may not look, the bytes of each file decide, and line ends that a checkout altered count, too.
    changed = changed_files(there) if MAY_LOOK.get() else {}
    same = there.kept() - changed.keys() if MAY_LOOK.get() else frozenset()
    # What git's attributes say alters the files that are checked out.
    paths = (*paths, *(path for path in changed if posixpath.basename(path) == ".gitattributes"))
    files = {path: _file(there, path) for path in paths if path not in same}
    todo = [one for path, one in files.items() if path in suites]
    todo += [_file(there, path) for path in suites if path in same]
    while todo and len(files) < _MOST_FILES:
        one = todo.pop()
        for path in sorted({*_named_in(one), *_changed_in(one, changed)} - files.keys() - same):
            files[path] = _file(there, path)
            todo.append(files[path])
    sides: list[_BothSides | ChangedFile] = [one for one in files.values() if _differs(one)]
    others = [one for path, one in changed.items() if path not in files] if code else []
    if not (sides or words or others):
        return BarDifferences()
    sides = sorted((*sides, *others), key=lambda one: (one.path not in first, one.path not in suites, one.path))
    listed = sorted([one.path, *_names_of(one)] for one in sides)
    digest = digest_of([listed, list(words)])
    lines = [f"{_shown(one.path)}: {_listed(one).change}" for one in sides[:_MOST_LISTED]] if len(sides) > 1 else []
    lines += [f"… {count(len(sides) - _MOST_LISTED, 'more file')}"] if len(sides) > _MOST_LISTED else []
    lines += words
    diffs = chain.from_iterable(_diff(one, there) for one in sides)
    lines += islice(diffs, _MOST_LINES)
    lines += [_REST] if next(diffs, None) is not None else []
    return BarDifferences(tuple(map(_listed, sides)), _encodable("\n".join(lines)), digest)


def digest_of(value: Any) -> str:
    """The digest of a value of JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]


def refuse_other_digest(given: str, found: BarDifferences, there: Revision) -> None:
    """Raise InputError unless a digest is that of what differs."""
    if not DIGEST.fullmatch(given):
        hint = f"the report of a check with --against-ref {there.ref} has the digest of what differs"
        raise InputError(
            Problem(
                "ref.other-digest", f"--accept-change {given!r} is no digest: wanted 32 hexadecimal digits", hint=hint
            )
        )
    if found.digest is None:
        message = f"--accept-change {given}: nothing differs from {there.ref}, so nothing is accepted"
        raise InputError(Problem("ref.other-digest", message, hint="leave it out"))
    if given != found.digest:
        message = f"--accept-change {given}: something else differs from {there.ref}, so nothing is accepted"
        what = some_and_more([each.what for each in found.files]) or "what is not in a file"
        hint = f"now it is {what} (digest {found.digest}); leave it out, and look at what this change does to the bar"
        raise InputError(Problem("ref.other-digest", message, hint=hint))


def _shown(path: str) -> str:
    """A path on one line, with what cannot be printed as escapes."""
    return _encodable(scenario_id(path))


def _encodable(text: str) -> str:
    """The text, with what cannot be written as UTF-8, in the name of a file, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _file(there: Revision, path: str) -> _BothSides:
    try:
        before = there.content(path)
    except InputError:  # a link, or a folder: whatever needed it was refused
        before = None
    place, link = there.root, None
    for part in path.split("/"):
        place /= part
        if link is None and place.is_symlink():
            link = (place.relative_to(there.root).as_posix(), str(place.readlink()))
    try:
        now = place.read_bytes() if place.is_file() else None
    except OSError as error:
        raise InputError(Problem("file.unreadable", f"cannot be read: {error.strerror}", path)) from error
    return _BothSides(path, before, now, link)


def _differs(file: _BothSides) -> bool:
    return file.before != file.now or (file.link is not None and file.before is not None)


def _named_in(file: _BothSides) -> Iterator[str]:
    """The paths of the files that a file names on either side."""
    for content in {file.before or b"", file.now or b""}:
        for name in _NAMED.findall(content):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), os.fsdecode(name)))
            if not path.startswith(("/", "../")):
                yield path


def _changed_in(file: _BothSides, changed: Iterable[str]) -> Iterator[str]:
    """The changed paths whose name is in the file on either side: not every name has an ending."""
    for path in changed:
        name = re.escape(os.fsencode(posixpath.basename(path)))
        word = re.compile(rb"(?<![\w.-])" + name + rb"(?![\w-]|\.\w)")
        if any(side is not None and word.search(side) for side in (file.before, file.now)):
            yield path


def _names_of(file: _BothSides | ChangedFile) -> list[Any]:
    if isinstance(file, ChangedFile):
        return [file.before, file.now]
    return [_sha256(file.before), _sha256(file.now), file.link]


def _listed(file: _BothSides | ChangedFile) -> DifferingFile:
    """The file in short."""
    if isinstance(file, ChangedFile):
        before, now = (None if side is None else f"git {side[1]}" for side in (file.before, file.now))
    else:
        through = "" if file.link is None else f" through {_shown(file.link[0])} → {_shown(file.link[1])}"
        before = None if file.before is None else f"sha256 {_sha256(file.before)}"
        now = None if file.now is None else f"sha256 {_sha256(file.now)}{through}"
    return DifferingFile(_shown(file.path), "removed" if now is None else "changed", before or "not there", now)


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _diff(file: _BothSides | ChangedFile, there: Revision) -> Iterator[str]:
    """The lines of a unified diff."""
    if isinstance(file, ChangedFile):
        if size_of(there, file) > _LARGEST_SHOWN:
            yield f"{_shown(file.path)} is too large to show: {_named(file.before)} → {_named(file.now)}"
            return
        file = _BothSides(file.path, *contents(there, file), None)
    through = "" if file.link is None else f" (through the link {_shown(file.link[0])} → {_shown(file.link[1])})"
    yield f"--- {_shown(there.name(file.path)) if file.before is not None else '/dev/null'}"
    yield f"+++ {_shown(file.path) if file.now is not None else '/dev/null'}{through}"
    try:
        old, new = ((side or b"").decode("utf-8").split("\n") for side in (file.before, file.now))
    except UnicodeDecodeError:
        yield f"no text: sha256 {_sha256(file.before)} → {_sha256(file.now)}"
        return
    if old[-1:] == new[-1:] == [""]:  # both end with the end of a line
        del old[-1], new[-1]
    if len(old) + len(new) > _MOST_COMPARED:
        yield f"too long to show: sha256 {_sha256(file.before)} → {_sha256(file.now)}"
        return
    for line in [*difflib.unified_diff(old, new, lineterm="")][2:]:
        # In pieces that every report has room for.
        sign, text = line[0], line[1:]
        yield from (f"{sign}{text[at : at + _WIDTH]}" for at in range(0, max(len(text), 1), _WIDTH))


def _named(side: tuple[str, str] | None) -> str:
    return "not there" if side is None else side[1]
