"""`highbar check`: results and a policy in, a verdict out, as reports and as the exit code.

`run` shares the options of the bar and of the reports, and `judge_job`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import date
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from highbar.cli import streams
from highbar.cli.guard import FAILED, INCONCLUSIVE, NOT_WRITTEN, REFUSED
from highbar.cli.options import (
    AGENT_HELP,
    DAY,
    FORMAT_HELP,
    INPUT_FORMAT,
    MAP_HELP,
    SUBSET_HELP,
    WHERE_HELP,
    EngineOptions,
    Meta,
    agent_name,
    engine_options,
    github_option,
    meta_option,
    output_option,
    report_to_github,
    take_fields,
)
from highbar.cli.outputs import (
    REPORT_FORMAT,
    Output,
    begin_outputs,
    read_outputs,
    refuse_outputs,
    refuse_overwriting,
    report_everywhere,
)
from highbar.cli.usage import WrongUsage
from highbar.errors import InputError, ReportError
from highbar.model.job import Job, Wants
from highbar.report import PAGE, REPORTERS, Display, reporter

if TYPE_CHECKING:  # the engine is loaded only for a command that reads rows
    from highbar.model import Verdict
    from highbar.verdicts import CheckResult

_EXAMPLES = """\b
Examples:
  highbar check results.jsonl
  highbar check results.jsonl --policy release.yaml --agent-version 2.1.0
  highbar check 'runs/*.jsonl' --slice tags.locale --slice capability
  highbar check results.jsonl --output verdict.json --output markdown=summary.md
  highbar check logs/*.eval --policy release.yaml
  my-runner | highbar check - --input-format jsonl --format json
"""
EXIT = {"pass": 0, "fail": FAILED, "inconclusive": INCONCLUSIVE, None: REFUSED}


# --- options that `check` and `run` share -----------------------------------------------------


class BarOptions(Struct, frozen=True, eq=False):
    """The options of the bar: the policy, and what else a version is compared with."""

    policy: str | None
    agent_version: str | None
    against_ref: str | None
    accept_change: str | None
    baseline: str | None
    allow_missing_baseline: bool
    slices: tuple[str, ...]
    today: date | None = None

    def on(self, job: Job) -> Job:
        """The job, judged by this bar."""
        return replace(
            job,
            policy=self.policy,
            agent_version=self.agent_version,
            baseline=self.baseline,
            allow_missing_baseline=self.allow_missing_baseline,
            today=self.today,
        )


class ReportOptions(Struct, frozen=True, eq=False):
    """The report options. `files` are the values of the option named `option`: `[FORMAT=]FILE`."""

    option: str
    format: str
    files: tuple[str, ...]
    meta: Meta
    strict: bool
    github: bool | None
    verbose: bool
    quiet: bool
    width: int | None
    history: str | None = None

    def outputs(self) -> tuple[Output, ...]:
        """The report files, each with its format. Raises InputError if one is invalid."""
        return read_outputs(self.files, self.option)

    def wants(self, outputs: Sequence[Output], slices: Sequence[str], *, subset: bool) -> Wants:
        """What the reports need beyond the verdict."""
        formats = {self.format, *(output.format for output in outputs)}
        return Wants(
            tuple(slices),
            subset=subset,
            scenarios=any(reporter(name).lists_scenarios for name in formats),
            details=any(reporter(name).details for name in formats),
            run=self.history is not None,
        )


def bar_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of the bar to a command, whose function takes them as one argument, `bar`."""

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
    @click.option(
        "--accept-change",
        metavar="DIGEST",
        help="With --against-ref: accept what differs if it has this digest; the verdict there is then advice.",
    )
    @click.option(
        "--baseline", type=click.Path(), metavar="FILE", help="The baseline; else the one that the policy names."
    )
    @click.option(
        "--allow-missing-baseline", is_flag=True, help="For a first run: if there is no baseline, its rules only warn."
    )
    @click.option("--slice", "slices", multiple=True, metavar="COLUMN", help="Show the metrics by this column too.")
    @click.option(
        "--today",
        type=DAY,
        metavar="DATE",
        help="The date that decides whether a quarantine has ended, such as 2026-11-17; else today, in UTC.",
    )
    @wraps(command)
    def with_bar(**arguments: Any) -> int:
        bar = BarOptions(**take_fields(BarOptions, arguments))
        if bar.accept_change is not None and bar.against_ref is None:
            raise WrongUsage(
                "option.needs-another", "--accept-change accepts a difference from a ref: name it with --against-ref"
            )
        return command(bar=bar, **arguments)

    return with_bar


def report_options(name: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Add the report options to a command, which takes them as `reports`; `name` is the option for report files."""

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @click.option(
            "--format", "format", type=REPORT_FORMAT, default="text", show_default=True, help="What to print."
        )
        @output_option(".html, .json, .md, .xml, .csv", name, "files")
        @meta_option
        @click.option(
            "--history", type=click.Path(), metavar="DIR", help="Add the run to the history in this folder, too."
        )
        @click.option("--strict", is_flag=True, help="Exit with 1 if there are warnings, even if the version passes.")
        @github_option
        @click.option("-v", "--verbose", is_flag=True, help="Print everything: all rules, metrics, slices and notes.")
        @click.option("--quiet", is_flag=True, help="Print only one line, fit for a chat message, and no progress.")
        @click.option(
            "--width",
            type=click.IntRange(40, 1000),
            metavar="COLUMNS",
            help="The width of the text report; else that of the terminal, or 80.",
        )
        @wraps(command)
        def with_reports(**arguments: Any) -> int:
            fields = take_fields(ReportOptions, arguments)
            return command(reports=ReportOptions(option=name, **fields), **arguments)

        return with_reports

    return decorate


# --- the command ------------------------------------------------------------------------------


@click.command("check", short_help="Judge results by a policy.", epilog=_EXAMPLES)
@click.argument("results", nargs=-1, required=True, type=click.Path(allow_dash=True))
@bar_options
@click.option("--agent", callback=agent_name, metavar="NAME", help=AGENT_HELP)
@click.option("--where", "where", multiple=True, metavar="COLUMN=VALUE", help=WHERE_HELP)
@click.option("--subset", is_flag=True, help=SUBSET_HELP)
@click.option("--input-format", type=INPUT_FORMAT, metavar="FORMAT", help=FORMAT_HELP)
@click.option("--map", "map_file", type=click.Path(), metavar="FILE", help=MAP_HELP)
@engine_options
@report_options("--output")
def command(  # noqa: PLR0913 - each is an argument of the command line
    *,
    results: tuple[str, ...],
    bar: BarOptions,
    agent: str | None,
    where: tuple[str, ...],
    subset: bool,
    input_format: str | None,
    map_file: str | None,
    engine: EngineOptions,
    reports: ReportOptions,
) -> int:
    """Judge recorded RESULTS by a policy.

    RESULTS are files (JSONL, a JSON array, CSV, Parquet; .gz and .zst too; logs of other tools), globs or folders of
    them, folders of highbar run, or - for standard input. Without a policy nothing is judged, and the exit code is 2;
    --policy typical judges by the typical thresholds (highbar metrics lists them).
    """
    outputs = reports.outputs()
    job = Job(
        results,
        agent=agent,
        where=where,
        input_format=input_format,
        mapping=map_file,
        engine=engine.choice(),
        wants=reports.wants(outputs, bar.slices, subset=subset),
        stdin=streams.standard_input(),
    )
    if any(os.path.lexists(output.file) for output in outputs):  # else there is nothing to overwrite
        from highbar.load import files  # not needed for help, completion and usage errors

        refuse_overwriting(outputs, files.inputs(results, bar.policy, map_file, bar.baseline))
    begin_outputs(outputs, REPORTERS, results)
    return judge_job(bar.on(job), bar, reports, outputs)


# --- judging, for `check` and `run` -----------------------------------------------------------


def judge_job(job: Job, bar: BarOptions, reports: ReportOptions, outputs: tuple[Output, ...]) -> int:
    """Judge the results of a job, report the verdict, and return the exit code.

    If nothing can be judged, says so in every report file and to GitHub, then raises InputError.
    """
    from highbar.bar.on_demand import with_readers  # the engine is not needed for help, completion and usage errors
    from highbar.pipeline import check_result  # as above

    if reports.history is not None and job.engine.name == "duckdb":  # no other engine computes digests of texts
        job = replace(job, wants=replace(job.wants, texts=True))
    try:
        with streams.watching(quiet=reports.quiet) as watch:
            if bar.against_ref is None:
                done = check_result(with_readers(job), watch)
            else:
                from highbar.bar.at_ref import checked_against_ref  # few checks need it, or git

                done = checked_against_ref(job, bar.against_ref, bar.accept_change, watch)
    except InputError as error:
        refuse_reports(outputs, reports, error)
        raise
    screen = streams.display(sys.stdout, width=reports.width, verbose=reports.verbose)
    screen = replace(screen, meta=reports.meta, report_option=reports.option)
    verdict = done.verdict
    code = _report(verdict, reports, outputs, screen)
    if reports.history is not None:
        code = _remember(job, done, reports.history, code, quiet=reports.quiet)
    return report_to_github(reports.github, code, lambda to: to.report_verdict(verdict, code, outputs))


def refuse_reports(outputs: tuple[Output, ...], reports: ReportOptions, error: InputError) -> None:
    """Say in every report file, and to GitHub, why there is no verdict."""
    problems = error.problems
    try:
        refuse_outputs(outputs, REPORTERS, problems)
    finally:
        report_to_github(reports.github, REFUSED, lambda to: to.report_problems(problems, REFUSED, outputs))


def _remember(job: Job, done: CheckResult, folder: str, code: int, *, quiet: bool) -> int:
    """Add the run to the history. Returns `code`, or 4 if the record cannot be written; the verdict stays the same."""
    from highbar.cli.history_add import remember  # few checks have a history

    try:
        remember(job, done, folder, quiet=quiet)
    except ReportError as error:
        streams.say(f"highbar: {error}")
        return NOT_WRITTEN
    return code


def _report(verdict: Verdict, reports: ReportOptions, outputs: tuple[Output, ...], screen: Display) -> int:
    """Print the report, then write the files, and return the exit code, which is 4 if any of these failed."""
    page = replace(PAGE, verbose=screen.verbose, meta=screen.meta)
    failures = report_everywhere(
        lambda: _printed_text(verdict, reports, screen), outputs, lambda name: reporter(name)(verdict, page)
    )
    if verdict.problems and (reports.quiet or reports.format not in ("text", "json")):
        streams.say_problems(verdict.problems)  # text and JSON contain the problems already
    if failures:
        for failure in failures:
            streams.say(f"highbar: {failure}")
        return NOT_WRITTEN
    if reports.strict and verdict.verdict == "pass" and _has_warnings(verdict):
        streams.say("highbar: strict, so these warnings make the exit code 1")
        return FAILED
    return EXIT[verdict.verdict]


def _has_warnings(verdict: Verdict) -> bool:
    from highbar.report.headline import warnings  # not needed for help and usage errors

    return warnings(verdict) > 0


def _printed_text(verdict: Verdict, reports: ReportOptions, screen: Display) -> str:
    if reports.quiet and reports.format == "text":
        from highbar.report import line  # only for --quiet

        return line.render(verdict) + "\n"
    return reporter(reports.format)(verdict, screen)
