"""One result row → one line of JSON that every reader of results accepts, whatever the agent said.

What an agent sends can have keys that differ only in case, unpaired surrogates, line breaks that only some readers
know, or a size that no reader accepts. None of this may keep the other rows from being judged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

import msgspec

from highbar.checks.values import replace_surrogates
from highbar.columns import COLUMN_NAMES
from highbar.load.counting import LONGEST_RESULT

LONGEST_ROW = LONGEST_RESULT // 2
"""Bytes of a row; readers accept twice as many."""
LONGEST_SHOWN = 100_000
"""Characters that are left of each text in a row that is too long."""
MOST_SHOWN = 100
"""Tool calls and messages that are left in a row that is too long."""
_ENCODE = msgspec.json.Encoder(decimal_format="number").encode
_UNSEEN = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xa9]|\xef\xbb\xbf")
"""Line breaks that only some readers know, control codes and invisible characters (in UTF-8): written as escapes."""
_KEPT = COLUMN_NAMES | {"judged", "agent_tags"}
"""Columns that are read, not only shown: of these, only texts are cut."""


def line(row: Mapping[str, Any]) -> bytes:
    """A row as a line of a JSONL file, with its line end. Over LONGEST_ROW bytes, texts, calls and messages are cut."""
    found = _encoded(row)
    if len(found) > LONGEST_ROW:
        found = _encoded(_shortened(row))
    return found + b"\n"


def _encoded(row: Mapping[str, Any]) -> bytes:
    try:
        found = _ENCODE(row)
    except UnicodeEncodeError:
        found = _ENCODE(replace_surrogates(row))
    return found if found.isascii() and b"\x7f" not in found else _UNSEEN.sub(_escaped, found)


def _escaped(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match[0].decode())


def _shortened(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with only the beginnings of its texts and lists; `left_out` has how much is missing of each column."""
    found: dict[str, Any] = {}
    left_out: dict[str, int] = {}
    for name, value in row.items():
        if name in ("tool_calls", "messages") and isinstance(value, list):
            found[name] = [_brief(item) for item in value[:MOST_SHOWN]]
            left_out[name] = len(value) - len(found[name])
            continue
        text = value if isinstance(value, str) or name in _KEPT else encoded(value)
        if isinstance(text, str) and len(text) > LONGEST_SHOWN and name != "id":
            found[name], left_out[name] = text[:LONGEST_SHOWN], len(text) - LONGEST_SHOWN
        else:
            found[name] = value
    return {**found, "left_out": left_out}


def _brief(value: Any) -> str:
    """The beginning of the JSON text of a value."""
    return encoded(value)[: LONGEST_SHOWN // MOST_SHOWN]


def encoded(value: Any) -> str:
    """A JSON value as JSON text."""
    return _encoded(value).decode()


def with_distinct_keys(value: Any) -> Any:
    """The JSON value, in which every object with keys that differ only in case is replaced by its JSON text.

    Results with such keys are refused, because many readers treat them as the same key.
    """
    if isinstance(value, Mapping):
        if not are_distinct(value):
            return encoded(value)
        return {name: with_distinct_keys(inner) for name, inner in value.items()}
    return [with_distinct_keys(inner) for inner in value] if isinstance(value, list | tuple) else value


def with_recorded_keys(value: Any) -> Any:
    """The JSON value as it was before `with_distinct_keys`."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            found = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
        return value if are_distinct(found) else with_recorded_keys(found)
    if isinstance(value, Mapping):
        return {name: with_recorded_keys(inner) for name, inner in value.items()}
    return [with_recorded_keys(inner) for inner in value] if isinstance(value, list | tuple) else value


def are_distinct(names: Mapping[str, Any]) -> bool:
    """Whether all names differ, and not only in case or accents. If in doubt, they do not."""
    return len(names) < 2 or len({_folded(name) for name in names}) == len(names)


def _folded(name: str) -> str:
    if name.isascii():
        return name.lower()
    # Accents too: readers disagree about the lower case of a capital I with a dot above.
    parts = unicodedata.normalize("NFKD", name.casefold())
    return "".join(part for part in parts.casefold() if not unicodedata.combining(part))
