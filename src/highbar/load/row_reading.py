"""A results file of any format → its rows as plain values, one by one, for code that needs the rows themselves."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from highbar.checks.limits import DEEPEST_VALUE
from highbar.checks.values import Unreadable, refuse_depth
from highbar.documents.csv_fields import fields_up_to
from highbar.errors import InputError, Problem
from highbar.load import explain, unpacking
from highbar.load.counting import LONGEST_RESULT
from highbar.load.row_faults import faults
from highbar.model import ResultsFile

Row = dict[str, Any]


def read_rows(file: ResultsFile) -> Iterator[Row]:
    """The rows of a file, without absent values. Raises InputError with all problems of the file."""
    try:
        for row in _READERS[file.format](file):
            if next(faults(row), None) is not None:
                raise _refusal(file)
            _refuse_deep(row, file)
            yield {name: value for name, value in row.items() if value is not None}
    except unpacking.Damaged as error:
        raise InputError(error.of_file(file.name)) from error
    except InputError:
        raise
    except OSError as error:
        raise InputError(
            Problem("file.unreadable", f"cannot be read: {error.strerror or error}", file=file.name)
        ) from error
    except (ValueError, RecursionError, csv.Error):
        raise _refusal(file) from None


def _refuse_deep(row: Row, file: ResultsFile) -> None:
    """Raise InputError if code that recurses into the row would run out of stack."""
    try:
        refuse_depth(row)
    except Unreadable:
        message = f"the row of {str(row.get('id'))[:60]!r} is nested deeper than {DEEPEST_VALUE} levels"
        raise InputError(Problem("file.too-deep", message, file=file.name, hint=explain.FLAT)) from None


def _refusal(file: ResultsFile) -> InputError:
    """The refusal of a file that cannot be read, with lines."""
    unknown = Problem("results.unreadable", "this file cannot be read as results", file=file.name)
    return InputError(*(explain.first_problems((file,)) or (unknown,)))


def _lines(file: ResultsFile) -> Iterator[Row]:
    with explain.open_file(file) as stream:
        while line := stream.readline(LONGEST_RESULT + 1):
            if len(line) > LONGEST_RESULT:
                raise _refusal(file)
            if line.strip():
                yield explain.parse_row(line)


def _array(file: ResultsFile) -> Iterator[Row]:
    with explain.open_file(file) as stream:
        found = explain.parse_row(stream.read())
    if not isinstance(found, list):
        raise _refusal(file)
    yield from found


def _cells(file: ResultsFile) -> Iterator[Row]:
    with fields_up_to(LONGEST_RESULT), explain.open_file(file) as stream:
        reader = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", newline=""), strict=True)
        header = next(reader, [])
        if not header or len({name.casefold() for name in header}) < len(header):
            raise _refusal(file)
        for cells in reader:
            if len(cells) != len(header):
                raise _refusal(file)
            named = zip(header, cells, strict=True)
            yield {name: explain.cell_value(name, cell, explain.NUMBERS) for name, cell in named if cell != ""}


def _parquet(file: ResultsFile) -> Iterator[Row]:
    import duckdb  # only for files of this kind

    from highbar.load import counting, parquet_rows  # only for files of this kind

    try:
        for row in parquet_rows.read_parquet(file.path):
            yield {**row, **dict(file.partitions)}
    except (duckdb.Error, counting.Uncountable) as error:
        raise _refusal(file) from error


_READERS = {"jsonl": _lines, "json": _array, "csv": _cells, "parquet": _parquet}
