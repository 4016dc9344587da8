"""The YAML text of a suite → texts that were cut at ` #`, which begins a comment unless the text is in quotes.

A comment after a value is common and allowed. It is a problem if it looks like the rest of the text: `#5` has no space
after the sign, and `press # to go on` has only one space before it, while people write two before a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from highbar.documents.tree import plain_kind
from highbar.errors import Problem

_COMMENT = re.compile(r"\S[ \t]+#")
_AFTER_TEXT = re.compile(r"([ \t]+)#(.?)")
_LONGEST = 40


def cut_texts(text: str, file: str) -> list[Problem]:
    """A problem for every unquoted text followed by a comment that was probably meant to be part of it."""
    if not _COMMENT.search(text):
        return []
    import yaml  # only for a file with a comment after something

    lines = text.split("\n")
    try:
        return [problem for mark, value in _plain_texts(text) if (problem := _cut(lines, mark, value, file))]
    except yaml.YAMLError:  # the reader of the suite reports what is wrong
        return []


def _plain_texts(text: str) -> Iterator[tuple[tuple[int, int], str]]:
    """The end of each unquoted text, as line and column from 0, and the text."""
    import yaml  # see above

    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        end = event.end_mark
        if isinstance(event, yaml.ScalarEvent) and not event.style and end and plain_kind(event.value) == "text":
            yield (end.line, end.column), event.value


def _cut(lines: list[str], mark: tuple[int, int], value: str, file: str) -> Problem | None:
    line, column = mark
    found = _AFTER_TEXT.match(lines[line], column) if line < len(lines) else None
    if found is None:
        return None
    blanks, after = found[1], found[2]
    is_prose = any(character.isspace() for character in value)
    if after.isspace() or not after:
        if not is_prose or blanks != " ":
            return None
    elif not after.isalnum():  # a comment that begins with more signs, such as `## settings`
        return None
    whole = f"{value}{lines[line][column:].rstrip()}"
    shown = whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST]}…"
    quoted = f'"{shown}"' if '"' not in shown else "'{}'".format(shown.replace("'", "''"))
    hint = f"write {quoted}, or for a comment two spaces before the # and one after it"
    return Problem(
        "yaml.unquoted", "this text ends here: an unquoted # begins a comment in YAML", file, line + 1, column + 1, hint
    )
