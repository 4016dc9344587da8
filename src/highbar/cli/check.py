"""`highbar check`: results and a policy in, a verdict out, as reports and as the exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click
from msgspec.structs import replace

from highbar.cli import streams
from highbar.cli.engine_options import EngineOptions, engine_options
from highbar.cli.guard import REFUSED
from highbar.cli.input_format import FORMAT_HELP, INPUT_FORMAT, MAP_HELP, SUBSET_HELP, WHERE_HELP
from highbar.cli.meta import Meta, meta_option
from highbar.cli.outputs import REPORT_FORMAT, Output, begin, read_outputs, refuse_overwriting, write
from highbar.cli.progress import watching
from highbar.cli.workflow import github_option, tell_github
from highbar.errors import InputError, Problem, ReportError
from highbar.model import Verdict
from highbar.model.job import Job, JobWatch, Wants
from highbar.report import PAGE, Display, reporter

EXIT = {"pass": 0, "fail": 1, "inconclusive": 3, None: REFUSED}
_STRICT = 1
_NOT_WRITTEN = 4

_EXAMPLES = """\b
Examples:
  highbar check results.jsonl
  highbar check results.jsonl --policy release.yaml --agent-version 2.1.0
  highbar check 'runs/*.jsonl' --slice tags.locale --slice capability
  highbar check results.jsonl --output verdict.json --output markdown=summary.md
  highbar check logs/*.eval --policy release.yaml
  my-runner | highbar check - --input-format jsonl --format json
"""


@click.command("check", short_help="Judge results by a policy.", epilog=_EXAMPLES)
@click.argument("results", nargs=-1, required=True, type=click.Path(allow_dash=True))
@click.option(
    "--policy",
    type=click.Path(),
    metavar="FILE",
    help="The policy, or typical; else highbar.yaml, found here or above.",
)
@click.option("--agent-version", metavar="V", help="Which version is judged, for progressive thresholds.")
@click.option(
    "--against-ref", metavar="REF", help="Judge by the policy as it was at this git ref, too; the worse wins."
)
@click.option("--baseline", type=click.Path(), metavar="FILE", help="The baseline; else the one that the policy names.")
@click.option(
    "--allow-missing-baseline", is_flag=True, help="For a first run: if there is no baseline, its rules only warn."
)
@click.option("--slice", "slices", multiple=True, metavar="COLUMN", help="Show the metrics by this column too.")
@click.option("--where", "where", multiple=True, metavar="COLUMN=VALUE", help=WHERE_HELP)
@click.option("--subset", is_flag=True, help=SUBSET_HELP)
@click.option("--input-format", type=INPUT_FORMAT, metavar="FORMAT", help=FORMAT_HELP)
@click.option("--map", "map_file", type=click.Path(), metavar="FILE", help=MAP_HELP)
@engine_options
@click.option(
    "--format",
    "report_format",
    type=REPORT_FORMAT,
    default="text",
    show_default=True,
    help="What to print.",
)
@click.option(
    "--output",
    "outputs",
    multiple=True,
    metavar="[FORMAT=]FILE",
    help="Also write a report to a file; its ending (.html, .json, .md, .xml, .csv) decides the format. Repeatable.",
)
@meta_option
@click.option("--strict", is_flag=True, help="Exit with 1 if there are warnings, even if the version passes.")
@github_option("Write annotations, the summary and outputs for GitHub Actions. The default in a workflow.")
@click.option("-v", "--verbose", is_flag=True, help="Print everything: all rules, metrics, slices and notes.")
@click.option("--quiet", is_flag=True, help="Print only one line, fit for a chat message, and no progress.")
@click.option(
    "--width",
    type=click.IntRange(40, 1000),
    metavar="COLUMNS",
    help="The width of the text report; else that of the terminal, or 80.",
)
def command(  # noqa: PLR0913 - each is an argument of the command line
    *,
    results: tuple[str, ...],
    policy: str | None,
    agent_version: str | None,
    against_ref: str | None,
    baseline: str | None,
    allow_missing_baseline: bool,
    slices: tuple[str, ...],
    where: tuple[str, ...],
    subset: bool,
    input_format: str | None,
    map_file: str | None,
    engine: EngineOptions,
    report_format: str,
    outputs: tuple[str, ...],
    meta: Meta,
    strict: bool,
    github: bool | None,
    verbose: bool,
    quiet: bool,
    width: int | None,
) -> int:
    """Judge recorded RESULTS by a policy.

    RESULTS are files (JSONL, a JSON array, CSV, Parquet; .gz and .zst too; logs of other tools), globs or folders of
    them, or - for standard input. Without a policy nothing is judged, and the exit code is 2;
    --policy typical judges by the typical thresholds (highbar metrics lists them).
    """
    wanted = read_outputs(outputs)
    from highbar import pipeline  # the engine is loaded only here: help, completion and usage errors do without it
    from highbar.load import files  # likewise

    formats = {report_format, *(output.format for output in wanted)}
    job = Job(
        results,
        policy=policy,
        agent_version=agent_version,
        where=where,
        baseline=baseline,
        allow_missing_baseline=allow_missing_baseline,
        input_format=input_format,
        mapping=map_file,
        engine=engine.choice(),
        wants=Wants(
            slices,
            subset=subset,
            scenarios=any(reporter(name).lists_scenarios for name in formats),
            details=any(reporter(name).details for name in formats),
        ),
        stdin=streams.standard_input(),
    )
    if any(os.path.lexists(output.file) for output in wanted):  # else there is nothing to overwrite
        refuse_overwriting(wanted, files.inputs(results, policy, map_file, baseline))
    begin(wanted, refusal, results)
    try:
        with watching(quiet=quiet) as watch:
            verdict = pipeline.check(job, watch) if against_ref is None else _check_both(job, against_ref, watch)
    except InputError as error:
        _write_refusals(wanted, error)
        problems = error.problems
        tell_github(github, REFUSED, lambda tell: tell.tell_problems(problems, REFUSED, wanted))
        raise
    screen = replace(streams.display(sys.stdout, width=width, verbose=verbose), meta=meta)
    code = _report(verdict, report_format, wanted, screen, strict=strict, quiet=quiet)
    return tell_github(github, code, lambda tell: tell.tell(verdict, code, wanted))


def _check_both(job: Job, against_ref: str, watch: JobWatch) -> Verdict:
    """Judge by the policy, and by what it was at a git ref."""
    from highbar.bar import at_ref  # few checks need it, or git

    return at_ref.check_against_ref(job, against_ref, watch)


def _report(
    verdict: Verdict,
    report_format: str,
    outputs: tuple[Output, ...],
    screen: Display,
    *,
    strict: bool,
    quiet: bool,
) -> int:
    """Print, then write the files; a report that fails does not keep the others from being made."""
    failures: list[ReportError] = []
    try:
        streams.put(_printed(verdict, report_format, screen, quiet=quiet))
    except ReportError as error:
        failures.append(error)
    page = replace(PAGE, verbose=screen.verbose, meta=screen.meta)
    for output in outputs:
        try:
            write(output.file, reporter(output.format)(verdict, page))
        except ReportError as error:
            failures.append(error)
    if verdict.problems and (quiet or report_format not in ("text", "json")):  # those two show the problems themselves
        streams.say_problems(verdict.problems)
    if failures:
        for failure in failures:
            streams.say(f"highbar: {failure}")
        return _NOT_WRITTEN
    if strict and verdict.verdict == "pass" and _has_warnings(verdict):
        streams.say("highbar: strict, so these warnings make the exit code 1")
        return _STRICT
    return EXIT[verdict.verdict]


def _has_warnings(verdict: Verdict) -> bool:
    from highbar.report.headline import warnings  # help and usage errors do without it

    return warnings(verdict) > 0


def _printed(verdict: Verdict, report_format: str, screen: Display, *, quiet: bool) -> str:
    if quiet and report_format == "text":
        from highbar.report import line  # only for --quiet

        return line.render(verdict) + "\n"
    return reporter(report_format)(verdict, screen)


def _write_refusals(outputs: tuple[Output, ...], error: InputError) -> None:
    """Say in every file that was asked for why there is no verdict."""
    for output in outputs:
        write(output.file, refusal(output.format, error.problems))


def refusal(report_format: str, problems: Sequence[Problem]) -> str:
    """A report that says why there is no verdict."""
    return reporter(report_format).refusal(problems)
