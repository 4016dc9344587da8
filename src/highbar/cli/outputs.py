"""`--output [FORMAT=]FILE`: which format goes into which file, and writing it there whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from highbar.errors import InputError, Problem, ReportError
from highbar.report import REPORTERS, format_of

_OF_ITS_OWN = "give the report a file of its own"


@dataclass(frozen=True, slots=True)
class Output:
    """A report that was asked for."""

    format: str
    file: str


def read_outputs(arguments: Sequence[str]) -> tuple[Output, ...]:
    """What each `--output` means. Raises InputError, before anything is read, where one cannot be meant."""
    outputs: list[Output] = []
    problems: list[Problem] = []
    taken: set[str] = set()
    for argument in arguments:
        try:
            output = _read_output(argument)
        except InputError as error:
            problems += error.problems
            continue
        path = os.path.realpath(output.file)
        if path in taken:
            problems.append(Problem(f"--output {argument}: {output.file} is written twice", hint=_OF_ITS_OWN))
        taken.add(path)
        outputs.append(output)
    if problems:
        raise InputError(*problems)
    return tuple(outputs)


def refuse_overwriting(outputs: Sequence[Output], inputs: Iterable[str]) -> None:
    """Raise InputError where a report would take the place of something that is read."""
    read = {os.path.realpath(name): name for name in inputs}
    problems = [
        Problem(f"--output {output.file}: {read[path]} is read as well", hint=_OF_ITS_OWN)
        for output in outputs
        if (path := os.path.realpath(output.file)) in read
    ]
    if problems:
        raise InputError(*problems)


def _read_output(argument: str) -> Output:
    before, equals, after = argument.partition("=")
    known = ", ".join(REPORTERS)
    if equals and before not in REPORTERS:
        raise InputError(Problem(f"--output {argument}: {before!r} is not a format", hint=f"wanted one of {known}"))
    file = after if equals else argument
    if not file or file == "-":
        raise InputError(
            Problem(f"--output {argument}: wanted a file", hint="--format says what goes to standard output")
        )
    found = before if equals else format_of(file)
    if found is None:
        endings = ", ".join(suffix for reporter in REPORTERS.values() for suffix in reporter.suffixes)
        hint = f"end the name in {endings}, or write FORMAT={file} with one of {known}"
        raise InputError(Problem(f"--output {argument}: the name says no format", hint=hint))
    return Output(found, file)


def write(file: str, text: str) -> None:
    """Write beside the file and rename: a reader sees the old report or the new one, never half. Raises ReportError."""
    target = Path(os.path.realpath(file))
    data = text.encode("utf-8", "backslashreplace")
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            target.write_bytes(data)  # a pipe or a device cannot be renamed over
        else:
            _replace(target, data)
    except OSError as error:
        raise ReportError(f"{file} could not be written: {error.strerror or error}") from error


def _replace(target: Path, data: bytes) -> None:
    beside = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}")
    try:
        with beside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
