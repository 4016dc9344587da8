"""`--output [FORMAT=]FILE`: choose the format of each report file, and write it as a whole or not at all.

begin_outputs      before judging: say "no verdict" in each file       write_output     the report itself
withdraw_outputs   if that was not reached: say "no verdict" in        refuse_outputs   why there is no verdict
                   each file that an earlier run left
"""

from __future__ import annotations

import errno
import os
import select
import stat
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from highbar.cli import streams
from highbar.cli.guard import REFUSED, REPORTS_BEGUN
from highbar.errors import InputError, Problem, ReportError
from highbar.removed import removed_format
from highbar.report import REPORTERS, Reporter, format_of, report_formats, reporter
from highbar.store.writing import replace_file

_OF_ITS_OWN = "give the report a file of its own"
_PATIENCE = 10  # seconds to wait for the reader of a pipe, each time that it takes nothing
UNFINISHED = Problem(
    "run.nothing-judged", "nothing was judged yet: the run was stopped or failed", hint="its log says why"
)
"""What the report files say until the verdict is known."""


class _ReportFormat(click.Choice):  # type: ignore[type-arg] # generic only in the newest click
    """One of our formats, or of an installed package; packages are searched only if the name is not ours."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value in self.choices:
            return super().convert(value, param, ctx)
        if value not in report_formats() and (gone := removed_format(value, "--format")) is not None:
            raise InputError(gone)
        return click.Choice(report_formats()).convert(value, param, ctx)


REPORT_FORMAT = _ReportFormat(list(REPORTERS))

Formats = Mapping[str, Reporter]
"""The formats of what a command reports: a verdict, a comparison or a calibration."""


class Output(Struct, frozen=True):
    """A requested report file."""

    format: str
    file: str


def read_outputs(arguments: Sequence[str], option: str = "--output") -> tuple[Output, ...]:
    """The format and file of each value of `option`. Raises InputError, before any input is read, if one is invalid."""
    outputs: list[Output] = []
    problems: list[Problem] = []
    taken: set[str] = set()
    for argument in arguments:
        try:
            output = _read_output(argument, option)
        except InputError as error:
            problems += error.problems
            continue
        # By real path: through two links, one report would overwrite the other.
        path = os.path.realpath(output.file)
        if path in taken:
            problems.append(
                Problem("option.twice", f"{option} {argument}: {output.file} is written twice", hint=_OF_ITS_OWN)
            )
        taken.add(path)
        outputs.append(output)
    if problems:
        raise InputError(*problems)
    return tuple(outputs)


def refuse_formats(outputs: Sequence[Output], formats: Formats, what: str) -> None:
    """Raise InputError if `what`, such as "a comparison", is not written in the format of a file."""
    problems = [
        Problem(
            "output.not-in-format",
            f"--output {output.file}: {what} is not written as {output.format}",
            hint=f"one of {', '.join(formats)}",
        )
        for output in outputs
        if output.format not in formats
    ]
    if problems:
        raise InputError(*problems)


def refuse_overwriting(outputs: Sequence[Output], inputs: Iterable[str], option: str = "--output") -> None:
    """Raise InputError if a report would overwrite an input file."""
    read = {os.path.realpath(name): name for name in inputs}
    problems = [
        Problem("file.read-and-written", f"{option} {output.file}: {read[path]} is read as well", hint=_OF_ITS_OWN)
        for output in outputs
        if (path := os.path.realpath(output.file)) in read
    ]
    if problems:
        raise InputError(*problems)


def _read_output(argument: str, option: str) -> Output:
    before, equals, after = argument.partition("=")
    # Our own formats are tried first: listing those of installed packages takes longer than most imports.
    if equals and before not in REPORTERS and before not in report_formats():
        hint = f"wanted one of {', '.join(report_formats())}"
        unknown = Problem("option.unknown-format", f"{option} {argument}: {before!r} is not a format", hint=hint)
        raise InputError(removed_format(before, f"{option} {argument}") or unknown)
    file = after if equals else argument
    if not file or file == "-":
        raise InputError(
            Problem(
                "option.bad-value",
                f"{option} {argument}: wanted a file",
                hint="--format says what goes to standard output",
            )
        )
    found = before if equals else format_of(file)
    if found is None:
        endings = ", ".join(suffix for name in report_formats() for suffix in reporter(name).suffixes)
        hint = f"end the name in {endings}, or write FORMAT={file} with one of {', '.join(report_formats())}"
        unknown = Problem("output.unknown-ending", f"{option} {argument}: no known format has this ending", hint=hint)
        raise InputError(removed_format(file, f"{option} {argument}") or unknown)
    return Output(found, file)


def begin_outputs(outputs: Sequence[Output], formats: Formats, results: Sequence[str]) -> None:
    """Say in every file that there is no verdict, before anything is judged, so that no old verdict survives a crash.

    A file that this creates within a folder or glob of `results` is removed again, or it would be read as results.
    """
    # Listed before anything is written: afterwards all of them exist.
    made = [output.file for output in outputs if not os.path.lexists(output.file)]
    for output in outputs:
        mode = _mode(output.file)
        if mode is None or stat.S_ISREG(mode):  # a pipe or a device gets only the report itself
            text = refusal(formats, output.format, (UNFINISHED,))
            with suppress(OSError):  # write_output will fail too, and report it
                replace_file(output.file, _encode(text), sync=False)
    if made:
        from highbar.load import files  # only for a report that was not there before

        read = {os.path.realpath(name) for name in files.paths_named(results)}
        for file in made:
            if os.path.realpath(file) in read:
                Path(file).unlink(missing_ok=True)
    click.get_current_context().meta[REPORTS_BEGUN] = True


def refuse_outputs(outputs: Sequence[Output], formats: Formats, problems: Sequence[Problem]) -> None:
    """Say in every file why there is no verdict. Raises ReportError, after printing the problems, if a file fails."""
    failures = attempt(partial(_write_refusal, output, formats, problems) for output in outputs)
    if failures:
        streams.say_problems(problems)
        raise ReportError("; ".join(str(failure) for failure in failures))


def refuse_everywhere(error: InputError, report_format: str, outputs: Sequence[Output], formats: Formats) -> int:
    """Say in every file why there is nothing to report. Raises the error again unless JSON is printed."""
    refuse_outputs(outputs, formats, error.problems)
    if report_format != "json":
        raise error
    streams.print_text(refusal(formats, "json", error.problems))
    return REFUSED


def refusal(formats: Formats, name: str, problems: Sequence[Problem]) -> str:
    """The report that says why there is nothing to report. A format that is not in `formats` is that of a verdict."""
    return (formats.get(name) or reporter(name)).refusal(problems)


def attempt(steps: Iterable[Callable[[], object]]) -> list[ReportError]:
    """Take all steps and return what failed: neither a closed pipe nor a full disk may cost the other reports."""
    failures: list[ReportError] = []
    for step in steps:
        try:
            step()
        except ReportError as error:
            failures.append(error)
    return failures


def report_everywhere(
    printed: Callable[[], str], outputs: Sequence[Output], written: Callable[[str], str]
) -> list[ReportError]:
    """Print the report and write the files, each in its format; returns what failed."""
    return attempt(
        (
            lambda: streams.print_text(printed()),
            *(partial(_write, output, written) for output in outputs),
        )
    )


def _write(output: Output, written: Callable[[str], str]) -> None:
    write_output(output.file, written(output.format))


def _write_refusal(output: Output, formats: Formats, problems: Sequence[Problem]) -> None:
    write_output(output.file, refusal(formats, output.format, problems))


def withdraw_outputs(
    arguments: Sequence[str], option: str, formats: Formats, problems: Sequence[Problem]
) -> list[ReportError]:
    """Say in the reports of an earlier run that there is no verdict, and return what could not be written.

    `option` is the option that names report files. The arguments are searched as text, since it may be impossible
    to parse them.

    A file that the arguments name as an input too, or that their policy names, is not written: the mistake may be that
    an input was given as an output.
    """
    outputs = [_old_report(argument, option) for argument in _split_by(arguments, option)[0]]
    # Path.is_file fails if a text is too long for a path.
    standing = [output for output in outputs if os.path.isfile(output.file)]  # noqa: PTH113 - see above
    if not standing:
        return []
    read = _read_by(arguments)
    return attempt(
        partial(_withdraw, output, formats, problems)
        for output in standing
        if os.path.realpath(output.file) not in read
    )


def _old_report(argument: str, option: str) -> Output:
    """The report file that a value of the option names, even if its format is misspelled or cannot be loaded."""
    with suppress(InputError):
        return _read_output(argument, option)
    _format, equals, after = argument.partition("=")
    own = next((name for name, each in REPORTERS.items() if after.lower().endswith(each.suffixes)), "text")
    # Without FORMAT= no report was ever written to a file of another ending.
    return Output(own, after if equals else argument if removed_format(argument) else "")


def _withdraw(output: Output, formats: Formats, problems: Sequence[Problem]) -> None:
    try:
        text = refusal(formats, output.format, problems)
    except (InputError, ReportError):  # the format of a broken package
        text = REPORTERS["text"].refusal(problems)
    write_output(output.file, text)


def _split_by(arguments: Sequence[str], *options: str) -> tuple[list[str], list[str]]:
    """The values of the options, and all other arguments."""
    values: list[str] = []
    others: list[str] = []
    for before, argument in pairwise(["", *arguments]):
        name, equals, value = argument.partition("=")
        if before in options:
            values.append(argument)
        elif equals and name in options:
            values.append(value)
        else:
            others.append(argument)
    return values, others


def _read_by(arguments: Sequence[str]) -> set[str]:
    """The real path of every file that the arguments may name as an input."""
    from highbar.load import files  # only if an earlier run left a report

    others = [argument.rpartition("=")[2] for argument in _split_by(arguments, "--output", "--report")[1]]
    found: set[str] = set()
    # Any of them may be the policy, which names further inputs; without one it is the policy that is found here.
    for policy in (None, *others):
        with suppress(FileNotFoundError):  # the working folder is gone, so that only absolute paths name a file
            found.update(files.inputs([policy] if policy else [], policy))
    return {os.path.realpath(name) for name in found if os.path.lexists(name)}


def write_output(file: str, text: str) -> None:
    """Write a temporary file and rename it, so that no reader sees half a report. Raises ReportError.

    A link keeps pointing to its file, which is replaced. A pipe or a device is written directly.
    """
    data = _encode(text)
    try:
        mode = _mode(file)
        if mode is None or stat.S_ISREG(mode):
            replace_file(file, data)
        elif stat.S_ISFIFO(mode):
            _feed(file, data)
        else:
            Path(file).write_bytes(data)  # a device cannot be renamed over
    except OSError as error:
        raise ReportError(f"{file} could not be written: {error.strerror or error}") from error


def _encode(text: str) -> bytes:
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
    descriptor = _open_pipe(file)
    try:
        left = memoryview(data)
        while left:
            if not select.select([], [descriptor], [], _PATIENCE)[1]:
                raise TimeoutError(None, f"its reader took nothing for {_PATIENCE} seconds")
            left = left[os.write(descriptor, left) :]
    finally:
        os.close(descriptor)


def _open_pipe(file: str) -> int:
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
