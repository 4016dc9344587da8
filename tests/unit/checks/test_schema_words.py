"""JSON Schema in checks: a word either restricts the replies, or is refused; none is ignored."""

from __future__ import annotations

from typing import Any

import pytest

from highbar.checks.schema_words import DRAFTS, KEYWORDS, SAY_NOTHING, subschemas
from highbar.checks.schemas import meets, schema_faults, schema_text

A_TEXT = {"type": "string"}
WITNESSES: dict[str, tuple[dict[str, Any], Any]] = {
    "properties": ({"properties": {"a": A_TEXT}}, {"a": 1}),
    "patternProperties": ({"patternProperties": {"a": A_TEXT}}, {"a": 1}),
    "dependentSchemas": ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}),
    "dependencies": ({"dependencies": {"a": ["b"]}}, {"a": 1}),
    "dependentRequired": ({"dependentRequired": {"a": ["b"]}}, {"a": 1}),
    "allOf": ({"allOf": [A_TEXT]}, 1),
    "anyOf": ({"anyOf": [A_TEXT]}, 1),
    "oneOf": ({"oneOf": [A_TEXT]}, 1),
    "not": ({"not": A_TEXT}, "a"),
    "if": ({"if": {"type": "number"}, "then": {"minimum": 5}}, 1),
    "then": ({"then": {"minimum": 5}}, 1),
    "else": ({"else": {"minimum": 5}}, 1),
    "prefixItems": ({"prefixItems": [A_TEXT]}, [1]),
    "items": ({"items": A_TEXT}, [1]),
    "additionalItems": ({"items": [{}], "additionalItems": A_TEXT}, [1, 1]),
    "unevaluatedItems": ({"unevaluatedItems": A_TEXT}, [1]),
    "contains": ({"contains": A_TEXT}, [1]),
    "minContains": ({"contains": A_TEXT, "minContains": 2}, ["a"]),
    "maxContains": ({"contains": A_TEXT, "maxContains": 1}, ["a", "a"]),
    "additionalProperties": ({"additionalProperties": A_TEXT}, {"a": 1}),
    "unevaluatedProperties": ({"unevaluatedProperties": A_TEXT}, {"a": 1}),
    "propertyNames": ({"propertyNames": {"maxLength": 1}}, {"aa": 1}),
    "type": (A_TEXT, 1),
    "enum": ({"enum": [1]}, 2),
    "const": ({"const": 1}, 2),
    "multipleOf": ({"multipleOf": 2}, 3),
    "maximum": ({"maximum": 1}, 2),
    "minimum": ({"minimum": 2}, 1),
    "exclusiveMaximum": ({"exclusiveMaximum": 1}, 1),
    "exclusiveMinimum": ({"exclusiveMinimum": 1}, 1),
    "maxLength": ({"maxLength": 1}, "aa"),
    "minLength": ({"minLength": 2}, "a"),
    "pattern": ({"pattern": "b"}, "a"),
    "maxItems": ({"maxItems": 1}, [1, 1]),
    "minItems": ({"minItems": 2}, [1]),
    "uniqueItems": ({"uniqueItems": True}, [1, 1]),
    "maxProperties": ({"maxProperties": 1}, {"a": 1, "b": 1}),
    "minProperties": ({"minProperties": 2}, {"a": 1}),
    "required": ({"required": ["a"]}, {}),
    "format": ({"format": "email"}, "nobody"),
    "contentEncoding": ({"contentEncoding": "base64"}, "!!!"),
    "contentMediaType": ({"contentMediaType": "application/json"}, "{a"),
    "contentSchema": ({"contentMediaType": "application/json", "contentSchema": A_TEXT}, "1"),
    "$ref": ({"definitions": {"a": A_TEXT}, "$ref": "#/definitions/a"}, 1),
    "$anchor": ({"definitions": {"a": {"$anchor": "q", **A_TEXT}}, "$ref": "#q"}, 1),
    "$dynamicAnchor": ({"definitions": {"a": {"$dynamicAnchor": "q", **A_TEXT}}, "$ref": "#q"}, 1),
    "$dynamicRef": ({"definitions": {"a": {"$dynamicAnchor": "q", **A_TEXT}}, "$dynamicRef": "#q"}, 1),
    "$recursiveRef": ({"type": "object", "additionalProperties": {"$recursiveRef": "#"}}, {"a": 1}),
    "$recursiveAnchor": (
        {"$recursiveAnchor": True, "type": "object", "additionalProperties": {"$recursiveRef": "#"}},
        {"a": 1},
    ),
}
"""For each word, a schema with it and a value that it must refuse."""


def test_every_word_restricts_the_replies_or_is_refused_in_every_draft():
    assert WITNESSES.keys() == KEYWORDS - SAY_NOTHING
    for word, (words, value) in WITNESSES.items():
        for draft in (None, *DRAFTS, *(f"{draft}#" for draft in DRAFTS)):
            schema = words if draft is None else {"$schema": draft, **words}
            inside = {**schema, "definitions": {**schema.get("definitions", {}), "unused": A_TEXT}}
            assert list(schema_faults(inside)) or meets(value, schema_text(inside)), (word, draft)


@pytest.mark.parametrize(
    ("words", "path", "named"),
    [
        ({"format": "int32"}, (), ("'int32'",)),
        ({"dependencies": {"a": {"typ": "string"}}}, ("dependencies", "a", "typ"), ("'typ'",)),
        ({"then": A_TEXT, "type": "string"}, ("then",), ("'then'", "'if'")),
        ({"if": A_TEXT, "type": "string"}, ("if",), ("'if'", "'then'", "'else'")),
        ({"x-a": {"typ": 1}, "$ref": "#/x-a"}, ("$ref",), ("'#/x-a'",)),
        ({"default": A_TEXT, "$ref": "#/default"}, ("$ref",), ("'#/default'",)),
        ({"x-note": "a"}, (), ()),
        ({"items": {"$schema": "draft-07"}}, ("items", "$schema"), ()),
        (
            {"$schema": "http://json-schema.org/draft-07/schema#", "dependentRequired": {"a": ["b"]}},
            ("dependentRequired",),
            ("'dependentRequired'", "draft-07"),
        ),
        ({"contentEncoding": "base64"}, ("contentEncoding",), ("'contentEncoding'", "2020-12")),
        (
            {
                "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {"a": A_TEXT},
                "items": {"$ref": "#/definitions/a", "minLength": 2},
            },
            ("items", "minLength"),
            ("'minLength'", "$ref", "draft-07"),
        ),
    ],
)
def test_a_word_that_a_validator_ignores_is_named(words, path, named):
    ((found, message, _),) = schema_faults(words)
    assert found == path
    assert [name for name in named if name not in message] == []


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {name: {"properties": {"const": A_TEXT}, "minProperties": 1} for name in sorted(KEYWORDS)}},
        {
            "$defs": {"a/b": A_TEXT, "c": {"items": A_TEXT}},
            "allOf": [{"$ref": "#/$defs/a~1b"}, {"$ref": "#/$defs/c/items"}],
        },
        {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "definitions": {"a": A_TEXT}},
        {"properties": {"a": A_TEXT, "b": {"$ref": "#/properties/a", "minLength": 2}}, "x-note": {"typ": 1}},
    ],
)
def test_a_schema_without_an_ignored_word_is_read(schema):
    assert list(schema_faults(schema)) == []


def test_a_property_with_the_name_of_a_keyword_is_a_schema_all_the_same():
    for name in KEYWORDS:
        found = dict(subschemas({"properties": {name: A_TEXT}, "enum": [{"properties": {"b": 1}}]}))
        assert found == {(): found[()], ("properties", name): A_TEXT}


@pytest.mark.parametrize("draft", [f"http://json-schema.org/draft-0{number}/schema#" for number in (4, 7)])
@pytest.mark.parametrize(("name", "good"), [("uuid", "123e4567-e89b-12d3-a456-426614174000"), ("duration", "P1D")])
def test_a_format_of_a_later_draft_is_checked_in_an_older_one(draft, name, good):
    schema = {"$schema": draft, "type": "string", "format": name}
    assert list(schema_faults(schema)) == []
    text = schema_text(schema)
    assert meets(good, text) is None
    assert meets("x", text) is not None


def test_an_unknown_format_is_refused_with_a_hint():
    ((path, message, hint),) = schema_faults({"type": "string", "format": "int32"})
    assert path == ()
    assert "'int32'" in message
    assert "`pattern`" in hint
