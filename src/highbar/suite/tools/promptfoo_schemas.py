"""The schema under `is-json` → a schema that our checks read in the same way: JSON Schema, draft 7."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from highbar.documents.problems import Path_, ValueCursor
from highbar.suite.decoding import NotPlain, decode
from highbar.suite.tools.linked import PREFIX, files_named, values_of

_DRAFT = "http://json-schema.org/draft-07/schema"


def read_schema(value: Any, place: ValueCursor, folder: Path | None) -> dict[str, Any] | None:
    """The schema, from a mapping, a YAML text, or a file; None after noting what has no counterpart."""
    if isinstance(value, str):
        value = _in_text(value, place, folder)
        if value is None:
            return None
    if not isinstance(value, dict):
        place.refuse_value(value, "a JSON Schema")
        return None
    draft = value.get("$schema")
    if draft is not None and (not isinstance(draft, str) or draft.removesuffix("#") != _DRAFT):
        place.at("$schema").refuse_value(draft, f"{_DRAFT}#, the only one that promptfoo knows")
        return None
    formats = list(_formats(value, ()))
    for path in formats:
        hint = "write it as a `pattern`"
        place.at(*path).refuse("promptfoo checks a `format` by rules of its own, which have no counterpart", hint)
    return None if formats else {"$schema": f"{_DRAFT}#", **value}


def _in_text(value: str, place: ValueCursor, folder: Path | None) -> Any:
    if value.startswith(PREFIX):
        if not value.endswith((".json", ".yaml", ".yml")):
            place.refuse(f"the file '{value[:60]}' is no schema", "name a file that ends in .json or .yaml")
            return None
        return next((values_of(path, "promptfoo") for path in files_named(value, place, folder)), None)
    try:
        found = decode(value, "yaml")
    except NotPlain as error:
        place.refuse(f"the schema is no YAML: {error}")
        return None
    if not isinstance(found, dict):
        place.refuse_value(found, "a JSON Schema")
        return None
    return found


def _formats(value: Any, path: Path_) -> Iterator[Path_]:
    """The path of every `format` in a schema, except properties of that name."""
    if isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _formats(inner, (*path, index))
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        is_property = bool(path) and path[-1] in ("properties", "patternProperties", "definitions", "$defs")
        if key == "format" and isinstance(inner, str) and not is_property:
            yield (*path, key)
        elif key not in ("const", "enum", "default", "examples"):
            yield from _formats(inner, (*path, key))
