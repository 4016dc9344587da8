"""Patterns of scenario ids: `*` is any text, `?` any one character, everything else itself."""

from __future__ import annotations


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
