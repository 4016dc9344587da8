"""The schema under `is-json` → a schema that our checks read in the same way: JSON Schema, draft 7."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from highbar.checks.schema_words import KEYWORDS, subschemas
from highbar.documents.problems import ValueCursor
from highbar.language.spelling import did_you_mean
from highbar.suite.decoding import NotPlain, decode
from highbar.suite.tools.linked import PREFIX, files_named, values_of

_DRAFT = "http://json-schema.org/draft-07/schema"
_UNREAD = frozenset((
    "dependentRequired", "dependentSchemas", "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties",
    "prefixItems", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef", "id",
    "contentEncoding", "contentMediaType", "contentSchema",
))  # fmt: skip
"""Words for which promptfoo refuses a schema; it only ignores the last three, which we would check."""


def read_schema(value: Any, place: ValueCursor, folder: Path | None) -> dict[str, Any] | None:
    """The schema, from a mapping, a YAML text, or a file; None after noting what has no counterpart."""
    if isinstance(value, str):
        value = _in_text(value, place, folder)
        if value is None:
            return None
    if not isinstance(value, dict):
        place.refuse_value(value, "a JSON Schema")
        return None
    before = len(place.problems)
    for path, inner in subschemas(value):
        for word in inner:
            _refuse_word(word, inner[word], place.at(*path, word))
    return None if len(place.problems) > before else {"$schema": f"{_DRAFT}#", **value}


def _refuse_word(word: str, value: Any, place: ValueCursor) -> None:
    """Note a word of a schema that promptfoo does not read as we do."""
    if word == "format":
        hint = "write it as a `pattern`"
        place.refuse(
            "suite.no-counterpart", "promptfoo checks a `format` by rules of its own, which have no counterpart", hint
        )
    elif word == "$schema" and (not isinstance(value, str) or value.removesuffix("#") != _DRAFT):
        place.refuse_value(value, f"{_DRAFT}#, the only one that promptfoo knows")
    elif word not in KEYWORDS or word in _UNREAD:
        hint = did_you_mean(word, KEYWORDS - _UNREAD) or "promptfoo reads draft 7"
        place.refuse("check.bad-schema", f"unknown JSON Schema keyword '{word[:60]}'", hint)


def _in_text(value: str, place: ValueCursor, folder: Path | None) -> Any:
    if value.startswith(PREFIX):
        if not value.endswith((".json", ".yaml", ".yml")):
            place.refuse(
                "check.bad-schema", f"the file '{value[:60]}' is no schema", "name a file that ends in .json or .yaml"
            )
            return None
        return next((values_of(path) for path in files_named(value, place, folder)), None)
    try:
        found = decode(value, "yaml")
    except NotPlain as error:
        place.refuse("check.bad-schema", f"the schema is not YAML: {error}")
        return None
    if not isinstance(found, dict):
        place.refuse_value(found, "a JSON Schema")
        return None
    return found
