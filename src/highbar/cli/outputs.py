"""`--output [FORMAT=]FILE`: which format goes into which file, and writing it there whole or not at all.

begin      before anything is judged: no verdict            write      the report itself
withdraw   if the arguments are wrong: no verdict, wherever an earlier run left its own
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from highbar.cli.guard import OutputsError
from highbar.errors import InputError, Problem, ReportError
from highbar.report import REPORTERS, format_named, format_of, report_formats, reporter
from highbar.store.writing import replace

_OF_ITS_OWN = "give the report a file of its own"
_PATIENCE = 10  # seconds without any progress of the reader of a pipe
UNFINISHED = Problem("nothing was judged yet: the run was stopped or failed", hint="its log says why")
"""What a report says until there is a verdict to report."""


class _ReportFormat(click.Choice):  # type: ignore[type-arg] # generic only in the newest click
    """One of our formats, or one that an installed package adds: the environment is read only for an unknown name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        value = format_named(value)
        own = value in self.choices
        return super().convert(value, param, ctx) if own else click.Choice(report_formats()).convert(value, param, ctx)


REPORT_FORMAT = _ReportFormat(list(REPORTERS))

Refusal = Callable[[str, Sequence[Problem]], str]
"""A format and what is wrong in, the report that says so out."""


class Output(Struct, frozen=True):
    """A report that was asked for."""

    format: str
    file: str


def read_outputs(arguments: Sequence[str]) -> tuple[Output, ...]:
    """What each `--output` means. Raises InputError, before anything is read, if one makes no sense."""
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
        raise OutputsError(*problems)
    return tuple(outputs)


def refuse_overwriting(outputs: Sequence[Output], inputs: Iterable[str]) -> None:
    """Raise InputError if a report would overwrite a file that is read."""
    read = {os.path.realpath(name): name for name in inputs}
    problems = [
        Problem(f"--output {output.file}: {read[path]} is read as well", hint=_OF_ITS_OWN)
        for output in outputs
        if (path := os.path.realpath(output.file)) in read
    ]
    if problems:
        raise OutputsError(*problems)


def refuse_meta(formats: Iterable[str], meta: Iterable[tuple[str, str]]) -> None:
    """Raise InputError if a format needs to know more about the run, before anything is judged."""
    given = dict(meta)
    problems = [problem for name in sorted({*formats}) for problem in reporter(name).meta_problems(given)]
    if problems:
        raise OutputsError(*problems)


def _read_output(argument: str) -> Output:
    before, equals, after = argument.partition("=")
    before = format_named(before)
    if equals and before not in REPORTERS and before not in report_formats():
        hint = f"wanted one of {', '.join(report_formats())}"
        raise InputError(Problem(f"--output {argument}: {before!r} is not a format", hint=hint))
    file = after if equals else argument
    if not file or file == "-":
        raise InputError(
            Problem(f"--output {argument}: wanted a file", hint="--format says what goes to standard output")
        )
    found = before if equals else format_of(file)
    if found is None:
        endings = ", ".join(suffix for name in report_formats() for suffix in reporter(name).suffixes)
        hint = f"end the name in {endings}, or write FORMAT={file} with one of {', '.join(report_formats())}"
        raise InputError(Problem(f"--output {argument}: no known format has this ending", hint=hint))
    return Output(found, file)


def begin_outputs(outputs: Sequence[Output], refusal: Refusal, results: Sequence[str]) -> None:
    """Say in every file that there is no verdict, before anything is judged: so no older verdict survives a crash.

    A file that this creates in a folder or pattern of the `results` is removed again, or it would be read as results.
    """
    made = [output.file for output in outputs if not os.path.lexists(output.file)]
    for output in outputs:
        mode = _mode(output.file)
        if mode is None or stat.S_ISREG(mode):  # a pipe or a device is written to once
            text = refusal(output.format, (UNFINISHED,))
            with suppress(OSError):  # writing the report itself will say what is wrong
                replace(Path(os.path.realpath(output.file)), _encoded(text), sync=False)
    if made:
        from highbar.load import files  # only for a report that was not there before

        read = {os.path.realpath(name) for name in files.paths_named(results)}
        for file in made:
            if os.path.realpath(file) in read:
                Path(file).unlink(missing_ok=True)


def withdraw_outputs(arguments: Sequence[str], option: str, problems: Sequence[Problem], refusal: Refusal) -> None:
    """Say in the reports of an earlier run that there is no verdict, if the arguments are what is wrong.

    `option` is the one that names the files of reports.

    Nothing is written to a file that the arguments name in another place, or that their policy names: what is wrong
    may be that an input was given as an output.
    """
    named = [second for first, second in pairwise(arguments) if first == option]
    named += [argument.partition("=")[2] for argument in arguments if argument.startswith(f"{option}=")]
    outputs: list[Output] = []
    for argument in named:
        with suppress(InputError):
            outputs.append(_read_output(argument))
    # Path.is_file fails if a text is too long for a path.
    standing = [output for output in outputs if os.path.isfile(output.file)]  # noqa: PTH113 - see above
    if not standing:
        return
    from highbar.load import files  # only for reports that would be left standing

    others = [argument.rpartition("=")[2] for argument in arguments if argument not in named]
    policies = [name for name in others if os.path.isfile(name)]  # noqa: PTH113 - likewise
    read = {os.path.realpath(name) for policy in (None, *policies) for name in files.inputs(others, policy)}
    for output in standing:
        if os.path.realpath(output.file) not in read:
            write_output(output.file, refusal(output.format, problems))


def write_output(file: str, text: str) -> None:
    """Write beside the file and rename: a reader sees the old report or the new one, never half. Raises ReportError."""
    data = _encoded(text)
    try:
        mode = _mode(file)
        if mode is None or stat.S_ISREG(mode):
            replace(Path(os.path.realpath(file)), data)
        elif stat.S_ISFIFO(mode):
            _feed(file, data)
        else:
            Path(file).write_bytes(data)  # a device cannot be renamed over
    except OSError as error:
        raise ReportError(f"{file} could not be written: {error.strerror or error}") from error


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _mode(file: str) -> int | None:
    """What kind of file is there; None if there is no file, or a link that leads nowhere."""
    try:
        return Path(file).stat().st_mode
    except OSError:
        return None


def _feed(file: str, data: bytes) -> None:
    """Write into a pipe; one that nobody reads is given up, since a check must end."""
    descriptor = _opened(file)
    try:
        left = memoryview(data)
        while left:
            if not select.select([], [descriptor], [], _PATIENCE)[1]:
                raise TimeoutError(None, f"its reader took nothing for {_PATIENCE} seconds")
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def _opened(file: str) -> int:
    """The writing end of a pipe; a reader that is about to come is waited for."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            return os.open(file, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > until:
                raise TimeoutError(None, f"nobody reads from it, for {_PATIENCE} seconds") from None
        time.sleep(0.05)
