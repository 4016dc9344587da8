"""A guess → the mapping as YAML, with comments about what the user must look at.

Every name and value comes from an untrusted file: whatever is not plain goes in double quotes, with escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from highbar.load.candidates import Candidate, ColumnGuess, Guess, RowField
from highbar.load.sample import RowsPlace

MOST_LISTED = 20
"""Fields in one comment of a mapping, so that it stays readable."""
MOST_OTHERS = 4
"""Alternatives that a mapping suggests for a column."""
_LONGEST = 60
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
_RESERVED = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_PLAIN_STEP = re.compile(r"[A-Za-z_][A-Za-z0-9_/-]*")
_SEEN = re.compile(r"[ -~\u00a1-\u02ff\u0370-\u0377\u0400-\u04ff\u4e00-\u9fff]")


def yaml_scalar(text: str) -> str:
    r"""A text as a YAML scalar: unquoted if it is a plain word, else in double quotes.

    >>> print(yaml_scalar("status"), yaml_scalar("two words"), yaml_scalar("yes"), yaml_scalar('a"\n\x1b'))
    status "two words" "yes" "a\"\n\x1b"
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED:
        return text
    return '"' + "".join(map(_escape, text)) + '"'


def _escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if _SEEN.match(character) and character.isprintable():
        return character
    if character == "\n":
        return r"\n"
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _short_path(field: RowField) -> str:
    """The path of a field for a comment or a message: short, and on one line."""
    text = ".".join(field.path)
    return yaml_scalar(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def listed_fields(fields: Sequence[RowField]) -> str:
    """The names of the first fields, and how many more there are."""
    more = f" and {len(fields) - MOST_LISTED:,} more" if len(fields) > MOST_LISTED else ""
    return ", ".join(map(_short_path, fields[:MOST_LISTED])) + more


def mapping_lines(guess: Guess, places: Sequence[RowsPlace] = ()) -> list[str]:
    """The lines of the mapping, each without a line feed."""
    lines = [*_rows(places), "columns:"]
    for one in guess.columns:
        lines += _column(one)
    if guess.unused:
        lines.append(f"# Not used: {listed_fields(guess.unused)}")
    return lines


def _rows(places: Sequence[RowsPlace]) -> Iterator[str]:
    ways = [_way(place) for place in places]
    if any(not key or "[]" in key or "{}" in key for place in places for key in place.keys):
        yield "rows: []  # no path leads to the key of the rows: give it another name in the file"
    elif len(ways) == 1:
        yield f"rows: {ways[0]}"
    elif ways:
        yield f"rows: []  # {len(ways)} keys have rows. Choose: put one in place of []; the others are not read"
        yield from (f"#   {way}" for way in ways[:MOST_LISTED])


def _way(place: RowsPlace) -> str:
    keys = ".".join(map(_step, place.keys))
    return f"{keys}{place.kind}" if keys and yaml_scalar(keys) == keys else yaml_scalar(f"{keys}{place.kind}")


def _column(one: ColumnGuess) -> Iterator[str]:
    feeds = [_feed(candidate) for candidate in one.candidates]
    doubtful = [f"{feed}{_doubt(candidate)}" for feed, candidate in zip(feeds, one.candidates, strict=True)]
    if one.settled and one.together:
        yield f"  {one.column}:"
        yield from (f"    - {feed}" for feed in feeds)
        return
    if one.settled:
        yield f"  {one.column}: {feeds[0]}"
        yield from (f"  # or: {one.column}: {feed}" for feed in feeds[1:MOST_OTHERS])
        return
    if not one.blocks:
        yield f"  # {one.note or 'Choose: delete the first # of one of these'}"
        yield from (f"  # {one.column}: {feed}" for feed in doubtful)
        return
    yield f"  {one.column}: []  # {one.note or 'Choose: put one of these in place of []'}"
    yield from (f"  #   {feed}" for feed in doubtful)
    if not feeds:
        yield "  #   { path: …, at_least: … } or { path: …, is: … }"


def _doubt(candidate: Candidate) -> str:
    return f"  # {candidate.doubt}" if candidate.doubt else ""


def _feed(candidate: Candidate) -> str:
    """The feed of a column as YAML on one line."""
    if candidate.field is None:
        return f'"{candidate.special}"'
    path = yaml_scalar(_path(candidate.field))
    if candidate.constant is not None:
        return f"{{ value: {yaml_scalar(candidate.constant)}, when: {{ {path}: {{ exists: true }} }} }}"
    if not candidate.options:
        return path
    options = [f"{key}: {_condition(value) if key == 'when' else _flow(value)}" for key, value in candidate.options]
    return f"{{ {', '.join([f'path: {path}', *options])} }}"


def _condition(value: tuple[RowField, Sequence[str | bool]]) -> str:
    field, words = value
    return f"{{ {yaml_scalar(_path(field))}: {{ is_not: {_flow([*words])} }} }}"


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{yaml_scalar(key)}: {_flow(inner)}' for key, inner in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return yaml_scalar(value) if isinstance(value, str) else str(value)


def _path(field: RowField) -> str:
    return ".".join(map(_step, field.path))


def _step(step: str) -> str:
    return step if _PLAIN_STEP.fullmatch(step) else '"{}"'.format(step.replace('"', '""'))
