"""`highbar history add`, and `--history` of `check` and `run`: store a judged run as a record."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec.structs import replace

from highbar.cli import streams
from highbar.cli.history import FOLDER
from highbar.cli.options import AGENT_HELP, FORMAT_HELP, INPUT_FORMAT, MAP_HELP, agent_name
from highbar.cli.streams import watching
from highbar.errors import InputError, Problem
from highbar.model.job import Job, Wants
from highbar.report.visible import visible

if TYPE_CHECKING:  # the engine is loaded only for a command that reads rows
    from highbar.bar.run_records import Origin
    from highbar.model.history import NewRun, RunRecord
    from highbar.store.history import WrittenRecord
    from highbar.verdicts import CheckResult

_HEAD = 512
"""Bytes in which to look for a verdict's schema, the first key of its document."""
_VERDICT = b'"highbar/verdict/'


@click.command("add", short_help="Add runs to the history.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(), metavar="VERDICT|RUN_FOLDER...")
@click.option(
    "--to", "folder", type=click.Path(), default=FOLDER, show_default=True, metavar="DIR", help="The history's folder."
)
@click.option("--branch", metavar="NAME", help="The branch; else what the CI system or git says.")
@click.option(
    "--commit", metavar="SHA", help="The commit; else what the run folder, the CI system or git says, in this order."
)
@click.option("--time", "given", metavar="TIME", help="When it was run, such as 2026-11-15T14:25:30Z.")
@click.option("--policy", type=click.Path(), metavar="FILE", help="The policy; else highbar.yaml, found here or above.")
@click.option("--agent", callback=agent_name, metavar="NAME", help=AGENT_HELP)
@click.option("--agent-version", metavar="V", help="Which version it is; else what the policy or the results say.")
@click.option("--subset", is_flag=True, help="Add a run of a part of its suite, too.")
@click.option("--input-format", type=INPUT_FORMAT, metavar="FORMAT", help=FORMAT_HELP)
@click.option("--map", "map_file", type=click.Path(), metavar="FILE", help=MAP_HELP)
@click.option("--quiet", is_flag=True, help="Print nothing unless something is wrong.")
def command(  # noqa: PLR0913 - each is an argument of the command line
    *,
    runs: tuple[str, ...],
    folder: str,
    branch: str | None,
    commit: str | None,
    given: str | None,
    policy: str | None,
    agent: str | None,
    agent_version: str | None,
    subset: bool,
    input_format: str | None,
    map_file: str | None,
    quiet: bool,
) -> int:
    """Add runs to the history, each as one record. The exit code is 0 whatever their verdicts are.

    Each argument is a run: the folder of a highbar run, other results, or a verdict that highbar check wrote as JSON.
    A folder or results are judged by the policy. A verdict is stored as it is, without counts per scenario, since it
    does not list the scenarios that passed. A run that is there already is not added again.
    """
    origin = _origin(branch, commit, given)
    job = Job(
        policy=policy,
        agent=agent,
        agent_version=agent_version,
        input_format=input_format,
        mapping=map_file,
        wants=Wants(subset=subset, run=True, texts=True),
    )
    problems: list[Problem] = []
    for name in runs:
        try:
            new = _new_run(name, job, replace(origin, now=datetime.now(UTC)), quiet=quiet)
        except InputError as error:  # the others are added anyway
            problems += error.problems
            continue
        _say_commit(name, new)
        done = _write(folder, new)
        if done.run.listed is None:
            streams.say(f"note: {name}: only the verdict is stored; add the results to store counts per scenario")
        if not quiet:
            streams.print_text(f"{_outcome_line(done, new.run)}\n")
    if problems:
        raise InputError(*problems)
    return 0


def _new_run(name: str, job: Job, origin: Origin, *, quiet: bool) -> NewRun:
    from highbar.bar import run_records  # the engine is loaded only here

    if _is_verdict(name):
        from highbar.store.verdict import read_verdict  # only for a verdict

        verdict = read_verdict(name)
        if verdict.verdict is None:
            raise InputError(_nothing_judged(name))
        new = run_records.new_run_of_verdict(verdict, origin)
        return replace(new, run=replace(new.run, agent_name=job.agent))
    from highbar import pipeline  # only for results
    from highbar.bar.on_demand import with_readers  # as above

    whole = replace(job, results=(name,))
    with watching(quiet=quiet) as watch:
        done = pipeline.check_result(with_readers(whole), watch)
    if done.verdict.verdict is None:
        raise InputError(_nothing_judged(name), *done.verdict.problems)
    return run_records.new_run(whole, done, origin)


def _nothing_judged(name: str) -> Problem:
    return Problem(
        "policy.missing",
        "nothing was judged, so there is nothing to remember",
        name,
        hint="name a policy: --policy FILE",
    )


def _is_verdict(name: str) -> bool:
    """Whether a path is a verdict as JSON; False if it cannot be opened, so that reading it as results reports why."""
    path = Path(name)
    try:
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            return _VERDICT in stream.read(_HEAD)
    except (OSError, ValueError):
        return False


def _origin(branch: str | None = None, commit: str | None = None, given: str | None = None) -> Origin:
    from highbar.bar.run_records import Origin  # not needed for help and usage errors
    from highbar.load.checkout import checkout  # as above

    time = None if given is None else _time(given)
    return Origin(checkout(os.environ, commit, branch), datetime.now(UTC), time, commit, branch)


def _time(text: str) -> datetime:
    from highbar.store.history_footer import latest_time  # see above

    try:
        found = datetime.fromisoformat(text)
        found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        hint = "write 2026-11-15 or 2026-11-15T14:25:30Z; without a zone it is UTC"
        raise InputError(Problem("option.bad-value", f"--time {text!r} is not a time", hint=hint)) from None
    if not 0 <= found.timestamp() <= latest_time():
        message = f"--time {text!r} is {'before 1970' if found.timestamp() < 0 else 'in the future'}"
        raise InputError(Problem("option.bad-value", message, hint="write when the run was made"))
    return found


def _write(folder: str, new: NewRun) -> WrittenRecord:
    from highbar.store import history as store  # see above

    return store.write(Path(folder), new)


def _say_commit(name: str, new: NewRun) -> None:
    """Warn if the commit of a run is unknown: such a run shows no drift."""
    if new.no_commit is not None:
        hint = "name it: highbar history add --commit SHA"
        streams.say(f"warning: {name}: the commit of the run is not known: {new.no_commit}; {hint}")


def _outcome_line(done: WrittenRecord, run: RunRecord) -> str:
    """A line that says whether `run` was added, or which record already has it."""
    if done.is_new:
        return f"added to the history: {done.file}"
    if done.is_completed:
        return f"already in the history, now with its scenarios: {done.file}"
    commit = done.run.commit if done.run.commit != run.commit else None
    agent = done.run.agent_name if done.run.agent_name != run.agent_name else None
    known = [f"commit {commit[:12]}"] if commit else []
    known += [f"the agent {visible(agent)}"] if agent else []
    return f"already in the history: {done.file}" + (f", as a run of {' and '.join(known)}" if known else "")


def remember(job: Job, done: CheckResult, folder: str, *, quiet: bool) -> None:
    """Add the run that a check just judged to the history. Raises ReportError if it cannot be written."""
    from highbar.bar import run_records  # the engine is loaded by now

    if done.verdict.verdict is None:
        streams.say("highbar: nothing was judged, so nothing was added to the history")
        return
    origin = _origin()
    new = run_records.new_run(job, done, origin)
    _say_commit(" ".join(job.results), new)
    written = _write(folder, new)
    if not quiet:
        streams.say(_outcome_line(written, new.run))
