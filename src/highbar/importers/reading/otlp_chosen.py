"""OTLP JSON that `otlp.scan` has accepted, and the keys of spans → the spans with these keys."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from highbar.importers.limits import LARGEST_VALUE
from highbar.importers.reading import json, otlp_typed
from highbar.importers.reading.otlp import BUFFER, SIGNALS, Attributes, Item, attributes, is_lines, span_key
from highbar.importers.record import Record


class _Ids(msgspec.Struct, gc=False, rename="camel"):
    trace_id: str | None = None
    span_id: str | None = None


_Part = TypeVar("_Part", msgspec.Raw, _Ids)  # of each span: all of it, undecoded, or its ids


class _ScopeParts(msgspec.Struct, Generic[_Part], gc=False):
    spans: list[_Part] | None = None


class _ResourceParts(msgspec.Struct, Generic[_Part], gc=False, rename="camel"):
    resource: msgspec.Raw = msgspec.Raw(b"null")
    scope_spans: list[_ScopeParts[_Part]] | None = None


class _DocumentParts(msgspec.Struct, Generic[_Part], gc=False, rename="camel"):
    resource_spans: list[_ResourceParts[_Part]] | None = None


_document = msgspec.json.Decoder(_DocumentParts[msgspec.Raw]).decode
_all_ids = msgspec.json.Decoder(_DocumentParts[_Ids]).decode


def chosen_spans(path: str, keys: Container[str]) -> Iterator[tuple[str, Item]]:
    """The spans with these keys, of a file that `otlp.scan` has accepted."""
    for text in _documents(path):
        try:
            found = list(_chosen_typed(text, keys))
        except (
            msgspec.DecodeError,
            UnicodeDecodeError,
        ):  # NaN, or half of a surrogate pair, which only the slower decoder accepts
            found = list(_chosen_plain(json.decode_value(text), keys))
        yield from found


def _chosen_typed(text: json.Bytes, keys: Container[str]) -> Iterator[tuple[str, Item]]:
    """Decode the ids of all spans at once, and then only the wanted spans."""
    wanted = [
        [
            [(key, number) for number, one in enumerate(scope.spans or ()) if (key := _key(one)) in keys]
            for scope in resource.scope_spans or ()
        ]
        for resource in _all_ids(text).resource_spans or ()
    ]
    if not any(found for scopes in wanted for found in scopes):
        return
    for resource, scopes in zip(_document(text).resource_spans or (), wanted, strict=True):
        about = msgspec.json.decode(resource.resource)
        plain = attributes(Record(about, "resource")) if about else {}
        for scope, found in zip(resource.scope_spans or (), scopes, strict=True):
            spans = scope.spans or []
            for key, number in found:
                yield key, _item(spans[number], plain, number)


def _key(ids: _Ids) -> str:
    """The key of a span, as `span_key` makes it; `otlp.scan` has refused spans without ids."""
    return f"{ids.trace_id}/{ids.span_id}".lower()


def _item(span: msgspec.Raw, resource: Attributes, number: int) -> Item:
    typed = otlp_typed.typed_span(span)
    pairs = (typed.attributes or ()) if typed else ()
    if typed is None:
        return Item("span", resource, msgspec.json.decode(span), ("spans", number))
    return Item("span", resource, typed, ("spans", number), {pair.key: pair.value for pair in pairs})


def _chosen_plain(document: object, keys: Container[str]) -> Iterator[tuple[str, Item]]:
    for resource in Record(document, "the file").records("resourceSpans"):
        about = resource.record("resource")
        plain = attributes(about) if about else {}
        for scope in resource.records("scopeSpans"):
            for number, values in enumerate(scope.items("spans")):
                item = Item("span", plain, values, ("spans", number))
                key = span_key(item.text("traceId"), item.text("spanId"))
                if key is not None and key in keys:
                    yield key, item


def _documents(path: str) -> Iterator[json.Bytes]:
    """The traces as one document per line or resource, so that memory stays bounded."""
    with Path(path).open("rb", buffering=BUFFER) as stream:
        lines = is_lines(stream.readline(LARGEST_VALUE))
        stream.seek(0)
        if lines:
            yield from (line for _, line in json.numbered_lines(stream))
            return
        for place, text in json.json_parts(stream, SIGNALS):
            if place == "resourceSpans[]":
                yield b'{"resourceSpans":[' + bytes(text) + b"]}"
