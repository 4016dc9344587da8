"""OTLP JSON traces in declared types: twice as fast as decoding to dictionaries, and just as strict.

Accepts only text that has nothing but the declared members, each once. The caller decodes any other text to
dictionaries, and refuses it with a message if something is wrong.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from highbar.importers.reading import json

Scalar = str | int | UnsetType | None
"""Never longer than before when it is encoded again, which `_whole` relies on."""
Text = str | UnsetType | None


class AttributeValue(msgspec.Struct, gc=False, rename="camel"):
    """The value of an attribute: one of these is set."""

    string_value: Text = UNSET
    int_value: Scalar = UNSET
    bool_value: bool | UnsetType | None = UNSET
    double_value: Any = UNSET  # the text of the float, see `float_hook`
    bytes_value: Text = UNSET
    array_value: ValueList | UnsetType | None = UNSET
    kvlist_value: AttributeList | UnsetType | None = UNSET


class Attribute(msgspec.Struct, gc=False):
    """An attribute."""

    key: str
    value: AttributeValue | UnsetType | None = UNSET


class ValueList(msgspec.Struct, gc=False):
    """The values of an array."""

    values: list[AttributeValue | None] | UnsetType | None = UNSET


class AttributeList(msgspec.Struct, gc=False):
    """The members of an object."""

    values: list[Attribute] | UnsetType | None = UNSET


Attributes = list[Attribute] | UnsetType | None


class SpanEvent(msgspec.Struct, gc=False, rename="camel"):
    """Something that happened during a span."""

    name: Text = UNSET
    time_unix_nano: Scalar = UNSET
    attributes: Attributes = UNSET
    dropped_attributes_count: Scalar = UNSET


class SpanLink(msgspec.Struct, gc=False, rename="camel"):
    """A related span."""

    trace_id: Scalar = UNSET
    span_id: Scalar = UNSET
    trace_state: Scalar = UNSET
    flags: Scalar = UNSET
    attributes: Attributes = UNSET
    dropped_attributes_count: Scalar = UNSET


class SpanStatus(msgspec.Struct, gc=False):
    """The end of a span."""

    code: Scalar = UNSET
    message: Scalar = UNSET


class TypedSpan(msgspec.Struct, gc=False, rename="camel"):
    """One span."""

    trace_id: str
    span_id: str
    name: str
    parent_span_id: Text = UNSET
    attributes: Attributes = UNSET
    events: list[SpanEvent] | UnsetType | None = UNSET
    status: SpanStatus | UnsetType | None = UNSET
    links: list[SpanLink] | UnsetType | None = UNSET
    flags: Scalar = UNSET
    kind: Scalar = UNSET
    start_time_unix_nano: Scalar = UNSET
    end_time_unix_nano: Scalar = UNSET
    trace_state: Scalar = UNSET
    dropped_attributes_count: Scalar = UNSET
    dropped_events_count: Scalar = UNSET
    dropped_links_count: Scalar = UNSET


class SpanScope(msgspec.Struct, gc=False, rename="camel"):
    """The library that emitted spans."""

    name: Scalar = UNSET
    version: Scalar = UNSET
    attributes: Attributes = UNSET
    dropped_attributes_count: Scalar = UNSET


class ScopeSpans(msgspec.Struct, gc=False, rename="camel"):
    """The spans of one library."""

    spans: list[TypedSpan]
    scope: SpanScope | UnsetType | None = UNSET
    schema_url: Scalar = UNSET


class SpanResource(msgspec.Struct, gc=False, rename="camel"):
    """The service that emitted spans."""

    attributes: Attributes = UNSET
    dropped_attributes_count: Scalar = UNSET


class ResourceSpans(msgspec.Struct, gc=False, rename="camel"):
    """The spans of one service."""

    scope_spans: list[ScopeSpans]
    resource: SpanResource | UnsetType | None = UNSET
    schema_url: Scalar = UNSET


class _TypedDocument(msgspec.Struct, gc=False, rename="camel"):
    resource_spans: list[ResourceSpans]


_Typed = TypeVar("_Typed", _TypedDocument, ResourceSpans)
_document = msgspec.json.Decoder(_TypedDocument, float_hook=msgspec.Raw)  # encoded again, a float may be longer
_resource = msgspec.json.Decoder(ResourceSpans, float_hook=msgspec.Raw)
_span = msgspec.json.Decoder(TypedSpan).decode
_encode = msgspec.json.Encoder().encode


def document(text: bytes) -> list[ResourceSpans] | None:
    """The traces of a document; None if it has undeclared members or duplicate keys."""
    found = _whole(_document, text)
    return None if found is None else found.resource_spans


def resource(text: bytes) -> ResourceSpans | None:
    """One element of `resourceSpans`; None if it has undeclared members or duplicate keys."""
    return _whole(_resource, text)


def typed_span(text: msgspec.Raw) -> TypedSpan | None:
    """One span without its undeclared members; None if a type differs."""
    try:
        return _span(text)
    except msgspec.ValidationError:
        return None


def untyped(typed: msgspec.Struct) -> object:
    """The value as dictionaries and lists."""
    text = _encode(typed)
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:  # a number beyond all bounds, which the typed form keeps as it is
        return json.decode_value(text)


def _whole(decoder: msgspec.json.Decoder[_Typed], text: bytes) -> _Typed | None:
    """The decoded text; None if decoding lost something: unknown members, or the first of two equal keys.

    Encoded again, no part is longer than before, so if the length is the same, nothing was lost. If the text has
    spaces, or other spellings of strings and numbers, the keys are counted.
    """
    try:
        found = decoder.decode(text)
        written = _encode(found)
        same = len(written) == len(text) - text.endswith(b"\n")
        return found if same or json.as_many_keys(written, msgspec.json.format(text, indent=-1)) else None
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError):
        return None
