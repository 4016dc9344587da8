"""`highbar judge calibrate`: judged results and people's labels in, how good the judge is out."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from highbar.cli import streams
from highbar.cli.guard import NOT_WRITTEN
from highbar.cli.options import FORMAT_HELP, INPUT_FORMAT, format_option, output_option
from highbar.cli.outputs import (
    attempt,
    begin_outputs,
    read_outputs,
    refuse_everywhere,
    refuse_formats,
    refuse_overwriting,
    report_everywhere,
)
from highbar.errors import InputError, Problem, ReportError
from highbar.report import CALIBRATIONS

if TYPE_CHECKING:  # see command
    from highbar.model.calibration import Calibration

_EXAMPLES = """\b
Examples:
  highbar judge calibrate runs/pr --labels labels.jsonl
  highbar judge calibrate runs/pr --labels labels.jsonl --output judge.html
  highbar judge calibrate runs/pr --labels mine.jsonl --bind labels.jsonl
"""


@click.command("calibrate", short_help="Say how good a judge is, by labels of people.", epilog=_EXAMPLES)
@click.argument("results", nargs=-1, required=True, type=click.Path(), metavar="RESULTS...")
@click.option("--labels", required=True, type=click.Path(), metavar="FILE", help="What people said: labels.jsonl.")
@click.option("--policy", type=click.Path(), metavar="FILE", help="The policy; else highbar.yaml, found here or above.")
@click.option("--confidence", metavar="SHARE", help="The confidence of each bound; by default the policy's, or 95%.")
@click.option(
    "--bind",
    type=click.Path(),
    metavar="FILE",
    help="Write the labels to a new file, those that do not say of which conversation as of these results.",
)
@click.option("--input-format", type=INPUT_FORMAT, metavar="FORMAT", help=FORMAT_HELP)
@format_option(tuple(CALIBRATIONS))
@output_option(".html, .json, .txt")
@click.option("--quiet", is_flag=True, help="Print only the headline, as one line.")
def command(  # noqa: PLR0913 - each is an argument of the command line
    *,
    results: tuple[str, ...],
    labels: str,
    policy: str | None,
    confidence: str | None,
    bind: str | None,
    input_format: str | None,
    report_format: str,
    outputs: tuple[str, ...],
    quiet: bool,
) -> int:
    """Say how good the judge of RESULTS is: sensitivity, specificity, and where people disagree with it.

    RESULTS are run folders or files with the rows of one run. Labels say which run they are of. Those that do not are
    taken for labels of RESULTS, because you say so.
    """
    from highbar.calibration import CalibrationJob, calibrate  # not needed for help and usage errors
    from highbar.load import files  # as above

    wanted = read_outputs(outputs)
    refuse_formats(wanted, CALIBRATIONS, "a calibration")
    job = CalibrationJob(results, labels, policy, _confidence(confidence), input_format)
    read = [*files.inputs(results, policy), labels]
    refuse_overwriting(wanted, read)
    _refuse_bind(bind, [*read, *(output.file for output in wanted)])
    begin_outputs(wanted, CALIBRATIONS, results)
    try:
        _refuse_stream(results)
        calibration, bound = calibrate(job)
    except InputError as error:
        return refuse_everywhere(error, report_format, wanted, CALIBRATIONS)
    failures = report_everywhere(
        lambda: _printed_text(calibration, report_format, quiet=quiet),
        wanted,
        lambda name: CALIBRATIONS[name](calibration),
    )
    if bind is not None:
        failures += attempt([lambda: _write_new(Path(bind), bound)])
    for failure in failures:
        streams.say(f"highbar: {failure}")
    return NOT_WRITTEN if failures else 0


def _refuse_stream(results: Sequence[str]) -> None:
    if "-" in results:
        raise InputError(
            Problem(
                "file.standard-input",
                "results are read more than once, which standard input is not",
                hint="name a file",
            )
        )


def _confidence(text: str | None) -> Fraction | None:
    from highbar.language.threshold import ThresholdError, read_share  # not needed for help

    if text is None:
        return None
    try:
        share = read_share(text)
    except ThresholdError as error:
        raise InputError(Problem("option.bad-value", f"--confidence {text}: {error}", hint="such as 95%")) from None
    if not Fraction(1, 2) < share < 1:
        raise InputError(
            Problem(
                "option.bad-value", f"--confidence {text}: wanted more than 50% and less than 100%", hint="such as 95%"
            )
        )
    return share


def _refuse_bind(bind: str | None, others: Sequence[str]) -> None:
    if bind is None:
        return
    if os.path.lexists(bind) or os.path.realpath(bind) in {os.path.realpath(name) for name in others}:
        raise InputError(
            Problem("file.exists", "exists already, and nothing is overwritten", bind, hint="name a new file")
        )


def _printed_text(calibration: Calibration, report_format: str, *, quiet: bool) -> str:
    if quiet and report_format == "text":
        from highbar.report.calibration_words import headline  # only for --quiet
        from highbar.report.visible import visible  # as above

        return f"{headline(calibration, visible)}\n"
    return CALIBRATIONS[report_format](calibration, streams.display(sys.stdout))


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="ascii") as file:  # fails if someone created the file in the meantime
            file.write(text)
    except OSError as error:
        raise ReportError(f"{path} could not be written: {error.strerror or error}") from error
