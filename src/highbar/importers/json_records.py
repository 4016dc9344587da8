"""A JSON file → its records one by one: of its arrays, of its lines, or of a data frame that pandas wrote.

For a data frame there is one function for each form (`orient`) of the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from highbar.importers.reading import json
from highbar.importers.record import Record, duplicate, refuse, shown

_SPLIT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(columns|index|data)"\s*:\s*\[')
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
_HEAD = 4096


def file_head(path: str, size: int) -> bytes:
    """The first bytes of a file."""
    with Path(path).open("rb") as stream:
        return stream.read(size)


def file_parts(path: str, arrays: Collection[str]) -> Iterator[tuple[str, json.Bytes]]:
    """The parts of the document in a file; see `json.json_parts`."""
    with Path(path).open("rb") as stream:
        yield from json.json_parts(stream, arrays)


def array_records(path: str, arrays: Collection[str]) -> Iterator[tuple[str, Record]]:
    """The elements of these arrays, in the order of the file, each with the name of its array."""
    counts: Counter[str] = Counter()
    for place, text in file_parts(path, arrays):
        if place.endswith("[]"):
            name = place.removesuffix("[]")
            yield name, Record(json.decode_value(text), f"{name or 'record'}[{counts[name]}]")
            counts[name] += 1


def without_arrays(path: str, arrays: Collection[str]) -> Record:
    """The members of the document by path. Each of `arrays` is True instead of its elements, and absent if empty."""
    found: dict[str, object] = {}
    for place, text in file_parts(path, arrays):
        found[place.removesuffix("[]")] = True if place.endswith("[]") else json.decode_value(text)
    return Record(found, "the file")


def table_records(path: str) -> Iterator[Record]:
    """The rows of a table that has columns and data, or is an array of records, or has a record on each line."""
    head = file_head(path, _HEAD)
    if _SPLIT.match(head):
        yield from _split(path)
    elif _ARRAY.match(head):
        yield from (record for _, record in array_records(path, {""}))
    else:
        yield from line_records(path)


def line_records(path: str) -> Iterator[Record]:
    """The objects of a file with one object on each line. Refuses an empty file."""
    with Path(path).open("rb") as stream:
        number = 0
        for number, line in json.numbered_lines(stream):
            json.refuse_pointer(line)
            yield Record(json.decode_value(line), f"line {number}")
        if not number:
            refuse("file.empty", "the file is empty")


def _split(path: str) -> Iterator[Record]:
    """Rows as lists, with the names of the columns in a list of their own (`orient="split"`)."""
    table = without_arrays(path, {"data"})
    columns = table.value("columns")
    if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
        refuse("import.wrong-value", f"columns: found {shown(columns)}, wanted a list of names")
    if (name := duplicate(columns)) is not None:
        refuse("import.duplicate", f"columns: {name!r} occurs twice")
    number = 0
    for place, text in file_parts(path, {"data"}):
        if place == "data[]":
            row = json.decode_value(text)
            if not isinstance(row, list) or len(row) != len(columns):
                refuse("import.wrong-value", f"data[{number}]: found {shown(row)}, wanted a list of {len(columns)}")
            yield Record(dict(zip(columns, row, strict=True)), f"data[{number}]")
            number += 1
    named = len(table.items("index")) if "index" in table else number
    if named != number:
        hint = "take the table as pandas wrote it"
        refuse("import.contradiction", f"index names {named} rows, and data has {number}: they disagree", hint=hint)


def by_column(path: str) -> Iterator[Record]:
    """Rows of {column: {row: value}}, the default form of pandas. Refuses columns with different rows."""
    columns: dict[str, dict[str, object]] = {}
    for place, text in file_parts(path, ()):
        column = json.decode_value(text)
        name = place.replace("\\.", ".")
        columns[name] = (
            column
            if isinstance(column, dict)
            else refuse("import.wrong-value", f"{name}: found {shown(column)}, wanted an object")
        )
    rows = next(iter(columns.values()), {})
    for name, column in columns.items():
        if column.keys() != rows.keys():
            refuse(
                "import.contradiction", f"{name}: found {len(column)} rows that are not those of {next(iter(columns))}"
            )
    for row in rows:
        yield Record({name: column[row] for name, column in columns.items()}, f"row {row}")


def by_index(path: str) -> Iterator[Record]:
    """Rows of {row: {column: value}} (`orient="index"`)."""
    for place, text in file_parts(path, ()):
        yield Record(json.decode_value(text), f"row {place}")


def in_schema(path: str) -> Iterator[Record]:
    """Rows of a table with its schema (`orient="table"`)."""
    for number, (_, text) in enumerate(part for part in file_parts(path, {"data"}) if part[0] == "data[]"):
        row = Record(json.decode_value(text), f"data[{number}]")
        yield Record({name: value for name, value in row.values.items() if name != "index"}, row.place)
