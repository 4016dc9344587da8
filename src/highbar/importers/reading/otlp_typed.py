"""OTLP JSON traces by declared types: twice as fast as decoding to dictionaries, and as strict.

Only a text that says nothing but what is declared here is taken, each thing once. Of any other the caller decodes all,
and finds the words for what is wrong with it, if anything is.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from highbar.importers.reading import json

Scalar = str | int | UnsetType | None
"""Written again, it is never longer than it was."""
Text = str | UnsetType | None


class Value(msgspec.Struct, gc=False, rename="camel"):
    """The value of an attribute: one of these is set."""

    string_value: Text = UNSET
    int_value: Scalar = UNSET
    bool_value: bool | UnsetType | None = UNSET
    double_value: Any = UNSET  # a float is kept as it is written
    bytes_value: Text = UNSET
    array_value: Values | UnsetType | None = UNSET
    kvlist_value: Pairs | UnsetType | None = UNSET


class Pair(msgspec.Struct, gc=False):
    """An attribute."""

    key: str
    value: Value | UnsetType | None = UNSET


class Values(msgspec.Struct, gc=False):
    """The values of an array."""

    values: list[Value | None] | UnsetType | None = UNSET


class Pairs(msgspec.Struct, gc=False):
    """The members of an object."""

    values: list[Pair] | UnsetType | None = UNSET


Attributes = list[Pair] | UnsetType | None


class Event(msgspec.Struct, gc=False, rename="camel"):
    """Something that happened during a span."""

    name: Text = UNSET
    time_unix_nano: Scalar = UNSET
    attributes: Attributes = UNSET
    dropped_attributes_count: Scalar = UNSET


class Link(msgspec.Struct, gc=False, rename="camel"):
    """Another span that this one has to do with."""

    trace_id: Scalar = UNSET
    span_id: Scalar = UNSET
    trace_state: Scalar = UNSET
    flags: Scalar = UNSET
    attributes: Attributes = UNSET
    dropped_attributes_count: Scalar = UNSET


class Status(msgspec.Struct, gc=False):
    """How a span ended."""

    code: Scalar = UNSET
    message: Scalar = UNSET


class Span(msgspec.Struct, gc=False, rename="camel"):
    """One span."""

    trace_id: str
    span_id: str
    name: str
    parent_span_id: Text = UNSET
    attributes: Attributes = UNSET
    events: list[Event] | UnsetType | None = UNSET
    status: Status | UnsetType | None = UNSET
    links: list[Link] | UnsetType | None = UNSET
    flags: Scalar = UNSET
    kind: Scalar = UNSET
    start_time_unix_nano: Scalar = UNSET
    end_time_unix_nano: Scalar = UNSET
    trace_state: Scalar = UNSET
    dropped_attributes_count: Scalar = UNSET
    dropped_events_count: Scalar = UNSET
    dropped_links_count: Scalar = UNSET


class Scope(msgspec.Struct, gc=False, rename="camel"):
    """Which library emitted spans."""

    name: Scalar = UNSET
    version: Scalar = UNSET
    attributes: Attributes = UNSET
    dropped_attributes_count: Scalar = UNSET


class ScopeSpans(msgspec.Struct, gc=False, rename="camel"):
    """The spans of one library."""

    spans: list[Span]
    scope: Scope | UnsetType | None = UNSET
    schema_url: Scalar = UNSET


class Resource(msgspec.Struct, gc=False, rename="camel"):
    """Which service emitted spans."""

    attributes: Attributes = UNSET
    dropped_attributes_count: Scalar = UNSET


class ResourceSpans(msgspec.Struct, gc=False, rename="camel"):
    """The spans of one service."""

    scope_spans: list[ScopeSpans]
    resource: Resource | UnsetType | None = UNSET
    schema_url: Scalar = UNSET


class _Document(msgspec.Struct, gc=False, rename="camel"):
    resource_spans: list[ResourceSpans]


_Typed = TypeVar("_Typed", _Document, ResourceSpans)
_document = msgspec.json.Decoder(_Document, float_hook=msgspec.Raw)  # written again, a float may be longer
_resource = msgspec.json.Decoder(ResourceSpans, float_hook=msgspec.Raw)
_span = msgspec.json.Decoder(Span).decode
_encode = msgspec.json.Encoder().encode


def document(text: bytes) -> list[ResourceSpans] | None:
    """The traces of a document; None if it says anything else, or anything twice."""
    found = _whole(_document, text)
    return None if found is None else found.resource_spans


def resource(text: bytes) -> ResourceSpans | None:
    """One element of `resourceSpans`; None as above."""
    return _whole(_resource, text)


def span(text: msgspec.Raw) -> Span | None:
    """One span, of which whatever is not declared is left out; None if it is of other types."""
    try:
        return _span(text)
    except msgspec.ValidationError:
        return None


def plain(typed: msgspec.Struct) -> object:
    """The same as dictionaries and lists."""
    return msgspec.json.decode(_encode(typed))


def _whole(decoder: msgspec.json.Decoder[_Typed], text: bytes) -> _Typed | None:
    """What the text says, if all of it is there: a decoder drops what it does not know and the first of two equal keys.

    Written again, no part is longer than it was, so a text of the same length has lost nothing. If it was written with
    spaces, or its texts and numbers in another way, the keys are counted.
    """
    try:
        found = decoder.decode(text)
        written = _encode(found)
        same = len(written) == len(text) - text.endswith(b"\n")
        return found if same or json.as_many_keys(written, msgspec.json.format(text, indent=-1)) else None
    except (msgspec.DecodeError, UnicodeError, RecursionError, OverflowError):
        return None
