"""`highbar judge label`: a page for people to label a sample of judged trials."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from highbar.cli import streams
from highbar.cli.options import FORMAT_HELP, INPUT_FORMAT
from highbar.errors import InputError, Problem
from highbar.language.phrases import count

if TYPE_CHECKING:  # see command
    from highbar.labeling.drawing import Drawing, RunToLabel
    from highbar.store.labels import Labels

MOST_TRIALS = 10_000
"""Trials to label: more than people can label, and few enough that the page still opens."""
_PAGE = "labels.html"
_LONGEST_NAME = 200
"""Characters of the labeling person's name: as many as the labels file accepts."""
_EXAMPLES = """\b
Examples:
  highbar judge label runs/pr                        writes labels.html: open it, label, save labels.jsonl
  highbar judge label runs/pr --labels labels.jsonl  asks only about what is not labeled yet
"""


@click.command("label", short_help="Label a sample of judged trials.", epilog=_EXAMPLES)
@click.argument("results", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="RESULTS...")
@click.option(
    "-o", "--output", type=click.Path(), default=_PAGE, show_default=True, metavar="FILE", help="Where to write."
)
@click.option(
    "--trials",
    type=click.IntRange(1, MOST_TRIALS),
    default=60,
    show_default=True,
    metavar="N",
    help="How many trials to draw: half that the judge passed, half that it failed.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), metavar="N", help="Another seed draws other trials.")
@click.option("--by", metavar="NAME", help="Who labels; else the page asks.")
@click.option("--labels", type=click.Path(), metavar="FILE", help="Labels that there are: only the others are asked.")
@click.option("--input-format", type=INPUT_FORMAT, metavar="FORMAT", help=FORMAT_HELP)
@click.option("--quiet", is_flag=True, help="Print nothing unless something is wrong.")
def command(
    *,
    results: tuple[str, ...],
    output: str,
    trials: int,
    seed: int | None,
    by: str | None,
    labels: str | None,
    input_format: str | None,
    quiet: bool,
) -> int:
    """Draw a random sample of the trials in RESULTS that a judge judged, for people to label.

    RESULTS are run folders or files with the rows of one run. The page shows no judgment of the judge, and sends
    nothing anywhere. The same seed draws the same trials.
    """
    from highbar.labeling import drawing  # not needed for help and usage errors
    from highbar.load import files  # as above
    from highbar.store.labels import read_labels  # as above

    _refuse_name(by)
    target = Path(output)
    _refuse_output(target, results, labels)
    existing = None if labels is None else read_labels(labels)
    with ExitStack() as stack:
        found = files.find_files(
            results, stack=stack, input_format=input_format, stdin=streams.standard_input(), subset=True
        )
        run = drawing.judged_run(found)
        drawn = drawing.draw(run, trials, _seed(run, existing) if seed is None else seed)
    _write_page(drawn, existing, by, target)
    if not quiet:
        streams.say(f"{_drawing_words(drawn)}: {target}")
        streams.say("open it in a browser, and save labels.jsonl; then: highbar judge calibrate")
    return 0


def _drawing_words(drawn: Drawing) -> str:
    return f"{count(len(drawn.trials), 'trial')} of {drawn.of} judged ones, {count(drawn.statements, 'statement')}"


def _refuse_name(by: str | None) -> None:
    if by is not None and (not by.strip() or len(by) > _LONGEST_NAME or not by.isprintable()):
        raise InputError(
            Problem("option.bad-value", f"--by wants a name of at most {_LONGEST_NAME} characters, on one line")
        )


def _refuse_output(target: Path, results: tuple[str, ...], labels: str | None) -> None:
    from highbar.load import files, run_folders  # see command

    if target.suffix != ".html":
        raise InputError(
            Problem(
                "output.unknown-ending", "the output's name has another ending", str(target), hint="end it in .html"
            )
        )
    named = files.paths_named(results)
    read = [*named, *run_folders.files_beside(named), *([] if labels is None else [labels])]
    if os.path.realpath(target) in {os.path.realpath(name) for name in read}:
        raise InputError(
            Problem(
                "file.read-and-written", "this file is both read and written", str(target), hint="name another output"
            )
        )


def _seed(run: RunToLabel, existing: Labels | None) -> int:
    """The seed of the existing labels of this run, so that the same trials are drawn again; 0 if there are none."""
    samples = [label.sample for label in existing.lines if label.sample is not None] if existing else []
    return next((sample.seed for sample in samples if sample.run == run.digest), 0)


def _write_page(drawn: Drawing, existing: Labels | None, by: str | None, target: Path) -> None:
    from highbar.errors import ReportError  # see command
    from highbar.labeling.page import render  # as above
    from highbar.store.writing import replace_file  # as above

    try:
        replace_file(target, render(drawn, existing, by).encode())
    except OSError as error:
        raise ReportError(f"{target} could not be written: {error.strerror or error}") from error
