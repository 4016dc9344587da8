"""Paths, globs, folders and standard input → the files to read, each with its format."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO
from urllib.parse import unquote

from msgspec.structs import replace

from highbar import importers
from highbar import policy as policies
from highbar.errors import InputError, Problem
from highbar.importers.folder_check import FolderCheck, folder_check
from highbar.load import folders, foreign, run_folders, unpacking
from highbar.load.counting import BYTE_ORDER_MARK, without_mark
from highbar.model import Format, ResultsFile

FORMATS: tuple[Format, ...] = ("jsonl", "json", "csv", "parquet")
_BLOCK = 65536
BESIDE = (*folders.LOGS, ".json")
"""Endings of files that may contain information about other files."""
NO_NAMES: Mapping[str, str] = MappingProxyType({})
_ABSENT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The name that Hive and Spark give to an absent value in the name of a folder."""


def find_files(
    arguments: Sequence[str],
    *,
    stack: ExitStack,
    input_format: str | None = None,
    stdin: BinaryIO | None = None,
    guidance: foreign.Guidance = foreign.NO_GUIDANCE,
    names: Mapping[str, str] = NO_NAMES,
    subset: bool = False,
    regraded: Mapping[str, str] = NO_NAMES,
) -> tuple[ResultsFile, ...]:
    """The files that the arguments name; `stack` owns the temporary copies. Raises InputError with every problem.

    `names` gives names for paths in messages, if not the paths themselves. `subset` accepts the folder of a run of a
    part of its suite. `regraded` has, by the path of a file, rows to read instead; "" if there are none.

    If the guidance has a mapping, every file is read by it. The reader of a tool reads the file first if the tool is
    named, or if the mapping only describes and the file is recognized.
    """
    if input_format is not None and input_format not in FORMATS and input_format not in importers.format_names():
        wanted = ", ".join((*FORMATS, *importers.format_names()))
        raise InputError(
            Problem("option.unknown-format", f"unknown input format {input_format!r}", hint=f"wanted one of {wanted}")
        )
    problems: list[Problem] = []
    found: list[ResultsFile] = []
    # Some tools list in one file the others that belong to the run; a file may replace or complete another.
    together = _check_folder(arguments, input_format)
    problems.extend(together.problems)
    shards = _shards(arguments, problems, subset=subset)
    for argument in arguments:
        try:
            if argument == "-":
                found.append(_from_stdin(stdin, input_format, stack, guidance))
            else:
                named = folders.expand(argument)
                # The rules of a run come first: naming its results file must not bypass them.
                read = [
                    _of_run(path, guidance, regraded, shards, subset=subset)
                    or _rows_instead(path, names.get(path, path), regraded)
                    or _with_partitions(_as_file(path, names.get(path, path), input_format, stack, guidance), folder)
                    for path, folder in named.found
                    if path not in together.not_read and shards.get(path, True) and regraded.get(path, path)
                ]
                found += _with_note(read, named.note)
        except InputError as error:
            problems.extend(error.problems)
    for note in together.not_read.values():
        found = _with_note(found, note)
    # Only now: one message lists every problem, so that nobody has to fix them one by one.
    problems.extend(_named_twice(found))
    if any(file.judging for file in found):
        problems.extend(foreign.contradictions(found))
    if problems:
        raise InputError(*problems)
    return tuple(_without_pattern_characters(_readable(file, stack), stack) for file in found)


def paths_named(arguments: Sequence[str]) -> tuple[str, ...]:
    """The paths of the files that the arguments name. An argument that names no file is left for `find_files`."""
    found: list[str] = []
    for argument in arguments:
        with suppress(InputError):
            found += [] if argument == "-" else folders.expand(argument).files
    return tuple(found)


def inputs(results: Sequence[str], policy: str | None, *others: str | None) -> tuple[str, ...]:
    """Every file that a check reads: the results, the policy that is named or found, and the files that it names."""
    found = paths_named(results)
    named = [*found, *run_folders.files_beside(found), *(other for other in others if other)]
    with suppress(InputError):  # two policies in one folder: the check says so
        path = Path(policy) if policy is not None else policies.find_here()
        named += [str(path), *policies.files_named_in(path)] if path else []
    return tuple(named)


def find_foreign(
    arguments: Sequence[str],
    tool: str,
    *,
    stack: ExitStack,
    stdin: BinaryIO | None = None,
    guidance: foreign.Guidance = foreign.NO_GUIDANCE,
) -> Iterator[foreign.Imported]:
    """The files that the arguments name, each imported as the tool's when it is requested."""
    together = _check_folder(arguments, None)
    if together.problems:
        raise InputError(*together.problems)
    notes = list(together.not_read.values())
    for argument in arguments:
        if argument == "-":
            path = _copy_of_stdin(stdin, stack)
            yield foreign.import_file(path, "<stdin>", tool, _temporary(stack, suffix=".jsonl"), guidance)
            continue
        for path in folders.expand(argument).files:
            if path in together.not_read:
                continue
            file, report = foreign.import_file(path, path, tool, _temporary(stack, suffix=".jsonl"), guidance)
            while notes:
                report.warn(notes.pop(0))
            yield file, report


def import_files(
    arguments: Sequence[str],
    tool: str,
    target: str,
    *,
    stdin: BinaryIO | None = None,
    guidance: foreign.Guidance = foreign.NO_GUIDANCE,
) -> Iterator[str]:
    """Write the rows of all files to `target`; yield lines that say what became of the records of each.

    Raises InputError if a file cannot be read, or if a scorer judges in one file and not in another that has it.
    """
    read: list[ResultsFile] = []
    with ExitStack() as stack, open(target, "wb") as rows:
        for file, report in find_foreign(arguments, tool, stack=stack, stdin=stdin, guidance=guidance):
            with open(file.path, "rb") as stream:
                shutil.copyfileobj(stream, rows)
            os.unlink(file.path)
            yield from report.summary(file.name, importers.format_title(tool))
            read.append(file)
    if problems := foreign.contradictions(read):
        raise InputError(*problems)


def _check_folder(arguments: Sequence[str], input_format: str | None) -> FolderCheck:
    """What the named files of other tools say about each other, by `importers.folder_check`."""
    paths = paths_named(arguments) if input_format not in (*FORMATS, foreign.MAPPED) else ()
    if len(paths) < 2 or not any(path.endswith(BESIDE) for path in paths):
        return FolderCheck()
    tools: dict[str, str | None] = {}
    for path in paths:
        with suppress(InputError):  # reading the file refuses it
            tools[path] = importers.recognize(path) if os.path.isfile(path) else None
    return folder_check(tools)


def _with_note(found: list[ResultsFile], note: str | None) -> list[ResultsFile]:
    return [replace(found[0], notes=(*found[0].notes, note)), *found[1:]] if note and found else found


def _as_file(
    path: str, name: str, input_format: str | None, stack: ExitStack, guidance: foreign.Guidance
) -> ResultsFile:
    if not os.path.isfile(path):
        raise InputError(Problem("file.not-regular", "not a regular file", file=path))
    tool = _tool(path, path, input_format, guidance)
    if tool:
        file, _ = foreign.import_file(path, name, tool, _temporary(stack, suffix=".jsonl"), guidance)
        return file
    format_, compression = _form(path, input_format)
    return ResultsFile(os.path.realpath(path), name, _array_or_lines(path, format_, compression), compression)


def _shards(arguments: Sequence[str], problems: list[Problem], *, subset: bool) -> dict[str, bool]:
    """As `sharded_run`; if the shards are not the whole run, adds a problem, so that nothing is judged."""
    paths = paths_named(arguments)
    if not any(map(folders.results_in, paths)):
        return {}
    try:
        return run_folders.sharded_run(paths, is_alone="-" not in arguments, subset=subset)
    except InputError as error:
        problems.extend(error.problems)
        return dict.fromkeys(paths, True)  # no second problem that each is only a part


def _of_run(
    path: str, guidance: foreign.Guidance, regraded: Mapping[str, str], shards: Mapping[str, bool], *, subset: bool
) -> ResultsFile | None:
    """The results of a run if the path is in its folder; None if it is not in one."""
    if folders.results_in(path) is None:
        return None
    file = run_folders.read_results(path, subset=subset, with_others=path in shards)
    if path in regraded:
        file = replace(file, path=regraded[path], original=file.path)
    if guidance.mapping is None:
        return file
    mapped = f"{path}: the rows of a run are read as they are: the mapping is not used for them"
    return replace(file, notes=(*file.notes, mapped))


def _rows_instead(path: str, name: str, regraded: Mapping[str, str]) -> ResultsFile | None:
    """The rows to read instead of those in a file; None if it is read as it is."""
    if path not in regraded:
        return None
    return ResultsFile(regraded[path], name, "jsonl", original=os.path.realpath(path))


def _form(path: str, input_format: str | None = None) -> tuple[Format, str | None]:
    """The format and the compression of a file: by the format that was named, else by the file's name."""
    by_name, compression = folders.form_named(path)
    format_ = next((f for f in FORMATS if f == input_format), by_name)
    if format_ is None:
        raise InputError(
            Problem(
                "file.unknown-format",
                "this format is not supported",
                file=path,
                hint=f"{folders.WANTED}; or name it with --input-format",
            )
        )
    if compression and format_ == "parquet":
        raise InputError(
            Problem(
                "file.unknown-format",
                "a compressed Parquet file is not supported",
                file=path,
                hint="Parquet compresses by itself",
            )
        )
    return format_, compression


def file_named(path: str) -> ResultsFile:
    """One file with rows in any shape, to look at them. Raises InputError if neither we nor a mapping can read it."""
    if not os.path.isfile(path):
        what = "is a folder" if os.path.isdir(path) else "does not exist" if not os.path.exists(path) else "is no file"
        raise InputError(Problem("file.unknown-format", f"{what}, wanted a file with results", file=path))
    format_, compression = _form(path)
    if format_ == "json" and not _starts_with_object(path, compression, alone=True):
        format_ = _array_or_lines(path, format_, compression)
    return ResultsFile(os.path.realpath(path), path, format_, compression)


def _with_partitions(file: ResultsFile, folder: str | None) -> ResultsFile:
    """The file with the columns that the folders below `folder` give, as Spark writes: `day=2026-11-14/x.parquet`."""
    if file.format != "parquet" or folder is None:
        return file
    between = Path(file.name).relative_to(folder).parts[:-1]
    return replace(file, partitions=tuple(_partition(part) for part in between if "=" in part.strip("=")))


def _partition(part: str) -> tuple[str, str | None]:
    name, _, value = part.partition("=")
    return unquote(name), None if value == _ABSENT_PARTITION else unquote(value)


def _tool(path: str, name: str, input_format: str | None, guidance: foreign.Guidance) -> str | None:
    """The tool that wrote the file: the one that was named, else by the first bytes; None for a file of our rows."""
    if input_format is None:
        if guidance.mapping is None:
            return importers.recognize(path, name)
        return (importers.recognize(path, name) if guidance.mapping.describes else None) or foreign.MAPPED
    return None if input_format in FORMATS else input_format


def _array_or_lines(path: str, format_: Format, compression: str | None) -> Format:
    """The format of a `.json` file: an array, or lines if it starts with an object; other formats as they are."""
    if format_ != "json":
        return format_
    # Many tools write JSON lines into files named .json: the first byte shows it, the name does not.
    if _starts_with_object(path, compression, alone=True):
        from highbar.load.missing_ids import missing_id  # only for a file that is refused

        message = "found one JSON object over many lines, which no known tool writes; wanted an array of results"
        unread = Problem(
            "file.not-json", message, file=path, line=1, hint="a mapping reads any other shape: --map FILE"
        )
        raise InputError(missing_id(ResultsFile(os.path.realpath(path), path, "json", compression)) or unread)
    return "jsonl" if _starts_with_object(path, compression) else "json"


def _starts_with_object(path: str, compression: str | None, *, alone: bool = False) -> bool:
    """Whether a file starts with `{`; if `alone`, with a `{` that is alone on its line: the object continues below."""
    start = _start_of(path, compression).removeprefix(BYTE_ORDER_MARK).lstrip()
    return start.split(b"\n", 1)[0].strip() == b"{" if alone else start.startswith(b"{")


def _start_of(path: str, compression: str | None) -> bytes:
    """The first bytes of a file, unpacked; empty if they are damaged: reading the whole file refuses it."""
    try:
        with open(path, "rb") as stream:
            start = stream.read(4096)
    except OSError as error:
        raise InputError(Problem("file.unreadable", f"cannot be read: {error.strerror}", file=path)) from error
    return unpacking.first_bytes(start, compression) if compression else start


def _from_stdin(
    stdin: BinaryIO | None, input_format: str | None, stack: ExitStack, guidance: foreign.Guidance
) -> ResultsFile:
    copy = _copy_of_stdin(stdin, stack)
    mapped = guidance.mapping is not None
    tool = None if input_format is None and not mapped else _tool(copy, "<stdin>", input_format, guidance)
    if tool:
        file, _ = foreign.import_file(copy, "<stdin>", tool, _temporary(stack, suffix=".jsonl"), guidance)
        return file
    compression = unpacking.kind_of(_start_of(copy, None))
    format_ = next((f for f in FORMATS if f == input_format), None) or _format_of(_start_of(copy, compression))
    return ResultsFile(copy, "<stdin>", format_, compression)


def _copy_of_stdin(stdin: BinaryIO | None, stack: ExitStack) -> str:
    if stdin is None:
        raise InputError(Problem("file.standard-input", "there is no standard input to read", file="-"))
    copy = _temporary(stack, suffix=".results")
    # Read only what is there: a call that waits for a full block would not react to Ctrl-C.
    read = getattr(stdin, "read1", stdin.read)
    with open(copy, "wb") as stream:
        while block := read(_BLOCK):
            stream.write(block)
    return copy


def _format_of(start: bytes) -> Format:
    text = start.removeprefix(BYTE_ORDER_MARK).lstrip()
    if text[:4] == b"PAR1":
        return "parquet"
    return "jsonl" if text[:1] in (b"{", b"") else "json" if text[:1] == b"[" else "csv"


def _named_twice(files: Sequence[ResultsFile]) -> list[Problem]:
    seen: set[str] = set()
    twice: list[Problem] = []
    for file in files:
        # By the user's file: each copy of ours has a path of its own.
        path = file.original or file.path
        if path in seen:
            twice.append(
                Problem("file.twice", "this file is named twice", file=file.name, hint="each result counts once")
            )
        seen.add(path)
    return twice


def _readable(file: ResultsFile, stack: ExitStack) -> ResultsFile:
    """The file, or a copy if DuckDB cannot read the file as it is.

    Compressed CSV is unpacked, since its fields may contain other line breaks than those between the rows. A byte order
    mark is accepted in every format, but DuckDB refuses it in JSON.
    """
    if file.format == "parquet":
        return file
    marked = file.format != "csv" and _start_of(file.path, file.compression).startswith(BYTE_ORDER_MARK)
    if not marked and not (file.format == "csv" and file.compression):
        return file
    copy = _temporary(stack, suffix=f".{file.format}")
    try:
        with open(copy, "wb") as target:
            blocks = unpacking.unpack(unpacking.blocks_of(file.path), file.compression)
            target.writelines(without_mark(blocks) if marked else blocks)
    except unpacking.Damaged as error:
        raise InputError(error.of_file(file.name)) from error
    return replace(file, path=copy, compression=None, original=file.original or file.path)


def _without_pattern_characters(file: ResultsFile, stack: ExitStack) -> ResultsFile:
    """The file, read through a link if its name looks like a pattern to DuckDB."""
    path = stack.enter_context(folders.exact_path(file.path, f".{file.format}"))
    return file if path == file.path else replace(file, path=path, original=file.original or file.path)


def _temporary(stack: ExitStack, suffix: str) -> str:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="highbar-"))
    return os.path.join(folder, f"results{suffix}")
