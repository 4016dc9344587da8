"""The other texts that a reader may see in a text: what its escapes mean, and the texts in its JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from highbar.checks.found_json import ESCAPES, find_json, texts_in
from highbar.checks.limits import DEEPEST_TEXT

_MARK = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL
)
"""What stands for another text."""


class Decoded(Struct, frozen=True):
    """A text with what its marks mean, and the one of which it is made."""

    text: str
    of: Decoded | str

    def stretch(self, found: str) -> str:
        """The part of the first text that became this part of the text."""
        start = self.text.find(found)
        if start < 0 or not found:
            return found
        if isinstance(self.of, str):
            return _origin(self.of, start, start + len(found))
        return self.of.stretch(_origin(self.of.text, start, start + len(found)))


def decoded(text: str) -> Iterator[Decoded]:
    """The text with its marks decoded, and that again, until there is none: texts of JSON are in texts of JSON."""
    read: Decoded | str = text
    for _ in range(DEEPEST_TEXT):
        before = read if isinstance(read, str) else read.text
        after = _MARK.sub(_meaning, before)
        if after == before:
            return
        read = Decoded(after, read)
        yield read


def json_texts(text: str) -> Iterator[tuple[str, str]]:
    """Each text in the JSON that can be found in a text, with the stretch that shows it."""
    seen: set[str] = set()
    for value, stretch in find_json(text).values:
        for inner in texts_in(value):
            if inner and inner != text and inner not in seen:
                seen.add(inner)
                yield inner, stretch


def _meaning(mark: re.Match[str]) -> str:
    escape = mark[0][1:]
    if len(escape) > 5:  # two halves of one character
        return chr(0x10000 + ((int(escape[1:5], 16) - 0xD800) << 10) + int(escape[7:], 16) - 0xDC00)
    return chr(int(escape[1:], 16)) if len(escape) > 1 else ESCAPES.get(escape, escape)


def _origin(before: str, start: int, end: int) -> str:
    """The part of a text that became this stretch, which is not empty, of the text with its marks decoded."""
    at = last = 0
    first: int | None = None
    for mark in chain(_MARK.finditer(before), [None]):
        for begin, close, length in (
            (last, mark.start() if mark else len(before), None),
            (mark.start(), mark.end(), len(_meaning(mark))) if mark else (len(before), len(before), 0),
        ):
            size = close - begin if length is None else length
            if first is None and start < at + size:
                first = begin + start - at if length is None else begin
            if first is not None and end <= at + size:
                return before[first : begin + end - at if length is None else close]
            at += size
        last = mark.end() if mark else last
    return before
