"""`--output [FORMAT=]FILE`: choose the format of each report file, and write it as a whole or not at all.

begin_outputs      before judging: say "no verdict" in each file       write_output   the report itself
withdraw_outputs   for wrong arguments: say "no verdict" in each file that an earlier run left
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
_PATIENCE = 10  # seconds to wait for the reader of a pipe, each time that it takes nothing
UNFINISHED = Problem("nothing was judged yet: the run was stopped or failed", hint="its log says why")
"""What the report files say until the verdict is known."""


class _ReportFormat(click.Choice):  # type: ignore[type-arg] # generic only in the newest click
    """One of our formats, or of an installed package; packages are searched only if the name is not ours."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        value = format_named(value)
        own = value in self.choices
        return super().convert(value, param, ctx) if own else click.Choice(report_formats()).convert(value, param, ctx)


REPORT_FORMAT = _ReportFormat(list(REPORTERS))

Refusal = Callable[[str, Sequence[Problem]], str]
"""From a format and the problems to a report that says why there is no verdict."""


class Output(Struct, frozen=True):
    """A requested report file."""

    format: str
    file: str


def read_outputs(arguments: Sequence[str]) -> tuple[Output, ...]:
    """The format and file of each `--output`. Raises OutputsError, before any input is read, if one is invalid."""
    outputs: list[Output] = []
    problems: list[Problem] = []
    taken: set[str] = set()
    for argument in arguments:
        try:
            output = _read_output(argument)
        except InputError as error:
            problems += error.problems
            continue
        # By real path: through two links, one report would overwrite the other.
        path = os.path.realpath(output.file)
        if path in taken:
            problems.append(Problem(f"--output {argument}: {output.file} is written twice", hint=_OF_ITS_OWN))
        taken.add(path)
        outputs.append(output)
    if problems:
        raise OutputsError(*problems)
    return tuple(outputs)


def refuse_overwriting(outputs: Sequence[Output], inputs: Iterable[str]) -> None:
    """Raise OutputsError if a report would overwrite an input file."""
    read = {os.path.realpath(name): name for name in inputs}
    problems = [
        Problem(f"--output {output.file}: {read[path]} is read as well", hint=_OF_ITS_OWN)
        for output in outputs
        if (path := os.path.realpath(output.file)) in read
    ]
    if problems:
        raise OutputsError(*problems)


def refuse_meta(formats: Iterable[str], meta: Iterable[tuple[str, str]]) -> None:
    """Raise OutputsError, before anything is judged, if a format requires facts that `--meta` does not give."""
    given = dict(meta)
    problems = [problem for name in sorted({*formats}) for problem in reporter(name).meta_problems(given)]
    if problems:
        raise OutputsError(*problems)


def _read_output(argument: str) -> Output:
    before, equals, after = argument.partition("=")
    before = format_named(before)
    # Our own formats are tried first: listing those of installed packages takes longer than most imports.
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
    """Say in every file that there is no verdict, before anything is judged, so that no old verdict survives a crash.

    A file that this creates within a folder or glob of `results` is removed again, or it would be read as results.
    """
    # Listed before anything is written: afterwards all of them exist.
    made = [output.file for output in outputs if not os.path.lexists(output.file)]
    for output in outputs:
        mode = _mode(output.file)
        if mode is None or stat.S_ISREG(mode):  # a pipe or a device gets only the report itself
            text = refusal(output.format, (UNFINISHED,))
            with suppress(OSError):  # write_output will fail too, and report it
                replace(Path(os.path.realpath(output.file)), _encoded(text), sync=False)
    if made:
        from highbar.load import files  # only for a report that was not there before

        read = {os.path.realpath(name) for name in files.paths_named(results)}
        for file in made:
            if os.path.realpath(file) in read:
                Path(file).unlink(missing_ok=True)


def withdraw_outputs(arguments: Sequence[str], option: str, problems: Sequence[Problem], refusal: Refusal) -> None:
    """Say in the reports of an earlier run that there is no verdict, because the arguments are wrong.

    `option` is the option that names report files. The arguments are searched as text, since it may be impossible
    to parse them.

    A file that the arguments name elsewhere too, or that their policy names, is not written: the mistake may be that an
    input was given as an output.
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
    from highbar.load import files  # only if an earlier run left a report

    others = [argument.rpartition("=")[2] for argument in arguments if argument not in named]
    # Any file among the other arguments may be the policy, which names further inputs.
    policies = [name for name in others if os.path.isfile(name)]  # noqa: PTH113 - likewise
    read = {os.path.realpath(name) for policy in (None, *policies) for name in files.inputs(others, policy)}
    for output in standing:
        if os.path.realpath(output.file) not in read:
            write_output(output.file, refusal(output.format, problems))


def write_output(file: str, text: str) -> None:
    """Write a temporary file and rename it, so that no reader sees half a report. Raises ReportError.

    A link keeps pointing to its file, which is replaced. A pipe or a device is written directly.
    """
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
    # The name of a file that is not UTF-8 contains surrogates, which UTF-8 cannot encode.
    return text.encode("utf-8", "backslashreplace")


def _mode(file: str) -> int | None:
    """The mode of the file; None if it does not exist or is a broken link."""
    try:
        return Path(file).stat().st_mode
    except OSError:
        return None


def _feed(file: str, data: bytes) -> None:
    """Write into a pipe. Raises TimeoutError if the reader takes nothing for `_PATIENCE` seconds: a check must end."""
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
    """The writing end of a pipe. Raises TimeoutError if no reader opens it within `_PATIENCE` seconds."""
    until = time.monotonic() + _PATIENCE
    while True:
        # A blocking open would wait forever for a reader; this one fails with ENXIO as long as there is none.
        try:
            return os.open(file, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > until:
                raise TimeoutError(None, f"nobody reads from it, for {_PATIENCE} seconds") from None
        time.sleep(0.05)
