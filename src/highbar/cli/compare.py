"""`highbar compare`: two runs in, what changed and whether it is real out. The policy's baseline rules decide."""

from __future__ import annotations

import os
import sys

import click
from msgspec.structs import replace

from highbar.cli import streams
from highbar.cli.guard import FAILED, INCONCLUSIVE, NOT_WRITTEN, REFUSED
from highbar.cli.options import (
    FORMAT_HELP,
    INPUT_FORMAT,
    MAP_HELP,
    SUBSET_HELP,
    WHERE_HELP,
    EngineOptions,
    Meta,
    engine_options,
    format_option,
    github_option,
    meta_option,
    output_option,
    report_to_github,
)
from highbar.cli.outputs import (
    Output,
    begin_outputs,
    read_outputs,
    refuse_everywhere,
    refuse_formats,
    refuse_overwriting,
    report_everywhere,
)
from highbar.cli.streams import watching
from highbar.errors import InputError, Problem
from highbar.model.comparison import Comparison
from highbar.model.job import Job, Wants
from highbar.report import COMPARISONS, PAGE

_EXIT = {None: 0, "pass": 0, "fail": FAILED, "inconclusive": INCONCLUSIVE}
_ONE_LINE = 1000  # columns; wider than any headline

_EXAMPLES = """\b
Examples:
  highbar compare v1.jsonl v2.jsonl
  highbar compare baseline.json results.jsonl --policy highbar.yaml
  highbar compare main.jsonl branch.jsonl --format markdown
"""


@click.command("compare", short_help="Say what changed between two runs, and whether it is real.", epilog=_EXAMPLES)
@click.argument("base", type=click.Path(allow_dash=True))
@click.argument("head", type=click.Path(allow_dash=True))
@click.option("--policy", type=click.Path(), metavar="FILE", help="The policy; else highbar.yaml, found here or above.")
@click.option("--slice", "slices", multiple=True, metavar="COLUMN", help="Show what changed by this column too.")
@click.option("--where", "where", multiple=True, metavar="COLUMN=VALUE", help=WHERE_HELP)
@click.option("--subset", is_flag=True, help=SUBSET_HELP)
@click.option("--input-format", type=INPUT_FORMAT, metavar="FORMAT", help=FORMAT_HELP)
@click.option("--map", "map_file", type=click.Path(), metavar="FILE", help=MAP_HELP)
@engine_options
@format_option(tuple(COMPARISONS))
@output_option(".html, .json, .md, .xml")
@meta_option
@click.option("--strict", is_flag=True, help="Exit with 1 if there are warnings, even if the rules pass.")
@github_option
@click.option("--quiet", is_flag=True, help="Print only the headline, as one line, and no progress.")
def command(  # noqa: PLR0913 - each is an argument of the command line
    *,
    base: str,
    head: str,
    policy: str | None,
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
    quiet: bool,
) -> int:
    """Compare two runs of the same scenarios, BASE and HEAD: results files, or baselines.

    Both are over the scenarios that are in both. A rule of the policy's baseline block decides; without one the exit
    code is 0.
    """
    wanted = read_outputs(outputs)
    refuse_formats(wanted, COMPARISONS, "a comparison")
    from highbar import pipeline  # the engine is loaded only here
    from highbar.bar.on_demand import with_readers  # as above
    from highbar.load import files  # as above

    job = Job(
        (head,),
        policy=policy,
        where=where,
        input_format=input_format,
        mapping=map_file,
        engine=engine.choice(),
        wants=Wants(slices, subset=subset),
        stdin=streams.standard_input(),
    )

    if any(os.path.lexists(output.file) for output in wanted):
        refuse_overwriting(wanted, files.inputs([base, head], policy, map_file))
    begin_outputs(wanted, COMPARISONS, [base, head])
    try:
        with watching(quiet=quiet) as watch:
            # Checked inside the `try`, so that the report files and GitHub say why, too.
            _refuse_two_streams(base, head)
            job = with_readers(job)
            before = replace(job, results=(base,))
            comparison = pipeline.compare(before, job, watch)
            if any(COMPARISONS[name].details for name in (report_format, *(output.format for output in wanted))):
                from highbar.changes.outputs import with_outputs  # few reports show them

                comparison = with_outputs(comparison, before, job)
    except InputError as error:
        problems = error.problems
        report_to_github(github, REFUSED, lambda to: to.report_no_comparison(problems, REFUSED, wanted))
        return refuse_everywhere(error, report_format, wanted, COMPARISONS)
    code = _report(comparison, report_format, wanted, meta, quiet=quiet)
    if strict and code == 0 and any(rule.outcome != "pass" for rule in comparison.rules):
        streams.say("highbar: strict, so these warnings make the exit code 1")
        code = FAILED
    return report_to_github(github, code, lambda to: to.report_comparison(comparison, code, wanted))


def _refuse_two_streams(base: str, head: str) -> None:
    if base == head == "-":
        raise InputError(
            Problem("file.standard-input", "both runs are standard input", hint="name a file for one of them")
        )


def _report(comparison: Comparison, report_format: str, outputs: tuple[Output, ...], meta: Meta, *, quiet: bool) -> int:
    """Print the report, then write the files, all even if one fails; returns the exit code, 4 if one failed."""
    page = replace(PAGE, meta=meta)
    failures = report_everywhere(
        lambda: _printed_text(comparison, report_format, meta, quiet=quiet),
        outputs,
        lambda name: COMPARISONS[name](comparison, page),
    )
    for failure in failures:
        streams.say(f"highbar: {failure}")
    return NOT_WRITTEN if failures else _EXIT[comparison.verdict]


def _printed_text(comparison: Comparison, report_format: str, meta: Meta, *, quiet: bool) -> str:
    screen = replace(streams.display(sys.stdout), meta=meta)
    if quiet and report_format == "text":
        from highbar.report.comparison_text import render_headline  # only for --quiet

        return render_headline(comparison, replace(screen, width=_ONE_LINE)) + "\n"
    return COMPARISONS[report_format](comparison, screen)
