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
from pathlib import Path
from typing import Any

from msgspec import Struct

from highbar.errors import InputError, Problem
from highbar.language.phrases import count
from highbar.load.revision import Revision
from highbar.model import DifferingFile

DIGEST = re.compile("[0-9a-f]{32}")
"""128 bits: two changes with one digest cannot be made, and a label of GitHub has room for it."""
_MOST_LINES = 2000
"""Lines of a diff that a verdict holds."""
_MOST_COMPARED = 4000
"""Lines of two texts up to which a diff looks for what they share; beyond, that would take minutes."""
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
    there: Revision, paths: Iterable[str], suites: Collection[str], words: Sequence[str], *, code: bool
) -> BarDifferences:
    """What differs in the files of the bar, in those that its `suites` name, and in `words`.

    With `code`, functions decide too: then every file of the repository may matter.
    """
    files = {path: _file(there, path) for path in paths}
    todo = [one for path, one in files.items() if path in suites]
    while todo and len(files) < _MOST_FILES:
        one = todo.pop()
        for path in sorted(set(_named_in(one)) - files.keys()):
            files[path] = _file(there, path)
            todo.append(files[path])
    differ = [files[path] for path in sorted(files) if _differs(files[path])]
    others = [line for path, line in _of_code(there) if path not in files] if code else []
    if not (differ or words or others):
        return BarDifferences()
    listed = [[one.path, _sha256(one.before), _sha256(one.now), one.link] for one in differ]
    digest = digest_of([listed, list(words), others])
    lines = [line for one in differ for line in _diff(one, there)]
    lines += [f"{count(len(others), 'other file')} that code of checks may use:", *others] if others else []
    lines += words
    more = len(lines) - _MOST_LINES
    text = "\n".join([*lines[:_MOST_LINES], *([_more(more)] if more > 0 else [])])
    return BarDifferences(tuple(map(_listed, differ)), _encodable(text), digest)


def digest_of(value: Any) -> str:
    """The digest of a value of JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]


def refuse_other_digest(given: str, found: BarDifferences, there: Revision) -> None:
    """Raise InputError unless a digest is that of what differs."""
    if not DIGEST.fullmatch(given):
        hint = f"the report of a check with --against-ref {there.ref} has the digest of what differs"
        raise InputError(Problem(f"--accept-change {given!r} is no digest: wanted 32 hexadecimal digits", hint=hint))
    if given != found.digest:
        what = "something else differs" if found.digest else "nothing differs"
        message = f"--accept-change {given}: {what} from {there.ref}, so nothing is accepted"
        raise InputError(Problem(message, hint="leave it out, and look at what this change does to the bar"))


def _encodable(text: str) -> str:
    """The text, with what cannot be written as UTF-8, in the name of a file, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _more(lines: int) -> str:
    return f"… {count(lines, 'more line')}; the digest covers all"


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
        raise InputError(Problem(f"cannot be read: {error.strerror}", path)) from error
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


def _listed(file: _BothSides) -> DifferingFile:
    """The file in short."""
    through = "" if file.link is None else f" through {file.link[0]} → {file.link[1]}"
    before = "not there" if file.before is None else f"sha256 {_sha256(file.before)}"
    now = None if file.now is None else _encodable(f"sha256 {_sha256(file.now)}{through}")
    return DifferingFile(_encodable(file.path), "removed" if now is None else "changed", before, now)


def _sha256(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def _diff(file: _BothSides, there: Revision) -> Iterator[str]:
    """The lines of a unified diff."""
    through = "" if file.link is None else f" (through the link {file.link[0]} → {file.link[1]})"
    yield f"--- {there.name(file.path) if file.before is not None else '/dev/null'}"
    yield f"+++ {file.path if file.now is not None else '/dev/null'}{through}"
    try:
        old, new = ((side or b"").decode("utf-8").split("\n") for side in (file.before, file.now))
    except UnicodeDecodeError:
        yield f"no text: sha256 {_sha256(file.before)} → {_sha256(file.now)}"
        return
    if old[-1:] == new[-1:] == [""]:  # both end with the end of a line
        del old[-1], new[-1]
    if len(old) + len(new) <= _MOST_COMPARED:
        yield from list(difflib.unified_diff(old, new, lineterm=""))[2:]
        return
    same = _shared(old, new)
    old, new = old[same:], new[same:]
    rest = _shared(old[::-1], new[::-1])
    old, new = old[: len(old) - rest], new[: len(new) - rest]
    yield f"@@ -{same + 1},{len(old)} +{same + 1},{len(new)} @@"
    yield from (f"-{line}" for line in old)
    yield from (f"+{line}" for line in new)


def _shared(some: Sequence[str], others: Sequence[str]) -> int:
    """How many lines two texts begin with alike."""
    pairs = zip(some, others, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(some), len(others)))


def _of_code(there: Revision) -> Iterator[tuple[str, str]]:
    """The paths of all files of the repository that differ, each with a line about it."""
    before = there.digests()
    for path in sorted(before.keys() | there.tracked_now()):
        now = _object(there.root / path, long=len(there.commit) == 64)
        if now != before.get(path):
            yield path, f"{path}: {(before.get(path) or 'not there')[:16]} → {(now or 'not there')[:16]}"


def _object(place: Path, *, long: bool) -> str | None:
    """The name that git gives to the content of a file or link; None if there is none."""
    if place.is_symlink():
        content = os.fsencode(place.readlink())
    elif place.is_file():
        content = place.read_bytes()
    else:
        return None
    made = hashlib.sha256 if long else hashlib.sha1
    return made(b"blob %d\0" % len(content) + content).hexdigest()
