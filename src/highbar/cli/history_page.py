"""`highbar history page`: a history as one HTML page."""

from __future__ import annotations

from pathlib import Path

import click

from highbar.cli import streams
from highbar.cli.history import FOLDER, agent_option, branch_option, last_of, read_folder, say_damaged
from highbar.errors import InputError, Problem, ReportError
from highbar.language.phrases import count

_FILE = "index.html"


@click.command("page", short_help="Write the history as an HTML page.")
@click.argument("folder", required=False, type=click.Path(), metavar="[HISTORY]")
@click.option("--history", "named", type=click.Path(), metavar="DIR", help="The same as HISTORY.")
@click.option(
    "-o", "--output", type=click.Path(), required=True, metavar="DIR", help=f"The folder of {_FILE}; made if needed."
)
@branch_option
@agent_option
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N runs.")
@click.option("--quiet", is_flag=True, help="Print nothing unless something is wrong.")
def command(
    *,
    folder: str | None,
    named: str | None,
    output: str,
    branch: str | None,
    agent: str | None,
    last: int | None,
    quiet: bool,
) -> int:
    """Write the history in the folder HISTORY (else history) as one page: DIR/index.html.

    It shows verdicts, one chart for each metric with its thresholds, and which scenarios are unstable. The page fetches
    nothing, and needs no server. The exit code is 0 whatever the verdicts are.
    """
    from highbar.history.overview import overview  # not needed for help and usage errors
    from highbar.report.html.history import render  # as above

    if folder is not None and named is not None:
        raise InputError(
            Problem("option.twice", "the history is named twice", hint="name it once: HISTORY or --history")
        )
    history = read_folder(folder or named or FOLDER)
    runs = last_of(history, branch, agent, last)
    if not runs:
        raise InputError(Problem("history.empty", "there is no run, so there is nothing to show", history.folder))
    view = overview(history, runs)
    say_damaged(history.folder, view.stability.damaged)
    target = Path(output) / _FILE
    _write(target, render(view))
    if not quiet:
        shown = f" (the last {len(view.runs)} of {view.total})" if view.total > len(view.runs) else ""
        streams.say(f"{count(len(view.runs), 'run')}{shown}: {target}")
    return 0


def _write(target: Path, page: str) -> None:
    from highbar.store.writing import replace_file  # see command

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        replace_file(target, page.encode())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ReportError(f"{target} could not be written: {reason}") from error
