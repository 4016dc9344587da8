"""The other texts that a reader may see in a text: what its escapes and marks mean, and the texts in its JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from itertools import chain

from msgspec import Struct

from highbar.checks.found_json import ESCAPES, find_json, texts_in
from highbar.checks.limits import DEEPEST_TEXT

_ATTRIBUTES = r"(?:\s*/?>|\s[^<>=]*=[^<>]*>)"
_INLINE = (
    "a|abbr|b|bdi|bdo|big|cite|code|del|em|font|i|ins|kbd|mark|q|s|samp|small|span|strike|strong|sub|sup|tt|u|var|wbr"
)
_MARK = re.compile(
    "|".join(
        (
            r"\\(?P<pair>u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})",
            r"\\(?P<escape>u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[bfnrt0\n]|[^\w\s])",
            r"(?P<entity>&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,31};))",
            r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)",  # colors and links of a terminal
            "<!--[^<>]*-->",
            rf"(?P<block></?(?:br|div|h[1-6]|hr|li|ol|p|table|td|th|tr|ul){_ATTRIBUTES})",
            rf"</?(?:{_INLINE}){_ATTRIBUTES}",
            rf"(?<=[\w>])</?[a-zA-Z][\w:-]*{_ATTRIBUTES}(?=[\w<])",  # <name> is no tag, but one inside of a word is
            r"(?P<sign>\*{1,3}|~~|``?)(?=\S)(?P<shown>[^*~`\n]+?)(?<=\S)(?P=sign)",
            r"!?\[(?P<link>[^\[\]\n]+)\]\([^()\n]*\)",
        )
    ),
    re.DOTALL | re.IGNORECASE,
)
"""What stands for another text, or changes how it looks: escapes, entities and tags of HTML, Markdown, terminals.

Emphasis by `_` does not count, since `snake_case` has none; nor do signs that are not in pairs, as in `a * b`.
"""


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
    """What a mark shows: a character, the text between two signs, or nothing."""
    if pair := mark["pair"]:
        return chr(0x10000 + ((int(pair[1:5], 16) - 0xD800) << 10) + int(pair[7:], 16) - 0xDC00)
    if escape := mark["escape"]:
        return chr(int(escape[1:], 16)) if len(escape) > 1 else ESCAPES.get(escape, escape)
    if entity := mark["entity"]:
        return unescape(entity)
    return " " if mark["block"] else mark["shown"] or mark["link"] or ""


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
