"""The journal of a run and its suite → its rows, one for each planned trial, as lines of results.jsonl."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from highbar.running.grading import Grader
from highbar.running.journal_state import RunHistory
from highbar.running.records import TrialEnded
from highbar.running.rows import line
from highbar.suite import Scenario

NOT_RUN = {
    "budget": "the budget of the run was used up",
    "time": "the time of the run was used up",
    "decided": "the run was decided without it",
    "interrupted": "the run was interrupted",
}
"""Why a trial was not run, by how the run ended."""


def result_lines(history: RunHistory, recorded: Callable[[int], TrialEnded], grader: Grader) -> Iterator[bytes]:
    """The rows in the order of the grader's suite, then of the trials. `recorded` reads the record at an offset.

    Only one answer is in memory at a time. Planned scenarios that the suite does not have get no row.
    """
    planned = history.plan.trials
    for id_, scenario in grader.suite.scenarios.items():
        for trial in range(1, planned.get(id_, 0) + 1):
            yield line(result_row(history, recorded, grader, scenario, trial))


def result_row(
    history: RunHistory, recorded: Callable[[int], TrialEnded], grader: Grader, scenario: Scenario, trial: int
) -> dict[str, Any]:
    """The row of one planned trial."""
    offset = history.offset(scenario.id, trial)
    ended = None if offset is None else _final(recorded(offset), history)
    reason = NOT_RUN.get(history.finished.how) if history.finished is not None else None
    return grader.row(ended, scenario, trial, reason=reason)


def _final(ended: TrialEnded, history: RunHistory) -> TrialEnded:
    """The record as it counts: a trial that repeatedly got no answer, while others did, is an error of the agent.

    So is an answer for which the judge repeatedly gave no usable judgment, while it judged others. An agent must not be
    able to stay undecided.
    """
    if ended.outcome == "infrastructure" and history.outcome(ended.id, ended.trial) == "error":
        return replace(ended, outcome="error", reason=f"never an answer, while others got one: {ended.reason}")
    if ended.outcome == "answered" and history.is_unjudgeable(ended.id, ended.trial):
        return replace(ended, outcome="error", reason="the judge cannot read this answer, and reads others")
    return ended
