"""The parts of a run in order: call → record → grade. A folder with results comes out; the caller judges it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

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
            summary = await run_trials(
                _left(prepared.suite, opened),
                caller,
                prepared.suite.run,
                on_begin=opened.append,
                on_end=_recording(prepared, opened) if count_failures else opened.append,
                progress=prepared.progress,
                stop=stop,
            )
    except BaseException:
        if opened is not None:
            opened.close()
        raise
    return opened, summary


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


def _recording(prepared: Prepared, opened: RunFolder) -> Callable[[Ended], object]:
    """Record the end of a trial, and count it if it failed by those checks that need no other process."""
    grader, progress, scenarios = Grader(prepared.suite), prepared.progress, prepared.suite.scenarios

    def record(ended: Ended) -> None:
        opened.append(ended)
        if ended.outcome == "answered" and failed(grader.row(ended, scenarios[ended.id], ended.trial)):
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
        grader = Grader(prepared.suite, functions, agent_version=version)
        recorded = stack.enter_context(folder.recorded(opened.path))
        rows = opened.write_results(result_lines(opened.history, recorded, grader))
    document = describe(opened.history, opened.journal.end, rows, prepared.suite, version)
    opened.write_document(document)
    return document


def _refuse_failed(summary: Summary, path: Path) -> None:
    again = f"then go on: highbar run --resume {shlex.quote(str(path))}"
    if summary.how == "refused":
        message = f"the first trials were all refused: {summary.refusal}"
        raise InputError(Problem(message, hint=f"check the address and the key; {again}"))
    if summary.how == "versions":
        message = f"the agent says two versions: {' and '.join(summary.versions)}"
        raise InputError(Problem(message, hint="one run is of one version; start a new run when the rollout is over"))
