"""A text → whether a reader sees anything of it: one rule, in Python and as a pattern for the engines.

A letter, digit, punctuation mark or symbol is seen, unless Unicode or its font draws nothing for it. An emoji that is
newer than this Unicode has no class yet, and is seen too.
"""

from __future__ import annotations

import unicodedata

_CLASSES = ("Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs", "Mn", "Mc", "Me")
"""Spaces, controls, format characters, private use, halves of characters, and marks, which need a letter."""
_ALSO = (
    (0x115F, 0x1160), (0x3164, 0x3164), (0xFFA0, 0xFFA0),  # Hangul fillers
    (0x2800, 0x2800), (0x13441, 0x13442), (0x1D159, 0x1D159),  # empty: Braille, hieroglyph, note head
    (0x2065, 0x2065), (0xE0000, 0xE0FFF),  # ignorable, although not assigned
    # In place of an object or of what could not be read (U+FFFC, U+FFFD), and code points that are no characters.
    (0xFFF0, 0xFFFF), (0xFDD0, 0xFDEF),
    *zip(range(0x1FFFE, 0x110000, 0x10000), range(0x1FFFF, 0x110000, 0x10000), strict=True),
)  # fmt: skip
"""Code points of other classes, or of none, that show nothing: first and last."""

_RANGES = map(r"\x{{{:x}}}-\x{{{:x}}}".format, *zip(*_ALSO, strict=True))
SEEN = "".join((r"[^\s", *map(r"\p{{{}}}".format, _CLASSES), *_RANGES, "]"))
"""The pattern of a character that is seen, for RE2 and for Java."""


def is_blank(text: str) -> bool:
    r"""Whether nothing of the text is seen.

    >>> is_blank(""), is_blank(" \u200b\ufffc"), is_blank("\u0301"), is_blank("a\u0301")
    (True, True, True, False)
    """
    if "!" <= text[:1] <= "~":  # as nearly every text begins
        return False
    return not any(map(_is_seen, text))


def _is_seen(character: str) -> bool:
    if unicodedata.category(character) in _CLASSES:
        return False
    return not any(first <= ord(character) <= last for first, last in _ALSO)
