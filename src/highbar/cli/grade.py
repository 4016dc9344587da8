"""`highbar grade`: recorded answers and a suite in, rows graded by that suite out. No agent is called."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from highbar.cli import streams
from highbar.cli.options import FORMAT_HELP, INPUT_FORMAT
from highbar.errors import InputError, Problem
from highbar.language.phrases import count

if TYPE_CHECKING:  # see command
    from highbar.model import ResultsFile
    from highbar.running.grading_suite import GradingSuite
    from highbar.suite import Judge

_EXAMPLES = """\b
Examples:
  highbar grade runs/pr -o regraded.jsonl
  highbar grade runs/pr --suite stricter.yaml -o regraded.jsonl
  highbar grade logs/*.eval --suite suite.yaml -o results.jsonl

`highbar check` then judges the new file.
"""
_ENDINGS = (".jsonl", ".ndjson")


@click.command("grade", short_help="Grade recorded answers again, by a suite.", epilog=_EXAMPLES)
@click.argument("results", nargs=-1, required=True, type=click.Path(allow_dash=True), metavar="RESULTS...")
@click.option(
    "--suite", type=click.Path(), metavar="FILE", help="The suite to grade by; else the one that the run names."
)
@click.option("-o", "--output", type=click.Path(), required=True, metavar="FILE", help="Write the rows here: .jsonl.")
@click.option("--input-format", type=INPUT_FORMAT, metavar="FORMAT", help=FORMAT_HELP)
@click.option(
    "--map", "map_file", type=click.Path(), metavar="FILE", help="Which path of a foreign record feeds which column."
)
@click.option(
    "--judge", metavar="JUDGE", help="The judge: MODEL@ADDRESS or python:module:function. Else the one of the suite."
)
@click.option("--fresh", is_flag=True, help="Ask the judge about every answer again, even if it has judged it before.")
@click.option("--quiet", is_flag=True, help="Print nothing unless something is wrong.")
def command(
    *,
    results: tuple[str, ...],
    suite: str | None,
    output: str,
    input_format: str | None,
    map_file: str | None,
    judge: str | None,
    fresh: bool,
    quiet: bool,
) -> int:
    """Grade the answers in RESULTS again by the checks of a suite, without calling the agent.

    RESULTS are run folders, or results that have the agent's answers in them (output, tool_calls, messages), of any
    tool that highbar check reads. An earlier grading in them is replaced. A scenario of the suite without a recorded
    answer is undecided.
    """
    from highbar.load import files, folders, run_folders  # not needed for help and usage errors
    from highbar.running import regrading  # as above

    if not output.endswith(_ENDINGS):
        raise InputError(
            Problem(
                "output.unknown-ending", "the output's name has no known ending", file=output, hint="end it in .jsonl"
            )
        )
    named = files.paths_named(results)
    runs = [path for path in named if folders.results_in(path) is not None]
    with ExitStack() as stack:
        stack.enter_context(streams.progress_bar(quiet=quiet, doing="grading"))
        if runs:
            if len(runs) < len(named) or "-" in results:
                raise InputError(
                    Problem("run.mixed", "run folders and other results cannot be graded together", hint="grade each")
                )
            opened = [regrading.open_recorded_run(Path(path).parent) for path in runs]
            suite = str(regrading.suite_file_of(opened)) if suite is None else suite
            by = stack.enter_context(_graded_by(suite, judge, fresh=fresh))
            rows, notes = regrading.regrade_runs(opened, by, stack)
        else:
            if suite is None:
                raise InputError(
                    Problem("option.missing", "--suite FILE is missing: only a run folder names its suite")
                )
            found = _find_results(results, input_format, map_file, stack)
            by = stack.enter_context(_graded_by(suite, judge, fresh=fresh))
            rows, notes = regrading.regrade_rows(found, by, stack)
        _refuse_overwriting(output, (*named, *run_folders.files_beside(runs), suite, *filter(None, [map_file])))
        done = regrading.write_graded_rows(rows, Path(os.path.realpath(output)))
    if not quiet:
        for note in notes:
            streams.say(f"note: {note}")
        _say_done(done, suite, output)
    return 0


def _graded_by(suite: str, judge: str | None, *, fresh: bool) -> AbstractContextManager[GradingSuite]:
    """The suite to grade by, with the judge of --judge in place of its own if given."""
    from highbar.running.grading_suite import graded_by  # see command

    judges: tuple[Judge, ...] = ()
    if judge is not None:
        from highbar.suite.judge_text import read_judge_text  # most suites name their judge

        judges = (read_judge_text(judge, os.environ),)
    return graded_by(Path(suite), judges=judges, environment=os.environ, fresh=fresh)


def _find_results(
    results: tuple[str, ...], input_format: str | None, map_file: str | None, stack: ExitStack
) -> tuple[ResultsFile, ...]:
    """The results files, those of other tools converted. Prints their urgent notes."""
    from highbar.load import files, foreign  # see command

    mapping = None
    if map_file is not None:
        from highbar.policy.mapping import read_map_file  # few results need one

        mapping = read_map_file(map_file)
    found = files.find_files(
        results,
        stack=stack,
        input_format=input_format,
        stdin=streams.standard_input(),
        guidance=foreign.Guidance(mapping, answers_only=True, calls=True),
    )
    for file in found:
        for note in file.urgent:
            streams.say(note)
    return found


def _refuse_overwriting(output: str, read: tuple[str, ...]) -> None:
    if os.path.realpath(output) in {os.path.realpath(name) for name in read}:
        raise InputError(
            Problem(
                "file.read-and-written", "this file is both read and written", file=output, hint="name another output"
            )
        )


def _say_done(done: Counter[str], suite: str, output: str) -> None:
    parts = [f"{done['errors']} of them errors" if done["errors"] else "", f"{done['undecided']} undecided"]
    counts = ", ".join(filter(None, parts if done["undecided"] else parts[:1]))
    file = Path(suite)
    shown = os.path.relpath(file) if file.is_relative_to(Path.cwd()) else suite
    streams.say(f"{count(done.total(), 'row')} graded by {shown}{f' ({counts})' if counts else ''}: {output}")
