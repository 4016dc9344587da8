"""A file of any format → its first rows unchanged, and where in the file they are: the basis for guessing a mapping."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from highbar.documents.csv_fields import fields_up_to
from highbar.load import unpacking
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
    """The first rows of a file.

    `places` has the lists of rows if the file is one document around them: two lists are two candidates, and `rows` are
    those of the first. `cells`: every value is the text of a CSV cell.
    """

    rows: tuple[Mapping[str, Any], ...]
    whole: bool  # whether these are all rows of the file
    cells: bool = False
    places: tuple[RowsPlace, ...] = ()

    @property
    def limits(self) -> str | None:
        """What was not looked at, in a sentence; None if the sample is the whole file."""
        return None if self.whole else f"Only the first {len(self.rows):,} rows were looked at."

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


def _take_sample(rows: Iterable[Mapping[str, Any] | None], *, cells: bool = False) -> Sample | None:
    """A sample of the rows: fewer of them if they have many columns. None as a row: the rest is not looked at."""
    found: list[Mapping[str, Any]] = []
    values = 0
    for row in rows:
        if row is None or len(found) == MOST_ROWS or (values > MOST_VALUES and len(found) >= _FEWEST):
            return Sample(tuple(found), whole=False, cells=cells) if found else None
        found.append(row)
        values += len(row)
    return Sample(tuple(found), whole=True, cells=cells) if found else None


def _json_lines(file: ResultsFile) -> Sample | None:
    found = _take_sample(_lines(file))
    if found is None or len(found.rows) > 1 or "id" in found.rows[0]:
        return found
    return _document(found.rows[0]) or found


def _lines(file: ResultsFile) -> Iterator[Mapping[str, Any] | None]:
    left = LARGEST
    with unpacking.open_unpacked(file.path, file.compression) as stream:
        while line := stream.readline(left + 1):
            left -= len(line)
            if left < 0:
                yield None
                return
            if line.strip():
                yield _object(_decode(line))


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
        return _take_sample(_object(row) for row in value)
    return _document(_object(value))


def _document(document: Mapping[str, Any]) -> Sample | None:
    """A sample of the rows in a document: every list of objects, or if there is none, every object of objects."""
    if _are_alike([*document.values()]):
        places = [RowsPlace((), "{}", tuple(document.values()))]
    else:
        places = [*_places(document, (), "[]")] or [*_places(document, (), "{}")]
    if not places:
        return None
    first = _take_sample(places[0].rows)
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
    return _take_sample(chain(rows, [None] if len(data) > LARGEST else []), cells=True)


def _parquet(file: ResultsFile) -> Sample | None:
    import duckdb  # only for a refused file of this kind

    from highbar.load import parquet_rows  # only for a refused file of this kind

    try:
        return _take_sample(parquet_rows.read_parquet(file.path))
    except duckdb.Error:
        return None


_READERS = {"jsonl": _json_lines, "json": _json, "csv": _csv, "parquet": _parquet}
