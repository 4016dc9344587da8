"""The text of a CSV file → one mapping per scenario, and the line of each.

A header line names the columns. An empty cell is an absent value; lists are JSON or separated by `;`, as in results.
Columns such as `answer.contains` and `tags.locale` are parts of a mapping.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from highbar.documents.csv_fields import fields_up_to
from highbar.documents.problems import ValuePath
from highbar.documents.scalars import scalar
from highbar.errors import InputError, Problem
from highbar.suite.decoding import NotPlain, decode
from highbar.suite.located import Located, Position

_LISTS = frozenset({"expected_behaviors", "must_not", "turns"})
_MAPPINGS = frozenset({"answer", "expected_behaviors", "must_not", "tags", "predict", "columns"})
_TEXTS = frozenset({"equals", "contains", "contains_all", "starts_with", "matches", "calls", "python", "judge"})
"""Checks that take text: `true` and `10` in their cells are text, not a boolean and a number."""

_LONGEST_CELL = 131_072
"""The most characters of a cell: more than the text of any scenario needs."""


def read_csv(text: str, file: str) -> Located:
    """The scenarios of a CSV file. Raises InputError if there is no header, or the file cannot be read."""
    rows = ((line, [cell.strip() for cell in cells]) for line, cells in csv_records(text, file))
    line, header = next(rows, (1, []))
    problems = list(_header_problems(header, file, line))
    if problems:
        raise InputError(*problems)
    items: list[Any] = []
    lines: list[int] = []
    for number, cells in rows:
        if not any(cells):
            continue
        if len(cells) != len(header):
            message = f"found {len(cells)} cells, and the header has {len(header)}"
            problems.append(
                Problem("row.field-count", message, file, number, hint="a cell with a comma inside needs quotes")
            )
            continue
        items.append(_scenario(header, cells))
        lines.append(number)

    def position(path: ValuePath, _key: bool) -> Position:  # noqa: FBT001  # as the field of Located has it
        first = path[0] if path else None
        return (lines[first], None) if isinstance(first, int) and first < len(lines) else (1, None)

    return Located(items, position, tuple(problems))


def csv_records(text: str, file: str) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line on which it begins. Raises InputError."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    start = 1
    try:
        with fields_up_to(_LONGEST_CELL):
            for cells in reader:
                yield start, cells
                start = reader.line_num + 1
    except csv.Error as error:
        raise InputError(Problem("file.not-csv", f"this is not CSV: {error}", file, start)) from None


def _header_problems(header: list[str], file: str, line: int) -> Iterator[Problem]:
    if not any(header):
        yield Problem(
            "suite.no-scenario",
            "the suite has no scenario: wanted a header line, such as id,category,input",
            file,
            line,
        )
        return
    first: dict[str, str] = {}
    for name in header:
        if not name:
            yield Problem("suite.bad-column", "a column has no name", file, line)
        elif first.setdefault(name.casefold(), name) != name or header.count(name) > 1:
            yield Problem("suite.duplicate-key", f"the column '{name[:60]}' is there twice", file, line)
    whole = _MAPPINGS & set(header)
    for name in header:
        if name.partition(".")[0] in whole and "." in name:
            message = f"there is a column '{name.partition('.')[0]}' beside '{name[:60]}'"
            yield Problem("suite.conflict", message, file, line, hint="keep one of the two forms")


def _scenario(header: list[str], cells: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, cell in zip(header, cells, strict=True):
        if not cell:
            continue
        first, _, rest = name.partition(".")
        if not rest or first not in _MAPPINGS:
            found[name] = _cell(name, cell)
        elif first in ("expected_behaviors", "must_not") and "." in rest:
            behavior, _, check = rest.rpartition(".")
            found.setdefault(first, {}).setdefault(behavior, {})[check] = _cell(check, cell)
        elif first in ("tags", "columns"):
            found.setdefault(first, {})[rest] = cell if first == "tags" else scalar(cell)
        else:
            found.setdefault(first, {})[rest] = _cell(rest, cell)
    return found


def _cell(name: str, cell: str) -> Any:
    """The value of a cell, read as the type that its column takes."""
    # The text of these columns may begin with a bracket without being JSON.
    if cell[0] in "[{" and name not in ("id", "input", "expected", "matches"):
        try:
            return decode(cell, "json")
        except NotPlain:
            return cell
    if name in _LISTS:
        return [item.strip() for item in cell.split(";") if item.strip()]
    if name in _TEXTS or name in ("id", "input", "answer", "expected"):
        return cell
    return scalar(cell)
