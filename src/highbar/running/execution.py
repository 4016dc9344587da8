"""The parts of a run in order: call → record → grade. The output is a folder with results; the caller judges it."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.running import folder
from highbar.running.agents.environment import variables, variables_of
from highbar.running.calls import Caller
from highbar.running.finishing import RunJournal, grade_run
from highbar.running.folder import RunFolder
from highbar.running.grading import Grader, says_failed
from highbar.running.loops import run_in_loop
from highbar.running.order import StartOrder
from highbar.running.preparing import Prepared, utc
from highbar.running.progress import ProgressState
from highbar.running.records import TrialEnded
from highbar.running.scheduling import Timing, run_trials
from highbar.running.stopping import NothingCalled, StopRequest
from highbar.running.summary import Summary, Tally
from highbar.store.run_document import FINISHED, Chosen, RunDocument, RunEnd
from highbar.suite import Suite, read

if TYPE_CHECKING:  # most suites need no judge, and most runs run every trial
    from highbar.running.deciding import LiveCheck, UntilDecided
    from highbar.running.judging.live_judging import RunJudge


MOST_TO_JUDGE = 64
"""A run with `--until-decided` begins no trial while this many answers wait for the judge."""


class FinishedRun(Struct, frozen=True, eq=False):
    """A run that has ended, and its results."""

    folder: Path
    suite: Suite
    summary: Summary
    progress: ProgressState
    document: RunDocument


def run_prepared(
    prepared: Prepared,
    stop: StopRequest | None = None,
    *,
    count_failures: bool = False,
    until: UntilDecided | None = None,
) -> FinishedRun:
    """Call the agent, record its answers, and write the results.

    `count_failures` grades each answer as it comes, so that progress says how many failed. `until` ends the run as soon
    as its verdict is certain. Raises InputError if the agent cannot be called at all, or reports two versions;
    ReportError if the folder cannot be written; NothingCalled if `stop` was requested before the agent was ready.
    """
    called = _call_agent(prepared, stop or StopRequest(), until, count_failures=count_failures)
    opened, summary = run_in_loop(called)
    with opened:
        opened.finish(_end_of(summary), utc(datetime.now(UTC)))
        recorded = RunJournal(opened.path, opened.history, opened.journal.end)
        document = grade_run(prepared, recorded, opened.write_results)
        opened.write_document(document)
    # Only now: a run that failed keeps its folder, so that it can be resumed.
    _refuse_failed(summary, prepared, document)
    return FinishedRun(opened.path, prepared.suite, summary, prepared.progress, document)


def _end_of(summary: Summary) -> RunEnd:
    # A run that was refused, or whose agent reported two versions, did not finish: it is recorded as interrupted.
    return next((how for how in FINISHED if how == summary.how), "interrupted")


async def _call_agent(
    prepared: Prepared, stop: StopRequest, until: UntilDecided | None, *, count_failures: bool
) -> tuple[RunFolder, Summary]:
    """Run the remaining trials, and return the open folder. It is created once the agent is ready."""
    opened = prepared.resumed
    try:
        async with AsyncExitStack() as stack:
            looks = await _open_live_check(stack, prepared, opened, stop, until)
            if stop.is_decided:  # the agent is not even opened, which may take minutes
                opened = opened or folder.create(prepared.path, prepared.plan)
                return opened, _nothing_left(prepared, opened)
            caller = await _open_agent(stack, prepared, stop)
            if opened is None:
                opened = folder.create(prepared.path, prepared.plan)
            judge = await _open_judge(stack, prepared, opened, stop)
            record = _recording(prepared, opened, judge, count_failures=count_failures)
            summary = await _run_trials(prepared, opened, caller, stop, looks, record)
            if judge is not None:
                summary = await _finish_judging(judge, summary, stop)
    except BaseException:
        if opened is not None:
            opened.close()
        raise
    return opened, summary


async def _open_live_check(
    stack: AsyncExitStack, prepared: Prepared, opened: RunFolder | None, stop: StopRequest, until: UntilDecided | None
) -> LiveCheck | None:
    """The check that looks whether the run is decided, after its first look; None if every trial is to run."""
    if until is None:
        return None
    from highbar.running.deciding import LiveCheck  # most runs run every trial

    looks = await stack.enter_async_context(LiveCheck(prepared, until, stop))
    await looks.look(opened)
    return looks


def _nothing_left(prepared: Prepared, opened: RunFolder) -> Summary:
    """The summary of a session that called nothing, because the verdict was certain already."""
    how: RunEnd = "complete" if next(opened.history.left(), None) is None else "decided"
    return Tally(prepared.progress, prepared.suite.run).summary(how, 0.0, None, None)


async def _run_trials(
    prepared: Prepared,
    opened: RunFolder,
    caller: Caller,
    stop: StopRequest,
    looks: LiveCheck | None,
    record: Callable[[TrialEnded], object],
) -> Summary:
    # A list, because the history changes while trials end.
    order = iter([*opened.history.left()]) if looks is None else looks.order(opened)
    trials = run_trials(
        ((prepared.suite.scenarios[id_], trial) for id_, trial in order),
        caller,
        prepared.suite.run,
        on_begin=opened.append,
        on_end=record,
        progress=prepared.progress,
        stop=stop,
        # Otherwise an agent that is faster than its judge runs every trial before anything can be decided.
        timing=Timing(hold=lambda: looks is not None and prepared.progress.to_judge >= MOST_TO_JUDGE),
    )
    if looks is None or not isinstance(order, StartOrder):
        return await trials
    return await looks.run_with_looks(trials, opened, order)


async def _open_judge(
    stack: AsyncExitStack, prepared: Prepared, opened: RunFolder, stop: StopRequest
) -> RunJudge | None:
    """The judge of the answers as they come; None if no scenario has a statement for a judge."""
    if prepared.open_judge is None:
        return None
    from highbar.running.judging.identity import JudgeIdentity  # most suites need no judge
    from highbar.running.judging.live_judging import RunJudge  # most suites need no judge

    asker = await stack.enter_async_context(prepared.open_judge())
    identity = JudgeIdentity(prepared.suite, Path(prepared.plan.suite_file).parent)
    judge = RunJudge(prepared.suite, identity, asker, opened, prepared.progress, stop)
    return await stack.enter_async_context(judge)


async def _finish_judging(judge: RunJudge, summary: Summary, stop: StopRequest) -> Summary:
    """The summary once the judge has finished, was refused, or was interrupted."""
    await judge.finish()
    summary = replace(summary, judge_allowance=judge.allowance, judge_no_answer=judge.no_answer)
    if judge.refusal is not None:
        return replace(summary, how="judge refused", refusal=judge.refusal)
    if stop.stage and summary.how in FINISHED:
        return replace(summary, how="interrupted")
    return summary


async def _open_agent(stack: AsyncExitStack, prepared: Prepared, stop: StopRequest) -> Caller:
    """Open the agent; the stack closes it. Loading it may take minutes, so a stop request cancels that."""
    entering = asyncio.ensure_future(stack.enter_async_context(prepared.open_agent()))
    with stop.watched(asyncio.get_running_loop(), entering.cancel):
        if stop.stage:
            entering.cancel()
        try:
            return await entering
        except asyncio.CancelledError:
            if stop.stage:
                raise NothingCalled from None
            raise


def _recording(
    prepared: Prepared, opened: RunFolder, judge: RunJudge | None, *, count_failures: bool
) -> Callable[[TrialEnded], object]:
    """A function that records the end of a trial, has it judged, and counts it if a check in this process fails."""
    if judge is None and not count_failures:
        return opened.append
    grader, progress, scenarios = Grader(prepared.suite), prepared.progress, prepared.suite.scenarios

    def record(ended: TrialEnded) -> None:
        offset = opened.append(ended)
        if judge is not None:
            judge.add(ended, offset)
        if not count_failures or ended.outcome != "answered":
            return
        if says_failed(grader.row(ended, scenarios[ended.id], ended.trial)):
            progress.failed += 1

    return record


def _refuse_failed(summary: Summary, prepared: Prepared, document: RunDocument) -> None:
    on = f"go on: highbar run --resume {shlex.quote(str(prepared.path))}"
    if summary.how == "refused":
        message = f"the first trials were all refused: {summary.refusal}"
        hint = f"then {on}" if document.done.answered else _how_to_begin_again(prepared, on)
        raise InputError(Problem("agent.refused", message, hint=f"check the address and the key; {hint}"))
    if summary.how == "judge refused":
        message = f"the judge refused: {summary.refusal}"
        raise InputError(Problem("judge.refused", message, hint=f"check the judge's address and key; then {on}"))
    if summary.how == "versions":
        message = f"the agent says two versions: {' and '.join(summary.versions)}"
        raise InputError(
            Problem(
                "agent.several-versions",
                message,
                hint="one run is of one version; start a new run when the rollout is over",
            )
        )


def _how_to_begin_again(prepared: Prepared, on: str) -> str:
    """What to do if the address or the key is wrong: a run folder keeps both, but for what the environment has."""
    agent, plan, path = prepared.suite.agent, prepared.plan, prepared.path
    names = [] if agent is None else [f"${{{name}}}" for name in variables_of(agent)]
    free = next(found for n in count(2) if not (found := path.with_name(f"{path.name}-{n}")).exists())
    begin = f"highbar run {shlex.quote(os.path.relpath(plan.suite_file))} --output {shlex.quote(str(free))}"
    if _has_options(prepared):
        begin += ", with the other options that you gave"
    begin = f"begin again with a new folder: {begin}"
    if not names:
        return f"this folder keeps both, so if one is wrong {begin}; else {on}"
    corrected = f"correct {' or '.join(names)}, then {on}"
    return (
        corrected if agent is not None and variables(str(agent.target)) else f"{corrected}; for another address {begin}"
    )


def _has_options(prepared: Prepared) -> bool:
    """Whether the command said more than which suite, and where to."""
    plan = prepared.plan
    written = read(Path(plan.suite_file), data=plan.suite_text)
    others = plan.settings or plan.judges or plan.until_decided or plan.seed_from == "option"
    return bool(others) or plan.chosen != Chosen() or written.agent != prepared.suite.agent
