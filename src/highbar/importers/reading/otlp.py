"""OTLP JSON, a document or one per line → the log records and spans in it, their attributes as plain values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from highbar.importers.reading import json
from highbar.importers.record import Record, refuse

Attributes = dict[str, object]
Kind = Literal["log", "span"]

_SIGNALS: dict[str, tuple[Kind, str, str]] = {
    "resourceLogs": ("log", "scopeLogs", "logRecords"),
    "resourceSpans": ("span", "scopeSpans", "spans"),
}
_OTHERS = {"resourceMetrics": "metrics", "resourceProfiles": "profiles"}
_OLD_NAMES = {"resource_spans", "resource_logs", "resource_metrics"}


@dataclass(frozen=True, slots=True)
class Item:
    """A log record or a span, with what its resource says and its own attributes."""

    kind: Kind
    resource: Attributes
    attributes: Attributes
    record: Record


def items(path: str) -> Iterator[Item]:
    """Every log record and span of the file, in order."""
    for place, signal, text in _resources(path):
        kind, scopes, records = _SIGNALS[signal]
        holder = Record(json.decode(text), place)
        about = holder.record("resource")
        resource = attributes(about) if about else {}
        for scope in holder.records(scopes):
            for record in scope.records(records):
                yield Item(kind, resource, attributes(record), record)


def attributes(holder: Record) -> Attributes:
    """The attributes of a resource, a record, a span or an event by key."""
    found: Attributes = {}
    for pair in holder.records("attributes"):
        value = pair.record("value")
        found[pair.text("key") or refuse(f"{pair.place}: found no key")] = _plain(value) if value else None
    return found


def number(value: object) -> float | None:
    """A finite number; None for anything else. Whole numbers are text in OTLP JSON, and NaN is written as text too."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _plain(value: Record) -> object:
    for key in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if key in value:
            return value.value(key)
    if "intValue" in value:
        whole = number(value.value("intValue"))
        return None if whole is None else int(whole)
    array = value.record("arrayValue")
    if array is not None:
        return [_plain(item) for item in array.records("values")]
    pairs = value.record("kvlistValue")
    return attributes(Record({"attributes": pairs.items("values")}, pairs.place)) if pairs else None


def _resources(path: str) -> Iterator[tuple[str, str, json.Bytes]]:
    """(place, signal, text) of every resource in the file."""
    with Path(path).open("rb") as stream:
        first = stream.readline(json.LARGEST_VALUE)
        stream.seek(0)
        if first.rstrip().endswith(b"}"):
            for line_number, line in json.lines(stream):
                for signal, text in json.members(line).items():
                    _refuse_others(signal, line_number)
                    for index, resource in enumerate(_elements(text)):
                        yield f"line {line_number}: {signal}[{index}]", signal, resource
            return
        for place, text in json.parts(stream, _SIGNALS):
            signal = place.removesuffix("[]")
            _refuse_others(signal, None)
            if place.endswith("[]"):
                yield signal, signal, text


def _elements(text: json.Bytes) -> Iterator[json.Bytes]:
    from io import BytesIO  # parts reads a stream; a line is one too

    yield from (part for _, part in json.parts(BytesIO(text), {""}))


def _refuse_others(signal: str, line: int | None) -> None:
    if signal in _SIGNALS:
        return
    if signal in _OTHERS:
        refuse(f"these are OTLP {_OTHERS[signal]}, which judge nothing", line=line, hint="wanted logs or traces")
    wanted = "wanted resourceLogs or resourceSpans"
    hint = "OTLP JSON writes names like resourceSpans" if signal in _OLD_NAMES else None
    refuse(f"this is not OTLP JSON: found {signal!r}, {wanted}", line=line, hint=hint)
