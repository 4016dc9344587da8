"""Results files, in any form → the trials of a run. Whatever cannot be read strictly is refused with its line.

Every form becomes lines of JSON, which one reader turns into rows; JSONL files are read as they are.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import IO, Any

import msgspec

from highbar.columns import of_form
from highbar.core.rows.jsonl import Lines, Unread
from highbar.core.rows.row import with_own
from highbar.core.score.scores import Scores
from highbar.documents.csv_fields import fields_up_to
from highbar.load import explain, parquet_rows
from highbar.load.counting import LONGEST_RESULT
from highbar.load.row_faults import faults
from highbar.model import ResultsFile

_NUMBER = re.compile(rb"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_TEXTS = {*of_form("id", "text", "shown", "outcome")} - {"unjudged"}
_LISTS = {*of_form("names", "observed", "violated", "count", "tags", "origin")}
_BOOLEANS = of_form("truth", "label")
_spaces = explain._SPACES  # noqa: SLF001


class Reader:
    """The rows of some files, which can be read more than once."""

    def __init__(self, files: Sequence[ResultsFile]) -> None:
        self.files = files

    def columns(self) -> tuple[str, ...]:
        """All columns of the files."""
        found: set[str] = set()
        for file in self.files:
            for _ in self._pieces(file, (), found):
                pass
        return tuple(sorted(found))

    def fill(self, scores: Scores) -> None:
        """Add all rows. Raises InputError with every problem of the files."""
        for file in self.files:
            begin, columns = len(scores), set[str]()
            for rows in self._pieces(file, scores.asked.own, columns):
                scores.add(rows)
            of = (file.format, file.compression) if file.format in ("jsonl", "json") else file.path
            scores.end_part(begin, columns, of)

    def again(self, places: Collection[int], own: tuple[str, ...] = ()) -> Mapping[int, Any]:
        """The rows at some places, with all their texts."""
        wanted, found, at = frozenset(places), {}, 0
        for file in self.files if wanted else ():
            for rows in self._pieces(file, own, set()):
                if any(at + n in wanted for n in range(len(rows))):
                    found.update({at + n: row for n, row in enumerate(rows) if at + n in wanted})
                at += len(rows)
        return found

    def rows(self) -> Iterator[Any]:
        """All rows, one at a time."""
        for file in self.files:
            for rows in self._pieces(file, (), set()):
                yield from rows

    def _pieces(self, file: ResultsFile, own: tuple[str, ...], columns: set[str]) -> Iterator[list[Any]]:
        with explain.open_file(file) if file.format != "parquet" else io.BytesIO() as stream:
            lines = Lines(_JSON[file.format](file, stream), own)
            for piece in lines.pieces_of(lambda text: _slowly(text, lines.own, lines.columns)):
                columns |= lines.columns
                yield piece
            columns |= lines.columns


def _slowly(text: bytes, own: tuple[str, ...], columns: set[str]) -> list[Any]:
    """The rows of a piece that the fast reader does not vouch for. Raises InputError if one of them is wrong."""
    decode = msgspec.json.Decoder(with_own(own)).decode
    found = []
    for line in text.split(b"\n"):
        if not line.strip():
            continue
        try:
            row = explain.parse_row(line)
        except (ValueError, RecursionError):
            raise Unread from None
        if next(faults(row), None) is not None:
            raise Unread
        columns.update(row)
        found.append(decode(line))
    return found


def _lines(_file: ResultsFile, stream: IO[bytes]) -> IO[bytes]:
    return stream


def _array(_file: ResultsFile, stream: IO[bytes]) -> IO[bytes]:
    text = stream.read()
    try:
        found = msgspec.json.decode(text.removeprefix(b"\xef\xbb\xbf"), type=list[msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Unread from None
    return io.BytesIO(b"\n".join(bytes(one).replace(b"\n", b" ").replace(b"\r", b" ") for one in found))


def _cells(_file: ResultsFile, stream: IO[bytes]) -> IO[bytes]:
    out = io.BytesIO()
    with fields_up_to(LONGEST_RESULT):
        reader = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", newline=""), strict=True)
        header = next(reader, [])
        if not header or len({name.casefold() for name in header}) < len(header):
            raise Unread
        names = [json.dumps(name).encode() for name in header]
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise Unread
            values = (_cell(name, cell) for name, cell in zip(header, cells, strict=True))
            out.write(b"{" + b",".join(n + b":" + v for n, v in zip(names, values, strict=True)) + b"}\n")
    out.seek(0)
    return out


def _cell(name: str, cell: str) -> bytes:
    """The JSON text of a CSV field, in the form that its column has."""
    if cell == "":
        return b"null"
    text = json.dumps(cell).encode()
    if name in _TEXTS or name.startswith("tags."):
        return text
    if name in _BOOLEANS:
        return cell.lower().encode() if cell.lower() in ("true", "false") else text
    raw = cell.encode()
    if name in _LISTS:
        if name == "violations" and _NUMBER.fullmatch(raw):
            return raw
        if cell.lstrip()[:1] in ("[", "{"):
            return b" ".join(raw.splitlines())
        items = [item.strip(_spaces) for item in cell.split(";")]
        return json.dumps([item for item in items if item]).encode() if any(items) else b"null"
    return raw if _NUMBER.fullmatch(raw) else text


def _parquet(file: ResultsFile, _stream: IO[bytes]) -> IO[bytes]:
    of_folders = dict(file.partitions)
    rows = parquet_rows.read_parquet(file.path)
    return io.BytesIO(b"".join(parquet_rows.line({**row, **of_folders}) for row in rows))


_JSON = {"jsonl": _lines, "json": _array, "csv": _cells, "parquet": _parquet}
