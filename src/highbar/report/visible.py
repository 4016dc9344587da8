r"""Untrusted text → text that a terminal, a log viewer or a CI runner only shows and never executes.

Ids, column names, categories, errors and outputs come from the agent under test, which may be hostile. Nothing is
stripped: dangerous characters become escapes (`\x1b`, `\u202e`, `\n`), so that the reader sees what was there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Encode = Callable[[str], str]
"""How a format makes an untrusted text harmless: `visible`, or the encoder of its module."""

# Unicode calls these printable, but they are drawn as nothing: joiners, fillers, variation selectors, blank braille.
_UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
_INVISIBLE = re.compile(f"[{_UNSEEN}]")
# CI runners execute `::command` at the start of a line, and `##[command]` anywhere. Our layout may break a line at any
# space, so every word counts as the start of a line.
_RUNNER_ORDER = re.compile(r"(?<!\S)::|##(?=\w*\[)")


def visible(text: str) -> str:
    r"""`text` on one line, with invisible and control characters and CI commands as escapes.

    A runner obeys `::` only at the start of a word, so it stays as it is elsewhere.

    >>> print(visible("::error::x ##[error]y"))
    \x3a:error::x #\x23[error]y
    >>> print(visible("ok\x1b[2J\n::error::x"))
    ok\x1b[2J\n::error::x
    """
    return _RUNNER_ORDER.sub(lambda match: r"\x3a:" if match[0] == "::" else r"#\x23", revealed(text))


def revealed(text: str) -> str:
    r"""`text` on one line, with invisible and control characters as escapes; CI commands stay as they are.

    >>> print(revealed("ok\x1b[2J\n::error::x"))
    ok\x1b[2J\n::error::x
    """
    if text.isprintable() and text.isascii():
        return text
    return "".join(char.encode("unicode_escape").decode() if _hidden(char) else char for char in text)


def _hidden(char: str) -> bool:
    return not char.isprintable() or _INVISIBLE.match(char) is not None


def cells(text: str) -> int:
    """The number of terminal columns that `text` takes: two for a wide character, none for a combining mark."""
    if text.isascii():
        return len(text)
    # The character tables are loaded only for text beyond ASCII: most reports have none.
    from unicodedata import combining, east_asian_width

    return sum([0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text])


def cut(text: str, width: int) -> str:
    """`text`, shortened to `width` columns with `…` if it is longer."""
    if cells(text) <= width:
        return text
    start = text[: max(width - 1, 0)]
    while cells(start) > width - 1:
        start = start[:-1]
    return start + "…"
