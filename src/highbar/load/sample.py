"""A file of any format → its first rows unchanged, and where in the file they are: the basis for guessing a mapping.

A later row is also in the sample if it has a field that no row before it has: an error may come late.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from highbar.documents.csv_fields import fields_up_to
from highbar.load import unpacking
from highbar.load.candidates import MOST_FIELDS, filled_paths
from highbar.model import ResultsFile

MOST_ROWS = 1000
"""Rows of a sample: enough to see every spelling of a verdict, and quickly read."""
MOST_VALUES = 1_000_000
"""Values of a sample: a file with very many columns is guessed from fewer rows."""
LARGEST = 64 * 1024 * 1024
"""Bytes to read. A JSON document is decoded as a whole, so a larger one is not sampled."""
_DEEPEST = 2
_FEWEST = 20


class RowsPlace(Struct, frozen=True):
    """A place in a document that may hold the rows: its keys, whether it is a list or an object, and the rows."""

    keys: tuple[str, ...]
    kind: str
    rows: tuple[Mapping[str, Any], ...]


class Sample(Struct, frozen=True):
    """The first rows of a file, and later rows with a new field.

    `looked_at` rows were searched for fields; the file `has_more` rows than that, or not. `places` has the lists of
    rows if the file is one document around them: two lists are two candidates, and `rows` are those of the first.
    `cells`: every value is the text of a CSV cell.
    """

    rows: tuple[Mapping[str, Any], ...]
    whole: bool  # whether these are all rows of the file
    cells: bool = False
    places: tuple[RowsPlace, ...] = ()
    first: int = 0  # how many of the rows are the first ones of the file
    looked_at: int = 0
    has_more: bool = False

    @property
    def limits(self) -> str | None:
        """What was not looked at, in a sentence; None if the sample is the whole file."""
        if self.whole:
            return None
        names = f"names in the first {self.looked_at:,} only" if self.has_more else f"names in all {self.looked_at:,}"
        more = ": the file is larger than what was looked at" if self.has_more else ""
        return f"Values were looked at in the first {self.first:,} rows only, {names}{more}."

    @property
    def has_ids(self) -> bool:
        """Whether any row names its scenario where Highbar expects it."""
        return not self.places and any(row.get("id") is not None for row in self.rows)


def read_sample(file: ResultsFile) -> Sample | None:
    """A sample of a file; None if it cannot be read or has no rows: reading it as results says why."""
    try:
        return _READERS[file.format](file)
    except (OSError, ValueError, RecursionError, csv.Error, unpacking.Damaged):
        return None


class _SampledRows:
    """Rows that are read one by one; `has_more` if the file has more rows than may be read."""

    def __init__(self, rows: Iterable[Mapping[str, Any]] = (), *, has_more: bool = False) -> None:
        self.rows = rows
        self.has_more = has_more


def _take_sample(given: _SampledRows, *, cells: bool = False) -> Sample | None:
    """A sample of the rows: fewer of them if they have many columns."""
    found: list[Mapping[str, Any]] = []
    values = 0
    rest = iter(given.rows)
    for row in islice(rest, MOST_ROWS):
        found.append(row)
        values += len(row)
        if values > MOST_VALUES and len(found) >= _FEWEST:
            break
    if not found:
        return None
    first = looked_at = len(found)
    added = _with_new_fields(found, rest)
    try:
        for row, is_new in added:
            looked_at += 1
            found += [row] if is_new and len(found) < 2 * MOST_ROWS else []
    except (ValueError, RecursionError, csv.Error):  # reading the file as results says what is wrong with a later row
        given.has_more = True
    whole = looked_at == len(found) and not given.has_more
    return Sample(tuple(found), whole, cells, first=first, looked_at=looked_at, has_more=given.has_more)


def _with_new_fields(
    found: Sequence[Mapping[str, Any]], rest: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[Mapping[str, Any], bool]]:
    """The rest of the rows, each with whether it gives a field its first value."""
    seen = {path for row in found for path in filled_paths(row)}
    for row in rest:
        before = len(seen)
        if before < MOST_FIELDS:
            seen.update(filled_paths(row))
        yield row, len(seen) > before


def _json_lines(file: ResultsFile) -> Sample | None:
    given = _SampledRows()

    def rows() -> Iterator[Mapping[str, Any]]:
        left, number = LARGEST, 0
        with unpacking.open_unpacked(file.path, file.compression) as stream:
            while line := stream.readline(left + 1):
                left -= len(line)
                if left < 0:
                    given.has_more = True
                    return
                if line.strip():
                    number += 1
                    yield _object(_decode(line) if number <= MOST_ROWS else _decode_fast(line))

    given.rows = rows()
    found = _take_sample(given)
    if found is None or len(found.rows) > 1 or "id" in found.rows[0]:
        return found
    return _document(found.rows[0]) or found


def _decode_fast(text: bytes) -> Any:
    """A row of which little more than the names is needed; NaN and the like take the slower way."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode(text)


def _decode(text: bytes) -> Any:
    return json.loads(text.decode("utf-8-sig"), object_pairs_hook=_row_of_pairs)


def _row_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Raises ValueError for one with a key twice: no mapping can read that."""
    if len({name.casefold() for name, _ in pairs}) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("not an object")  # noqa: TRY004 - a value of the file, not of the program
    return value


def _json(file: ResultsFile) -> Sample | None:
    with unpacking.open_unpacked(file.path, file.compression) as stream:
        text = stream.read(LARGEST + 1)
    if len(text) > LARGEST:
        return None
    value = _decode(text)
    if isinstance(value, list):
        return _take_sample(_SampledRows(_object(row) for row in value))
    return _document(_object(value))


def _document(document: Mapping[str, Any]) -> Sample | None:
    """A sample of the rows in a document: every list of objects, or if there is none, every object of objects."""
    if _are_alike([*document.values()]):
        places = [RowsPlace((), "{}", tuple(document.values()))]
    else:
        places = [*_places(document, (), "[]")] or [*_places(document, (), "{}")]
    if not places:
        return None
    first = _take_sample(_SampledRows(places[0].rows))
    return None if first is None else replace(first, places=tuple(places))


def _are_alike(members: Sequence[object]) -> bool:
    """Whether these are several objects with a key in common, so that each may be a row."""
    objects = [{*member} for member in members if isinstance(member, Mapping)]
    return len(objects) == len(members) > 1 and bool(set.intersection(*objects))


def _places(value: Mapping[str, Any], keys: tuple[str, ...], kind: str) -> Iterator[RowsPlace]:
    for key, inner in value.items():
        here = (*keys, str(key))
        members = inner if kind == "[]" and isinstance(inner, list) else ()
        if kind == "{}" and isinstance(inner, Mapping):
            members = list(inner.values())
        if members and all(isinstance(member, Mapping) and member for member in members):
            yield RowsPlace(here, kind, tuple(members))
        elif isinstance(inner, Mapping) and len(here) < _DEEPEST:
            yield from _places(inner, here, kind)


@fields_up_to(LARGEST)
def _csv(file: ResultsFile) -> Sample | None:
    with unpacking.open_unpacked(file.path, file.compression) as stream:
        data = stream.read(LARGEST + 1)
    text = data[:LARGEST].decode("utf-8-sig", "ignore")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = next(reader, [])
    if not header or len(set(header)) != len(header) or (len(header) == 1 and any(mark in header[0] for mark in ";\t")):
        return None
    full = (cells for cells in reader if len(cells) == len(header))
    rows = (dict(zip(header, (cell or None for cell in cells), strict=True)) for cells in full)
    return _take_sample(_SampledRows(rows, has_more=len(data) > LARGEST), cells=True)


def _parquet(file: ResultsFile) -> Sample | None:
    import duckdb  # only for a refused file of this kind

    from highbar.load import parquet_rows  # only for a refused file of this kind

    try:
        return _take_sample(_SampledRows(parquet_rows.read_parquet(file.path)))
    except duckdb.Error:
        return None


_READERS = {"jsonl": _json_lines, "json": _json, "csv": _csv, "parquet": _parquet}
