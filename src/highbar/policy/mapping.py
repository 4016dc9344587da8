"""Reads a mapping from foreign records to columns, from the block `map` or a file of its own; and its JSON Schema."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from pathlib import Path as FilePath
from typing import Any, Literal, TypeVar, cast

from highbar.columns import COLUMN_NAMES, COLUMNS, JUDGING
from highbar.documents.files import read_tree
from highbar.documents.python_values import from_values
from highbar.errors import InputError, Problem
from highbar.language.spelling import near_miss
from highbar.language.threshold import read_positive
from highbar.model.mapping import Check, Feed, Path, RowMap, Scalar, When
from highbar.policy.cursor import Cursor, read_description
from highbar.policy.paths import PathError, read_path, read_records_path

T = TypeVar("T")

MAP_KEYS = ("rows", "where", "columns", "description")
CHECKS = ("is", "is_not", "at_least", "at_most", "exists")
ELEMENTS = ("all", "any")
FEED_KEYS = ("path", "value", *CHECKS, *ELEMENTS, "values", "as", "times", "default", "when", "each", "where")
TYPES = ("text", "number", "boolean")
_DEEPEST = 4


def read_map_file(path: FilePath | str, data: bytes | None = None) -> RowMap:
    """The mapping in a file: the keys of the block, or a policy's block `map`. Raises InputError with every problem.

    If `data` is given, it replaces the content of the file, which is not read.
    """
    path = FilePath(path)
    try:
        return _read_map_file(path, data)
    except InputError as error:
        from highbar.documents.excerpts import with_excerpts  # only if something is wrong

        raise with_excerpts(error) from None


def _read_map_file(path: FilePath, data: bytes | None) -> RowMap:
    document = read_tree(path, data=data)
    problems = list(document.problems)
    cursor = Cursor(document.root, "", str(path), problems)
    inner = cursor.child("map") if cursor.is_kind("mapping") else None
    found = read_mapping(Cursor((inner or cursor).node, "map" if inner else "", str(path), problems), frozenset())
    if problems or found is None:
        raise InputError(*(problems or [Problem("map.incomplete", "there is no mapping in this file", str(path))]))
    return found


def read_map(mapping: Mapping[str, Any]) -> RowMap:
    """The mapping in a dict, with the keys of the block. Raises InputError with every problem."""
    problems: list[Problem] = []
    found = read_mapping(Cursor(from_values(mapping), "map", None, problems), frozenset())
    if problems or found is None:
        raise InputError(*problems)
    return found


def read_mapping(cursor: Cursor, allow_columns: Collection[str]) -> RowMap | None:
    """The block `map`; None after noting what is wrong with it."""
    known = len(cursor.problems)
    fields = cursor.fields(MAP_KEYS)
    read_description(fields)
    rows = _read_path(fields["rows"], read_records_path) if "rows" in fields else ()
    where = _when(fields["where"]) if "where" in fields else None
    columns = _columns(fields["columns"], allow_columns, judges=bool(rows or where)) if "columns" in fields else ()
    if "columns" not in fields and cursor.is_kind("mapping"):
        cursor.refuse(
            "map.incomplete",
            "found no columns, wanted which path feeds which column",
            "columns: { id: name, passed: ok }",
        )
    if len(cursor.problems) > known:
        return None
    return RowMap(rows or (), columns, where, cursor.file)


def _columns(
    cursor: Cursor, allow_columns: Collection[str], *, judges: bool
) -> tuple[tuple[str, tuple[Feed, ...]], ...]:
    entries = cursor.entries(keep_description=True)
    for name, entry in entries.items():
        missed = None if name in allow_columns or name.startswith("tags.") else near_miss(name, COLUMN_NAMES)
        if missed:
            entry.refuse(
                "map.unknown-column",
                f"unknown column '{name}'",
                f"did you mean '{missed}'? If not, name it in allow_columns",
            )
    # A mapping on top of the rows that a tool's reader makes needs no id, unless it makes or judges rows itself.
    if cursor.is_kind("mapping") and "id" not in entries and (judges or JUDGING & set(entries)):
        hint = 'id: name, or id: "@key"; for rows that a tool\'s reader makes: id: id, and --input-format with the tool'
        cursor.refuse("map.incomplete", "found no id, wanted the path that names the scenario", hint)
    return tuple((name, _feeds(entry)) for name, entry in entries.items())


def _feeds(cursor: Cursor) -> tuple[Feed, ...]:
    """One feed, or a list of them: the first one that gives a value counts."""
    items = cursor.items() if cursor.is_kind("list") else [cursor]
    if not items:
        cursor.refuse(
            "map.incomplete", "found an empty list, wanted a path", "put one of those in the comment in place of []"
        )
    return tuple(feed for item in items if (feed := _feed(item)) is not None)


def _feed(cursor: Cursor, depth: int = 0) -> Feed | None:
    if cursor.is_kind("text"):
        path = _read_path(cursor, read_path)
        return None if path is None else Feed(path)
    if not cursor.is_kind("mapping"):
        cursor.refuse_kind("a path, or a mapping with path or value", "a constant is written { value: … }")
        return None
    fields = cursor.fields(FEED_KEYS)
    _refuse_contradictions(cursor, fields)
    if depth > _DEEPEST:
        cursor.refuse("file.too-deep", "nested deeper than is read")
        return None
    return Feed(
        path=_read_path(fields["path"], read_path) if "path" in fields else None,
        value=_scalar(fields["value"]) if "value" in fields else None,
        check=_check(fields),
        values=_table(fields["values"]) if "values" in fields else None,
        as_type=cast("Literal['text', 'number', 'boolean'] | None", fields["as"].choice(*TYPES))
        if "as" in fields
        else None,
        times=fields["times"].number(read_positive, "a number") if "times" in fields else None,
        default=_scalar(fields["default"]) if "default" in fields else None,
        when=_when(fields["when"]) if "when" in fields else None,
        each=_each(fields["each"], depth) if "each" in fields else None,
        where=_when(fields["where"]) if "where" in fields else None,
    )


def _refuse_contradictions(cursor: Cursor, fields: Collection[str]) -> None:
    """Note keys of a feed that exclude each other."""
    if ("path" in fields) == ("value" in fields):
        cursor.refuse(
            "map.contradiction",
            "wanted either path or value",
            "{ path: status } takes what is there, { value: nightly } is a constant",
        )
    if "value" in fields and set(fields) - {"value", "when"}:
        cursor.refuse("map.contradiction", "a constant takes no other key than when")
    turned = [key for key in ("values", *CHECKS, "each") if key in fields]
    if len(turned) > 1:
        cursor.refuse("map.contradiction", f"found {' and '.join(turned)}, wanted one of them")
    if turned and ("times" in fields or "as" in fields):
        cursor.refuse("map.contradiction", f"times and as cannot be combined with {turned[0]}")
    if set(ELEMENTS) & set(fields) and not set(CHECKS) & set(fields):
        cursor.refuse(
            "map.contradiction", "all and any say which elements of a list must meet is, is_not, at_least or at_most"
        )
    if "where" in fields and "each" not in fields:
        cursor.refuse("map.contradiction", "where chooses elements, so it needs each")
    if {"exists", "each"} & set(fields) and "default" in fields:
        cursor.refuse("map.contradiction", "default cannot be combined with exists or each, which always give a value")


def _check(fields: dict[str, Cursor]) -> Check | None:
    """The condition of a feed or of one path of a `when`, if it has one."""
    of = _elements(fields)
    for operator in CHECKS:
        if operator not in fields:
            continue
        cursor = fields[operator]
        if operator == "exists":
            flag = _scalar(cursor)
            if not isinstance(flag, bool):
                cursor.refuse_kind("true or false")
                return None
            return Check("exists", (flag,))
        items = cursor.items() if cursor.is_kind("list") else [cursor]
        values = tuple(value for item in items if (value := _scalar(item)) is not None)
        if not values:
            return None
        if operator in ("at_least", "at_most") and (len(values) > 1 or not isinstance(values[0], Fraction)):
            cursor.refuse_kind("a number")
            return None
        return Check(cast("Literal['is', 'is_not', 'at_least', 'at_most']", operator), values, of)
    return None


def _elements(fields: dict[str, Cursor]) -> Literal["all", "any"] | None:
    """Which elements of a list must meet the condition, if it says so."""
    said = [key for key in ELEMENTS if key in fields]
    for key in said:
        if _scalar(fields[key]) is not True:
            fields[key].refuse_kind("true")
        elif key != said[0]:
            fields[key].refuse("map.contradiction", "found all and any, wanted one of them")
        elif "exists" in fields:
            fields[key].refuse("map.contradiction", f"{key} cannot be combined with exists")
    return cast("Literal['all', 'any']", said[0]) if said else None


def _when(cursor: Cursor) -> When | None:
    """`{status: done, score: {at_least: 3}}`: all must hold."""
    checks: list[tuple[Path, Check]] = []
    entries = cursor.entries(keep_description=True)
    if cursor.is_kind("mapping") and not entries:
        cursor.refuse("map.incomplete", "found nothing, wanted a path and what is to be there")
    for text, entry in entries.items():
        try:
            path = read_path(text)
        except PathError as error:
            entry.refuse("map.bad-path", str(error))
            continue
        fields = entry.fields((*CHECKS, *ELEMENTS)) if entry.is_kind("mapping") else {"is": entry}
        if len(set(fields) & set(CHECKS)) > 1:
            entry.refuse("map.incomplete", "wanted one condition")
        check = _check(fields)
        if check is not None:
            checks.append((path, check))
        elif not set(fields) & set(CHECKS):
            entry.refuse("map.incomplete", "found no condition", f"known: {', '.join(CHECKS)}")
    return When(tuple(checks)) if checks else None


def _each(cursor: Cursor, depth: int) -> tuple[tuple[str, Feed], ...] | Feed | None:
    """What to take from every element: a path, or an object with a feed for each of its keys."""
    if not cursor.is_kind("mapping"):
        return _feed(cursor, depth + 1)
    read = ((name, _feed(entry, depth + 1)) for name, entry in cursor.entries(keep_description=True).items())
    return tuple((name, feed) for name, feed in read if feed is not None)


def _table(cursor: Cursor) -> dict[str, Scalar]:
    # The keys are values of records, which are compared with case: `No` and `NO` may both be there.
    entries = cursor.entries(keep_description=True, keep_case=True)
    read = ((text, _scalar(entry)) for text, entry in entries.items())
    found = {text: value for text, value in read if value is not None}
    if cursor.is_kind("mapping") and not found:
        cursor.refuse(
            "map.incomplete", "found nothing, wanted what each value means", "values: { ok: true, broken: false }"
        )
    return found


def _scalar(cursor: Cursor) -> Scalar | None:
    """Text, a number, true or false."""
    if cursor.is_kind("text"):
        return cursor.node.text
    if cursor.is_kind("boolean"):
        return cursor.node.text.lower() == "true"
    if cursor.is_kind("number"):
        return cursor.signed_number("for example 0.5")
    cursor.refuse_kind("text, a number, true or false")
    return None


def _read_path(cursor: Cursor, read: Callable[[str], T]) -> T | None:
    text = cursor.text()
    if text is None:
        return None
    try:
        return read(text)
    except PathError as error:
        cursor.refuse("map.bad-path", str(error))
        return None


# --- the JSON Schema ---------------------------------------------------------------------------

_TEXT = {"type": "string", "minLength": 1}
_SCALAR = {"type": ["string", "number", "boolean"]}
_SCALARS = {"anyOf": [_SCALAR, {"type": "array", "items": _SCALAR, "minItems": 1}]}
_FEED = {"$ref": "#/$defs/feed"}
_WHEN = {"$ref": "#/$defs/when"}
_CHECKS = {
    "is": {**_SCALARS, "description": "True if the value is this, or one of these."},
    "is_not": {**_SCALARS, "description": "True if the value is none of these."},
    "at_least": {"type": "number", "description": "True from this number on."},
    "at_most": {"type": "number", "description": "True up to this number."},
    "exists": {"type": "boolean", "description": "True if there is a value (false: if there is none)."},
    "all": {"const": True, "description": "Of a list: if this is so of every element, and it has one."},
    "any": {"const": True, "description": "Of a list: if this is so of any element."},
}


def mapping_schema() -> dict[str, Any]:
    """The schema of the block."""
    offered = {column.name: {**_FEED, "description": column.meaning} for column in COLUMNS if column.kind != "origin"}
    judging = {"anyOf": [{"required": [name]} for name in sorted(JUDGING)]}
    columns = {"type": "object", "properties": offered, "additionalProperties": _FEED}
    columns |= {"if": judging, "then": {"required": ["id"]}}  # a mapping on top of a tool's own rows needs no id
    return {
        "type": "object",
        "description": "Which path of a foreign record feeds which column.",
        "properties": {
            "rows": {**_TEXT, "description": "The way to the records: results[], cases[].runs[], by_id{}."},
            "where": {**_WHEN, "description": "Which records count."},
            "columns": {**columns, "description": "A path, a constant or a condition for each column."},
            "description": _TEXT,
        },
        "additionalProperties": False,
        "required": ["columns"],
    }


def mapping_definitions() -> dict[str, Any]:
    """The definitions that the schema of the block refers to."""
    element = {"anyOf": [_TEXT, {"type": "object", "minProperties": 1}]}
    options = {
        "path": {**_TEXT, "description": "Where the value is: usage.total, checks[].name, ^.name, $.model, @key."},
        "value": {**_SCALAR, "description": "A constant."},
        **_CHECKS,
        "values": {"type": "object", "additionalProperties": _SCALAR, "description": "What each value means."},
        "as": {"enum": ["text", "number", "boolean"], "description": "Text that says a number, and the like."},
        "times": {"type": ["number", "string"], "description": "Multiply: 1000 turns seconds into milliseconds."},
        "default": {**_SCALAR, "description": "If there is no value."},
        "when": {**_WHEN, "description": "Only if this holds."},
        "each": {**element, "description": "What to take of every element of a list."},
        "where": {**_WHEN, "description": "Which elements of the list."},
    }
    one = {"anyOf": [_TEXT, {"type": "object", "properties": options, "additionalProperties": False}]}
    checked = {"type": "object", "properties": _CHECKS, "additionalProperties": False, "minProperties": 1}
    return {
        "feed": {
            "description": "A path, or how to get the value; of a list the first that gives one.",
            "anyOf": [*one["anyOf"], {"type": "array", "items": one, "minItems": 1}],
        },
        "when": {
            "description": "Paths, and what their values must be: {status: done, score: {at_least: 3}}.",
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"anyOf": [_SCALARS, checked]},
        },
    }
