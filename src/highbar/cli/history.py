"""`highbar history`: remember runs, list them, and show how metrics change over time."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from highbar.cli import streams
from highbar.cli.app import CommandGroup, help_of_group
from highbar.cli.guard import FAILED, INCONCLUSIVE
from highbar.cli.options import DAY, format_option
from highbar.errors import InputError, Problem

if TYPE_CHECKING:  # not needed for help and usage errors
    from highbar.history import History
    from highbar.history.drift import Drift
    from highbar.model.history import DamagedRecord, RunRecord

_EXAMPLES = """\b
Examples:
  highbar check results.jsonl --history history/
  highbar history add runs/library-agent-20261116-142530
  highbar history list --branch main --last 20
  highbar history trend
  highbar history trend pass_rate
  highbar history trend --branch main --fail-on drift
  highbar history flaky --runs 10
  highbar history page --output site/
  highbar history prune --older-than 90d
"""
_COMMANDS = {
    "add": "highbar.cli.history_add",
    "list": "highbar.cli.history:list_runs",
    "show": "highbar.cli.history:show_run",
    "trend": "highbar.cli.history:trend",
    "flaky": "highbar.cli.history:name_flaky",
    "page": "highbar.cli.history_page",
    "prune": "highbar.cli.history_prune",
}
FOLDER = "history"
_COMPARED = 2


@click.group(
    "history",
    cls=CommandGroup,
    table=_COMMANDS,
    short_help="Remember runs, and show how metrics change.",
    epilog=_EXAMPLES,
)
@click.pass_context
def command(context: click.Context) -> int:
    """Remember runs (add), list them (list, show), show how metrics change (trend, page).

    flaky names the scenarios that pass only sometimes; prune removes old runs.
    """
    return help_of_group(context)


history_option = click.option(
    "--history",
    "folder",
    type=click.Path(),
    default=FOLDER,
    show_default=True,
    metavar="DIR",
    help="The folder of the history.",
)
branch_option = click.option("--branch", metavar="NAME", help="Only runs of this branch.")
agent_option = click.option("--agent", metavar="NAME", help="Only runs of the agent with this name.")
_last_option = click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N runs.")


@click.command("list", short_help="List the runs.")
@history_option
@branch_option
@agent_option
@_last_option
@format_option()
def list_runs(*, folder: str, branch: str | None, agent: str | None, last: int | None, report_format: str) -> int:
    """List the runs of a history in the order of time."""
    history = read_folder(folder)
    runs = last_of(history, branch, agent, last)
    if report_format == "json":
        from highbar.store.history_documents import write_list  # only for JSON

        _put_json(write_list(folder, runs, history.damaged))
    else:
        from highbar.report.history_text import render_list  # only for text

        streams.print_text(render_list(runs, streams.display(sys.stdout)))
    return 0


@click.command("show", short_help="Show one run.")
@click.argument("record")
@history_option
@format_option()
@click.option("-v", "--verbose", is_flag=True, help="Print everything: all rules, metrics, slices and notes.")
def show_run(*, record: str, folder: str, report_format: str, verbose: bool) -> int:
    """Show the run whose RECORD, or commit, begins with these digits: where it comes from, and its verdict.

    RECORD may also be the file of a record.
    """
    from highbar import history as histories  # not needed for help and usage errors
    from highbar.store import history as store  # as above

    if record.endswith(".parquet") and os.path.dirname(record):  # noqa: PTH120 - "" if there is none
        folder = str(Path(record).parent)
    history = read_folder(folder)
    found = store.read(store.paths(folder, [histories.find_run(history, record)])[0])
    if report_format == "json":
        from highbar.store.history_documents import write_run  # only for JSON

        _put_json(write_run(found))
    else:
        from highbar.report.history_text import render_origin  # only for text
        from highbar.report.text import render  # as above

        screen = streams.display(sys.stdout, verbose=verbose)
        streams.print_text(f"{render_origin(found.run, screen)}\n{render(found.verdict, screen)}")
    return 0


@click.command("trend", short_help="Show how metrics change from run to run.")
@click.argument("metric", required=False)
@history_option
@branch_option
@agent_option
@_last_option
@click.option("--all", "everything", is_flag=True, help="All metrics, and not only those that a rule is about.")
@click.option(
    "--fail-on",
    type=click.Choice(["drift"]),
    help="Exit with 1 if scenarios pass less and less often, and with 3 if that is open.",
)
@format_option()
def trend(
    *,
    metric: str | None,
    folder: str,
    branch: str | None,
    agent: str | None,
    last: int | None,
    everything: bool,
    fail_on: str | None,
    report_format: str,
) -> int:
    """Show how metrics change from run to run, each with its threshold; with METRIC, that one as a chart.

    A line is cut where suite, scoring or judge changed: values on both sides are not comparable. The last line says
    whether scenarios pass less and less often; an agent that does not change raises that alarm in at most one of
    twenty histories.
    """
    from highbar.history.drift import drift  # not needed for help and usage errors
    from highbar.history.series import metrics_of_runs, series  # as above

    history = read_folder(folder)
    runs = last_of(history, branch, agent, last)
    known = metrics_of_runs(runs)
    if metric is not None and metric not in known:
        raise InputError(_unknown(metric, known, folder))
    found = [series(runs, name) for name in (known if metric is None else (metric,))]
    if metric is None and not everything:
        found = [one for one in found if one.is_gated] or found
    judged = runs if branch is not None or fail_on is None else _of_own_branch(runs, folder)
    if fail_on is not None:
        _refuse_several_agents(judged, folder)
    drifting = drift(history, judged)
    code = drift_code(drifting, history.damaged, unseen=len(runs) - len(judged)) if fail_on else 0
    if code == INCONCLUSIVE:
        streams.say("highbar: damaged records, or runs that are left out, leave open whether there is drift")
    say_damaged(folder, drifting.damaged)
    if report_format == "json":
        from highbar.report.history_drift import write_drift  # only for JSON
        from highbar.store.history_documents import write_trends  # as above

        _put_json(write_trends(folder, found, history.damaged, write_drift(drifting)))
        return code
    from highbar.report.history_drift import render_drift  # only for text
    from highbar.report.history_text import render_chart, render_trends  # as above

    screen = streams.display(sys.stdout)
    shown = render_trends(found, runs, screen) if metric is None else render_chart(found[0], runs, screen)
    streams.print_text(shown + render_drift(drifting, screen))
    return code


def drift_code(drifting: Drift, damaged: Sequence[DamagedRecord], unseen: int = 0) -> int:
    """The exit code of `--fail-on drift`: 1 on an alarm, 3 if damaged, left-out or `unseen` runs may hide one, else 0.

    `unseen` counts the runs of other branches. They and left-out runs matter only if nothing is left to compare.
    """
    if drifting.found.is_alarm:
        return FAILED
    chosen = drifting.chosen
    alone = len(chosen.runs) < _COMPARED and (chosen.left_out or unseen)
    return INCONCLUSIVE if damaged or drifting.damaged or chosen.maybe_missing or alone else 0


def _of_own_branch(runs: Sequence[RunRecord], folder: str) -> Sequence[RunRecord]:
    """The runs of the checked-out branch; all runs if they have only one branch.

    Raises InputError if the branch is unclear: the choice must not depend on which record is the newest.
    """
    from highbar.load.checkout import checkout  # only for --fail-on

    known = {run.branch for run in runs}
    if len(known) < _COMPARED:
        return runs
    branch = checkout(os.environ).branch
    if branch is not None and branch in known:
        return [run for run in runs if run.branch == branch]
    names = ", ".join(sorted(name for name in known if name is not None)[:10])
    raise InputError(
        Problem("history.several", "the runs are of several branches", folder, hint=f"name one with --branch: {names}")
    )


def _refuse_several_agents(runs: Sequence[RunRecord], folder: str) -> None:
    """Raise InputError if the runs are of several agents: the choice must not depend on the newest record."""
    names = sorted({run.agent_name for run in runs if run.agent_name is not None})
    if len({run.agent_name for run in runs}) > 1:
        hint = f"name one with --agent: {', '.join(names[:10])}"
        raise InputError(
            Problem("history.several", "the runs are of several agents, or some do not say which", folder, hint=hint)
        )


def _unknown(metric: str, known: Sequence[str], folder: str) -> Problem:
    from highbar.language.spelling import did_you_mean  # only for a metric that is not there

    hint = did_you_mean(metric, known) or f"these runs have {', '.join(known[:10]) or 'none'}"
    return Problem("history.not-found", f"no run has the metric {metric!r}", folder, hint=hint)


def read_folder(folder: str, *, may_be_empty: bool = False) -> History:
    """The history in a folder; prints damaged records to standard error. Raises InputError if it has no records."""
    from highbar import history as histories  # not needed for help and usage errors

    found = histories.read_history(folder)
    say_damaged(folder, found.damaged)
    if not (found.runs or found.damaged or may_be_empty):
        raise InputError(Problem("history.empty", "there are no runs in it", folder, hint=histories.FIRST))
    return found


def say_damaged(folder: str, damaged: Sequence[DamagedRecord]) -> None:
    """Print the damaged records, which are left out, to standard error."""
    for one in damaged:
        streams.say(f"warning: {folder.rstrip('/')}/{one.file} is left out: {one.reason}")


def last_of(history: History, branch: str | None, agent: str | None, last: int | None) -> tuple[RunRecord, ...]:
    """The last runs of a branch and an agent; None means all. Raises InputError if no run has that name."""
    from highbar.history import runs_of  # not needed for help and usage errors

    found = runs_of(history, branch, agent)
    return found if last is None else found[-last:]


def _put_json(document: dict[str, Any]) -> None:
    from highbar.store.writing import encode  # only for JSON

    streams.print_text(encode(document))


@click.command("flaky", short_help="Name the scenarios that pass only sometimes.")
@history_option
@branch_option
@agent_option
@click.option(
    "--runs", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Pool at most the last N runs."
)
@click.option(
    "--today", type=DAY, metavar="DATE", help="The day from which the quarantine counts 30 days; else today, in UTC."
)
@format_option()
def name_flaky(
    *, folder: str, branch: str | None, agent: str | None, runs: int, today: date | None, report_format: str
) -> int:
    """Name the scenarios that passed and failed in the last runs, with the rate at which they pass.

    Those that went back and forth are printed as a quarantine to paste into the policy, with a last day.

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
        streams.print_text(render_flaky(found, today or datetime.now(UTC).date(), streams.display(sys.stdout)))
    return 0
