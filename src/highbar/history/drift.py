"""Runs → whether scenarios pass less and less often, and how certain that is.

Each scenario is compared with itself: the same text, judged and scored alike. So the suite may grow or shrink.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from highbar.history import History
from highbar.history.choosing import ChosenRuns, comparable
from highbar.model.history import DamagedRecord, RunRecord, ScenarioCounts
from highbar.statistics.drift import Cell, Decline, decline
from highbar.store.history import paths, read_scenarios
from highbar.store.history_footer import SUFFIX, DamagedRecordError

MOST_RUNS = 100
"""How many runs are tested: the rate of false alarms was measured for this number."""

ScenarioKey = tuple[str, str | None, str | None]
"""The id, the digest of the text, and the suite if the text is not known."""


class Drift(Struct, frozen=True):
    """The decline over the runs that were chosen; `damaged` are those that could not be read, and do not count."""

    found: Decline
    chosen: ChosenRuns
    damaged: tuple[DamagedRecord, ...] = ()


def drift(history: History, runs: Sequence[RunRecord], ancestors: Collection[str] | None = None) -> Drift:
    """Whether the passes of scenarios decline over the last runs that are judged and scored alike."""
    chosen = comparable(runs, ancestors, MOST_RUNS, any_suite=True)
    by_run, damaged = counts_by_run(history, chosen.runs)
    lost = {one.file for one in damaged}
    read = [run for run in chosen.runs if f"{run.record}{SUFFIX}" not in lost]
    return Drift(decline(aligned(by_run, [run.suite for run in read])), chosen, damaged)


def counts_by_run(
    history: History, runs: Sequence[RunRecord]
) -> tuple[list[Mapping[ScenarioKey, ScenarioCounts]], tuple[DamagedRecord, ...]]:
    """The scenarios of each run by id and text (if the text is not known, by id and suite), and the damaged records."""
    found: list[Mapping[ScenarioKey, ScenarioCounts]] = []
    damaged: list[DamagedRecord] = []
    for run, path in zip(runs, paths(history.folder, runs), strict=True):
        try:
            found.append({key_of(run, one): one for one in read_scenarios(path, run)})
        except (DamagedRecordError, OSError) as error:
            damaged.append(DamagedRecord(f"{run.record}{SUFFIX}", str(error)))
    return found, tuple(damaged)


def key_of(run: RunRecord, one: ScenarioCounts) -> ScenarioKey:
    """The key that is equal if two runs have the same scenario."""
    return one.id, one.digest, None if one.digest is not None else run.suite


def aligned(by_run: Sequence[Mapping[ScenarioKey, ScenarioCounts]], suites: Sequence[str | None]) -> list[list[Cell]]:
    """(passed, decided trials) of each scenario, run by run; (0, 0) if a run lacks it.

    The scenarios are those of the last run, and of all runs of its suite: if the last run stopped early, scenarios that
    it did not reach are still part of the suite.
    """
    same = [by_key for by_key, suite in zip(by_run, suites, strict=True) if suite is not None and suite == suites[-1]]
    keys = dict.fromkeys(key for by_key in (*by_run[-1:], *same) for key in by_key)
    return [[_cell(run.get(key)) for key in keys] for run in by_run]


def _cell(one: ScenarioCounts | None) -> Cell:
    return (0, 0) if one is None else (one.passed, one.passed + one.failed)
