"""JSON text in, a tree with places out. Strict: no NaN, no comments, no trailing commas, nothing after the end."""

from __future__ import annotations

import re
from bisect import bisect_right
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined] # undocumented, but stable

from highbar.documents.limits import MOST_NESTING
from highbar.documents.scalars import JSON_NUMBER
from highbar.documents.tree import Kind, Node
from highbar.errors import InputError, Problem

_SPACE = re.compile(r"[ \t\n\r]*")
_BLANKS = frozenset(" \t\n\r")
_WORD = re.compile(r"[A-Za-z0-9_.+-]+")
_CONSTANTS: dict[str, Kind] = {"true": "boolean", "false": "boolean", "null": "null"}


def parse_json(text: str, file: str) -> Node:
    """The tree of a JSON document. Raises InputError at the first character that is not JSON."""
    return _JsonReader(text, file).document()


# Not `json.loads`, which does not say where each value is: every message about a policy names that place.
class _JsonReader:
    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.at = 0
        self.lines = [0, *(found.end() for found in re.finditer("\n", text))]

    def document(self) -> Node:
        node = self._value(0)
        self._skip_space()
        if self.at < len(self.text):
            raise self._fault("file.not-json", "found text after the end of the JSON")
        return node

    def _value(self, depth: int) -> Node:
        if depth > MOST_NESTING:
            raise self._fault("file.too-deep", f"nested deeper than {MOST_NESTING}")
        self._skip_space()
        character = self.text[self.at : self.at + 1]
        if character == "{":
            return self._mapping(depth)
        if character == "[":
            return self._list(depth)
        return self._string() if character == '"' else self._constant()

    def _mapping(self, depth: int) -> Node:
        line, column = self._position(self.at)
        self.at += 1
        entries: list[tuple[Node, Node]] = []
        while not self._closes("}", first=not entries):
            if self.text[self.at : self.at + 1] != '"':
                raise self._fault("file.not-json", "wanted a key in quotes")
            key = self._string()
            self._skip_space()
            if self.text[self.at : self.at + 1] != ":":
                raise self._fault("file.not-json", "wanted ':' after the key")
            self.at += 1
            entries.append((key, self._value(depth + 1)))
        return Node("mapping", entries=tuple(entries), line=line, column=column)

    def _list(self, depth: int) -> Node:
        line, column = self._position(self.at)
        self.at += 1
        items: list[Node] = []
        while not self._closes("]", first=not items):
            items.append(self._value(depth + 1))
        return Node("list", items=tuple(items), line=line, column=column)

    def _closes(self, bracket: str, *, first: bool) -> bool:
        """Whether the list or mapping ends here. If not, moves to its next entry; `first`: no comma precedes it."""
        self._skip_space()
        character = self.text[self.at : self.at + 1]
        if character == bracket:
            self.at += 1
            return True
        if first:
            return False
        if character != ",":
            raise self._fault("file.not-json", f"wanted ',' or '{bracket}'")
        self.at += 1
        self._skip_space()
        if self.text[self.at : self.at + 1] == bracket:
            raise self._fault("file.not-json", "found a comma after the last entry")
        return False

    def _string(self) -> Node:
        start = self.at
        line, column = self._position(start)
        try:
            text, self.at = scanstring(self.text, start + 1, True)  # noqa: FBT003 - strict; it takes no keywords
            text.encode()  # fails for half of a surrogate pair, which JSON's escapes allow
        except JSONDecodeError as error:
            self.at = error.pos
            raise self._fault(
                "file.not-json", "a text in quotes has a bad escape, a raw control character, or no end"
            ) from None
        except UnicodeEncodeError:
            self.at = start
            raise self._fault("file.bad-character", "a text in quotes has half of a surrogate pair") from None
        return Node("text", text, line=line, column=column, text_at=(line, column + 1) if "\n" not in text else None)

    def _constant(self) -> Node:
        line, column = self._position(self.at)
        word = _WORD.match(self.text, self.at)
        if not word:
            raise self._fault("file.not-json", "wanted a value")
        text = word.group()
        if text not in _CONSTANTS and not JSON_NUMBER.fullmatch(text):
            raise self._fault("file.not-json", f"'{text[:40]}' is not JSON", 'text needs "quotes"')
        self.at = word.end()
        return Node(_CONSTANTS.get(text, "number"), text, line=line, column=column)

    def _skip_space(self) -> None:
        if self.text[self.at : self.at + 1] not in _BLANKS:  # the usual case, and cheaper than the pattern
            return
        space = _SPACE.match(self.text, self.at)
        self.at = space.end() if space else self.at

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.lines, offset)
        return line, offset - self.lines[line - 1] + 1

    def _fault(self, code: str, message: str, hint: str | None = None) -> InputError:
        line, column = self._position(min(self.at, len(self.text)))
        return InputError(Problem(code, message, self.file, line, column, hint))
