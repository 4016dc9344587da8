"""The words of a JSON Schema: which of them a validator would ignore, so that they accept every value.

A validator ignores words that it does not know, words of another draft, and words that miss their partner. Each of
them is a fault here: whoever wrote it wants it to be checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

from highbar.documents.problems import ValuePath
from highbar.language.spelling import did_you_mean

_SCHEMA_MAPPINGS = ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")
"""Keywords under which each value of a mapping is a schema."""
_SCHEMA_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_SCHEMA_VALUES = (
    "not", "if", "then", "else", "contains", "additionalProperties", "additionalItems", "propertyNames",
    "unevaluatedItems", "unevaluatedProperties", "items", "contentSchema",
)  # fmt: skip
_OTHERS = (
    "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "maxLength",
    "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains", "minContains", "maxProperties",
    "minProperties", "required", "dependentRequired", "format", "contentEncoding", "contentMediaType",
    "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor",
)  # fmt: skip
SAY_NOTHING = frozenset((
    "title", "description", "default", "deprecated", "readOnly", "writeOnly", "examples", "$schema", "$id", "id",
    "$vocabulary", "$comment", "$defs", "definitions",
))  # fmt: skip
"""Keywords that accept every value if there are no others."""
KEYWORDS = frozenset((*_SCHEMA_MAPPINGS, *_SCHEMA_LISTS, *_SCHEMA_VALUES, *_OTHERS, *SAY_NOTHING))
"""All keywords of JSON Schema."""

DRAFTS = {
    "http://json-schema.org/draft-04/schema": 4,
    "http://json-schema.org/draft-06/schema": 6,
    "http://json-schema.org/draft-07/schema": 7,
    "https://json-schema.org/draft/2019-09/schema": 2019,
    "https://json-schema.org/draft/2020-12/schema": 2020,
}
_NEWEST = 2020
_IGNORED_BESIDE_REF = 7
"""Up to this draft, all words beside a `$ref` are ignored."""
_READ_BY = {
    **dict.fromkeys(("const", "contains", "propertyNames"), (6, _NEWEST)),
    **dict.fromkeys(("if", "then", "else"), (7, _NEWEST)),
    **dict.fromkeys(
        (
            "dependentRequired", "dependentSchemas", "minContains", "maxContains", "unevaluatedItems",
            "unevaluatedProperties",
        ),
        (2019, _NEWEST),
    ),
    **dict.fromkeys(("prefixItems", "$dynamicRef"), (2020, _NEWEST)),
    **dict.fromkeys(("contentEncoding", "contentMediaType"), (6, 7)),
    "additionalItems": (4, 2019),
    "$recursiveRef": (2019, 2019),
    "contentSchema": (0, 0),
}  # fmt: skip
"""The first and the last draft whose validators read a word; all others are read by every draft."""
_PARTNERS = {
    "if": ("then", "else"),
    "then": ("if",),
    "else": ("if",),
    "minContains": ("contains",),
    "maxContains": ("contains",),
    "additionalItems": ("items",),
}
"""A word that is ignored without one of these beside it."""

Fault = tuple[ValuePath, str, str | None]
"""The path in the schema, what is wrong, and a hint."""


def subschemas(schema: Any, path: ValuePath = ()) -> Iterator[tuple[ValuePath, Mapping[str, Any]]]:
    """Every schema in a schema, itself included, with its path. A property may have the name of a keyword."""
    if not isinstance(schema, Mapping):
        return
    yield path, schema
    for word, value in schema.items():
        if word in _SCHEMA_MAPPINGS and isinstance(value, Mapping):
            for name, inner in value.items():
                yield from subschemas(inner, (*path, word, name))
        elif word in _SCHEMA_LISTS and isinstance(value, list):
            for index, inner in enumerate(value):
                yield from subschemas(inner, (*path, word, index))
        elif word in _SCHEMA_VALUES:
            yield from subschemas(value, (*path, word))


def ignored_words(schema: Mapping[str, Any]) -> Iterator[Fault]:
    """Every word of a schema that a validator would ignore."""
    drafts: dict[ValuePath, int] = {}
    for path, inner in subschemas(schema):
        # An inner schema is of the draft of the nearest one around it that names its draft.
        outer = next((drafts[path[:end]] for end in range(len(path) - 1, -1, -1) if path[:end] in drafts), _NEWEST)
        draft = _draft_number(inner.get("$schema"))
        if "$schema" in inner and draft is None and path:  # a validator refuses an unknown one at the top only
            yield (*path, "$schema"), "unknown draft of JSON Schema", "leave it out"
        drafts[path] = draft or outer
        for word in inner:
            for text, hint in _ignored_reasons(word, inner, drafts[path]):
                yield (*path, word), text, hint


def _draft_number(value: Any) -> int | None:
    if not isinstance(value, str):
        return None
    name = value.removesuffix("#").partition("://")[2]  # validators take http for https, and the other way around
    return next((number for known, number in DRAFTS.items() if known.partition("://")[2] == name), None)


def _ignored_reasons(word: str, schema: Mapping[str, Any], draft: int) -> Iterator[tuple[str, str | None]]:
    """Why a validator would ignore a word of this schema, and a hint; nothing if it would not."""
    if word not in KEYWORDS:
        if not word.startswith("x-"):
            yield f"unknown JSON Schema keyword '{word}'", did_you_mean(word, KEYWORDS)
        return
    first, last = _READ_BY.get(word, (0, _NEWEST))
    partners = _PARTNERS.get(word, ())
    if not first <= draft <= last:
        yield f"'{word}' is ignored in JSON Schema {_draft_name(draft)}", _in_other_draft(first, last)
    elif "$ref" in schema and word != "$ref" and word not in SAY_NOTHING and draft <= _IGNORED_BESIDE_REF:
        yield (
            f"'{word}' beside $ref is ignored in JSON Schema {_draft_name(draft)}",
            "write both into allOf: [{…}, {…}]",
        )
    elif partners and not any(partner in schema for partner in partners):
        named = "' or '".join(partners)
        yield f"'{word}' is ignored without '{named}'", None
    elif word == "additionalItems" and not isinstance(schema["items"], list):
        yield "'additionalItems' is ignored unless 'items' is a list", None
    elif word == "$ref" and isinstance(schema[word], str) and not _leads_to_schema(schema[word]):
        yield f"'{schema[word][:60]}' leads to something that is no schema", "put it below $defs"


def _draft_name(draft: int) -> str:
    return next(known for known, number in DRAFTS.items() if number == draft).split("/")[-2]


def _in_other_draft(first: int, last: int) -> str | None:
    readers = [known for known, number in DRAFTS.items() if first <= number <= last]
    return f"with $schema: {readers[-1]} it is read" if readers else None


def _leads_to_schema(reference: str) -> bool:
    """Whether a pointer in a `$ref` leads to a place whose words are checked; names of anchors always do."""
    _, _, pointer = reference.partition("#")
    if not pointer.startswith("/"):
        return True
    parts = [part.replace("~1", "/").replace("~0", "~") for part in unquote(pointer[1:]).split("/")]
    while parts:
        word = parts.pop(0)
        if (word in _SCHEMA_MAPPINGS and parts) or (word in _SCHEMA_LISTS and parts and parts[0].isdecimal()):
            parts.pop(0)
        elif word not in _SCHEMA_VALUES:
            return False
    return True
