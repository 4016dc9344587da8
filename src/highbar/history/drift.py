"""Runs → whether scenarios pass less and less often, and how certain that is.

Each scenario is compared with itself: the same text, judged and scored alike. So the suite may grow or shrink.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from highbar.history import History
from highbar.history.choosing import ChosenRuns, comparable
from highbar.history.pooling import CountsByKey, counts_by_run
from highbar.model.history import DamagedRecord, RunRecord, ScenarioCounts
from highbar.statistics.between_runs import Cell
from highbar.statistics.drift import Decline, decline

MOST_RUNS = 100
"""How many runs are tested: the rate of false alarms was measured for this number."""


class Drift(Struct, frozen=True):
    """The decline over the runs that were chosen; `damaged` are those that could not be read, and do not count."""

    found: Decline
    chosen: ChosenRuns
    damaged: tuple[DamagedRecord, ...] = ()


def drift(history: History, runs: Sequence[RunRecord]) -> Drift:
    """Whether the passes of scenarios decline over the last runs that are judged and scored alike."""
    chosen = comparable(runs, None, MOST_RUNS, any_suite=True)
    found, damaged = counts_by_run(history.folder, chosen.runs)
    return Drift(decline(_cells(found)), chosen, damaged)


def _cells(found: Sequence[tuple[RunRecord, CountsByKey]]) -> list[list[Cell]]:
    """(passed, decided trials) of each scenario, run by run; (0, 0) if a run lacks it.

    The scenarios are those of the last run, and of all runs of its suite: if the last run stopped early, scenarios that
    it did not reach are still part of the suite.
    """
    suite = found[-1][0].suite if found else None
    same = [counts for run, counts in found if suite is not None and run.suite == suite]
    keys = dict.fromkeys(key for counts in (*(counts for _, counts in found[-1:]), *same) for key in counts)
    return [[_cell(counts.get(key)) for key in keys] for _, counts in found]


def _cell(one: ScenarioCounts | None) -> Cell:
    return (0, 0) if one is None else (one.passed, one.passed + one.failed)
