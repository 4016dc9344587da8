"""A list in one text as promptfoo reads it, `a, "b, c"` → its items."""

from __future__ import annotations

import re

_BETWEEN = re.compile(r"[\s\ufeff,]*")
_SPACE = re.compile(r"[\s\ufeff]*")


class NotAList(ValueError):
    """A quote is not closed, or something follows it."""


def comma_separated(text: str) -> list[str]:
    """The items: separated by commas, with quotes around one that has a comma inside.

    >>> comma_separated('a, "b, c",,d')
    ['a', 'b, c', 'd']
    """
    found: list[str] = []
    at = _skip(_BETWEEN, text, 0)
    while at < len(text):
        if text[at] == '"':
            item, at = _read_quoted(text, at + 1)
            at = _skip(_SPACE, text, at)
            if text[at : at + 1] not in ("", ","):
                raise NotAList("wanted a comma after the closing quote")
        else:
            end = text.find(",", at)
            end = len(text) if end < 0 else end
            item, at = text[at:end].strip(), end
        found.append(item)
        at = _skip(_BETWEEN, text, at)
    return found


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _read_quoted(text: str, at: int) -> tuple[str, int]:
    r"""The text between quotes, in which `\"` and `""` mean a quote; and where it ends."""
    item = []
    while at < len(text):
        pair = text[at : at + 2]
        if pair in ('\\"', "\\\\", '""'):
            item.append(pair[1])
            at += 2
        elif text[at] == '"':
            return "".join(item), at + 1
        else:
            item.append(text[at])
            at += 1
    raise NotAList("a quote is never closed")
