"""OTLP JSON, a document or one per line → the log records and spans in it, their attributes as plain values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NamedTuple

import msgspec

from highbar.importers.reading import json, otlp_typed
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
_LEAST_SIZE = 3000
"""About what a span takes beside its texts."""
_NO_STATUS = otlp_typed.Status()


class Item:
    """A log record or a span, with what its resource says.

    A file has hundreds of thousands of them, and most are asked for little: values are made plain when asked for.
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
            _found(self.values.get("attributes") or ()) or _refused(self) if found is None else found
        )

    @property
    def values(self) -> Mapping[str, Any]:
        """The record as it stands in the file."""
        if type(self._values) is not dict:
            typed = isinstance(self._values, otlp_typed.Span)
            opened = otlp_typed.plain(self._values) if typed else self._values  # type: ignore[arg-type] # as seen
            self._values = dict(Record(opened, self.place).values)
        return self._values

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self._holder}[{self._number}]"

    @property
    def record(self) -> Record:
        """The record, to ask for values by the type that they must have."""
        return Record(self.values, self.place)

    @property
    def times(self) -> tuple[object, object]:
        """When it started and when it ended, as they stand in the file."""
        values = self._values
        if type(values) is otlp_typed.Span:
            return values.start_time_unix_nano, values.end_time_unix_nano
        return self.values.get("startTimeUnixNano"), self.values.get("endTimeUnixNano")

    @property
    def status(self) -> Record | None:
        """How it ended; None if it says nothing about that."""
        values = self._values
        if type(values) is otlp_typed.Span and (values.status is None or values.status == _NO_STATUS):
            return None
        return self.record.record("status")

    def events(self, wanted: Callable[[object, str], bool]) -> list[Attributes]:
        """The attributes of its events whose name is wanted, plain."""
        values = self._values
        if type(values) is otlp_typed.Span and not values.events:
            return []
        if type(values) is otlp_typed.Span:
            return [
                _of_typed(event.attributes, f"{self.place}: events[{number_of}]")
                for number_of, event in enumerate(values.events or ())
                if wanted(event.name, f"{self.place}: events[{number_of}]")
            ]
        if not self.values.get("events"):
            return []
        return [attributes(event) for event in self.record.records("events") if wanted(event.text("name"), event.place)]

    def events_about(self, prefix: str, but: str) -> Iterator[str]:
        """The names of its events of which the name, or that of an attribute, starts so; not of those named `but`."""
        values = self._values
        if type(values) is otlp_typed.Span:
            told = ((one.name or "", [pair.key for pair in one.attributes or ()]) for one in values.events or ())
        else:
            told = ((one.text("name") or "", list(attributes(one))) for one in self.record.records("events"))
        for name, keys in told:
            if name != but and any(key.startswith(prefix) for key in (name, *keys)):
                yield name

    @property
    def size(self) -> int | None:
        """About how many bytes it takes; None if that cannot be told at a glance."""
        values = self._values
        if type(values) is not otlp_typed.Span:
            return None
        pairs = chain(values.attributes or (), *(event.attributes or () for event in values.events or ()))
        held = [pair.value for pair in pairs if pair.value]
        if any(value.array_value or value.kvlist_value for value in held):
            return None
        return _LEAST_SIZE + sum(len(value.string_value) for value in held if value.string_value)

    def text(self, key: str) -> str | None:
        """A member that is text."""
        value = self.values.get(key)
        return value if value is None or type(value) is str else self.record.text(key)

    def any_of(self, names: frozenset[str]) -> bool:
        """Whether it has one of these attributes."""
        return not names.isdisjoint(self._found)

    def some(self, names: frozenset[str]) -> Attributes:
        """Those of these attributes that it has, plain."""
        return {name: _opened(self._found[name], self.place) for name in names & self._found.keys()}

    def get(self, name: str) -> object:
        """One attribute, plain; None if it is not there."""
        value = self._found.get(name)
        if type(value) is otlp_typed.Value and type(value.string_value) is str:  # as most are
            return value.string_value
        return _opened(value, self.place) if value else None

    @property
    def attributes(self) -> Attributes:
        """All attributes by key, plain."""
        return {name: _opened(value, self.place) for name, value in self._found.items()}


def _opened(value: object, place: str) -> object:
    """The value of an attribute, plain; most are texts."""
    if type(value) is otlp_typed.Value:
        text = value.string_value
        if type(text) is str:
            return text
        whole = value.int_value
        if type(whole) is str and whole.isdecimal() and _is_alone(value):  # a count, such as of tokens
            return int(float(whole))
        return _plain(otlp_typed.plain(value), place)
    if value is None or value is msgspec.UNSET:
        return None
    return _plain(value, place)


def _is_alone(value: otlp_typed.Value) -> bool:
    """Whether a value that holds a whole number holds nothing that would come before it."""
    return not value.string_value and value.bool_value is value.double_value is value.bytes_value is msgspec.UNSET


class Interest(NamedTuple):
    """What makes a span more than a link between others: one of these attributes, or one with a certain text.

    Of a span that has only the attribute `mark` its text is enough.
    """

    names: frozenset[str]
    name: str
    text: str
    mark: str


Seen = tuple[str | None, str | None, str, Item | str | None]
"""Of a span its key, the key of its parent, its name, and the span itself if it is of interest; a log has no key.

A text is the mark of a span that is of no other interest.
"""


def scan(path: str, interest: Interest) -> Iterator[Seen]:
    """Every log record and span of the file, in order.

    Most of hundreds of thousands of spans are of no interest, and the loop over the typed ones is what they cost.
    """
    return chain.from_iterable(
        _scan_typed(held, place, interest)
        if type(held) is otlp_typed.ResourceSpans
        else _scan_plain(signal, Record(held, place))
        for signal, place, held in _resources(path)
    )


def _scan_plain(signal: str, holder: Record) -> Iterator[Seen]:
    kind, scopes, records = SIGNALS[signal]
    about = holder.record("resource")
    resource = attributes(about) if about else {}
    for scope in _present(holder, scopes).records(scopes):
        place = f"{scope.place}: {records}"
        for number_of, values in enumerate(_present(scope, records).items(records)):
            item = Item(kind, resource, values, (place, number_of))
            yield (None, None, "", item) if kind == "log" else (*_identity(item), item)


def _scan_typed(holder: otlp_typed.ResourceSpans, place: str, interest: Interest) -> Iterator[Seen]:
    telling, by_name, by_text, by_mark = interest
    about = holder.resource
    resource = _of_typed(about.attributes, f"{place}: resource") if about else {}
    for number_of_scope, scope in enumerate(holder.scope_spans):
        spans = f"{place}: scopeSpans[{number_of_scope}]: spans"
        for number_of, span in enumerate(scope.spans):
            pairs = span.attributes or ()
            found = {pair.key: pair.value for pair in pairs}
            trace, own, above, name = span.trace_id, span.span_id, span.parent_span_id, span.name
            if len(found) != len(pairs) or not trace or not own.strip("0"):
                item = Item("span", resource, otlp_typed.plain(span), (spans, number_of))
                yield *_identity(item), item
                continue
            key = f"{trace}/{own}".lower()
            parent = f"{trace}/{above}".lower() if above and above.strip("0") else None
            operation = found.get(by_name)
            if (
                span.events
                or name.startswith("gen_ai.")
                or not telling.isdisjoint(found)
                or (operation and operation.string_value == by_text)
            ):
                yield key, parent, name, Item("span", resource, span, (spans, number_of), found)
            elif by_mark in found:
                marked = found[by_mark]
                mark = marked.string_value if marked else None
                yield key, parent, name, mark if type(mark) is str else None
            else:
                yield key, parent, name, None


def _of_typed(pairs: otlp_typed.Attributes, place: str) -> Attributes:
    found = {pair.key: _opened(pair.value, place) for pair in pairs or ()}
    return found if len(found) == len(pairs or ()) else _pairs([otlp_typed.plain(pair) for pair in pairs or ()], place)


def _present(holder: Record, name: str) -> Record:
    """The record, which must have this list, if only an empty one: without it nobody can say what was in it."""
    return holder if name in holder else refuse(f"{holder.place}: found no {name}, wanted a list")


def _identity(item: Item) -> tuple[str, str | None, str]:
    trace = item.text("traceId")
    key = span_key(trace, item.text("spanId"))
    if key is None:
        refuse(f"{item.place}: found no traceId and spanId, wanted both")
    return key, span_key(trace, item.text("parentSpanId")), item.text("name") or ""


def attributes(holder: Record) -> Attributes:
    """The attributes of a resource or an event by key, plain."""
    return _pairs(holder.items("attributes"), holder.place)


def _found(pairs: Any) -> dict[str, Any] | None:
    """The attributes by key, not yet plain; None if there is anything odd about them."""
    try:
        found = {pair["key"]: pair.get("value") for pair in pairs}
    except (TypeError, KeyError, AttributeError):
        return None
    sound = len(found) == len(pairs) and set(map(type, found)) <= _KEY_TYPES
    return found if sound and set(map(type, found.values())) <= _VALUE_TYPES else None


def _refused(item: Item) -> dict[str, Any]:
    """Name what is odd about the attributes; an empty list is not."""
    attributes(item.record)
    return {}


def _pairs(pairs: list[object], place: str) -> Attributes:
    found: Attributes = {}
    for pair in pairs:
        key = pair.get("key") if isinstance(pair, dict) else None
        if not isinstance(pair, dict) or not isinstance(key, str):
            refuse(f"{place}: attributes: found {shown(pair)}, wanted a key and a value")
        if key in found:
            refuse(f"{place}: the attribute {key!r} stands twice", hint="an attribute has one value in OpenTelemetry")
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
        return _whole(value["intValue"])
    for key in ("arrayValue", "kvlistValue"):
        held = value.get(key)
        if held is not None:
            inside = Record(held, f"{place}: {key}").items("values")
            return _pairs(inside, place) if key == "kvlistValue" else [_plain(item, place) for item in inside]
    return None


def _whole(value: object) -> int | None:
    found = number(value)
    return None if found is None else int(found)


def _resources(path: str) -> Iterator[tuple[str, str, object]]:
    """The signal, the place and the text, decoded, of every resource in the file; typed if it can be."""
    with Path(path).open("rb", buffering=BUFFER) as stream:
        if is_lines(stream.readline(json.LARGEST_VALUE)):
            stream.seek(0)
            for number_of_line, line in json.lines(stream):
                typed = otlp_typed.document(line)
                if typed is None:
                    yield from _of_line(line, number_of_line)
                    continue
                for number_of, resource in enumerate(typed):
                    yield "resourceSpans", f"line {number_of_line}: resourceSpans[{number_of}]", resource
            return
        stream.seek(0)
        for number_of, (place, text) in enumerate(json.parts(stream, SIGNALS)):
            signal = place.removesuffix("[]")
            _refuse_others(signal, None)
            if place.endswith("[]"):
                whole = otlp_typed.resource(bytes(text)) if signal == "resourceSpans" else None
                yield signal, f"{signal}[{number_of}]", json.decode(text) if whole is None else whole


def _of_line(line: bytes, number_of_line: int) -> Iterator[tuple[str, str, object]]:
    document = Record(json.decode(line, number_of_line), f"line {number_of_line}")
    if not any(signal in document for signal in (*SIGNALS, *_OTHERS, *_OLD_NAMES)):
        refuse("found no resourceLogs and no resourceSpans, wanted one of them", line=number_of_line)
    for signal in document:
        _refuse_others(signal, number_of_line)
        for resource in _present(document, signal).records(signal):
            yield signal, resource.place, resource.values


def is_lines(first: bytes) -> bool:
    """Whether the first line of a file is a whole document."""
    return first.rstrip().endswith(b"}")


def _refuse_others(signal: str, line: int | None) -> None:
    if signal in SIGNALS:
        return
    if signal in _OTHERS:
        refuse(f"these are OTLP {_OTHERS[signal]}, which judge nothing", line=line, hint="wanted logs or traces")
    wanted = "wanted resourceLogs or resourceSpans"
    hint = "OTLP JSON writes names like resourceSpans" if signal in _OLD_NAMES else None
    refuse(f"this is not OTLP JSON: found {signal!r}, {wanted}", line=line, hint=hint)


def span_key(trace: str | None, span: str | None) -> str | None:
    """What a span is known by in its file; None if it has no id."""
    return f"{trace}/{span}".lower() if trace and span and span.strip("0") else None
