"""`highbar baseline`: record a run to compare later ones with, show it, and raise thresholds to it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from highbar.cli import streams
from highbar.cli.app import CommandGroup, help_of_group
from highbar.cli.options import (
    FORMAT_HELP,
    INPUT_FORMAT,
    MAP_HELP,
    SUBSET_HELP,
    WHERE_HELP,
    EngineOptions,
    engine_options,
    format_option,
)
from highbar.cli.streams import watching
from highbar.cli.usage import WrongUsage
from highbar.errors import InputError, Problem
from highbar.model.job import Job, Wants
from highbar.statistics.pooled import RUNS

if TYPE_CHECKING:  # the engine is loaded only for a command that reads rows
    from highbar.bar.recording import RecordedBaseline

_EXAMPLES = """\b
Examples:
  highbar baseline record results.jsonl --date 2026-11-15
  highbar baseline record --history history/ --runs 5
  highbar baseline show
  highbar baseline ratchet
"""
_UNSAID = "\x00"
"""The value of --force if no reason follows it; --reason may give one. No argument can contain this character."""


_COMMANDS = {
    "record": "highbar.cli.baseline:record_run",
    "show": "highbar.cli.baseline:show_baseline",
    "ratchet": "highbar.cli.ratchet",
}


@click.group(
    "baseline",
    cls=CommandGroup,
    table=_COMMANDS,
    short_help="Record a run that later ones are compared with.",
    epilog=_EXAMPLES,
)
@click.pass_context
def command(context: click.Context) -> int:
    """Record a run to compare later ones with (record), print it (show), or raise thresholds to it (ratchet)."""
    return help_of_group(context)


@click.command("record", short_help="Write a run into baseline.json.")
@click.argument("results", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "--history", type=click.Path(), metavar="DIR", help="Instead of RESULTS: pool the last runs of a history."
)
@click.option(
    "--runs",
    type=click.IntRange(1, 1000),
    metavar="N",
    help=f"With --history: how many runs are pooled, failed ones included; {RUNS} by default.",
)
@click.option("--policy", type=click.Path(), metavar="FILE", help="The policy; else highbar.yaml, found here or above.")
@click.option(
    "--output",
    "--baseline",
    "file",
    type=click.Path(),
    metavar="FILE",
    help="Where it is written; else where the policy says, else baseline.json.",
)
@click.option("--agent-version", metavar="V", help="Which version it is of; else what the policy or the results say.")
@click.option("--date", metavar="DATE", help="When it was run, as a label; nothing is compared by it.")
@click.option(
    "--force",
    is_flag=False,
    flag_value=_UNSAID,
    metavar="REASON",
    help="Record a run that did not pass or is not complete; the reason is stored, and shown in every report.",
)
@click.option("--reason", metavar="REASON", help="Why --force is used, if --force itself does not say so.")
@click.option("--where", "where", multiple=True, metavar="COLUMN=VALUE", help=WHERE_HELP)
@click.option("--subset", is_flag=True, help=SUBSET_HELP)
@click.option("--input-format", type=INPUT_FORMAT, metavar="FORMAT", help=FORMAT_HELP)
@click.option("--map", "map_file", type=click.Path(), metavar="FILE", help=MAP_HELP)
@engine_options
@click.option("--quiet", is_flag=True, help="Print nothing.")
def record_run(  # noqa: PLR0913 - each is an argument of the command line
    *,
    results: tuple[str, ...],
    history: str | None,
    runs: int | None,
    policy: str | None,
    file: str | None,
    agent_version: str | None,
    date: str | None,
    force: str | None,
    reason: str | None,
    where: tuple[str, ...],
    subset: bool,
    input_format: str | None,
    map_file: str | None,
    engine: EngineOptions,
    quiet: bool,
) -> int:
    """Record RESULTS as the baseline: a complete run that passes the policy.

    With --history the last runs of a history are recorded together, whether they passed or not: one run that is
    recorded because it passed is a lucky one. They are of one line of commits, one agent, one judge and one scoring,
    and each scenario has the same text in all of them. Together they must meet the demands on metrics.

    The file is written under a temporary name, then renamed. If someone else changed the baseline in the meantime,
    theirs stays, and this command says so.
    """
    why = _reason(force, reason)
    if history is not None:
        _refuse_beside_history(results=results, where=where, input_format=input_format, map=map_file, subset=subset)
        from highbar.bar.pooled_recording import record_pooled  # only for a history

        job = Job(policy=policy, agent_version=agent_version)
        return _say(record_pooled(job, history, runs or RUNS, file=file, date=date, force=why), history, quiet=quiet)
    if runs is not None:
        raise InputError(
            Problem("option.needs-another", "--runs is for --history", hint="leave it out, or add --history DIR")
        )
    if not results:
        raise WrongUsage("option.missing", "name the results of a run, or --history DIR")
    from highbar.bar.recording import record as record_baseline  # the engine is loaded only here

    job = Job(
        results,
        policy=policy,
        agent_version=agent_version,
        where=where,
        input_format=input_format,
        mapping=map_file,
        engine=engine.choice(),
        wants=Wants(subset=subset),
        stdin=streams.standard_input(),
    )
    with watching(quiet=quiet) as watch:
        done = record_baseline(job, watch, file=file, date=date, force=why)
    return _say(done, quiet=quiet)


def _say(done: RecordedBaseline, history: str = "", *, quiet: bool) -> int:
    for one in done.damaged:
        streams.say(f"warning: {history.rstrip('/')}/{one.file} is left out: {one.reason}")
    if not quiet:
        from highbar.report.baseline_text import render_recorded  # only if there is something to print

        streams.print_text(render_recorded(done.baseline, done.file, done.reasons, done.notes, replaced=done.replaced))
    return 0


def _refuse_beside_history(**given: object) -> None:
    """Raise InputError for options on how results are read: the runs of a history are judged already."""
    named = [
        "RESULTS" if name == "results" else f"--{name.replace('_', '-')}" for name, value in given.items() if value
    ]
    if named:
        raise InputError(
            Problem(
                "option.conflict", f"--history pools runs that were judged; {', '.join(named)} has no effect on them"
            )
        )


def _reason(force: str | None, reason: str | None) -> str | None:
    if force is None and reason is not None:
        raise InputError(
            Problem("option.needs-another", "--reason is for --force", hint="leave it out, or add --force")
        )
    if force is None:
        return None
    found = reason if force == _UNSAID else force
    if force != _UNSAID and reason is not None:
        raise InputError(Problem("option.twice", "the reason for --force is given twice", hint="give it once"))
    if found is None or not found.strip():
        raise InputError(
            Problem(
                "option.needs-another",
                "--force without a reason",
                hint='--force "why this run is the one to compare with"',
            )
        )
    return found


@click.command("show", short_help="Say what a baseline holds.")
@click.argument("file", required=False, type=click.Path())
@click.option("--policy", type=click.Path(), metavar="FILE", help="The policy that names it, if FILE is not given.")
@format_option()
def show_baseline(*, file: str | None, policy: str | None, report_format: str) -> int:
    """Say what the baseline in FILE holds; without FILE, that of the policy here, or baseline.json."""
    from highbar import policy as policies  # not needed for help and usage errors
    from highbar.store import baseline_reading  # as above

    found = baseline_reading.read_baseline(file or policies.baseline_file(policies.choose(policy)))
    if report_format == "json":
        from highbar.store.baseline_text import render  # only for JSON

        streams.print_text(render(found))
    else:
        from highbar.report.baseline_text import render_baseline  # only for text

        streams.print_text(render_baseline(found, streams.display(sys.stdout)))
    return 0
