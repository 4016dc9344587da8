"""The journal of a run in, its results and its document out: after the run has ended, or as if it ended now."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from highbar.checks import Functions
from highbar.running import folder
from highbar.running.grading import Grader
from highbar.running.journal import JournalEnd
from highbar.running.journal_state import JournalState
from highbar.running.origin import digest, origin_of
from highbar.running.preparing import Prepared, open_functions
from highbar.running.progress import ProgressState
from highbar.running.records import TrialEnded
from highbar.running.rows import line
from highbar.store.run_document import (
    AgentOfRun,
    Chosen,
    JudgeOfRun,
    OrderOfRun,
    RunDocument,
    RunExtent,
    StoredJournal,
    StoredRows,
    SuiteOfRun,
)
from highbar.suite import Scenario, Suite

if TYPE_CHECKING:  # most suites need no judge
    from highbar.running.judging.questions import Judgments

_NOT_RUN = {
    "budget": "the budget of the run was used up",
    "time": "the time of the run was used up",
    "decided": "the run was decided without it",
    "interrupted": "the run was interrupted",
}
"""Why a trial was not run, by how the run ended."""


class RunJournal(Struct, frozen=True, eq=False):
    """The journal of a run: its folder, its contents, and its end."""

    path: Path
    history: JournalState
    end: JournalEnd


def grade_run(
    prepared: Prepared,
    run: RunJournal,
    write_results: Callable[[Iterator[bytes]], StoredRows],
    functions: Functions | None = None,
) -> RunDocument:
    """Grade all planned trials of a run, write their rows, and describe the run. The caller writes the document.

    `functions` are those of `python` checks. If None, they run in a process that this call starts and ends.
    """
    version = prepared.progress.agent_version
    with ExitStack() as stack:
        if functions is None:
            beside = Path(prepared.plan.suite_file).parent
            functions = open_functions(prepared.suite, prepared.plan.order, beside, stack)
        judgments, judge = _judgments(stack, prepared, run) if prepared.open_judge else (None, None)
        origin = origin_of(run.history, prepared.suite)
        grader = Grader(prepared.suite, functions, agent_version=version, judgments=judgments, origin=origin)
        recorded = stack.enter_context(folder.open_answers(run.path))
        prepared.progress.to_grade = sum(prepared.plan.trials.values())
        rows = write_results(_counted(result_lines(run.history, recorded, grader), prepared.progress))
    document = describe(run.history, run.end, rows, prepared.suite, version)
    return document if judge is None else replace(document, judge=judge())


def _judgments(stack: ExitStack, prepared: Prepared, run: RunJournal) -> tuple[Judgments, Callable[[], JudgeOfRun]]:
    """The recorded judgments, for the grader; and a function that sums up the judge's work once they have been read."""
    from highbar.running.judging.canaries import canary_result, distrust  # most suites need no judge
    from highbar.running.judging.identity import JudgeIdentity  # most suites need no judge
    from highbar.running.judging.recorded import JudgeTally, judgments_of  # most suites need no judge
    from highbar.suite.judges import is_same_model  # most suites need no judge

    history, suite, tally = run.history, prepared.suite, JudgeTally()
    answers = {id_: record.answer for id_, record in history.canaries.items()}
    canaries = canary_result(suite.canaries, answers, prepared.judge_rates)
    prompt = JudgeIdentity(suite, Path(prepared.plan.suite_file).parent).prompt
    judgments = stack.enter_context(judgments_of(run.path, history, distrust(canaries), tally))
    return judgments, lambda: tally.document(prompt, canaries, same_model=is_same_model(suite))


def describe(
    history: JournalState, end: JournalEnd, results: StoredRows, suite: Suite, version: str | None
) -> RunDocument:
    """Describe what was planned and done. `suite` is as it was run last; `version` is the agent's, if it is known."""
    plan = history.plan
    finished = history.finished
    return RunDocument(
        state="running" if finished is None else finished.how,
        whole=plan.chosen == Chosen() and len(plan.order) == plan.scenarios,
        suite=SuiteOfRun(suite.name, plan.suite_file, suite.digest, hashlib.sha256(history.suite_text).hexdigest()),
        agent=_agent(plan.agent, version),
        planned=RunExtent(len(plan.order), sum(plan.trials.values())),
        chosen=plan.chosen,
        done=history.counts(),
        retried=history.counts(retried=True),
        order=OrderOfRun(digest(list(plan.order)), plan.seed, plan.seed_from),
        started=plan.started,
        ended=None if finished is None else finished.at,
        resumes=history.resumes,
        results=results,
        journal=StoredJournal(end.size, end.lines, end.checksum.decode()),
        highbar=plan.highbar,
        until_decided=plan.until_decided,
        policy=plan.policy,
        commit=history.checkout.commit,
        branch=history.checkout.branch,
        parents=history.checkout.parents,
        changed=history.checkout.changed,
    )


def _agent(settings: Mapping[str, Any], version: str | None) -> AgentOfRun:
    target = settings["target"]
    text = target if isinstance(target, str) else shlex.join(target)
    return AgentOfRun(settings["kind"], text, version or settings.get("version"), digest(settings))


def _counted(lines: Iterator[bytes], progress: ProgressState) -> Iterator[bytes]:
    """The lines; the progress says how many are left."""
    for one in lines:
        progress.to_grade = max(0, progress.to_grade - 1)
        yield one
    progress.to_grade = 0


# --- rows -------------------------------------------------------------------------------------


def result_lines(history: JournalState, recorded: Callable[[int], TrialEnded], grader: Grader) -> Iterator[bytes]:
    """The rows in the order of the grader's suite, then of the trials. `recorded` reads the record at an offset.

    Only one answer is in memory at a time. Planned scenarios that the suite does not have get no row.
    """
    planned = history.plan.trials
    for id_, scenario in grader.suite.scenarios.items():
        for trial in range(1, planned.get(id_, 0) + 1):
            yield line(result_row(history, recorded, grader, scenario, trial))


def result_row(
    history: JournalState, recorded: Callable[[int], TrialEnded], grader: Grader, scenario: Scenario, trial: int
) -> dict[str, Any]:
    """The row of one planned trial."""
    offset = history.offset(scenario.id, trial)
    ended = None if offset is None else _final(recorded(offset), history)
    reason = _NOT_RUN.get(history.finished.how) if history.finished is not None else None
    return grader.row(ended, scenario, trial, reason=reason)


def _final(ended: TrialEnded, history: JournalState) -> TrialEnded:
    """The record as it counts: a trial that repeatedly got no answer, while others did, is an error of the agent.

    So is an answer for which the judge repeatedly gave no usable judgment, while it judged others. An agent must not be
    able to stay undecided.
    """
    if ended.outcome == "infrastructure" and history.outcome(ended.id, ended.trial) == "error":
        return replace(ended, outcome="error", reason=f"never an answer, while others got one: {ended.reason}")
    if ended.outcome == "answered" and history.is_unjudgeable(ended.id, ended.trial):
        return replace(ended, outcome="error", reason="the judge cannot read this answer, and reads others")
    return ended
