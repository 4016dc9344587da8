"""Every JSON value that a reader can find in a text: in fences, in prose, in strings of other values.

It reads what only nearly is JSON, too: keys that occur twice, NaN, comments, commas too many or too few, other quotes.
What begins like JSON and cannot be read is said to be there. The time is linear in the text: no place of it is read
twice, but for texts inside of texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from msgspec import Struct

from highbar.checks.folding import AS_FIRST, DOUBLE_QUOTES, SINGLE_QUOTES, strict
from highbar.checks.limits import (
    DEEPEST_TEXT,
    DEEPEST_VALUE,
    MOST_JSON_VALUES,
    MOST_LISTED_TEXT,
    MOST_LISTED_VALUES,
    MOST_REMEMBERED,
)
from highbar.checks.values import NotJson, Unreadable, decode_json, fenced_blocks

UNREADABLE = "the reply has what looks like JSON and cannot be read"
_BEGIN = re.compile("[{\\[｛［﹛]")
_OPENING = re.compile("[{｛﹛](?!\\s*[{\\[｛［﹛])|[\\[［]")
"""What may open a value: nothing is read twice if it is a brace before another opening, which no object has."""
_PUNCTUATION = {
    "｛": "{",
    "﹛": "{",
    "｝": "}",
    "﹜": "}",
    "［": "[",
    "］": "]",
    "：": ":",
    "﹕": ":",
    "，": ",",
    "、": ",",
    "﹐": ",",
}
_QUOTES = "".join(sorted({*DOUBLE_QUOTES, *SINGLE_QUOTES, *"`＂＇"}))
_SPACE = re.compile(
    "(?:[\\s\\x00-\\x1f\\x7f-\\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]|\\\\[nrt])+"
)
_WORD = re.compile(f"(?:[^\\s,:{{}}\\[\\]\\\\/{re.escape(_QUOTES + ''.join(_PUNCTUATION))}]|/(?![/*]))+")
_ESCAPED_QUOTE = re.compile(r"\\+[\"']|&(?:quot|apos|#34|#39|#x22|#x27);")
_AROUND = " \t\r\n\v\f\x00\u00a0\u200b\u200c\u200d\u2060\ufeff"
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?")
_HEXADECIMAL = re.compile("[-+]?0x[0-9a-f]{1,100}")
_ESCAPED_OTHERWISE = re.compile(rf"\\+(?:[{re.escape(_QUOTES)}]|&(?:quot|apos|#)|u[0-9a-fA-F]{{4}}|x[0-9a-fA-F]{{2}})")
"""What can be a quote, but nobody knows where its text ends."""
_ESCAPED_BEGIN = re.compile(r"\\(?:u(?:00[57]b|ff[35]b|fe5b)|x[57]b)", re.IGNORECASE)
_LINE_END = re.compile(r"\n|\\n")
_LIKE_NUMBER = re.compile("[-+]?[0-9]")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "0": "\0", "\n": ""}
_WORDS: Mapping[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "undefined": None,
    "nan": math.nan,
    **{sign + word: float(f"{sign}inf") for sign in ("", "+", "-") for word in ("inf", "infinity")},
}
_NOTHING = object()
_LONGEST_QUOTE = 8
"""Characters of an escaped quote: with more of them, each length of them would be looked for to the end of the text."""


class Repeated(dict[str, Any]):
    """An object in which a key occurs more than once. As a mapping it has the last value of each key."""

    pairs: list[tuple[str, Any]]


class FoundJson(Struct, frozen=True):
    """Each value with the stretch of the text in which it is, and what is wrong if others cannot be read."""

    values: tuple[tuple[Any, str], ...]
    broken: str | None


def pairs_of(value: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Every key of an object with every value that it has."""
    return value.pairs if isinstance(value, Repeated) else list(value.items())


def find_json(text: str) -> FoundJson:
    """Every JSON value in a text."""
    return (_remembered if len(text) <= MOST_REMEMBERED else _remembered_if_long)(text)


@lru_cache(maxsize=64)
def _remembered(text: str) -> FoundJson:
    return _find_json(text)


@lru_cache(maxsize=1)
def _remembered_if_long(text: str) -> FoundJson:
    return _find_json(text)


def _find_json(text: str) -> FoundJson:
    values: list[tuple[Any, str]] = []
    broken: str | None = None
    # Each with the stretch of `text` that shows it, and how many texts it is inside of.
    waiting = [(text, text, 0)]
    while waiting and len(values) <= MOST_JSON_VALUES:
        read, shown, depth = waiting.pop()
        found, texts, is_broken = _in_text(read, whole=depth == 0)
        broken = UNREADABLE if is_broken else broken
        for value, stretch in found:
            values.append((value, stretch if depth == 0 else shown))
            texts += [(inner, stretch) for inner in texts_in(value)]
        inside = [
            (inner, stretch if depth == 0 else shown, depth + 1)
            for inner, stretch in texts
            if _BEGIN.search(inner) or _ESCAPED_BEGIN.search(inner)
        ]
        if inside and depth == DEEPEST_TEXT:
            broken = UNREADABLE
        else:
            waiting += inside
    if len(values) > MOST_JSON_VALUES:
        broken = f"the reply has more than {MOST_JSON_VALUES} JSON values"
    elif not _add_items(values, text):
        broken = "the reply has too many JSON values inside of lists"
    return FoundJson(tuple(values), broken)


def _add_items(values: list[tuple[Any, str]], text: str) -> bool:
    """Add the objects and lists in each list, as if they stood in prose; False if those are too many to read."""
    level, depth, most = values, 0, MOST_LISTED_VALUES
    while level := [
        (item, stretch)
        for one, stretch in level
        if isinstance(one, list)
        for item in one
        if isinstance(item, dict | list)
    ]:
        most -= len(level)
        # A check may read each of them as a whole.
        if most < 0 or depth * len(text) > MOST_LISTED_TEXT:
            return False
        values += level
        depth += 1
    return True


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value, each key and each value of it included."""
    stack = [value]
    while stack:
        found = stack.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, Mapping):
            stack += [part for pair in pairs_of(found) for part in pair]
        elif isinstance(found, list):
            stack += found


_Stretches = list[tuple[Any, str]]


def _in_text(text: str, *, whole: bool) -> tuple[_Stretches, _Stretches, bool]:
    """The values in a text, other texts to look at, and whether something cannot be read."""
    try:
        return [(decode_json(text), text)], [], False
    except (NotJson, Unreadable):
        pass
    blocks = fenced_blocks(text) if whole else []
    values: _Stretches = []
    for block in (text, *blocks) if whole else ():
        scalar = _scalar(block)
        if scalar is not _NOTHING:
            values.append((scalar, block))
    scanner = _Scanner(text)
    scanner.scan()
    # A block is read by itself, too: what stands before it may have swallowed it.
    others = [(block, block) for block in blocks] if scanner.broken else []
    others += [(_unescaped(text), text)] if _ESCAPED_BEGIN.search(text) else []
    return values + scanner.values, scanner.texts + others, scanner.broken


def _scalar(text: str) -> Any:
    """The value of a text that is a number, a string or a word of JSON alone."""
    bare = text.strip(_AROUND)
    if bare in ("NaN", "Infinity", "-Infinity"):
        return _word_value(bare)
    try:
        return decode_json(bare if len(bare) > 1000 or bare.startswith('"') else strict(bare, accents=False).text)
    except (NotJson, Unreadable):
        return _NOTHING


class _Open:
    """An object or a list that is not closed yet. It is `solid` if it has what nobody writes in prose."""

    __slots__ = ("closer", "has_colon", "key", "parts", "solid")

    def __init__(self, opener: str) -> None:
        self.closer = "}" if opener == "{" else "]"
        self.parts: list[Any] = []
        self.key: Any = _NOTHING
        self.has_colon = self.solid = False

    @property
    def takes_value(self) -> bool:
        return self.closer == "]" or self.has_colon

    def add(self, value: Any) -> None:
        if self.closer == "}":
            value = (self.key, value)
            self.key, self.has_colon, self.solid = _NOTHING, False, True
        self.parts.append(value)

    def value(self) -> Any:
        if self.closer == "]":
            return self.parts
        plain = dict(self.parts)
        if len(plain) == len(self.parts):
            return plain
        found = Repeated(plain)
        found.pairs = self.parts
        return found


class _Scanner:
    """Reads a text from its beginning to its end. After a fault it goes on behind it, with what was complete."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.values: _Stretches = []
        self.texts: _Stretches = []
        self.broken = False
        self.unclosed: set[str] = set()

    def scan(self) -> None:
        at = 0
        while (begin := _OPENING.search(self.text, at)) is not None:
            at = self.read(begin.start())
            if len(self.values) > MOST_JSON_VALUES:
                return

    def read(self, start: int) -> int:
        """Reads one value; returns where to go on."""
        text, at, stack = self.text, start, list[_Open]()
        while (at := self.skip(at)) < len(text):
            char = _PUNCTUATION.get(text[at], text[at])
            top = stack[-1] if stack else None
            if char in "{[":
                if (top and not top.takes_value) or len(stack) == DEEPEST_VALUE:
                    return self.fail(stack, start, at, solid=len(stack) == DEEPEST_VALUE)
                stack.append(_Open(char))
                at += 1
            elif top is None:
                return at
            elif char in "}]":
                at += 1
                if char != top.closer or top.key is not _NOTHING:
                    return self.fail(stack, start, at)
                stack.pop()
                if not stack:
                    self.values.append((top.value(), text[start:at]))
                    return at
                stack[-1].add(top.value())
                stack[-1].solid = True
            elif (end := self.token(at, top)) is not None:
                at = end
            else:
                return self.fail(stack, start, at)
        return self.fail(stack, start, at)

    def skip(self, at: int) -> int:
        """Behind spaces and comments, whose texts are looked at by themselves."""
        while True:
            space = _SPACE.match(self.text, at)
            at = space.end() if space else at
            if self.text.startswith("//", at):
                line = _LINE_END.search(self.text, at)
                end = line.start() if line else len(self.text)
            elif self.text.startswith("/*", at) and "/*" not in self.unclosed:
                end = self.text.find("*/", at + 2) + 2
                if end < 2:
                    self.unclosed.add("/*")
                    return at
            else:
                return at
            self.texts.append((self.text[at + 2 : end], self.text[at:end]))
            at = end

    def token(self, at: int, top: _Open) -> int | None:
        """Reads a comma, a colon, a string, a number or a word; None if there is none, or it cannot be there."""
        char = _PUNCTUATION.get(self.text[at], self.text[at])
        if char == "," and top.key is _NOTHING:
            top.solid = top.solid or bool(top.parts)
            return at + 1
        if char == ":" and top.key is not _NOTHING and not top.has_colon:
            top.has_colon = True
            return at + 1
        if self.text[at] in _QUOTES or _ESCAPED_QUOTE.match(self.text, at):
            top.solid = True
            return self.string(at, top)
        if _ESCAPED_OTHERWISE.match(self.text, at):
            top.solid = True
            return None
        word = _WORD.match(self.text, at)
        if word is None:
            return None
        if top.closer == "}" and not top.has_colon:
            if top.key is not _NOTHING:
                return None
            top.key = word[0]
            return word.end()
        value = _word_value(word[0])
        if value is _NOTHING:
            top.solid = top.solid or (top.has_colon and _LIKE_NUMBER.match(word[0]) is not None)
            return None
        top.add(value)
        return word.end()

    def string(self, at: int, top: _Open) -> int | None:
        if top.closer == "}" and top.key is not _NOTHING and not top.has_colon:
            return None
        escaped = _ESCAPED_QUOTE.match(self.text, at)
        quote = escaped[0] if escaped else self.text[at]
        if quote in self.unclosed or len(quote) > _LONGEST_QUOTE:
            return None
        content = _closing(quote).match(self.text, at + len(quote))
        if content is None:
            self.unclosed.add(quote)
            return None
        found = _unescaped(content[1])
        for _ in range(len(quote) - 1 if quote[0] == "\\" else 0):
            found = _unescaped(found)
        if top.closer == "}" and not top.has_colon:
            top.key = found
        else:
            top.add(found)
        return content.end()

    def fail(self, stack: list[_Open], start: int, at: int, *, solid: bool = False) -> int:
        """What is open cannot be read; what was closed within it can."""
        self.broken = self.broken or solid or any(one.solid for one in stack)
        stretch = self.text[start:at]
        for one in stack:
            inside = [part[1] for part in one.parts] if one.closer == "}" else one.parts
            self.values += [(part, stretch) for part in inside if isinstance(part, dict | list)]
            self.texts += [(part, stretch) for part in inside if isinstance(part, str)]
        return at


def _closing(quote: str) -> re.Pattern[str]:
    """The pattern of what is between a quote and the one that ends it."""
    if quote[0] == "\\":
        return re.compile(rf"(.*?)(?<!\\){re.escape(quote)}", re.DOTALL)
    if quote[0] == "&":
        return re.compile(f"(.*?){quote}", re.DOTALL)
    ends = quote
    if quote not in "\"'`":
        ends = "".join(DOUBLE_QUOTES if quote in DOUBLE_QUOTES or quote == "＂" else SINGLE_QUOTES) + "＂＇"
    end = re.escape(ends)
    return re.compile(rf"([^{end}\\]*(?:\\.[^{end}\\]*)*)[{end}]", re.DOTALL)


def _unescaped(content: str) -> str:
    if "\\" not in content:
        return content
    found = _ESCAPE.sub(_character, content)
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _character(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code[1:], 16)) if len(code) > 1 else ESCAPES.get(code, code)


def _word_value(word: str) -> Any:
    """The value of a word: a number in any spelling, true, false, null, NaN; _NOTHING if it is none."""
    read = word.lower() if word.isascii() else strict(word, accents=False, bare=True).text.strip().translate(AS_FIRST)
    if read in _WORDS:
        return _WORDS[read]
    if _NUMBER.fullmatch(read := read.replace("_", "")):
        try:
            return Decimal(read)
        except InvalidOperation:
            return _NOTHING
    return int(read, 16) if _HEXADECIMAL.fullmatch(read) else _NOTHING
