r"""Regular expressions of JavaScript → the same in RE2. Anything that RE2 cannot express is a problem.

In JavaScript `.` stops at four kinds of line ends and `\s` matches the spaces of Unicode; in RE2 they do not. `\d`,
`\w` and `\b` are ASCII only in both. One difference remains: a character beyond the first 65,536, such as an emoji, is
one character here and two in JavaScript.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from highbar.documents.problems import ValueCursor

_SPACES = (
    (0x09, 0x0D), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
_LAST = 0x10FFFF
_LINE_ENDS = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_CONTROLS = {"t": 0x09, "n": 0x0A, "v": 0x0B, "f": 0x0C, "r": 0x0D, "0": 0x00}
_DIGITS = ((0x30, 0x39),)
_WORD = (*_DIGITS, (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_QUANTIFIER = re.compile(r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??")
_SPECIAL = frozenset("\\.^$*+?()[]{}|-")
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})")
_GROUP = re.compile(r"\(\?(?:(:)|<([A-Za-z_][A-Za-z0-9_]*)>)")

Ranges = tuple[tuple[int, int], ...]


class _NoCounterpart(Exception):
    """The part of a pattern that RE2 cannot express, and a hint."""

    def __init__(self, text: str, hint: str | None = None) -> None:
        super().__init__(text)
        self.hint = hint


def _others(ranges: Ranges) -> Ranges:
    """All characters outside the ranges, which are sorted."""
    starts = (0, *(last + 1 for _, last in ranges))
    ends = (*(first - 1 for first, _ in ranges), _LAST)
    return tuple((first, last) for first, last in zip(starts, ends, strict=True) if first <= last)


_SHORT: dict[str, Ranges] = {
    "d": _DIGITS,
    "D": _others(_DIGITS),
    "w": _WORD,
    "W": _others(_WORD),
    "s": _SPACES,
    "S": _others(_SPACES),
}


def _class(ranges: Iterable[tuple[int, int]], *, negated: bool = False) -> str:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    inside = "".join(_one(first) if first == last else f"{_one(first)}-{_one(last)}" for first, last in joined)
    return f"[{'^' if negated else ''}{inside}]"


def _one(code: int) -> str:
    """One character, in a spelling that RE2 accepts inside and outside a class."""
    character = chr(code)
    if not character.isascii() or not character.isprintable():
        return f"\\x{{{code:x}}}"
    return f"\\{character}" if character in _SPECIAL else character


SPACE, NOT_SPACE = _class(_SPACES), _class(_SPACES, negated=True)
_DOT = _class(_LINE_ENDS, negated=True)


def to_re2(pattern: str, place: ValueCursor) -> str | None:
    r"""The pattern in RE2; None after noting the part that has no counterpart.

    >>> to_re2(r"\d+ (?:am|pm)/", ValueCursor(problems=[]))
    '\\d+ (?:am|pm)/'
    """
    try:
        return "".join(_pieces(pattern))
    except _NoCounterpart as error:
        place.refuse("suite.no-counterpart", f"{error} in the pattern has no counterpart", error.hint)
        return None


def _pieces(pattern: str) -> Iterator[str]:
    at = 0
    while at < len(pattern):
        character = pattern[at]
        if character == "\\":
            piece, at = _escape(pattern, at + 1)
        elif character == "[":
            piece, at = _bracket(pattern, at + 1)
        elif character == "(":
            piece, at = _group(pattern, at)
        elif quantifier := _QUANTIFIER.match(pattern, at):
            piece, at = quantifier[0], quantifier.end()
        else:
            piece, at = _plain_character(character), at + 1
        yield piece


def _plain_character(character: str) -> str:
    if character == ".":
        return _DOT
    if character in "^$|)":
        return character
    return _one(ord(character)) if character.isascii() else character


def _group(pattern: str, at: int) -> tuple[str, int]:
    if pattern[at : at + 2] != "(?":
        return "(", at + 1
    found = _GROUP.match(pattern, at)
    if found is not None:
        return ("(?:" if found[1] else f"(?P<{found[2]}>"), found.end()
    if re.match(r"\(\?<?[=!]", pattern[at:]):
        hint = "patterns run in linear time: no lookahead and no lookbehind; use several assertions"
        raise _NoCounterpart(f"'{pattern[at : at + 4]}'", hint)
    hint = "JavaScript has no flags inside of a pattern; `icontains` ignores case"
    raise _NoCounterpart(f"'{pattern[at : at + 4]}'", hint)


def _escape(pattern: str, at: int) -> tuple[str, int]:
    """An escape outside a class, in RE2, and where it ends; `at` is after the backslash."""
    character = pattern[at : at + 1]
    if character in tuple("dDwWbB"):
        return f"\\{character}", at + 1
    if character in ("s", "S"):
        return (SPACE if character == "s" else NOT_SPACE), at + 1
    code, end = _code(pattern, at)
    return _one(code), end


def _code(pattern: str, at: int) -> tuple[int, int]:
    """The code of the single character that an escape means, and where the escape ends."""
    character = pattern[at : at + 1]
    following = pattern[at + 1 : at + 2]
    if character in _CONTROLS and not (character == "0" and following.isdigit()):
        return _CONTROLS[character], at + 1
    found = _HEX.match(pattern, at)
    if found is not None:
        code = int(found[1] or found[2], 16)
        # Half of a surrogate pair is a character in JavaScript, and none in RE2.
        if not 0xD800 <= code <= 0xDFFF:
            return code, found.end()
    elif character and not character.isalnum() and character.isascii():
        return ord(character), at + 1
    hint = "backreferences take more than linear time" if character.isdigit() else None
    raise _NoCounterpart(f"'\\{character}'", hint)


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    """A class of characters, in RE2, and where it ends; `at` is after the opening bracket."""
    negated = pattern[at : at + 1] == "^"
    at += negated
    ranges: list[tuple[int, int]] = []
    while pattern[at : at + 1] != "]":
        first, at = _member(pattern, at)
        if len(first) == 1 and first[0][0] == first[0][1] and pattern[at : at + 1] == "-":
            last, end = _member(pattern, at + 1) if pattern[at + 1 : at + 2] not in ("]", "") else ((), at)
            if len(last) == 1 and last[0][0] == last[0][1]:
                if last[0][0] < first[0][0]:
                    raise _NoCounterpart("a range that ends before it begins")
                first, at = ((first[0][0], last[0][0]),), end
        ranges += first
    if not ranges:
        if not negated:
            raise _NoCounterpart("'[]', which matches nothing,")
        return _class(((0, _LAST),)), at + 1
    return _class(ranges, negated=negated), at + 1


def _member(pattern: str, at: int) -> tuple[Ranges, int]:
    r"""One character of a class, or the characters that an escape such as `\d` means there; and where it ends."""
    character = pattern[at : at + 1]
    if not character:
        raise _NoCounterpart("a class that is never closed")
    if character != "\\":
        if ord(character) > 0xFFFF:
            raise _NoCounterpart("a character beyond U+FFFF in a class")
        return ((ord(character), ord(character)),), at + 1
    short = pattern[at + 1 : at + 2]
    if short in _SHORT:
        return _SHORT[short], at + 2
    if short == "b":  # a backspace, in a class
        return ((0x08, 0x08),), at + 2
    code, end = _code(pattern, at + 1)
    return ((code, code),), end
