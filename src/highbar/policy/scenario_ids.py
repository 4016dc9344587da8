"""The ids of scenarios in a policy, and patterns of them: `*` is any text, `?` any one character."""

from __future__ import annotations

import re

from highbar.policy.cursor import Cursor

_WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def read_id(cursor: Cursor) -> str | None:
    """A scenario's id: text without control characters, or a whole number, read as its digits."""
    if cursor.is_kind("number"):
        if _WHOLE.fullmatch(cursor.node.text):
            return cursor.node.text
        cursor.refuse_kind("text or a whole number", f'quote it: "{cursor.node.text}"')
        return None
    text = cursor.text()
    if text is not None and any(character < " " or "\x7f" <= character <= "\x9f" for character in text):
        cursor.refuse("file.bad-character", f"the id {text!a} has a control character")
        return None
    return text


def is_pattern(text: str) -> bool:
    """Whether `text` can match more than itself."""
    return "*" in text or "?" in text


def matches(pattern: str, name: str) -> bool:
    """Whether `pattern` matches all of `name`, in at most about len(pattern) × len(name) steps.

    >>> matches("CORE-*", "CORE-001"), matches("SEC-00?", "SEC-0010"), matches("[ab]", "a")
    (True, False, False)
    """
    at = position = 0
    star, resume = -1, 0
    while position < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, resume = at, position
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[position]):
            at, position = at + 1, position + 1
        # Let the last star take one character more. Earlier stars need no second try, so the time stays bounded.
        elif star >= 0:
            resume += 1
            at, position = star + 1, resume
        else:
            return False
    return all(character == "*" for character in pattern[at:])
