"""The parts of a run in order: call → record → grade. A folder with results comes out; the caller judges it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.running import folder
from highbar.running.calls import Caller
from highbar.running.describing import describe
from highbar.running.folder import RunFolder
from highbar.running.grading import Grader, failed
from highbar.running.loops import run_in_loop
from highbar.running.preparing import Prepared, functions_of, utc
from highbar.running.progress import ProgressState
from highbar.running.records import Ended
from highbar.running.results import result_lines
from highbar.running.scheduling import run_trials
from highbar.running.stopping import NothingCalled, StopRequest
from highbar.running.summary import Summary
from highbar.store.run_document import RunDocument
from highbar.suite import Scenario, Suite

if TYPE_CHECKING:  # most suites need no judge
    from highbar.running.judging.following import RunJudge
    from highbar.running.judging.questions import Judgments
    from highbar.store.run_document import JudgeOfRun


class Done(Struct, frozen=True, eq=False):
    """What a run did."""

    folder: Path
    suite: Suite
    summary: Summary
    progress: ProgressState
    document: RunDocument


def carry_out(prepared: Prepared, stop: StopRequest | None = None, *, count_failures: bool = False) -> Done:
    """Call the agent, record its answers, and write the results.

    `count_failures` grades each answer as it comes, so that progress says how many failed. Raises InputError if the
    agent cannot be called at all, or says two versions; ReportError if the folder cannot be written; NothingCalled if
    `stop` was requested before.
    """
    opened, summary = run_in_loop(_called(prepared, stop or StopRequest(), count_failures=count_failures))
    with opened:
        document = _finished(prepared, opened, summary)
    _refuse_failed(summary, opened.path)
    return Done(opened.path, prepared.suite, summary, prepared.progress, document)


async def _called(prepared: Prepared, stop: StopRequest, *, count_failures: bool) -> tuple[RunFolder, Summary]:
    """Run the trials that are left. The folder is made once the agent is there, and is open still."""
    opened = prepared.resumed
    try:
        async with AsyncExitStack() as stack:
            caller = await _ready(stack, prepared, stop)
            if opened is None:
                opened = folder.create(prepared.path, prepared.plan)
            judge = await _judge(stack, prepared, opened, stop)
            summary = await run_trials(
                _left(prepared.suite, opened),
                caller,
                prepared.suite.run,
                on_begin=opened.append,
                on_end=_recording(prepared, opened, judge, count_failures=count_failures),
                progress=prepared.progress,
                stop=stop,
            )
            if judge is not None:
                summary = await _judged(judge, summary, stop)
    except BaseException:
        if opened is not None:
            opened.close()
        raise
    return opened, summary


async def _judge(stack: AsyncExitStack, prepared: Prepared, opened: RunFolder, stop: StopRequest) -> RunJudge | None:
    """What judges the answers as they come; None if no scenario has a statement."""
    if prepared.open_judge is None:
        return None
    from highbar.running.judging.following import RunJudge  # most suites need no judge
    from highbar.running.judging.identity import JudgeIdentity  # likewise

    asker = await stack.enter_async_context(prepared.open_judge())
    identity = JudgeIdentity(prepared.suite, Path(prepared.plan.suite_file).parent)
    judge = RunJudge(prepared.suite, identity, asker, opened, prepared.progress, stop)
    return await stack.enter_async_context(judge)


async def _judged(judge: RunJudge, summary: Summary, stop: StopRequest) -> Summary:
    """The summary after everything was judged, or as much as there was time for."""
    await judge.finish()
    if judge.refusal is not None:
        return replace(summary, how="judge refused", refusal=judge.refusal)
    if stop.stage and summary.how in ("complete", "budget", "time"):
        return replace(summary, how="interrupted")
    return summary


async def _ready(stack: AsyncExitStack, prepared: Prepared, stop: StopRequest) -> Caller:
    """The agent, which the stack ends. To load it may take minutes: a request to stop need not wait for it."""
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


def _left(suite: Suite, opened: RunFolder) -> Iterator[tuple[Scenario, int]]:
    # A list: the history changes while trials end.
    for id_, trial in list(opened.history.left()):
        yield suite.scenarios[id_], trial


def _recording(
    prepared: Prepared, opened: RunFolder, judge: RunJudge | None, *, count_failures: bool
) -> Callable[[Ended], object]:
    """Record the end of a trial, have it judged, and count it if it failed by checks that need no other process."""
    if judge is None and not count_failures:
        return opened.append
    grader, progress, scenarios = Grader(prepared.suite), prepared.progress, prepared.suite.scenarios

    def record(ended: Ended) -> None:
        offset = opened.append(ended)
        if judge is not None:
            judge.add(ended, offset)
        if not count_failures or ended.outcome != "answered":
            return
        if failed(grader.row(ended, scenarios[ended.id], ended.trial)):
            progress.failed += 1

    return record


def _finished(prepared: Prepared, opened: RunFolder, summary: Summary) -> RunDocument:
    """Record the end, and write results and document."""
    how: Any = summary.how if summary.how in ("complete", "budget", "time") else "interrupted"
    opened.finish(how, utc(datetime.now(UTC)))
    version = prepared.progress.agent_version
    with ExitStack() as stack:
        functions = None
        if functions_of(prepared.suite, prepared.plan.order):
            from highbar.running.functions import CheckFunctions  # few suites have checks in Python

            functions = stack.enter_context(CheckFunctions(Path(prepared.plan.suite_file).parent))
        judgments, judge = _judgments(stack, prepared, opened) if prepared.open_judge else (None, None)
        grader = Grader(prepared.suite, functions, agent_version=version, judgments=judgments)
        recorded = stack.enter_context(folder.recorded(opened.path))
        rows = opened.write_results(result_lines(opened.history, recorded, grader))
    document = describe(opened.history, opened.journal.end, rows, prepared.suite, version)
    if judge is not None:
        document = replace(document, judge=judge())
    opened.write_document(document)
    return document


def _judgments(stack: ExitStack, prepared: Prepared, opened: RunFolder) -> tuple[Judgments, Callable[[], JudgeOfRun]]:
    """What the judge said, for those who grade; and after that, what it did in all."""
    from highbar.running.judging.canaries import canary_result, distrust  # most suites need no judge
    from highbar.running.judging.identity import JudgeIdentity  # likewise
    from highbar.running.judging.recorded import JudgeTally, judgments_of  # likewise
    from highbar.suite.same_model import is_same_model  # likewise

    history, suite, tally = opened.history, prepared.suite, JudgeTally()
    answers = {id_: record.answer for id_, record in history.canaries.items()}
    canaries = canary_result(suite.canaries, answers, prepared.judge_rates)
    prompt = JudgeIdentity(suite, Path(prepared.plan.suite_file).parent).prompt
    judgments = stack.enter_context(judgments_of(opened.path, history, distrust(canaries), tally))
    return judgments, lambda: tally.document(prompt, canaries, same_model=is_same_model(suite))


def _refuse_failed(summary: Summary, path: Path) -> None:
    again = f"then go on: highbar run --resume {shlex.quote(str(path))}"
    if summary.how == "refused":
        message = f"the first trials were all refused: {summary.refusal}"
        raise InputError(Problem(message, hint=f"check the address and the key; {again}"))
    if summary.how == "judge refused":
        message = f"the judge refused: {summary.refusal}"
        raise InputError(Problem(message, hint=f"check the judge's address and key; {again}"))
    if summary.how == "versions":
        message = f"the agent says two versions: {' and '.join(summary.versions)}"
        raise InputError(Problem(message, hint="one run is of one version; start a new run when the rollout is over"))
