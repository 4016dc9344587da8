"""The text of a suite file → plain values, as fast as possible and without their lines and columns.

Raises `NotPlain` if the form is wrong in any way; `located.py` then reads the text again and reports what is wrong.
Both must give the same values.
"""

from __future__ import annotations

import json
import re
from pathlib import PurePath
from typing import Any, Literal

from highbar.documents.limits import MOST_NESTING
from highbar.documents.scalars import scalar, written_number

Format = Literal["yaml", "json", "jsonl", "csv", "lines"]
_FORMATS: dict[str, Format] = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".txt": "lines",
    "": "lines",
}
_HIDDEN_BREAK = re.compile("[\r\x85\u2028\u2029]")
_NULL_KEYS = frozenset({"", "~", "null", "Null", "NULL"})


class NotPlain(ValueError):
    """The text cannot be decoded fast, most likely because its form is wrong."""


def format_of(name: str) -> Format:
    """The format of a file, by the ending of its name; YAML for any other ending."""
    return _FORMATS.get(PurePath(name).suffix.lower(), "yaml")


def decode(text: str, format_: Format) -> Any:
    """The values in the text of a YAML, JSON or JSONL file, or in lines of ids. Raises NotPlain."""
    if format_ == "lines":
        return [line.strip() for line in text.split("\n") if line.strip()]
    if format_ == "yaml":
        return _yaml(text)
    # `json.loads` accepts half of a surrogate pair, which cannot be encoded again: the slow reader says where it is.
    if "\\ud" in text or "\\uD" in text:
        raise NotPlain("it may have half of a surrogate pair")
    lines = [line for line in text.split("\n") if line.strip()]
    value = _json(text) if format_ == "json" else [_json(line) for line in lines]
    _refuse_depth(value)
    return value


def _json(text: str) -> Any:
    try:
        # Numbers stay exact, as in YAML: a float would change the digits that were written.
        return json.loads(
            text, object_pairs_hook=_unique, parse_int=_number, parse_float=_number, parse_constant=_refuse
        )
    except RecursionError:
        raise NotPlain("nested too deeply") from None
    except ValueError as error:
        raise NotPlain(str(error)) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs) or len({key.casefold() for key in found}) < len(found):
        raise NotPlain("a key is there twice")
    return found


def _number(text: str) -> Any:
    found = written_number(text)
    if found is None:
        raise NotPlain("a number beyond all bounds")
    return found


def _refuse(name: str) -> Any:
    raise NotPlain(f"{name} is not JSON")


def _refuse_depth(value: Any) -> None:
    # Level by level: a recursion could end in a RecursionError before it counts to the limit.
    level = [value]
    for _ in range(MOST_NESTING + 1):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer if isinstance(outer, list) else ())
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise NotPlain("nested too deeply")


def _yaml(text: str) -> Any:
    """The values of one YAML document, from the events of the C parser, which take half the time of a loader."""
    import yaml  # a JSON suite does not need it

    try:
        # Imported here because it may not be installed. The stubs leave it out.
        from yaml.cyaml import CParser  # type: ignore[attr-defined]
    except ImportError:  # PyYAML without libyaml
        raise NotPlain("the fast parser is not installed") from None
    if _HIDDEN_BREAK.search(text):
        raise NotPlain("it has line breaks that no editor shows")
    try:
        parser = CParser(text)
        return _Events(parser.get_event, yaml).document()
    except yaml.YAMLError as error:
        raise NotPlain(str(error)) from None
    finally:
        parser.dispose()


class _Events:
    """Builds values from events. Tags, anchors, aliases, and keys that are not text raise NotPlain."""

    def __init__(self, next_event: Any, yaml: Any) -> None:
        self.next = next_event
        self.scalar = yaml.ScalarEvent
        self.mapping = yaml.MappingStartEvent
        self.sequence = yaml.SequenceStartEvent
        self.ends = frozenset({yaml.MappingEndEvent, yaml.SequenceEndEvent})
        self.stream_end = yaml.StreamEndEvent

    def document(self) -> Any:
        self.next()  # the stream starts
        if type(self.next()) is self.stream_end:
            return None
        value = self.value(self.next(), 0)
        self.next()  # the document ends
        if type(self.next()) is not self.stream_end:
            raise NotPlain("a second document")
        return value

    def value(self, event: Any, depth: int) -> Any:
        kind = type(event)
        if kind is self.scalar:
            if event.tag is not None or event.anchor is not None:
                raise NotPlain("a tag or an anchor")
            return event.value if event.style else scalar(event.value)
        if kind not in (self.mapping, self.sequence) or event.tag is not None or event.anchor is not None:
            raise NotPlain("a tag, an anchor or an alias")
        if depth > MOST_NESTING:
            raise NotPlain("nested too deeply")
        return self.entries(depth + 1) if kind is self.mapping else self.items(depth + 1)

    def items(self, depth: int) -> list[Any]:
        found = []
        while type(event := self.next()) not in self.ends:
            found.append(self.value(event, depth))
        return found

    def entries(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while type(event := self.next()) not in self.ends:
            if type(event) is not self.scalar or event.tag is not None or event.anchor is not None:
                raise NotPlain("a key that is not plain")
            key = event.value
            if key in found or (not event.style and key in _NULL_KEYS):
                raise NotPlain("a key that is there twice, or none")
            found[key] = self.value(self.next(), depth)
        # Compared once for the whole mapping, which is faster than folding each key as it comes.
        if len({key.casefold() for key in found}) < len(found):
            raise NotPlain("a key that is there twice, apart from case")
        return found
