"""`highbar judge label`: a page, or questions in the terminal, for people to label a sample of judged trials."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from highbar.cli import streams
from highbar.cli.options import FORMAT_HELP, INPUT_FORMAT
from highbar.errors import InputError, Problem
from highbar.language.phrases import count

if TYPE_CHECKING:  # see command
    from highbar.labeling.book import LabelBook
    from highbar.labeling.drawing import Drawing, RunToLabel
    from highbar.store.labels import Labels

MOST_TRIALS = 10_000
"""Trials to label: more than people can label, and few enough that the page still opens."""
_PAGE, _LABELS = "labels.html", "labels.jsonl"
_LONGEST_NAME = 200
"""Characters of the labeling person's name: as many as the labels file accepts."""
_END_OF_INPUT = b"\x04"
"""The byte that Ctrl-D sends."""
_EXAMPLES = """\b
Examples:
  highbar judge label runs/pr                        writes labels.html: open it, label, save labels.jsonl
  highbar judge label runs/pr --labels labels.jsonl  asks only about what is not labeled yet
  highbar judge label runs/pr --terminal --by ada    the same in the terminal, saved after every answer
"""


@click.command("label", short_help="Label a sample of judged trials.", epilog=_EXAMPLES)
@click.argument("results", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="RESULTS...")
@click.option(
    "-o", "--output", type=click.Path(), metavar="FILE", help=f"Where to write; else {_PAGE}, or {_LABELS} (terminal)."
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
@click.option("--by", metavar="NAME", help="Who labels; else you are asked.")
@click.option("--labels", type=click.Path(), metavar="FILE", help="Labels that there are: only the others are asked.")
@click.option("--terminal", is_flag=True, help="Ask in the terminal, and save after every answer.")
@click.option("--input-format", type=INPUT_FORMAT, metavar="FORMAT", help=FORMAT_HELP)
@click.option("--quiet", is_flag=True, help="Print nothing unless something is wrong.")
def command(  # noqa: PLR0913 - each is an argument of the command line
    *,
    results: tuple[str, ...],
    output: str | None,
    trials: int,
    seed: int | None,
    by: str | None,
    labels: str | None,
    terminal: bool,
    input_format: str | None,
    quiet: bool,
) -> int:
    """Draw a random sample of the trials in RESULTS that a judge judged, for people to label.

    RESULTS are run folders or files with the rows of one run. The page shows no judgment of the judge, and sends
    nothing anywhere. The same seed draws the same trials.
    """
    from highbar.labeling import drawing  # not needed for help and usage errors
    from highbar.labeling.book import LabelBook  # as above
    from highbar.load import files  # as above

    _refuse_name(by)
    if terminal and "-" in results:
        raise InputError(Problem("results on standard input leave no room for answers", hint="name a file"))
    target = Path(output or (labels or _LABELS if terminal else _PAGE))
    _refuse_output(target, results, labels, terminal=terminal)
    existing = _existing_labels(target, labels, terminal=terminal)
    with ExitStack() as stack:
        found = files.find_files(
            results, stack=stack, input_format=input_format, stdin=streams.standard_input(), subset=True
        )
        run = drawing.judged_run(found)
        drawn = drawing.draw(run, trials, _seed(run, existing) if seed is None else seed)
    book = LabelBook(drawn, existing)
    if terminal:
        return _ask(book, by, target, quiet=quiet)
    _write_page(book, by, target)
    if not quiet:
        streams.say(f"{_drawing_words(drawn)}: {target}")
        streams.say("open it in a browser, and save labels.jsonl; then: highbar judge calibrate")
    return 0


def _drawing_words(drawn: Drawing) -> str:
    return f"{count(len(drawn.trials), 'trial')} of {drawn.of} judged ones, {count(drawn.statements, 'statement')}"


def _refuse_name(by: str | None) -> None:
    if by is not None and (not by.strip() or len(by) > _LONGEST_NAME or not by.isprintable()):
        raise InputError(Problem(f"--by wants a name of at most {_LONGEST_NAME} characters, on one line"))


def _refuse_output(target: Path, results: tuple[str, ...], labels: str | None, *, terminal: bool) -> None:
    from highbar.load import files, run_folders  # see command

    ending = ".jsonl" if terminal else ".html"
    if target.suffix != ending:
        raise InputError(Problem("the output's name has another ending", str(target), hint=f"end it in {ending}"))
    named = files.paths_named(results)
    read = [*named, *run_folders.files_beside(named), *([] if terminal or labels is None else [labels])]
    if os.path.realpath(target) in {os.path.realpath(name) for name in read}:
        raise InputError(Problem("this file is both read and written", str(target), hint="name another output"))


def _existing_labels(target: Path, labels: str | None, *, terminal: bool) -> Labels | None:
    """The existing labels, or None. In the terminal, those in the output file, to which new ones are added."""
    from highbar.store.labels import read_labels  # see command

    if terminal and target.exists():
        if labels is not None and not target.samefile(labels):
            hint = f"--labels {target} goes on with it"
            raise InputError(Problem("exists already, and nothing is overwritten", str(target), hint=hint))
        return read_labels(target)
    return None if labels is None else read_labels(labels)


def _seed(run: RunToLabel, existing: Labels | None) -> int:
    """The seed of the existing labels of this run, so that the same trials are drawn again; 0 if there are none."""
    samples = [label.sample for label in existing.lines if label.sample is not None] if existing else []
    return next((sample.seed for sample in samples if sample.run == run.digest), 0)


def _write_page(book: LabelBook, by: str | None, target: Path) -> None:
    from highbar.errors import ReportError  # see command
    from highbar.labeling.page import render  # as above
    from highbar.store.writing import replace_file  # as above

    try:
        replace_file(target, render(book, by).encode())
    except OSError as error:
        raise ReportError(f"{target} could not be written: {error.strerror or error}") from error


# --- in the terminal -------------------------------------------------------------------------


def _ask(book: LabelBook, by: str | None, target: Path, *, quiet: bool) -> int:
    from highbar.labeling import terminal  # see command
    from highbar.store.labels import LabelsFile  # as above

    file = LabelsFile(target)
    who = by or _line("Who labels? ").strip()
    _refuse_name(who)
    with _keys() as ask:
        left = terminal.ask_for_labels(
            book, who, terminal.Console(lambda text: streams.print_text(f"{text}\n"), ask, file.write)
        )
    if not quiet:
        answered = book.drawing.statements - left
        streams.say(f"{answered} of {count(book.drawing.statements, 'statement')} answered by {who}: {target}")
    return 0


def _line(question: str) -> str:
    streams.print_text(question)
    return sys.stdin.readline() if sys.stdin else ""


@contextmanager
def _keys() -> Iterator[Callable[[str], str]]:
    """Yield a function that asks for one key on a terminal, else for one line; it returns "" at the end of input."""
    descriptor = sys.stdin.fileno() if sys.stdin is not None and sys.stdin.isatty() else None
    try:
        import termios  # not on every system
        import tty  # as above
    except ImportError:
        descriptor = None
    if descriptor is None:
        yield _line
        return
    before = termios.tcgetattr(descriptor)
    try:
        # Set once for the whole session, and without discarding input, so that keys typed ahead count.
        tty.setcbreak(descriptor, termios.TCSADRAIN)
        yield lambda question: _pressed_key(descriptor, question)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _pressed_key(descriptor: int, question: str) -> str:
    streams.print_text(question)
    key = os.read(descriptor, 1)
    streams.print_text("\n")
    return "" if key == _END_OF_INPUT else key.decode("ascii", "replace")
