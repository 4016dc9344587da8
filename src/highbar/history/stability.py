"""Runs → every scenario in every run, the least stable first.

Instability is the chance that of two trials, one from each of two consecutive runs of a branch and an agent, one passes
and the other fails. It is 0 for a scenario that always has the same outcome, and small for one that changed once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from highbar.history.pooling import ScenarioKey, counts_by_run, each_result_once
from highbar.model.history import DamagedRecord, RunRecord, ScenarioCounts

MOST_RUNS, MOST_SCENARIOS = 120, 1000
"""Columns and rows of the table of scenarios: a screen is about that wide, and a browser can still open the page."""


class ScenarioRow(Struct, frozen=True):
    """One text of a scenario, with its trials in each run; a cell is None if the run lacks it.

    `is_earlier`: a later run has another text under the same id.
    """

    id: str
    category: str | None
    is_earlier: bool
    instability: float
    failed_runs: int
    runs: int
    cells: tuple[ScenarioCounts | None, ...]


class StabilityMap(Struct, frozen=True):
    """Scenarios by instability over the last runs that list their scenarios; `scenarios` counts all of them.

    `runs` counts the runs that list their scenarios, `without` those that do not.
    """

    columns: tuple[RunRecord, ...]
    rows: tuple[ScenarioRow, ...]
    scenarios: int
    runs: int
    without: int
    damaged: tuple[DamagedRecord, ...] = ()


def stability(folder: str, runs: Sequence[RunRecord]) -> StabilityMap:
    """The scenarios of the last runs. Results that were judged twice count once, by the later record."""
    listed = [run for run in runs if run.listed is not None]
    read, damaged = counts_by_run(folder, each_result_once(listed)[-MOST_RUNS:])
    columns = [run for run, _ in read]
    found: dict[ScenarioKey, dict[str, ScenarioCounts]] = {}
    for run, counts in read:
        for key, one in counts.items():
            found.setdefault(key, {})[run.record] = one
    ranked = sorted(_rows(found, columns), key=lambda one: (-one.instability, -one.failed_runs, one.id, one.is_earlier))
    return StabilityMap(
        tuple(columns),
        tuple(ranked[:MOST_SCENARIOS]),
        len(ranked),
        len(listed),
        len(runs) - len(listed),
        damaged,
    )


def _rows(
    found: Mapping[ScenarioKey, Mapping[str, ScenarioCounts]], columns: Sequence[RunRecord]
) -> Iterator[ScenarioRow]:
    places = {run.record: place for place, run in enumerate(columns)}
    lines: dict[tuple[str | None, str | None], list[str]] = {}  # of one branch and one agent
    for run in columns:
        lines.setdefault((run.branch, run.agent_name), []).append(run.record)
    latest: dict[str, int] = {}
    for (id_, _, _), rows in found.items():
        latest[id_] = max(latest.get(id_, 0), *(places[record] for record in rows))
    for (id_, _, _), rows in found.items():
        cells = [rows.get(run.record) for run in columns]
        last = max(places[record] for record in rows)
        yield ScenarioRow(
            id=id_,
            category=rows[columns[last].record].category,
            is_earlier=last < latest[id_],
            instability=_instability([[rows[record] for record in line if record in rows] for line in lines.values()]),
            failed_runs=sum(one is not None and one.failed > 0 for one in cells),
            runs=len(rows),
            cells=tuple(cells),
        )


def _instability(branches: Iterable[Sequence[ScenarioCounts]]) -> float:
    """The mean over pairs of consecutive runs; if no branch has two runs, over pairs of trials within a run."""
    decided = [[one for one in branch if one.passed + one.failed] for branch in branches]
    between = [_differ(_rate(one), _rate(two)) for branch in decided for one, two in pairwise(branch)]
    # For two different trials of one run: drawn without replacement.
    within = [
        2 * one.passed * one.failed / ((one.passed + one.failed) * (one.passed + one.failed - 1))
        for branch in decided
        for one in branch
        if one.passed + one.failed > 1
    ]
    chances = between or within
    return math.fsum(chances) / len(chances) if chances else 0.0


def _rate(one: ScenarioCounts) -> float:
    return one.passed / (one.passed + one.failed)


def _differ(one: float, two: float) -> float:
    return one * (1 - two) + two * (1 - one)
