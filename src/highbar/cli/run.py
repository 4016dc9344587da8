"""`highbar run`: a suite and an agent in, a run folder out, and with a policy a verdict."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct
from msgspec.structs import replace

from highbar.cli import streams
from highbar.cli.check import (
    BarOptions,
    ReportOptions,
    bar_options,
    judge_job,
    refuse_reports,
    report_options,
)
from highbar.cli.guard import INCONCLUSIVE, KILLED_BY
from highbar.cli.options import take_fields
from highbar.cli.outputs import begin_outputs, refuse_overwriting
from highbar.cli.usage import WrongUsage
from highbar.errors import InputError, Problem
from highbar.language.phrases import some
from highbar.model.job import Job
from highbar.report import REPORTERS, format_of

if TYPE_CHECKING:  # see command
    from highbar.model import Policy
    from highbar.running.choices import RunOptions
    from highbar.running.deciding import UntilDecided
    from highbar.running.preparing import Prepared
    from highbar.running.records import RunPlan
    from highbar.suite import Agent, Judge, Suite

SUITE = "suite.yaml"
_PACE = ("concurrency", "retries", "budget", "max_time")
"""Settings that affect no answer, so that a resumed run may change them."""

_EXAMPLES = """\b
Examples:
  highbar run suite.yaml
  highbar run suite.yaml --agent python:my_agent:answer --trials 3
  highbar run suite.yaml --agent http://localhost:8000/chat --budget '$5'
  highbar run suite.yaml --only 'SEC-*' --subset
  highbar run suite.yaml --shard 2/5 --no-check --output runs/shard-2
  highbar run suite.yaml --until-decided
  highbar run --resume runs/library-agent-20261116-142530
"""


class RunChoices(Struct, frozen=True, eq=False):
    """The options of the run, as written on the command line. None: use the suite's setting."""

    agent: str | None
    judge: str | None
    resume: str | None
    rerun_changed: bool
    output: str | None
    trials: int | None
    concurrency: str | None
    timeout: str | None
    retries: int | None
    budget: str | None
    max_time: str | None
    only: tuple[str, ...]
    category: tuple[str, ...]
    limit: int | None
    shard: tuple[int, int] | None
    seed: int | None
    until_decided: bool
    run_all: bool

    def settings(self) -> dict[str, Any]:
        """The parsed options that replace settings of the suite's `run` block. Raises InputError."""
        from highbar.running.choices import read_run_choices  # see command

        return read_run_choices({key: getattr(self, key) for key in ("trials", "timeout", *_PACE)})

    def options(self, agent_version: str | None, policy: Policy | None) -> RunOptions:
        """The parsed options of a new run; `policy` decides it with --until-decided. Raises InputError."""
        from highbar.running.choices import RunOptions  # see command
        from highbar.store.run_document import Chosen  # as above

        return RunOptions(
            self.settings(),
            None if self.agent is None else _agent(self.agent),
            agent_version,
            None if self.output is None else Path(self.output),
            Chosen(self.only, self.category, self.limit, self.shard),
            self.seed,
            judges=() if self.judge is None else (_judge(self.judge),),
            until_decided=policy.source if self.until_decided and policy is not None else None,
            policy=policy,
        )


def _agent(text: str) -> Agent:
    from highbar.suite.agent_text import read_agent_text  # most suites name their agent

    return read_agent_text(text)


def _judge(text: str) -> Judge:
    from highbar.suite.judge_text import read_judge_text  # most suites name their judge

    return read_judge_text(text, os.environ)


def _read_shard(_: click.Context, __: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """`2/5` as (2, 5); None if --shard was not given."""
    if value is None:
        return None
    from highbar.running.choices import read_shard  # most runs are of the whole suite

    return read_shard(value)


def _run_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options of a run to the command, whose function takes them as one argument, `choices`."""

    @click.option(
        "--agent",
        metavar="AGENT",
        help="The agent: python:module:function, an address, or 'command: words'. Else the one that the suite names.",
    )
    @click.option(
        "--judge",
        metavar="JUDGE",
        help="The judge of statements: MODEL@ADDRESS or python:module:function. Else the one that the suite names.",
    )
    @click.option("--resume", type=click.Path(), metavar="DIR", help="Continue the run in this folder.")
    @click.option("--rerun-changed", is_flag=True, help="With --resume: rerun scenarios that have changed since.")
    @click.option(
        "--output",
        type=click.Path(),
        metavar="DIR",
        help="The run folder; else runs/NAME-DATE-TIME. It must not exist.",
    )
    @click.option("--trials", type=int, metavar="N", help="How often each scenario is run.")
    @click.option("--concurrency", metavar="N", help="How many calls at once, or auto.")
    @click.option("--timeout", metavar="TIME", help="The timeout of one call, such as 60s.")
    @click.option(
        "--retries",
        type=int,
        metavar="N",
        help="How often to retry after a failure of the infrastructure, never of the agent.",
    )
    @click.option("--budget", metavar="USD", help="Begin no trial once the agent has cost this much, such as '$5'.")
    @click.option("--max-time", metavar="TIME", help="Begin no trial after this time, such as 20m.")
    @click.option(
        "--only", multiple=True, metavar="ID", help="Run only these scenarios; * matches any text. Repeatable."
    )
    @click.option("--category", multiple=True, metavar="NAME", help="Run only scenarios of this category. Repeatable.")
    @click.option("--limit", type=int, metavar="N", help="Run only the first N scenarios.")
    @click.option(
        "--shard",
        callback=_read_shard,
        metavar="K/N",
        help="Run part K of N, chosen by the ids. highbar check judges all N folders together.",
    )
    @click.option(
        "--seed",
        type=click.IntRange(0, 2**63 - 1),
        metavar="N",
        help="The seed of the random order of the scenarios; by default a new one. With a given one, sequential rules"
        " look only at the end.",
    )
    @click.option("--until-decided", is_flag=True, help="Stop soon after the policy's verdict is certain.")
    @click.option("--run-all", is_flag=True, help="With --resume: run every trial, even if the verdict is certain.")
    @wraps(command)
    def with_choices(**arguments: Any) -> int:
        fields = take_fields(RunChoices, arguments)
        return command(choices=RunChoices(**fields), **arguments)

    return with_choices


@click.command("run", short_help="Run an agent on a suite of scenarios, and judge it.", epilog=_EXAMPLES)
@click.argument("suite", required=False, type=click.Path())
@_run_options
@click.option("--subset", is_flag=True, help="Judge a run of a part (--only, --category, --limit, --shard).")
@click.option("--no-check", is_flag=True, help="Only run: exit with 0 if every trial has an answer or an error.")
@bar_options
@report_options("--report")
def command(
    *,
    suite: str | None,
    choices: RunChoices,
    subset: bool,
    no_check: bool,
    bar: BarOptions,
    reports: ReportOptions,
) -> int:
    """Run an agent on the scenarios of SUITE, and judge the results by a policy.

    SUITE is suite.yaml unless given. The answers are recorded in a run folder as they arrive: a run that was
    interrupted can be resumed, and highbar check judges the folder again. Without a policy the folder is written,
    nothing is judged, and the exit code is 2.
    """
    if choices.output == "-":  # commands that read results take - for standard input, not for a folder
        raise InputError(
            Problem("option.bad-value", "--output - names no folder", hint="--format says what is printed")
        )
    if choices.output is not None and format_of(choices.output) is not None:
        hint = f"--report {choices.output} writes a report; --output names the folder of the run"
        raise InputError(
            Problem("option.bad-value", f"--output {choices.output} has the ending of a report", hint=hint)
        )
    if choices.until_decided and (no_check or choices.run_all):
        raise WrongUsage(
            "option.conflict", f"--until-decided cannot be combined with {'--no-check' if no_check else '--run-all'}"
        )
    from highbar.cli.run_in_terminal import run_in_terminal  # not needed for help and usage errors
    from highbar.cli.unchanged import watch_files  # as above

    outputs = reports.outputs()
    if any(os.path.lexists(output.file) for output in outputs):  # else there is nothing to overwrite
        refuse_overwriting(outputs, _inputs(suite, choices, bar), reports.option)
    # Before the policy and the suite are read, so that no older verdict survives if one of them is invalid.
    begin_outputs(outputs, REPORTERS, ())
    try:
        policy = None if no_check else _policy(bar)
        until = partial(_until, choices=choices, bar=bar, reports=reports, policy=policy, subset=subset)
        prepared = _with_rates(_prepare(suite, choices, bar, reports, policy, until), policy)
        refuse_changed = watch_files(prepared, policy, bar.baseline)
        done, ended_by = run_in_terminal(prepared, quiet=reports.quiet, until=until(prepared.plan))
        # An interrupted run is not judged; the code is the one that a shell gives a process killed by this signal.
        if ended_by is not None:
            return KILLED_BY + ended_by
        if no_check:
            is_open = done.document.done.undecided or (done.document.judge is not None and done.document.judge.failed)
            return INCONCLUSIVE if is_open else 0
        if not done.document.whole and not subset:
            _say_outcomes(done.folder)
        # By the policy as it was read: the agent, which has run since, could have written another one.
        refuse_changed()
        # By the policy as it was read before: the agent, which has run since, could have written another one.
        job = Job((str(done.folder),), wants=reports.wants(outputs, bar.slices, subset=subset))
        job = replace(bar.on(job), policy=policy, suite_compared=choices.resume is None)
    except InputError as error:
        refuse_reports(outputs, reports, error)
        raise
    return judge_job(job, bar, reports, outputs)  # says by itself why there is no verdict


def _inputs(suite: str | None, choices: RunChoices, bar: BarOptions) -> list[str]:
    """Every file that the run reads, as far as its options, its folder and its policy name them."""
    from highbar.load import files  # not needed for help and usage errors

    resumed = () if choices.resume is None else (choices.resume,)
    found = [*files.inputs(resumed, bar.policy, bar.baseline), suite or SUITE]
    if choices.resume is not None:
        from highbar.running.folder import read_run  # few runs are resumed

        with suppress(InputError):  # the run itself says what is wrong with its folder
            found.append(read_run(Path(choices.resume)).plan.suite_file)
    return found


def _say_outcomes(folder: Path) -> None:
    from highbar.cli.run_in_terminal import outcomes  # see command

    for line in outcomes(folder):
        streams.say(line)


def _policy(bar: BarOptions) -> Policy:
    """The policy that will judge. Raises InputError if it is invalid, before any call costs money."""
    from highbar import policy as policies  # not needed for help and usage errors

    return policies.choose(bar.policy)


def _with_rates(prepared: Prepared, policy: Policy | None) -> Prepared:
    """The run with the judge's error rates from the policy's labels, which the test of its canaries uses."""
    labels = None if policy is None or policy.judge is None else policy.judge.labels
    if labels is None or prepared.open_judge is None:
        return prepared
    from highbar.running.judging.canaries import statement_rates  # few policies have labels
    from highbar.store.labels import read_labels  # as above

    return replace(prepared, judge_rates=statement_rates(read_labels(labels).trials))


def _refuse_another_suite(prepared: Prepared, judged_by: str) -> None:
    """Raise InputError if the policy names another suite, because it could not judge the results."""
    from highbar.load.run_folders import is_graded_by  # see command

    digest = hashlib.sha256(prepared.plan.suite_text).hexdigest()
    if not is_graded_by(judged_by, digest, prepared.suite.digest):
        message = f"the policy judges by another suite, {judged_by}"
        hint = "name the same suite in both, or run with --no-check"
        raise InputError(Problem("run.other-suite", message, prepared.suite.file, hint=hint))


def _prepare(
    suite: str | None,
    choices: RunChoices,
    bar: BarOptions,
    reports: ReportOptions,
    policy: Policy | None,
    refuse: Callable[[RunPlan], object],
) -> Prepared:
    """The run, ready to start or to resume. Raises InputError; `refuse` may raise it for the plan of a resumed run."""
    from highbar.load.checkout import checkout  # not needed for help and usage errors
    from highbar.running import preparing  # as above

    if choices.resume is not None:
        _refuse_beside_resume(suite, choices)
        with streams.progress_bar(quiet=reports.quiet, doing=f"reading {choices.resume}"):
            prepared = preparing.prepare_resume(
                Path(choices.resume),
                os.environ,
                choices.settings(),
                checkout(os.environ),
                rerun_changed=choices.rerun_changed,
                refuse=refuse,
            )
        if prepared.regraded and not reports.quiet:
            named = some(prepared.regraded, 5)
            streams.say(f"note: files of checks have changed; the answers are graded anew by them: {named}")
        if prepared.earlier_commit is not None:
            streams.say(
                f"note: the run began at commit {prepared.earlier_commit[:10]}, and another one is checked out now;"
                " if the agent changed, start a new run: recorded answers are not requested again"
            )
    else:
        if choices.rerun_changed or choices.run_all:
            raise WrongUsage(
                "option.needs-another",
                f"{'--rerun-changed' if choices.rerun_changed else '--run-all'} goes with --resume",
            )
        file = suite or SUITE
        if suite is None and not Path(SUITE).is_file():
            hint = f"name the suite, or write one: highbar init --agent makes {SUITE}, a policy and a tiny agent"
            raise InputError(Problem("suite.missing", f"there is no {SUITE} here", hint=hint))
        options = choices.options(bar.agent_version, policy)
        with streams.progress_bar(quiet=reports.quiet, doing=f"reading {file}"):
            prepared = preparing.prepare(Path(file), options, os.environ, checkout=checkout(os.environ))
        _say_notes(prepared.suite)
        _warn_of_texts(prepared.suite, policy, bar.slices)
        if policy is not None and policy.suite is not None:
            _refuse_another_suite(prepared, policy.suite.file)
    return prepared


def _until(
    plan: RunPlan, choices: RunChoices, bar: BarOptions, reports: ReportOptions, policy: Policy | None, *, subset: bool
) -> UntilDecided | None:
    """What decides the run early; None if every trial is to be run. Raises InputError if nothing can decide it."""
    if not choices.until_decided and (plan.until_decided is None or choices.run_all):
        return None
    from highbar.cli.deciding import until_decided  # most runs run every trial

    return until_decided(plan, bar, reports, policy, subset=subset)


def _say_notes(suite: Suite) -> None:
    """Print what a suite of another tool asks for that this run does not do."""
    for note in () if suite.rewritten is None else suite.rewritten.notes:
        streams.say(f"note: {suite.file}: {note}")


def _warn_of_texts(suite: Suite, policy: Policy | None, slices: Iterable[str]) -> None:
    """Print a warning about columns of text in the suite that neither it nor the policy names."""
    from highbar.policy import named_columns  # not needed for help and usage errors
    from highbar.suite import unread_columns  # as above

    known = {*slices, *(() if policy is None else named_columns(policy))}
    unread = [name for name in suite.own_texts if name not in known]
    if unread:
        streams.say(f"warning: {unread_columns(suite.file, unread)}")


def _refuse_beside_resume(suite: str | None, choices: RunChoices) -> None:
    """Raise UsageError for options that a resumed run takes from its folder: all that affect an answer or its grade."""
    given = {} if suite is None else {"SUITE": suite}
    for name in RunChoices.__struct_fields__:
        value = getattr(choices, name)
        if name not in ("resume", "rerun_changed", "until_decided", "run_all", *_PACE) and value not in (None, ()):
            given[f"--{name.replace('_', '-')}"] = value
    if given:
        raise WrongUsage("option.conflict", f"{', '.join(given)}: --resume takes this from the folder")
