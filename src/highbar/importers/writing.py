"""Rows of an importer → a JSONL file with our columns, and the counts of the report."""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import msgspec

from highbar.errors import InputError, Problem
from highbar.importers import Read, Row
from highbar.importers.limits import LONGEST_TEXT
from highbar.importers.record import in_file
from highbar.importers.report import Report

_SELDOM = 1_000_000
"""The number of new objects between two searches for garbage cycles; Python's default is 700."""
_NESTED = frozenset({dict, list, tuple})
_SHOWN = ("input", "output", "error")
_UNSEEN = re.compile("[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that can reverse text in a terminal or send it a command, and that JSON does not escape."""


def convert(read: Read, path: str, name: str, target: IO[bytes], report: Report | None = None) -> Report:
    """Write the rows of another tool's file to `target`, and return its counts; messages call the file `name`.

    No record disappears silently: if one is neither a row nor merged nor left out, that is an internal error.
    """
    report = Report() if report is None else report
    shapes: Counter[tuple[str, ...]] = Counter()
    distinct: set[tuple[str, ...]] = set()
    with _rare_collection(), _refuse_depth(name):
        for given in _rows(read, path, name, report):
            row = _cut_row(given, report)
            # Rows have few different shapes: counting these is cheaper than counting every column of every row.
            shapes[tuple(row)] += 1
            report.plain = report.plain and _is_plain(row, distinct)
            target.write(_line(row))
    for shape, rows in shapes.items():
        report.columns.update(dict.fromkeys(shape, rows))
    if report.unaccounted:
        raise RuntimeError(f"{name}: {report.unaccounted} records were neither read nor left out for a reason")
    return report


@contextmanager
def _rare_collection() -> Iterator[None]:
    """Collect garbage cycles rarely: decoded records have none, and searching for them takes a tenth of the time.

    The collector stays on, because a caught exception can leave a cycle.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(_SELDOM, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


@contextmanager
def _refuse_depth(name: str) -> Iterator[None]:
    """Refuse a file with a value that is nested too deep for a function of its importer, also of an installed one."""
    try:
        yield
    except RecursionError:
        raise InputError(Problem("file.too-deep", "a value is nested too deep to be read", file=name)) from None


def _rows(read: Read, path: str, name: str, report: Report) -> Iterator[Row]:
    """The rows. Adds the file's name to a refusal, and turns an error of the file system into one."""
    try:
        yield from read(path, report)
    except InputError as error:
        raise InputError(*in_file(error, name)) from error
    except OSError as error:
        raise InputError(Problem("file.unreadable", f"cannot be read: {error.strerror or error}", file=name)) from error


def _cut_row(given: Row, report: Report) -> Row:
    """The row without absent values and with long texts cut; counts the row in the report."""
    report.rows += 1
    row = {column: value for column, value in given.items() if value is not None}
    for column in _SHOWN if not report.answers_only else ():
        value = row.get(column)
        if isinstance(value, str) and len(value) > LONGEST_TEXT:
            row[column] = value[:LONGEST_TEXT] + "…"
            report.cut += 1
    report.errors += bool(row.get("error"))
    return row


def _is_plain(row: Row, distinct: set[tuple[str, ...]]) -> bool:
    """Whether the engine can skip its search for duplicate keys; `distinct` caches the keys of earlier objects.

    Looks only at objects that are directly in a column. A row with deeper ones is not plain.
    """
    if type(row.get("id")) is not str:
        return False
    for value in row.values():
        if type(value) is dict:
            keys = tuple(value)
            if keys not in distinct:
                # Full case folding equates everything that the engine equates, except the Turkish dotted capital I.
                if len({key.replace("\u0130", "i").casefold() for key in keys}) < len(keys):
                    return False
                distinct.add(keys)
            if not _NESTED.isdisjoint(map(type, value.values())):
                return False
        elif isinstance(value, list | tuple) and not _NESTED.isdisjoint(map(type, value)):
            return False
    return True


def _line(row: Row) -> bytes:
    try:
        data = msgspec.json.encode(row)
    except UnicodeEncodeError:  # JavaScript writes half of a surrogate pair if it cuts a text within a pair
        from highbar.checks.values import replace_surrogates  # few files have one

        data = msgspec.json.encode(replace_surrogates(row))
    if data.isascii() and b"\x7f" not in data:  # nothing to escape, and this test is cheaper than the search below
        return data + b"\n"
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", data.decode()).encode() + b"\n"
