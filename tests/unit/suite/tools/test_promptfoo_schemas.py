"""Schemas under `is-json`: what promptfoo would read differently is refused, wherever it is in the schema."""

from __future__ import annotations

import pytest

from highbar.checks.schema_words import KEYWORDS
from highbar.documents.problems import ValueCursor
from highbar.suite.tools.promptfoo_schemas import read_schema

DRAFT = "http://json-schema.org/draft-07/schema#"


def refused(schema):
    place = ValueCursor(problems=[])
    read = read_schema(schema, place, None)
    assert (read is None) == bool(place.problems)
    return [(problem.path, problem.code) for problem in place.problems]


@pytest.mark.parametrize("name", [*sorted(KEYWORDS), "other"])
def test_a_format_is_found_below_a_property_of_any_name(name):
    for under in ("properties", "definitions"):
        (found,) = refused({under: {name: {"type": "string", "format": "url"}}})
        assert found == ((under, name, "format"), "suite.no-counterpart")


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"items": {"$schema": "https://json-schema.org/draft/2020-12/schema"}}, ("items", "$schema")),
        ({"$schema": None, "type": "object"}, ("$schema",)),
        ({"type": "object", "dependentRequired": {"a": ["b"]}}, ("dependentRequired",)),
        ({"dependencies": {"a": {"format": "email"}}}, ("dependencies", "a", "format")),
        ({"items": [{"contentEncoding": "base64"}]}, ("items", 0, "contentEncoding")),
        ({"type": "object", "x-note": "its validator is strict"}, ("x-note",)),
        ({"type": "object", "id": "a"}, ("id",)),
    ],
)
def test_what_promptfoo_reads_differently_is_refused(schema, path):
    assert [found for found, _ in refused(schema)] == [path]


def test_data_and_names_may_be_called_format():
    properties = {"format": {"type": "string"}, "a": {"enum": [{"format": "url"}], "default": {"format": "url"}}}
    schema = {"properties": properties, "definitions": {"format": {"type": "string"}}}
    assert read_schema(schema, ValueCursor(problems=[]), None) == {"$schema": DRAFT, **schema}
