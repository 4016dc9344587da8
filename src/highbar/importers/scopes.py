"""A file and the path to its records → the records with their surroundings, and the lookup of paths in them."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Literal, cast

from msgspec import Struct

from highbar.documents.csv_fields import fields_up_to
from highbar.importers.json_records import file_head, file_parts, line_records, table_records
from highbar.importers.limits import HEAD, LONGEST_CELL
from highbar.importers.reading import json
from highbar.importers.record import duplicate, refuse, refuse_not_finite, shown
from highbar.model.mapping import Path, Walk

Rows = tuple[tuple[tuple[str, ...], Literal["[]", "{}"]], ...]

_POINT = re.compile(r"(?<!\\)\.")
_KINDS = {"[]": "a list", "{}": "an object"}
_ROWS = "the mapping's `rows` says where the records are"
_KEEP_ONE = "keep one of the two: which of them counts would be left to chance"
_ONE_PER_LINE = re.compile(rb"[^\n]*\}[ \t\r]*(\n|$)")


class Scope(Struct, frozen=True):
    """A record, the ones around it (the nearest first), the document, and its place."""

    record: object
    place: str
    outer: tuple[object, ...] = ()
    document: object = None
    key: str | None = None
    number: int = 0
    cells: bool = False  # whether every value is the text of a cell

    def inside(self, element: object, number: int) -> Scope:
        """The scope of an element of a list in this record."""
        around_it = (self.record, *self.outer)
        return Scope(element, f"{self.place}[{number}]", around_it, self.document, None, number, self.cells)


def scopes(rows: Rows, path: str, needed: Collection[str] = ()) -> Iterator[Scope]:
    """The records of a CSV, of a table, or at `rows` in a document or in each line.

    `needed` are the members of the document that paths with `$` or `^` use.
    """
    if path.lower().endswith((".csv", ".tsv")) or not _is_json(path):
        yield from _csv_rows(path)
    elif not rows:
        for number, record in enumerate(table_records(path)):
            yield Scope(record.values, record.place, number=number)
    else:
        found = False
        for scope in _line_scopes(rows, path) if _has_lines(path) else _document_scopes(rows, path, needed):
            found = True
            yield scope
        if not found:
            way = ".".join(".".join(keys) + kind for keys, kind in rows)
            refuse("results.empty", f"there are no records at {way}", hint=_ROWS)


def value_at(path: Path, scope: Scope) -> object:
    """The value at a path; None if there is none. Refuses NaN, and names along the path that differ only in case."""
    if path.base == "key":
        return scope.key
    if path.base == "number":
        return scope.number
    if path.base == "outer":
        start = scope.outer[0] if scope.outer else None
    else:
        start = scope.document if path.base == "document" else scope.record
    value = _walk(path.steps, start, scope.place)
    if type(value) is not str:  # most values are text, and this is called for every value
        refuse_not_finite(value, path.text, scope.place)
    return value


def reaches(path: Path, scope: Scope) -> bool:
    """Whether the place of a path exists, even with the value null."""
    if path.base in ("key", "number", "repeat"):
        return True
    if path.base == "outer":
        return bool(scope.outer) and _reaches(path.steps, scope.outer[0])
    return _reaches(path.steps, scope.document if path.base == "document" else scope.record)


def _reaches(steps: tuple[str | int | Walk, ...], value: object) -> bool:
    for position, step in enumerate(steps):
        if step is Walk.EACH:
            rest = steps[position + 1 :]
            return isinstance(value, list) and (not value or any(_reaches(rest, item) for item in value))
        if isinstance(step, str):
            if not isinstance(value, Mapping) or step not in value:
                return False
            value = value[step]
        elif isinstance(step, int):
            if not isinstance(value, list) or not -len(value) <= step < len(value):
                return False
            value = value[step]
        elif not isinstance(value, Mapping):
            return False
    return True


def _walk(steps: tuple[str | int | Walk, ...], value: object, place: str) -> object:
    for position, step in enumerate(steps):
        if isinstance(step, str):
            if not isinstance(value, Mapping):
                return None
            _refuse_alike([*value], place)
            value = value.get(step)
        elif isinstance(step, int):
            value = value[step] if isinstance(value, list) and -len(value) <= step < len(value) else None
        elif step is Walk.KEYS:
            value = list(value) if isinstance(value, Mapping) else None
        else:
            rest = steps[position + 1 :]
            return [_walk(rest, item, place) for item in value] if isinstance(value, list) else None
        if value is None:
            return None
    return value


def _refuse_alike(names: Sequence[str], place: str, *, line: int | None = None) -> None:
    """Refuse keys of one object, or columns of one table, that differ only in case."""
    alike = _alike(tuple(names))
    if alike is not None:
        refuse("import.duplicate", f"{place}: {alike}" if place else alike, line=line, hint=_KEEP_ONE)


@lru_cache(maxsize=4096)  # the records of a file have few different shapes
def _alike(names: tuple[str, ...]) -> str | None:
    seen: dict[str, str] = {}
    for name in names:
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            return f"the keys {other!r} and {name!r} differ only in case"
    return None


def _line_scopes(rows: Rows, path: str) -> Iterator[Scope]:
    for line in line_records(path):
        yield from _inner_scopes(rows, Scope(line.values, line.place, document=line.values))


def _is_json(path: str) -> bool:
    return file_head(path, HEAD).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[", b"")


def _has_lines(path: str) -> bool:
    """Whether the file has one document on each line, rather than one document."""
    if path.lower().endswith((".jsonl", ".ndjson")):
        return True
    head = file_head(path, HEAD)
    return bool(_ONE_PER_LINE.match(head)) and head.strip().count(b"\n") > 0


def _document_scopes(rows: Rows, path: str, needed: Collection[str]) -> Iterator[Scope]:
    """The records of one document. Its outermost list or object is read element by element, so that memory is bounded.

    The members around it that paths need are in memory.
    """
    (keys, kind), inner = rows[0], rows[1:]
    outer = ".".join(keys)
    document = _members_around(keys, kind, path, needed)
    number = 0
    for steps, listed, text in _parts(path, keys, kind):
        if not _is_record(steps, keys, kind, listed=listed):
            if steps == keys:
                refuse(
                    "import.wrong-value",
                    f"{outer}: found {shown(json.decode_value(text))}, wanted {_KINDS[kind]}",
                    hint=_ROWS,
                )
            continue
        key = None if kind == "[]" else steps[-1]
        name = f"{outer or 'record'}[{number}]" if key is None else ".".join(steps)
        yield from _inner_scopes(inner, Scope(json.decode_value(text), name, (document,), document, key, number))
        number += 1


def _is_record(steps: tuple[str, ...], keys: tuple[str, ...], kind: str, *, listed: bool) -> bool:
    return steps == keys and listed if kind == "[]" else steps[:-1] == keys and not listed


def _parts(path: str, keys: tuple[str, ...], kind: str) -> Iterator[tuple[tuple[str, ...], bool, json.Bytes]]:
    """The parts of the document: the keys of each, whether it is an element of the list, and its text."""
    outer = ".".join(key.replace(".", "\\.") for key in keys)
    # json_parts splits an object into members only if it contains a wanted array, so ask for one that cannot exist.
    wanted = outer if kind == "[]" else f"{outer}.\0"
    for place, text in file_parts(path, {wanted}):
        listed = kind == "[]" and place == f"{outer}[]"
        bare = outer if listed else place
        yield tuple(step.replace("\\.", ".") for step in _POINT.split(bare)) if bare else (), listed, text


def _members_around(keys: tuple[str, ...], kind: str, path: str, needed: Collection[str]) -> dict[str, object]:
    """The members of the document around its records that a path of the mapping uses."""
    document: dict[str, object] = {}
    for steps, listed, text in _parts(path, keys, kind) if needed else ():
        if _is_record(steps, keys, kind, listed=listed) or steps[0] not in needed:
            continue
        holder = document
        for step in steps[:-1]:
            holder = cast("dict[str, object]", holder.setdefault(step, {}))
        holder[steps[-1]] = json.decode_value(text)
    return document


def _inner_scopes(rows: Rows, scope: Scope) -> Iterator[Scope]:
    """The records within a record, at the remaining steps of `rows`."""
    if not rows:
        yield scope
        return
    (keys, kind), inner = rows[0], rows[1:]
    found = _walk(keys, scope.record, scope.place)
    place = ".".join((scope.place, *keys))
    if found is None:  # records belong here; without a refusal they would be lost silently
        refuse("import.wrong-value", f"{place}: found nothing, wanted {_KINDS[kind]} of records", hint=_ROWS)
    if kind == "[]" and isinstance(found, list):
        members: list[tuple[str | None, object]] = [(None, item) for item in found]
    elif kind == "{}" and isinstance(found, Mapping):
        members = list(found.items())
    else:
        refuse("import.wrong-value", f"{place}: found {shown(found)}, wanted {_KINDS[kind]}", hint=_ROWS)
    if not members:
        refuse(
            "import.wrong-value",
            f"{place}: found {_KINDS[kind]} without a record",
            hint="take what has no record out of the file",
        )
    for number, (key, item) in enumerate(members):
        name = f"{place}[{number}]" if key is None else f"{place}.{key}"
        outer = (scope.record, *scope.outer)
        yield from _inner_scopes(inner, Scope(item, name, outer, scope.document, key, number))


def _csv_rows(path: str) -> Iterator[Scope]:
    """The rows of a CSV, with tabs if .tsv. Strict: every row has a cell for every column, and names are unique."""
    delimiter = "\t" if path.lower().endswith(".tsv") else ","
    with fields_up_to(LONGEST_CELL), FilePath(path).open(encoding="utf-8-sig", newline="") as stream:
        rows = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            header = next(rows, None)
            if not header or header[0].startswith(json.LFS_POINTER.decode()):
                if header:
                    refuse("file.git-lfs", "this is a Git LFS pointer, not the file")
                refuse("file.empty", "the file is empty")
            if (name := duplicate(header)) is not None:
                refuse("row.duplicate-key", f"the column {name!r} occurs twice", line=1)
            _refuse_alike(header, "", line=1)
            for number, cells in enumerate(row for row in rows if row):
                if len(cells) != len(header):
                    refuse("row.field-count", f"found {len(cells)} cells, wanted {len(header)}", line=rows.line_num)
                filled = {name: cell or None for name, cell in zip(header, cells, strict=True)}
                yield Scope(filled, f"line {rows.line_num}", number=number, cells=True)
        except csv.Error as error:
            refuse("file.not-csv", f"this is not sound CSV: {error}", line=rows.line_num)
        except UnicodeDecodeError:
            refuse("file.not-utf8", "this is not UTF-8 text", hint="save the file as UTF-8")
