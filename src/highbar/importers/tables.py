"""Tables as data frames are written: JSON in columns and data, an array of records, or a record per line → records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from highbar.importers.documents import around
from highbar.importers.reading import json
from highbar.importers.record import Record, refuse, shown

_SPLIT = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(columns|index|data)"\s*:\s*\[')
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
_HEAD = 4096


def records(path: str) -> Iterator[Record]:
    """The rows of a table in any of the three forms, each with its columns by name."""
    with Path(path).open("rb") as stream:
        head = stream.read(_HEAD)
    if _SPLIT.match(head):
        yield from _split(path)
    elif _ARRAY.match(head):
        with Path(path).open("rb") as stream:
            for number, (_, text) in enumerate(json.parts(stream, {""})):
                yield Record(json.decode(text), f"record[{number}]")
    else:
        yield from lines(path)


def lines(path: str) -> Iterator[Record]:
    """The objects of a file that has one on each line."""
    with Path(path).open("rb") as stream:
        number = 0
        for number, line in json.lines(stream):
            if line.startswith(json.LFS_POINTER):
                refuse("this is a Git LFS pointer, not the file", hint="run `git lfs pull`")
            yield Record(json.decode(line), f"line {number}")
        if not number:
            refuse("the file is empty")


def _split(path: str) -> Iterator[Record]:
    """Rows as lists, with the names of their columns apart (`orient="split"`)."""
    table = around(path, {"data"})
    columns = table.value("columns")
    if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
        refuse(f"columns: found {shown(columns)}, wanted a list of names")
    if len(set(columns)) != len(columns):
        refuse(f"columns: {next(c for c in columns if columns.count(c) > 1)!r} stands twice")
    with Path(path).open("rb") as stream:
        number = 0
        for place, text in json.parts(stream, {"data"}):
            if place == "data[]":
                row = json.decode(text)
                if not isinstance(row, list) or len(row) != len(columns):
                    refuse(f"data[{number}]: found {shown(row)}, wanted a list of {len(columns)}")
                yield Record(dict(zip(columns, row, strict=True)), f"data[{number}]")
                number += 1
    named = len(table.items("index")) if "index" in table else number
    if named != number:
        hint = "take the table as pandas wrote it"
        refuse(f"index names {named} rows, and data has {number}: they disagree", hint=hint)


def by_column(path: str) -> Iterator[Record]:
    """Rows of a table that is written column by column, as pandas does unless asked: {column: {row: value}}."""
    columns: dict[str, dict[str, object]] = {}
    with Path(path).open("rb") as stream:
        for place, text in json.parts(stream, ()):
            column = json.decode(text)
            name = place.replace("\\.", ".")
            columns[name] = (
                column if isinstance(column, dict) else refuse(f"{name}: found {shown(column)}, wanted an object")
            )
    rows = next(iter(columns.values()), {})
    for name, column in columns.items():
        if column.keys() != rows.keys():
            refuse(f"{name}: found {len(column)} rows that are not those of {next(iter(columns))}")
    for row in rows:
        yield Record({name: column[row] for name, column in columns.items()}, f"row {row}")


def by_index(path: str) -> Iterator[Record]:
    """Rows of a table that is written as {row: {column: value}}."""
    with Path(path).open("rb") as stream:
        for place, text in json.parts(stream, ()):
            yield Record(json.decode(text), f"row {place}")


def in_schema(path: str) -> Iterator[Record]:
    """Rows of a table that is written with its schema (`orient="table"`)."""
    with Path(path).open("rb") as stream:
        for number, (_, text) in enumerate(found for found in json.parts(stream, {"data"}) if found[0] == "data[]"):
            row = Record(json.decode(text), f"data[{number}]")
            yield Record({name: value for name, value in row.values.items() if name != "index"}, row.place)
