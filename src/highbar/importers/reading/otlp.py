"""OTLP JSON, a document or one per line → the log records and spans in it, their attributes as plain values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from highbar.importers.reading import json
from highbar.importers.record import Record, refuse, shown

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
    for signal, holder in _resources(path):
        kind, scopes, records = _SIGNALS[signal]
        about = holder.record("resource")
        resource = attributes(about) if about else {}
        for scope in holder.records(scopes):
            for record in scope.records(records):
                yield Item(kind, resource, attributes(record), record)


def attributes(holder: Record) -> Attributes:
    """The attributes of a resource, a record, a span or an event by key."""
    return _pairs(holder.items("attributes"), holder.place)


def _pairs(pairs: list[object], place: str) -> Attributes:
    found: Attributes = {}
    for pair in pairs:
        key = pair.get("key") if isinstance(pair, dict) else None
        if not isinstance(pair, dict) or not isinstance(key, str):
            refuse(f"{place}: attributes: found {shown(pair)}, wanted a key and a value")
        found[key] = _plain(pair.get("value"), place)
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


def _plain(value: object, place: str) -> object:
    if value is None:
        return None
    if not isinstance(value, dict):
        refuse(f"{place}: attributes: found {shown(value)}, wanted a value like {{stringValue: …}}")
    for key in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if value.get(key) is not None:
            return value[key]
    if value.get("intValue") is not None:
        whole = number(value["intValue"])
        return None if whole is None else int(whole)
    for key in ("arrayValue", "kvlistValue"):
        held = value.get(key)
        if held is not None:
            inside = Record(held, f"{place}: {key}").items("values")
            return _pairs(inside, place) if key == "kvlistValue" else [_plain(item, place) for item in inside]
    return None


def _resources(path: str) -> Iterator[tuple[str, Record]]:
    """The signal, and what is there of it, of every resource in the file."""
    with Path(path).open("rb") as stream:
        first = stream.readline(json.LARGEST_VALUE)
        stream.seek(0)
        if first.rstrip().endswith(b"}"):
            for number_of_line, line in json.lines(stream):
                place = f"line {number_of_line}"
                document = Record(json.decode(line), place)
                for signal in document:
                    _refuse_others(signal, number_of_line)
                    for resource in document.records(signal):
                        yield signal, resource
            return
        for place, text in json.parts(stream, _SIGNALS):
            signal = place.removesuffix("[]")
            _refuse_others(signal, None)
            if place.endswith("[]"):
                yield signal, Record(json.decode(text), signal)


def _refuse_others(signal: str, line: int | None) -> None:
    if signal in _SIGNALS:
        return
    if signal in _OTHERS:
        refuse(f"these are OTLP {_OTHERS[signal]}, which judge nothing", line=line, hint="wanted logs or traces")
    wanted = "wanted resourceLogs or resourceSpans"
    hint = "OTLP JSON writes names like resourceSpans" if signal in _OLD_NAMES else None
    refuse(f"this is not OTLP JSON: found {signal!r}, {wanted}", line=line, hint=hint)
