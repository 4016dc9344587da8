"""A file that the engine refused → the exact lines, what was found and what was wanted. Slow and thorough."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import IO, Any

from msgspec.structs import replace

from highbar.columns import of_form
from highbar.documents.csv_fields import fields_up_to
from highbar.errors import Problem
from highbar.load import counting, hints, unpacking
from highbar.load.counting import LONGEST_RESULT
from highbar.load.duplicate_names import duplicate_message
from highbar.load.row_faults import faults
from highbar.model import ResultsFile
from highbar.model.requests import ColumnRange

MOST_PROBLEMS = 20
"""Problems in one refusal: enough to see what they have in common."""
DEEPEST = 64
NUMBERS = frozenset(of_form("number", "whole"))
_LISTS = frozenset(of_form("names", "observed", "violated", "count", "tags", "origin"))
_BOOLEANS = frozenset(of_form("truth", "label"))
_SPACES = " \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u202f\u205f\u3000"
"""The spaces of Unicode (Zs), which the engine takes away around the names of a list."""
_QUOTED_OR_END = re.compile(r'"(?:[^"]|"")*"|\r\n|\r|\n')
_LINE_ENDS = {"\r\n": "a carriage return and a line feed", "\n": "a line feed", "\r": "a carriage return alone"}
FLAT = "keep such data out of the results, or as text"


class _Refused(ValueError):
    """A value that JSON allows and results do not allow."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


def first_problems(
    files: Sequence[ResultsFile], scalars: tuple[str, ...] = (), numbers: tuple[ColumnRange, ...] = ()
) -> tuple[Problem, ...]:
    """The first problems of the files, in order; empty if this reader finds none."""
    from highbar.load.missing_ids import missing_id  # only for files that are refused

    found: list[Problem] = []
    for file in files:
        # Rows without ids have another shape than ours: one problem with a mapping helps more than one for each line.
        unnamed = missing_id(file)
        if unnamed:
            found.append(unnamed)
            continue
        for problem in _READERS[file.format](file, scalars, numbers):
            found.append(problem)
            if len(found) == MOST_PROBLEMS:
                return tuple(found)
    return tuple(found)


def open_file(file: ResultsFile) -> IO[bytes]:
    """A stream of the file's bytes, unpacked."""
    return unpacking.open_unpacked(file.path, file.compression)


def _json_lines(file: ResultsFile, scalars: tuple[str, ...], numbers: tuple[ColumnRange, ...]) -> Iterator[Problem]:
    def problem(code: str, message: str, hint: str | None = None, column: int | None = None) -> Problem:
        if file.imported:  # its lines are not those of the file that the user has
            message = f"row {number}: {message}"
            return Problem(code, message, file=file.name, hint=hint or "`highbar import` shows the rows")
        return Problem(code, message, file=file.name, line=number or None, column=column, hint=hint)

    number = 0
    try:
        with open_file(file) as stream:
            lines = iter(lambda: stream.readline(LONGEST_RESULT + 1), b"")
            for number, line in enumerate(lines, 1):
                if len(line) > LONGEST_RESULT:
                    hint = "one result per line; keep what is so long out of it"
                    yield problem("file.too-large", "this line is longer than 16 MiB", hint)
                    return
                if not line.strip():
                    continue
                if number > 1 and line.startswith(counting.BYTE_ORDER_MARK):
                    message = "a byte order mark, which only the beginning of a file may have"
                    yield problem("file.bad-character", message, hints.ONE_MARK)
                    continue
                yield from _line_problems(line, scalars, numbers, problem)
    except unpacking.Damaged as error:
        yield problem("file.damaged", error.message, hint=error.hint)
    except OSError as error:
        yield problem("file.unreadable", f"cannot be read: {error.strerror}")


def _line_problems(
    line: bytes, scalars: tuple[str, ...], numbers: tuple[ColumnRange, ...], problem: Callable[..., Problem]
) -> Iterator[Problem]:
    try:
        row = parse_row(line)
    except UnicodeDecodeError as error:
        yield problem("file.not-utf8", "this is not UTF-8 text", hint=_encoding_hint(line), column=error.start + 1)
        return
    except json.JSONDecodeError as error:
        yield problem(*_json_fault(error, line), column=error.colno)
        return
    except RecursionError:
        yield problem("file.too-deep", f"this line is nested deeper than {DEEPEST}", hint=FLAT)
        return
    except ValueError as error:
        yield problem(*_fault_of(error))
        return
    for fault in faults(row, scalars, numbers):
        yield problem(*fault)


def parse_row(text: bytes) -> Any:
    """A JSON value by the rules of results: no key twice, no NaN, no half of a surrogate pair."""
    return json.loads(
        text.decode("utf-8-sig"),
        object_pairs_hook=_row_of_pairs,
        parse_constant=_no_constant,
        parse_float=_float,
        parse_int=_int,
    )


def _row_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len({name.casefold() for name in row}) != len(pairs):
        message = duplicate_message([name for name, _ in pairs]) or "duplicate key"
        raise _Refused("row.duplicate-key", message, hints.DUPLICATE)
    _check_surrogates(row)  # here, since every object inside a row passes through this function
    return row


def _check_surrogates(row: dict[str, Any]) -> None:
    for name, value in row.items():
        for text in (name, *_texts_in(value)):
            if any("\ud800" <= character <= "\udfff" for character in text):
                shown = name.encode("ascii", "backslashreplace").decode()
                message = f"{shown!r} holds half of a surrogate pair: this is not text"
                raise _Refused("file.bad-character", message, "where text is cut, cut at a whole character")


def _texts_in(value: Any) -> Iterator[str]:
    """The texts of a value, itself or in lists; not those in objects."""
    rest = [value]
    while rest:
        one = rest.pop()
        if isinstance(one, list):
            rest += one
        elif isinstance(one, str):
            yield one


def _no_constant(name: str) -> float:
    raise _Refused("row.not-finite", f"{name} is not a JSON number; wanted a finite number or null", hints.NO_NUMBER)


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Refused("row.not-finite", f"{text[:40]} is not a finite number", hints.NO_NUMBER)
    return value


def _int(text: str) -> int | float:
    # Python refuses to convert thousands of digits. As a float the number is out of range too, which is reported later.
    return int(text) if len(text) <= 300 else float(text[:300])


def _json_fault(error: json.JSONDecodeError, line: bytes) -> tuple[str, str, str | None]:
    """The code, the message and the hint for a line that is not JSON."""
    if error.msg == "Extra data":
        message = "text after the object; wanted one result per line"
        return "file.not-json", message, "put each result on a line of its own"
    # The last line of a run that was killed. This cause is so common that it has its own message.
    if not line.endswith(b"\n") and not line.rstrip().endswith((b"}", b"]")):
        return "file.cut-off", "this line is cut off", hints.CUT_OFF
    return "file.not-json", f"this is not JSON: {_lower_first(error.msg)}", hints.of_json(line)


def _fault_of(error: ValueError) -> tuple[str, str, str | None]:
    return (error.code, str(error), error.hint) if isinstance(error, _Refused) else ("file.not-json", str(error), None)


def _encoding_hint(line: bytes) -> str | None:
    if line.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in line[:200]:
        return "the file looks like UTF-16 (PowerShell's `>` writes that): save it as UTF-8"
    return "save the file as UTF-8"


def _json_array(file: ResultsFile, scalars: tuple[str, ...], numbers: tuple[ColumnRange, ...]) -> Iterator[Problem]:
    try:
        with open_file(file) as stream:
            content = stream.read()
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        yield Problem("file.not-utf8", "this is not UTF-8 text", file=file.name, hint=_encoding_hint(content))
        return
    except unpacking.Damaged as error:
        yield error.of_file(file.name)
        return
    except OSError as error:
        yield Problem("file.unreadable", f"cannot be read: {error.strerror}", file=file.name)
        return
    if not text.lstrip().startswith("["):
        hint = "begin it with [; or name the file .jsonl and write one result per line"
        yield Problem("file.not-json", "wanted a JSON array of results", file=file.name, line=1, hint=hint)
        return
    yield from _array_problems(file.name, text, scalars, numbers)


def _array_problems(
    name: str, text: str, scalars: tuple[str, ...], numbers: tuple[ColumnRange, ...]
) -> Iterator[Problem]:
    """The problems of the results in an array."""
    # Element by element: json.loads of the whole array would lose the line of each result.
    decoder = json.JSONDecoder(
        object_pairs_hook=_row_of_pairs, parse_constant=_no_constant, parse_float=_float, parse_int=_int
    )
    place, line, seen = _skip(text, text.index("[") + 1), 1, 0
    while place < len(text) and text[place] != "]":
        line, seen = line + text.count("\n", seen, place), place
        try:
            row, end = decoder.raw_decode(text, place)
        except json.JSONDecodeError as error:
            message = f"this is not JSON: {_lower_first(error.msg)}"
            hint = hints.of_json(text[place : error.pos + 9].encode())
            yield Problem("file.not-json", message, file=name, line=error.lineno, column=error.colno, hint=hint)
            return
        except RecursionError:
            yield Problem("file.too-deep", f"nested deeper than {DEEPEST}", file=name, line=line, hint=FLAT)
            return
        except ValueError as error:
            code, message, hint = _fault_of(error)
            yield Problem(code, message, file=name, line=line, hint=hint)
            return
        for code, message, hint in faults(row, scalars, numbers):
            yield Problem(code, message, file=name, line=line, hint=hint)
        place = _skip(text, end)
        if text[place : place + 1] == ",":
            place = _skip(text, place + 1)
            if text[place : place + 1] == "]":
                hint = "no comma after the last result"
                yield Problem("file.not-json", "a comma before the end of the array", file=name, line=line, hint=hint)
                return
        elif text[place : place + 1] != "]":
            break
    else:  # not after a `break`, which means that something other than a comma follows a result
        if place < len(text) and not text[place + 1 :].strip():
            return
    line += text.count("\n", seen, place)
    message = "the array is cut off, or something in it or after it is not a result"
    yield Problem("file.cut-off", message, file=name, line=line, hint=hints.CUT_OFF)


def _skip(text: str, place: int) -> int:
    """The position of the next character that is not white space."""
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _lower_first(message: str) -> str:
    return message[:1].lower() + message[1:]


def _csv(file: ResultsFile, scalars: tuple[str, ...], numbers: tuple[ColumnRange, ...]) -> Iterator[Problem]:
    with fields_up_to(LONGEST_RESULT):
        yield from _csv_problems(file, scalars, numbers)


def _csv_problems(file: ResultsFile, scalars: tuple[str, ...], numbers: tuple[ColumnRange, ...]) -> Iterator[Problem]:
    measured = NUMBERS | {range_.column for range_ in numbers}
    try:
        with open_file(file) as stream:
            text = stream.read().decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(reader, [])
        problem = _mixed_line_ends(file.name, text) or _header_problem(file.name, header)
        if problem:
            yield problem
            return
        for cells in reader:
            if len(cells) != len(header):
                message = f"found {len(cells)} fields, wanted {len(header)}"
                quote = "put a field that contains a comma in double quotes"
                yield Problem("row.field-count", message, file=file.name, line=reader.line_num, hint=quote)
                continue
            try:
                row = {
                    name: cell_value(name, cell, measured)
                    for name, cell in zip(header, cells, strict=True)
                    if cell != ""
                }
            except _Refused as error:
                yield Problem(error.code, str(error), file=file.name, line=reader.line_num, hint=error.hint)
                continue
            for code, message, hint in faults(row, scalars, numbers):
                yield Problem(code, message, file=file.name, line=reader.line_num, hint=hint)
    except UnicodeDecodeError:
        yield Problem("file.not-utf8", "this is not UTF-8 text", file=file.name, hint="save the file as UTF-8")
    except csv.Error as error:
        message, hint = f"this is not CSV: {error}", "is a quote left open?"
        yield Problem("file.not-csv", message, file=file.name, line=reader.line_num, hint=hint)


def _header_problem(name: str, header: Sequence[str]) -> Problem | None:
    message = duplicate_message(header)
    if message:
        return Problem("row.duplicate-key", message, file=name, line=1, hint=hints.DUPLICATE)
    if len(header) == 1 and any(mark in header[0] for mark in ";\t"):
        return Problem("file.not-csv", "the header is one field", name, 1, hint="wanted a comma between fields")
    return None


def _mixed_line_ends(name: str, text: str) -> Problem | None:
    """The first line that ends differently from the first one, which DuckDB refuses; line breaks in quotes are text."""
    wanted, line = "", 1
    for found in _QUOTED_OR_END.findall(text):
        if found in _LINE_ENDS:
            wanted = wanted or found
            if found != wanted:
                message = f"this line ends in {_LINE_ENDS[found]}, and those before it in {_LINE_ENDS[wanted]}"
                return Problem("file.not-csv", message, name, line, hint="save the file with one kind of line ends")
        line += found.count("\n") or found == "\r"
    return None


def cell_value(name: str, cell: str, measured: Collection[str]) -> object:
    """The value of a CSV field; fields of `measured` columns are numbers."""
    lists = name in _LISTS
    if name in _BOOLEANS and cell.lower() in ("true", "false"):
        return cell.lower() == "true"
    if lists and cell.lstrip()[:1] in ("[", "{"):
        try:
            return parse_row(cell.encode())
        except _Refused:
            raise
        except (ValueError, RecursionError):
            return cell
    if name == "violations" and not isinstance(_as_number(cell), str):
        return _as_number(cell)
    if lists:
        # As in the engine: a field that names nothing is absent, and only spaces around names are left out.
        return [item.strip(_SPACES) for item in cell.split(";") if item.strip(_SPACES)] or None
    if name in measured:
        return _as_number(cell)
    return cell


def _as_number(cell: str) -> object:
    try:
        value = json.loads(cell, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return cell
    return value if isinstance(value, int | float) and not isinstance(value, bool) else cell


def _parquet(file: ResultsFile, scalars: tuple[str, ...], numbers: tuple[ColumnRange, ...]) -> Iterator[Problem]:
    import duckdb  # only for a refused file of this kind

    from highbar.load import footer  # only for a refused file of this kind

    try:
        footer.row_count(file.path)
        yield from _parquet_rows(file, scalars, numbers)
    except (counting.Uncountable, duckdb.Error) as error:
        reason = str(error).splitlines()[0].rpartition("Error: ")[2].replace(file.path, file.name)
        message = f"this is not a sound Parquet file: {reason}"
        yield Problem("file.not-parquet", message, file=file.name, hint="was it written to its end?")


def _parquet_rows(file: ResultsFile, scalars: tuple[str, ...], numbers: tuple[ColumnRange, ...]) -> Iterator[Problem]:
    import duckdb  # only for a refused file of this kind

    from highbar.load import parquet_rows  # only for a refused file of this kind

    with parquet_rows.query_file(file.path) as query:
        cursor = query(f"SELECT * FROM {parquet_rows.ROWS}")
        names = [column[0] for column in cursor.description or ()]
        number = 0
        try:
            while rows := cursor.fetchmany(10_000):
                for values in rows:
                    number += 1
                    for code, message, hint in faults(dict(zip(names, values, strict=True)), scalars, numbers):
                        yield Problem(code, f"row {number}: {message}", file=file.name, hint=hint)
        except (duckdb.Error, ValueError, TypeError) as error:
            one = hints.of_engine(error)
            yield replace(one, file=file.name, hint=one.hint or "was it written to its end?")


_READERS = {"jsonl": _json_lines, "json": _json_array, "csv": _csv, "parquet": _parquet}
