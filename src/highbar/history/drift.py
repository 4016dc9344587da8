"""Runs → whether scenarios pass less and less often, and how sure that is.

A scenario is compared with itself: the same text, judged and scored alike. So a suite may grow or shrink meanwhile.
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
"""How many runs are looked at: the false alarms of so many were measured."""

ScenarioKey = tuple[str, str | None, str | None]
"""Id, digest of the text, and the suite if the text is not known."""


class Drift(Struct, frozen=True):
    """What became of the runs that are alike; `damaged` are those that could not be read, and so say nothing."""

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
    """The scenarios of each run by id and text; without a known text, by id and suite. And the damaged records."""
    found: list[Mapping[ScenarioKey, ScenarioCounts]] = []
    damaged: list[DamagedRecord] = []
    for run, path in zip(runs, paths(history.folder, runs), strict=True):
        try:
            found.append({key_of(run, one): one for one in read_scenarios(path, run)})
        except (DamagedRecordError, OSError) as error:
            damaged.append(DamagedRecord(f"{run.record}{SUFFIX}", str(error)))
    return found, tuple(damaged)


def key_of(run: RunRecord, one: ScenarioCounts) -> ScenarioKey:
    """What is the same scenario in two runs."""
    return one.id, one.digest, None if one.digest is not None else run.suite


def aligned(by_run: Sequence[Mapping[ScenarioKey, ScenarioCounts]], suites: Sequence[str | None]) -> list[list[Cell]]:
    """(passed, decided trials) of the scenarios of the last run, run by run; no trials in a run without it.

    If the last run stopped early, its scenarios are those of all runs of its suite, too: what it did not reach is not
    gone.
    """
    same = [by_key for by_key, suite in zip(by_run, suites, strict=True) if suite is not None and suite == suites[-1]]
    keys = dict.fromkeys(key for by_key in (*by_run[-1:], *same) for key in by_key)
    return [[_cell(run.get(key)) for key in keys] for run in by_run]


def _cell(one: ScenarioCounts | None) -> Cell:
    return (0, 0) if one is None else (one.passed, one.passed + one.failed)
