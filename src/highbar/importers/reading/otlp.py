"""OTLP JSON, one document or one per line → its log records and spans, with attributes as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple

import msgspec

from highbar.importers.limits import LARGEST_VALUE
from highbar.importers.reading import json, otlp_typed
from highbar.importers.reading.otlp_numbers import integer_value
from highbar.importers.record import Record, refuse, shown

Attributes = dict[str, object]
Kind = Literal["log", "span"]

SIGNALS: dict[str, tuple[Kind, str, str]] = {
    "resourceLogs": ("log", "scopeLogs", "logRecords"),
    "resourceSpans": ("span", "scopeSpans", "spans"),
}
_OTHERS = {"resourceMetrics": "metrics", "resourceProfiles": "profiles"}
_OLD_NAMES = {"resource_spans", "resource_logs", "resource_metrics"}
BUFFER = 1024 * 1024
_KEY_TYPES = {str}
_VALUE_TYPES = {dict, NoneType}
_SPAN_SIZE = 3000
"""Estimated bytes of a span without its texts."""
_NO_STATUS = otlp_typed.SpanStatus()


class Item:
    """A log record or a span, with the attributes of its resource.

    A file has hundreds of thousands of them, and most are hardly used: values become plain only when they are read.
    """

    __slots__ = ("_found", "_holder", "_number", "_values", "kind", "resource")

    def __init__(
        self,
        kind: Kind,
        resource: Attributes,
        values: object,
        place: tuple[str, int],
        found: Mapping[str, Any] | None = None,
    ) -> None:
        self.kind = kind
        self.resource = resource
        self._holder, self._number = place
        self._values = values
        self._found: Mapping[str, Any] = (
            _by_key(self.values.get("attributes") or ()) or _refuse_malformed(self) if found is None else found
        )

    @property
    def values(self) -> Mapping[str, Any]:
        """The record as in the file."""
        if type(self._values) is not dict:
            typed = isinstance(self._values, otlp_typed.TypedSpan)
            opened = otlp_typed.untyped(self._values) if typed else self._values  # type: ignore[arg-type] # as seen
            self._values = dict(Record(opened, self.place).values)
        return self._values

    @property
    def place(self) -> str:
        """Its place in the file, for messages."""
        return f"{self._holder}[{self._number}]"

    @property
    def record(self) -> Record:
        """The record, for access by the wanted type."""
        return Record(self.values, self.place)

    @property
    def times(self) -> tuple[object, object]:
        """Its start and end, as in the file."""
        values = self._values
        if type(values) is otlp_typed.TypedSpan:
            return values.start_time_unix_nano, values.end_time_unix_nano
        return self.values.get("startTimeUnixNano"), self.values.get("endTimeUnixNano")

    @property
    def status(self) -> Record | None:
        """Its status; None if it has none."""
        values = self._values
        if type(values) is otlp_typed.TypedSpan and (values.status is None or values.status == _NO_STATUS):
            return None
        return self.record.record("status")

    def events(self, wanted: Callable[[object, str], bool]) -> list[Attributes]:
        """The attributes of its events with a wanted name, plain."""
        values = self._values
        if type(values) is otlp_typed.TypedSpan and not values.events:
            return []
        if type(values) is otlp_typed.TypedSpan:
            return [
                _typed_attributes(event.attributes, f"{self.place}: events[{number}]")
                for number, event in enumerate(values.events or ())
                if wanted(event.name, f"{self.place}: events[{number}]")
            ]
        if not self.values.get("events"):
            return []
        return [attributes(event) for event in self.record.records("events") if wanted(event.text("name"), event.place)]

    def events_about(self, prefix: str, excluded: str) -> Iterator[str]:
        """The names of its events that have the prefix in their name or in an attribute; not those named `excluded`."""
        values = self._values
        if type(values) is otlp_typed.TypedSpan:
            events = ((one.name or "", [pair.key for pair in one.attributes or ()]) for one in values.events or ())
        else:
            events = ((one.text("name") or "", list(attributes(one))) for one in self.record.records("events"))
        for name, keys in events:
            if name != excluded and any(key.startswith(prefix) for key in (name, *keys)):
                yield name

    def dropped(self, name: str) -> Iterator[object]:
        """How much was dropped, as in the file: events of the span, and attributes of its events of this name."""
        values = self._values
        if type(values) is otlp_typed.TypedSpan:
            yield values.dropped_events_count
            yield from (event.dropped_attributes_count for event in values.events or () if event.name == name)
        else:
            yield self.values.get("droppedEventsCount")
            events = self.record.records("events")
            yield from (one.value("droppedAttributesCount") for one in events if one.text("name") == name)

    @property
    def size(self) -> int | None:
        """The estimated bytes; None if an estimate would need a closer look (nested values, untyped spans)."""
        values = self._values
        if type(values) is not otlp_typed.TypedSpan:
            return None
        pairs = chain(values.attributes or (), *(event.attributes or () for event in values.events or ()))
        given = [pair.value for pair in pairs if pair.value]
        if any(value.array_value or value.kvlist_value for value in given):
            return None
        return _SPAN_SIZE + sum(len(value.string_value) for value in given if value.string_value)

    def text(self, key: str) -> str | None:
        """A text member."""
        value = self.values.get(key)
        return value if value is None or type(value) is str else self.record.text(key)

    def any_of(self, names: frozenset[str]) -> bool:
        """Whether it has one of these attributes."""
        return not names.isdisjoint(self._found)

    def some(self, names: frozenset[str]) -> Attributes:
        """The attributes with these names that it has, plain."""
        return {name: _plain_attribute(self._found[name], self.place) for name in names & self._found.keys()}

    def get(self, name: str) -> object:
        """One attribute, plain; None if it is absent."""
        value = self._found.get(name)
        if type(value) is otlp_typed.AttributeValue and type(value.string_value) is str:  # the most frequent case
            return value.string_value
        return _plain_attribute(value, self.place) if value else None

    @property
    def attributes(self) -> Attributes:
        """All attributes by key, plain."""
        return {name: _plain_attribute(value, self.place) for name, value in self._found.items()}


def _plain_attribute(value: object, place: str) -> object:
    """The value of an attribute, plain. Tries text first, because most values are text."""
    if type(value) is otlp_typed.AttributeValue:
        text = value.string_value
        if type(text) is str:
            return text
        whole = value.int_value
        if type(whole) is str and whole.isdecimal() and _is_only_value(value):  # a count, such as of tokens
            return integer_value(whole)
        return _plain(otlp_typed.untyped(value), place)
    if value is None or value is msgspec.UNSET:
        return None
    return _plain(value, place)


def _is_only_value(value: otlp_typed.AttributeValue) -> bool:
    """Whether a value has no value of another type that `_plain` would prefer to its whole number."""
    return not value.string_value and value.bool_value is value.double_value is value.bytes_value is msgspec.UNSET


class Interest(NamedTuple):
    """Which spans are needed as a whole: those with one of `names`, or with the attribute `name` equal to `text`.

    For a span that has only the attribute `mark`, the text of that attribute is enough; for all others, their place in
    the tree.
    """

    names: frozenset[str]
    name: str
    text: str
    mark: str


Seen = tuple[str | None, str | None, str, Item | str | None]
"""The key of a span, the key of its parent, its name, and the whole span, its mark or None (see `Interest`).

A log record has no key, and is always whole.
"""


def scan(path: str, interest: Interest) -> Iterator[Seen]:
    """Every log record and span of the file, in order.

    Of hundreds of thousands of spans, few are needed as a whole, so the loop in `_scan_typed` determines the speed.
    """
    return chain.from_iterable(
        _scan_typed(resource, place, interest)
        if type(resource) is otlp_typed.ResourceSpans
        else _scan_plain(signal, Record(resource, place))
        for signal, place, resource in _resources(path)
    )


def _scan_plain(signal: str, holder: Record) -> Iterator[Seen]:
    kind, scopes, records = SIGNALS[signal]
    about = holder.record("resource")
    resource = attributes(about) if about else {}
    for scope in _with_list(holder, scopes).records(scopes):
        place = f"{scope.place}: {records}"
        for number, values in enumerate(_with_list(scope, records).items(records)):
            item = Item(kind, resource, values, (place, number))
            yield (None, None, "", item) if kind == "log" else (*_identity(item), item)


def _scan_typed(holder: otlp_typed.ResourceSpans, place: str, interest: Interest) -> Iterator[Seen]:
    names, by_name, by_text, by_mark = interest
    about = holder.resource
    resource = _typed_attributes(about.attributes, f"{place}: resource") if about else {}
    for scope_number, scope in enumerate(holder.scope_spans):
        spans = f"{place}: scopeSpans[{scope_number}]: spans"
        for number, span in enumerate(scope.spans):
            pairs = span.attributes or ()
            found = {pair.key: pair.value for pair in pairs}
            trace, own, above, name = span.trace_id, span.span_id, span.parent_span_id, span.name
            # Duplicate attributes or missing ids: the slower path refuses them with a message.
            if len(found) != len(pairs) or not trace or not own.strip("0"):
                item = Item("span", resource, otlp_typed.untyped(span), (spans, number))
                yield *_identity(item), item
                continue
            key = f"{trace}/{own}".lower()
            parent = f"{trace}/{above}".lower() if above and above.strip("0") else None
            operation = found.get(by_name)
            # Events, and a name of the conventions, may be evaluations.
            if (
                span.events
                or span.dropped_events_count
                or name.startswith("gen_ai.")
                or not names.isdisjoint(found)
                or (operation and operation.string_value == by_text)
            ):
                yield key, parent, name, Item("span", resource, span, (spans, number), found)
            elif by_mark in found:
                marked = found[by_mark]
                mark = marked.string_value if marked else None
                yield key, parent, name, mark if type(mark) is str else None
            else:
                yield key, parent, name, None


def _typed_attributes(pairs: otlp_typed.Attributes, place: str) -> Attributes:
    given = pairs or ()
    found = {pair.key: _plain_attribute(pair.value, place) for pair in given}
    return found if len(found) == len(given) else _pairs([otlp_typed.untyped(pair) for pair in given], place)


def _with_list(holder: Record, name: str) -> Record:
    """The record. Refuses one without this list, which may be empty: if it is absent, it may have been lost."""
    if name not in holder:
        refuse("import.missing-value", f"{holder.place}: found no {name}, wanted a list")
    return holder


def _identity(item: Item) -> tuple[str, str | None, str]:
    trace = item.text("traceId")
    key = span_key(trace, item.text("spanId"))
    if key is None:
        refuse("import.missing-value", f"{item.place}: found no traceId and spanId, wanted both")
    return key, span_key(trace, item.text("parentSpanId")), item.text("name") or ""


def attributes(holder: Record) -> Attributes:
    """The attributes of a resource or an event by key, plain."""
    return _pairs(holder.items("attributes"), holder.place)


def _by_key(pairs: Any) -> dict[str, Any] | None:
    """The attributes by key, not yet plain; None if a pair is malformed or a key is duplicate."""
    try:
        found = {pair["key"]: pair.get("value") for pair in pairs}
    except (TypeError, KeyError, AttributeError):
        return None
    sound = len(found) == len(pairs) and set(map(type, found)) <= _KEY_TYPES
    return found if sound and set(map(type, found.values())) <= _VALUE_TYPES else None


def _refuse_malformed(item: Item) -> dict[str, Any]:
    """Refuse malformed attributes with a message; returns {} if there are no attributes."""
    attributes(item.record)
    return {}


def _pairs(pairs: list[object], place: str) -> Attributes:
    found: Attributes = {}
    for pair in pairs:
        key = pair.get("key") if isinstance(pair, dict) else None
        if not isinstance(pair, dict) or not isinstance(key, str):
            refuse("import.wrong-value", f"{place}: attributes: found {shown(pair)}, wanted a key and a value")
        if key in found:
            hint = "an attribute has one value in OpenTelemetry"
            refuse("import.duplicate", f"{place}: the attribute {key!r} occurs twice", hint=hint)
        found[key] = _plain(pair.get("value"), place)
    return found


def _plain(value: object, place: str) -> object:
    if value is None:
        return None
    if not isinstance(value, dict):
        refuse(
            "import.wrong-value", f"{place}: attributes: found {shown(value)}, wanted a value like {{stringValue: …}}"
        )
    for key in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if value.get(key) is not None:
            return value[key]
    if value.get("intValue") is not None:
        return integer_value(value["intValue"])
    for key in ("arrayValue", "kvlistValue"):
        nested = value.get(key)
        if nested is not None:
            inside = Record(nested, f"{place}: {key}").items("values")
            return _pairs(inside, place) if key == "kvlistValue" else [_plain(item, place) for item in inside]
    return None


def _resources(path: str) -> Iterator[tuple[str, str, object]]:
    """The signal, the place and the decoded value of every resource in the file; typed if possible."""
    with Path(path).open("rb", buffering=BUFFER) as stream:
        if is_lines(stream.readline(LARGEST_VALUE)):
            stream.seek(0)
            for line_number, line in json.numbered_lines(stream):
                typed = otlp_typed.document(line)
                if typed is None:
                    yield from _line_resources(line, line_number)
                    continue
                for number, resource in enumerate(typed):
                    yield "resourceSpans", f"line {line_number}: resourceSpans[{number}]", resource
            return
        stream.seek(0)
        for number, (place, text) in enumerate(json.json_parts(stream, SIGNALS)):
            signal = place.removesuffix("[]")
            _refuse_others(signal, None)
            if place.endswith("[]"):
                whole = otlp_typed.resource(bytes(text)) if signal == "resourceSpans" else None
                yield signal, f"{signal}[{number}]", json.decode_value(text) if whole is None else whole


def _line_resources(line: bytes, line_number: int) -> Iterator[tuple[str, str, object]]:
    document = Record(json.decode_value(line, line_number), f"line {line_number}")
    if not any(signal in document for signal in (*SIGNALS, *_OTHERS, *_OLD_NAMES)):
        refuse(
            "import.missing-value", "found no resourceLogs and no resourceSpans, wanted one of them", line=line_number
        )
    for signal in document:
        _refuse_others(signal, line_number)
        for resource in _with_list(document, signal).records(signal):
            yield signal, resource.place, resource.values


def is_lines(first: bytes) -> bool:
    """Whether the first line of a file is a whole document."""
    return first.rstrip().endswith(b"}")


def _refuse_others(signal: str, line: int | None) -> None:
    if signal in SIGNALS:
        return
    if signal in _OTHERS:
        message = f"these are OTLP {_OTHERS[signal]}, which judge nothing"
        refuse("import.other-file", message, line=line, hint="wanted logs or traces")
    wanted = "wanted resourceLogs or resourceSpans"
    hint = "OTLP JSON writes names like resourceSpans" if signal in _OLD_NAMES else None
    refuse("import.other-file", f"this is not OTLP JSON: found {signal!r}, {wanted}", line=line, hint=hint)


def span_key(trace: str | None, span: str | None) -> str | None:
    """The key of a span in its file; None if it has no id."""
    return f"{trace}/{span}".lower() if trace and span and span.strip("0") else None
