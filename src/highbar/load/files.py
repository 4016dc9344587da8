"""Paths, globs, folders and standard input → the files to read, each with its format."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from highbar import importers
from highbar.errors import InputError, Problem
from highbar.load import foreign, hints, partitions
from highbar.model import Format, ResultsFile

if TYPE_CHECKING:  # most checks have no mapping, and its classes take 4 ms to make
    from highbar.model.mapping import RowMap

FORMATS: tuple[Format, ...] = ("jsonl", "json", "csv", "parquet")
SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".parquet": "parquet",
}
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
WANTED = "wanted .jsonl, .json, .csv or .parquet (.gz or .zst behind the first three), or another tool's log"
_MOST_NAMED = 10
_BLOCK = 65536
LOGS = (".eval",)
"""Endings that are another tool's results and nothing else; a folder is searched for them too."""


def sha256(file: ResultsFile) -> str:
    """The digest of the file's bytes as they were given."""
    with open(file.original or file.path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def find(
    arguments: Sequence[str],
    *,
    stack: ExitStack,
    input_format: str | None = None,
    stdin: BinaryIO | None = None,
    mapping: RowMap | None = None,
) -> tuple[ResultsFile, ...]:
    """The files that the arguments name; `stack` owns the temporary copies. Every problem is raised at once.

    Where there is a `mapping`, every file is read by it unless `input_format` says otherwise.
    """
    if mapping is not None and input_format is None:
        input_format = foreign.MAPPED
    if input_format is not None and input_format not in FORMATS and input_format not in importers.names():
        wanted = ", ".join((*FORMATS, *importers.names()))
        raise InputError(Problem(f"unknown input format {input_format!r}", hint=f"wanted one of {wanted}"))
    problems: list[Problem] = []
    found: list[ResultsFile] = []
    for argument in arguments:
        try:
            if argument == "-":
                found.append(_from_stdin(stdin, input_format, stack, mapping))
            else:
                paths = _expand(argument)
                named = (_as_file(path, input_format, stack, mapping) for path in paths)
                inside = list(partitions.read(argument, named))
                found += _with_note(inside, _skipped(argument, paths))
        except InputError as error:
            problems.extend(error.problems)
    problems.extend(_named_twice(found))
    if len(found) > 1:
        problems.extend(Problem("this file holds no row", file=file.name) for file in found if _holds_no_row(file))
    problems.extend(
        Problem("the array is cut off: it does not end in ]", file=file.name, hint=hints.CUT_OFF)
        for file in found
        if file.format == "json" and _is_cut_off(file)
    )
    if problems:
        raise InputError(*problems)
    return tuple(
        _without_pattern_characters(_uncompressed_table(_without_byte_order_mark(file, stack), stack), stack)
        for file in found
    )


def names(arguments: Sequence[str]) -> tuple[str, ...]:
    """The paths of the files that the arguments name; what names none is left to `find` to refuse."""
    found: list[str] = []
    for argument in arguments:
        with suppress(InputError):
            found += [] if argument == "-" else _expand(argument)
    return tuple(found)


def find_foreign(
    arguments: Sequence[str],
    tool: str,
    *,
    stack: ExitStack,
    stdin: BinaryIO | None = None,
    mapping: RowMap | None = None,
) -> Iterator[foreign.Import]:
    """The files that the arguments name, each read as the tool's when its turn comes."""
    for argument in arguments:
        if argument == "-":
            path = _copy_of_stdin(stdin, stack)
            yield foreign.import_file(path, "<stdin>", tool, _temporary(stack, suffix=".jsonl"), mapping)
            continue
        for path in _expand(argument):
            yield foreign.import_file(path, path, tool, _temporary(stack, suffix=".jsonl"), mapping)


def _expand(argument: str) -> Iterable[str]:
    path = Path(argument)
    if path.is_dir():
        inside = [
            str(p)
            for p in sorted(path.rglob("*"))
            if p.is_file() and (_suffixes(p.name)[0] or p.name.endswith(LOGS)) and not _hidden(p, path)
        ]
        if not inside:
            raise InputError(Problem("no results file in this folder", file=argument, hint=WANTED))
        return inside
    if path.exists():
        return [argument]
    matches = sorted(match for match in glob.glob(argument, recursive=True) if os.path.isfile(match))
    if not matches:
        what = "no file matches this pattern" if glob.has_magic(argument) else "no such file"
        raise InputError(Problem(what, file=argument))
    return matches


def _skipped(argument: str, read: Iterable[str]) -> str | None:
    """What to say of the files of a folder that are not read; those whose own name is hidden are meant to be."""
    folder = Path(argument)
    if not folder.is_dir():
        return None
    inside = {str(path) for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}
    left = sorted(os.path.relpath(path, folder) for path in inside - set(read))
    if not left:
        return None
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    what = "1 file was" if len(left) == 1 else f"{len(left)} files were"
    return f"{argument}: {what} not read: {', '.join(left[:_MOST_NAMED])}{more}"


def _with_note(found: list[ResultsFile], note: str | None) -> list[ResultsFile]:
    return [replace(found[0], notes=(*found[0].notes, note)), *found[1:]] if note and found else found


def _hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _suffixes(name: str) -> tuple[Format | None, str | None]:
    stem, suffix = os.path.splitext(name.lower())
    compression = COMPRESSIONS.get(suffix)
    if compression:
        suffix = os.path.splitext(stem)[1]
    return SUFFIXES.get(suffix), compression


def _as_file(path: str, input_format: str | None, stack: ExitStack, mapping: RowMap | None) -> ResultsFile:
    if not os.path.isfile(path):
        raise InputError(Problem("not a regular file", file=path))
    tool = _tool(path, path, input_format)
    if tool:
        return foreign.import_file(path, path, tool, _temporary(stack, suffix=".jsonl"), mapping).file
    by_name, compression = _suffixes(path)
    format_ = next((f for f in FORMATS if f == input_format), by_name)
    if format_ is None:
        raise InputError(
            Problem("this format is not supported", file=path, hint=f"{WANTED}; or name it with --input-format")
        )
    if compression and format_ == "parquet":
        raise InputError(
            Problem("a compressed Parquet file is not supported", file=path, hint="Parquet compresses by itself")
        )
    return ResultsFile(os.path.realpath(path), path, _array_or_lines(path, format_, compression), compression)


def _tool(path: str, name: str, input_format: str | None) -> str | None:
    """The tool whose file this is, by what was said or by its looks; None for a file of ours."""
    if input_format is None:
        return foreign.format_of(path, name)
    return None if input_format in FORMATS else input_format


def _array_or_lines(path: str, format_: Format, compression: str | None) -> Format:
    """A `.json` file holds an array; one that starts with an object is read line by line."""
    if format_ != "json" or compression:
        return format_
    try:
        with open(path, "rb") as stream:
            start = stream.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror}", file=path)) from error
    if start.split(b"\n", 1)[0].strip() == b"{":
        told = "found one JSON object over many lines, which no known tool writes; wanted an array of results"
        raise InputError(Problem(told, file=path, line=1, hint="a mapping reads any other shape: --map FILE"))
    return "jsonl" if start.startswith(b"{") else "json"


def _from_stdin(
    stdin: BinaryIO | None, input_format: str | None, stack: ExitStack, mapping: RowMap | None
) -> ResultsFile:
    copy = _copy_of_stdin(stdin, stack)
    tool = None if input_format is None else _tool(copy, "<stdin>", input_format)
    if tool:
        return foreign.import_file(copy, "<stdin>", tool, _temporary(stack, suffix=".jsonl"), mapping).file
    with open(copy, "rb") as stream:
        start = stream.read(4096)
    compression = "gzip" if start[:2] == b"\x1f\x8b" else "zstd" if start[:4] == b"\x28\xb5\x2f\xfd" else None
    format_ = next((f for f in FORMATS if f == input_format), None) or _format_of(_unpacked(start, compression))
    return ResultsFile(copy, "<stdin>", format_, compression)


def _copy_of_stdin(stdin: BinaryIO | None, stack: ExitStack) -> str:
    if stdin is None:
        raise InputError(Problem("there is no standard input to read", file="-"))
    copy = _temporary(stack, suffix=".results")
    # One read of what is there at a time: a call that waits until a block is full would not hear Ctrl-C meanwhile.
    read = getattr(stdin, "read1", stdin.read)
    with open(copy, "wb") as stream:
        while block := read(_BLOCK):
            stream.write(block)
    return copy


def _unpacked(start: bytes, compression: str | None) -> bytes:
    """The first bytes of what is packed; nothing where they are damaged, which the engine will say."""
    if compression is None:
        return start
    from highbar.load.unpacking import first_bytes  # only for a file that needs it

    return first_bytes(start, compression)


def _format_of(start: bytes) -> Format:
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text[:4] == b"PAR1":
        return "parquet"
    return "jsonl" if text[:1] in (b"{", b"") else "json" if text[:1] == b"[" else "csv"


def _opened(file: ResultsFile) -> IO[bytes]:
    import gzip  # only for a file that needs it

    return cast("IO[bytes]", gzip.open(file.path, "rb")) if file.compression == "gzip" else open(file.path, "rb")


def _holds_no_row(file: ResultsFile) -> bool:
    """Whether a file has only what stands around rows. A damaged one, or one that is not text, is the engine's."""
    if file.format == "parquet" or file.compression == "zstd":
        return False
    try:
        with _opened(file) as stream:
            start = stream.read(65536).removeprefix(b"\xef\xbb\xbf").strip()
            whole = not stream.read(1)
    except (OSError, EOFError, ValueError):
        return False
    around = {b"", b"[]"} if file.format == "json" else {b""}
    only_header = file.format == "csv" and b"\n" not in start
    return whole and (b"".join(start.split()) in around or only_header)


def _is_cut_off(file: ResultsFile) -> bool:
    """Whether a JSON array does not end: DuckDB takes one that stops after a comma for complete."""
    if file.compression == "zstd":
        return False
    try:
        with _opened(file) as stream:
            if not file.compression:
                stream.seek(max(0, os.path.getsize(file.path) - 65536))
            end = b""
            while block := stream.read(1 << 20):
                end = (end + block).rstrip()[-65536:]
    except (OSError, EOFError, ValueError):
        return False  # the engine says what is wrong with it
    return not end.endswith(b"]")


def _uncompressed_table(file: ResultsFile, stack: ExitStack) -> ResultsFile:
    """A gzipped CSV file is unpacked: DuckDB cannot read one whose fields hold line breaks of another kind."""
    if file.format != "csv" or file.compression != "gzip":
        return file
    copy = _temporary(stack, suffix=".csv")
    try:
        with _opened(file) as stream, open(copy, "wb") as target:
            shutil.copyfileobj(stream, target)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(Problem(f"cannot be read: {error}", file=file.name, hint=hints.UNPACKED)) from error
    return replace(file, path=copy, compression=None, original=file.original or file.path)


def _named_twice(files: Sequence[ResultsFile]) -> list[Problem]:
    seen: set[str] = set()
    twice: list[Problem] = []
    for file in files:
        path = file.original or file.path
        if path in seen:
            twice.append(Problem("this file is named twice", file=file.name, hint="each result counts once"))
        seen.add(path)
    return twice


def _without_byte_order_mark(file: ResultsFile, stack: ExitStack) -> ResultsFile:
    """UTF-8 with a byte order mark is accepted: DuckDB refuses it in JSON, so such a file is copied without."""
    if file.compression or file.format not in ("jsonl", "json"):
        return file
    with open(file.path, "rb") as stream:
        if stream.read(3) != b"\xef\xbb\xbf":
            return file
        copy = _temporary(stack, suffix=".json")
        with open(copy, "wb") as target:
            shutil.copyfileobj(stream, target)
    return ResultsFile(copy, file.name, file.format, original=file.path)


def _without_pattern_characters(file: ResultsFile, stack: ExitStack) -> ResultsFile:
    """DuckDB reads `*`, `?` and `[` in a path as a pattern; a file that has them in its name is read through a link."""
    if not glob.has_magic(file.path):
        return file
    link = _temporary(stack, suffix=f".{file.format}")
    os.symlink(file.path, link)
    return replace(file, path=link, original=file.original or file.path)


def _temporary(stack: ExitStack, suffix: str) -> str:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="highbar-"))
    return os.path.join(folder, f"results{suffix}")
