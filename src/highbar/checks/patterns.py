"""Regular expressions in linear time, by RE2, which has no lookahead and no backreferences."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from highbar.checks.folding import OPTIONAL, PLACEHOLDERS
from highbar.checks.values import replace_surrogates

_OPENING = re.compile(r"(?:\((?:\?(?:P?<\w+>|[a-zA-Z-]*:|[a-zA-Z-]+\)))?|\[\^?)*")
_CLOSING = re.compile(r"(?:[)\]*+?]|\{\d*,?\d*\})*$")
_PROBES = (
    "",
    "q",
    "0",
    "\n",
    "\u6f22",
    "Zq 7\n" * 2000,
    "".join(map(chr, range(1, 0x250))),
    "".join(map(chr, range(0x250, 0, -1))),
)
"""Texts that have nothing in common: a pattern that occurs in all of them is taken to occur in every text."""


def error_of(pattern: str) -> str | None:
    """What is wrong with a pattern; None if it is valid."""
    import re2  # only for a suite with patterns

    try:
        compiled(pattern)
    except re2.error as error:
        message = error.args[0] if error.args else ""
        return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    except UnicodeEncodeError:
        return "it contains a lone surrogate"
    return None


def always_matches(pattern: str) -> bool:
    """Whether the pattern occurs in every text, including the empty one."""
    return all(search(pattern, text) is not None for text in _PROBES)


def bad_boundary(pattern: str) -> str | None:
    r"""A letter beyond ASCII beside `\b` or `\B`, which do not treat it as a letter; None if there is none.

    >>> bad_boundary(r"\bécole"), bad_boundary(r"(café)\b"), bad_boundary(r"\bcafé "), bad_boundary(r"\\bé")
    ('é', 'é', None, None)
    """
    # Every escape is matched as a whole, so that the `b` of `\\b` is not mistaken for a boundary.
    for match in re.finditer(r"\\(.)", pattern, re.DOTALL):
        if match[1] not in "bB":
            continue
        opening = _OPENING.match(pattern, match.end())
        after = pattern[opening.end() : opening.end() + 1] if opening else ""
        closing = _CLOSING.search(pattern[max(0, match.start() - 100) : match.start()])
        before = pattern[: match.start() - (len(closing[0]) if closing else 0)][-1:]
        for character in (after, before):
            if not character.isascii() and character.isalpha():
                return character
    return None


def search(pattern: str, text: str, *, any_case: bool = False) -> tuple[int, int] | None:
    """Where the pattern first occurs in `text`; None if it does not."""
    found = compiled(pattern, any_case=any_case).search(replace_surrogates(text))
    return None if found is None else found.span()


_OPTIONAL = f"[{''.join(OPTIONAL)}]"
_HAS_PLACEHOLDER = re.compile(f"[{''.join(PLACEHOLDERS)}{''.join(OPTIONAL)}]")
_HAS_OPTIONAL = re.compile(_OPTIONAL)


def is_ambiguous(folded: str) -> bool:
    """Whether a text in the strict form has a placeholder."""
    return _HAS_PLACEHOLDER.search(folded) is not None


def search_folded(text: str, wanted: str, *, start: bool = False, whole: bool = False) -> tuple[int, int] | None:
    """Where `wanted` first occurs in a text, both in the strict form, in which a placeholder means several letters.

    With `start`, only at its beginning; with `whole`, only if it is all of it.
    """
    between = f"{_OPTIONAL}*" if _HAS_OPTIONAL.search(text) else ""
    # A letter that is wanted, and may be a mark, has to be there in no text.
    pattern = between.join(_class_of(character) for character in wanted if character not in OPTIONAL)
    if not pattern:
        return None
    if start or whole:
        pattern = rf"\A{between}{pattern}"
    return search(rf"{pattern}{between}\z" if whole else pattern, text)


@lru_cache(maxsize=1024)
def _class_of(character: str) -> str:
    """A pattern for one character of a folded text and the placeholders that may mean it."""
    own = PLACEHOLDERS.get(character, character)
    others = "".join(
        placeholder for placeholder, letters in {**PLACEHOLDERS, **OPTIONAL}.items() if set(letters) & set(own)
    )
    if not others:
        return re.escape(str(replace_surrogates(character))).replace("\0", r"\x00")
    return f"[{own}{others}]"


@lru_cache(maxsize=1024)
def compiled(pattern: str, *, any_case: bool = False) -> Any:
    """The compiled pattern."""
    # Loaded only if a suite has a pattern, or a must-not meets a look-alike of several letters.
    import re2

    options = re2.Options()
    options.log_errors = False  # otherwise RE2 itself writes to standard error
    options.case_sensitive = not any_case
    return re2.compile(pattern, options)
