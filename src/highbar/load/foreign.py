"""Another tool's file → a temporary JSONL file of the canonical columns, which the engine reads in its place."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from highbar import importers
from highbar.errors import InputError, Problem
from highbar.importers.report import Report
from highbar.load import unpacking
from highbar.model import Policy, ResultsFile
from highbar.model.judging import Judging
from highbar.policy.judged_by import say_demand

if TYPE_CHECKING:  # most checks have no mapping, and its classes take 4 ms to make
    from highbar.model.judging import ScorerDemand
    from highbar.model.mapping import RowMap

Imported = tuple[ResultsFile, Report]
"""The file of rows that was made of a tool's file, and what became of its records."""
MAPPED = "map"
"""The format of files that a mapping reads."""


_PARQUET = b"PAR1"
_BLOCK = 16
_VERSION = r"\bversion\b"
"""Recognizes a warning about the version of a tool's format: an unknown change in it may be what matters."""


class Guidance(Struct, frozen=True):
    """What a policy says about files of other tools: how a record becomes a row, and by tool who judges it.

    `answers_only`: the answers will be graded again, so that the file needs no judge, and no answer is shortened.
    `calls`: tool calls and messages become columns, too.
    """

    mapping: RowMap | None = None
    judged_by: Mapping[str, tuple[ScorerDemand, ...]] = field(default_factory=dict)
    answers_only: bool = False
    calls: bool = False


NO_GUIDANCE = Guidance()


def guidance(given: str | RowMap | None, policy: Policy) -> Guidance:
    """The policy's guidance for files of other tools; a `given` mapping, or path of one, replaces the policy's."""
    if given is None:
        return Guidance(policy.mapping, policy.judged_by)
    if not isinstance(given, str):
        return Guidance(given, policy.judged_by)
    from highbar.policy.mapping import read_map_file  # few checks have one, and it takes 5 ms to load

    return Guidance(read_map_file(given), policy.judged_by)


ONLY_JUDGES = {
    "junit": "the outcome of each test case",
    "tau-bench": "the reward",
    "agentskills": "the grader",
    "map": "the mapping",
}
"""By format: who judges, if the format leaves no choice."""


def import_file(path: str, name: str, format_name: str, target: str, guidance: Guidance = NO_GUIDANCE) -> Imported:
    """Write the rows of the file at `path` to `target`; `name` is what messages call it."""
    from highbar.importers.writing import convert  # a check of our own rows does not need it

    # A temporary file with our own columns: from here on one engine and one set of checks works for all tools.
    judged_by = guidance.judged_by.get(format_name, ())
    report = Report(judged_by=judged_by, answers_only=guidance.answers_only, calls=guidance.calls)
    try:
        with _readable(path, name, format_name) as readable, open(target, "wb") as stream:
            convert(_reader(format_name, guidance.mapping), readable, name, stream, report)
    except InputError as error:
        if format_name != MAPPED or guidance.mapping is None:
            raise
        raise _with_hint(error, guidance.mapping, importers.recognize(path, name)) from error
    _refuse_no_verdict(report, name, format_name)
    sentence = f"{name}: read as {importers.format_title(format_name)}: {report.sentence()}"
    notes = tuple(f"{name}: {note}" for note in report.notes())
    file = ResultsFile(
        target,
        name,
        "jsonl",
        original=os.path.realpath(path),
        imported=sentence,
        notes=notes,
        urgent=tuple(f"{name}: {note}" for note in report.notes() if _is_urgent(note, report)),
        judging=_judging(report, format_name),
        columns=tuple(sorted(report.columns)) if report.plain else (),
        has_known_units=format_name != MAPPED,
    )
    return file, report


@contextmanager
def _readable(path: str, name: str, format_name: str) -> Iterator[str]:
    """The path of a file that the importer can read; a mapping reads Parquet and compressed files by a plain copy."""
    if format_name != MAPPED:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="highbar-") as folder:
        yield _plain_copy(path, name, folder)


def _plain_copy(path: str, name: str, folder: str) -> str:
    """The path of the file itself if it is plain, else of a copy in `folder`. Messages call the file `name`."""
    try:
        with open(path, "rb") as stream:
            start = stream.read(_BLOCK)
        compression = unpacking.kind_of(start)
        if compression:
            return _unpack(path, name, folder, compression)
        return _parquet_lines(path, name, folder) if start.startswith(_PARQUET) else path
    except unpacking.Damaged as error:
        raise InputError(error.of_file(name)) from error
    except OSError as error:
        raise InputError(Problem("file.unreadable", f"cannot be read: {error.strerror or error}", file=name)) from error


def _unpack(path: str, name: str, folder: str, compression: str) -> str:
    suffix = os.path.splitext(os.path.splitext(name)[0])[1]  # `.csv` of `own.csv.gz`, by which the reader is chosen
    copy = os.path.join(folder, f"unpacked{suffix if suffix.isascii() and len(suffix) <= 8 else ''}")
    with open(copy, "wb") as target:
        target.writelines(unpacking.unpack(unpacking.blocks_of(path), compression))
    return copy


def _parquet_lines(path: str, name: str, folder: str) -> str:
    import duckdb  # only for Parquet

    from highbar.load import counting, footer, parquet_rows  # only for Parquet

    copy = os.path.join(folder, "unpacked.jsonl")
    try:
        footer.refuse_several(path, unpacking.blocks_of(path))
        written = 0
        with open(copy, "wb") as target:
            for row in parquet_rows.read_parquet(path):
                target.write(parquet_rows.line(row))
                written += 1
        declared = footer.row_count(path)
    except InputError as error:
        raise InputError(*(replace(problem, file=name) for problem in error.problems)) from error
    except (counting.Uncountable, duckdb.Error, ValueError) as error:
        reason = str(error).splitlines()[0].rpartition("Error: ")[2].replace(path, name)
        message = f"this is not a sound Parquet file: {reason}"
        raise InputError(Problem("file.not-parquet", message, file=name, hint="was it written to its end?")) from error
    # DuckDB read the rows; the footer was read by our own code. A difference would be lost rows.
    if written != declared:
        raise InputError(
            Problem("file.not-parquet", f"its footer declares {declared} rows, and {written} can be read", file=name)
        )
    return copy


def _is_urgent(note: str, report: Report) -> bool:
    return note in report.urgent or re.search(_VERSION, note) is not None


def _with_hint(error: InputError, mapping: RowMap, tool: str | None) -> InputError:
    """The problems of a mapping that read a known tool's file, with a hint how to choose the tool's own reader."""
    # Most checks have no mapping, and need not load its reader.
    from highbar.columns import JUDGING
    from highbar.importers.mapping import TOOL_COLUMNS

    judging = [column for column, _ in mapping.columns if column in JUDGING]
    if tool is None or not judging or mapping.rows or mapping.where is not None:
        return error
    unfit = [column for column in judging if column in TOOL_COLUMNS]
    hint = (
        f"this looks like the file of a tool ({importers.format_title(tool)}), and the mapping alone reads it because"
        f" it sets {', '.join(judging)}; to have the tool's reader read it, give --input-format {tool}"
        + (f" and leave {', '.join(unfit)} out of the mapping" if unfit else "")
    )
    hints = (f"{problem.hint}; {hint}" if problem.hint else hint for problem in error.problems)
    return InputError(*(replace(problem, hint=hint) for problem, hint in zip(error.problems, hints, strict=True)))


def _judging(report: Report, format_name: str) -> Judging:
    """Who judged: the judges that the policy demands, else those that the reader found, else the format's only one."""
    if report.judged_by:
        return Judging(format_name, tuple(say_demand(demand) for demand in report.judged_by), by_policy=True)
    only = (ONLY_JUDGES[format_name],) if format_name in ONLY_JUDGES else ()
    others = tuple(name for name in report.scorers if name not in report.judges)
    return Judging(format_name, report.judges or only, others=others)


def contradictions(files: Sequence[ResultsFile]) -> list[Problem]:
    """Problems with scorers that judge in one file of a tool but not in another file that also has them.

    In the other file their scores are none that the tool takes for a verdict; leaving them out would ignore the scores.
    """
    judging_in: dict[tuple[str, str], ResultsFile] = {}
    for file in files:
        if file.judging and not file.judging.by_policy:
            judging_in |= {(file.judging.tool, name): file for name in file.judging.judges}
    return [
        _disagreement(name, judging_in[file.judging.tool, name], file)
        for file in files
        if file.judging and not file.judging.by_policy
        for name in file.judging.others
        if (file.judging.tool, name) in judging_in
    ]


def _disagreement(scorer: str, one: ResultsFile, other: ResultsFile) -> Problem:
    from highbar.importers.record import quoted  # only for a refusal

    tool, judges = (one.judging.tool, one.judging.judges) if one.judging else ("", ())
    message = f"{scorer!r} judges in {one.name} and not in this file, where it gives nothing that is a verdict"
    listed = ", ".join(map(quoted, judges))
    return Problem(
        "judge.several",
        message,
        file=other.name,
        hint=f"say it in the policy: judged_by: {{ {tool.replace('-', '_')}: [{listed}] }}",
    )


def _refuse_no_verdict(report: Report, name: str, format_name: str) -> None:
    """Refuse rows of a reader that does not say who judged: it cannot have followed the policy's `judged_by`."""
    if report.judged_by and not report.judges:
        wanted = ", ".join(demand.scorer for demand in report.judged_by)
        message = f"the policy has {format_name} files judged by {wanted}, and their reader takes no such order"
        raise InputError(
            Problem("judge.unknown-scorer", message, file=name, hint=f"leave {format_name} out of judged_by")
        )


def _reader(format_name: str, mapping: RowMap | None) -> importers.Read:
    if mapping is None:
        return importers.importer_named(format_name)
    from highbar.importers.mapping import on_top, reader  # most checks have no mapping

    return reader(mapping) if format_name == MAPPED else on_top(mapping, importers.importer_named(format_name))
