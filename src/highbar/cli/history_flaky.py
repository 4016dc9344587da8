"""`highbar history flaky`: list the scenarios that pass only sometimes."""

from __future__ import annotations

import sys

import click

from highbar.cli import streams
from highbar.cli.history import agent_option, branch_option, history_option, last_of, read_folder, say_damaged
from highbar.cli.options import format_option


@click.command("flaky", short_help="Name the scenarios that pass only sometimes.")
@history_option
@branch_option
@agent_option
@click.option(
    "--runs", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Pool at most the last N runs."
)
@format_option()
def command(*, folder: str, branch: str | None, agent: str | None, runs: int, report_format: str) -> int:
    """Name the scenarios that passed and failed in the last runs, with the rate at which they pass.

    Only runs with the same scenario text, the same agent settings, judge and scoring as the last run are pooled,
    of its branch. The interval covers the true rate in nine of ten cases.
    """
    from highbar.history.flaky import flaky  # not needed for help and usage errors
    from highbar.report.history_drift import render_flaky, write_flaky  # as above

    history = read_folder(folder)
    found = flaky(history, last_of(history, branch, agent, None), runs)
    say_damaged(folder, found.damaged)
    if report_format == "json":
        from highbar.store.writing import encode  # only for JSON

        streams.print_text(encode(write_flaky(folder, found, history.damaged)))
    else:
        streams.print_text(render_flaky(found, streams.display(sys.stdout)))
    return 0
