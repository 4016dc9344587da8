"""`highbar check`: results and a policy in, a verdict out, as reports and as the exit code."""

from __future__ import annotations

import os

import click

from highbar.cli import streams
from highbar.cli.judging import BarOptions, ReportOptions, bar_options, judge_job, report_options
from highbar.cli.options import (
    AGENT_HELP,
    FORMAT_HELP,
    INPUT_FORMAT,
    MAP_HELP,
    SUBSET_HELP,
    WHERE_HELP,
    EngineOptions,
    agent_name,
    engine_options,
)
from highbar.cli.outputs import begin_outputs, refuse_overwriting
from highbar.model.job import Job
from highbar.report import REPORTERS

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
    return judge_job(bar.on(job), bar.against_ref, reports, outputs)
