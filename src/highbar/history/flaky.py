"""Runs → scenarios that sometimes pass and sometimes fail, with the rate at which they pass.

Trials are pooled over runs with the same text of a scenario, the same agent and the same judge, scored alike. Agents
are the same if they have the same name and settings, in whatever version.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

from msgspec import Struct

from highbar.history import History
from highbar.history.choosing import OTHER_AGENT, ChosenRuns, comparable
from highbar.history.pooling import counts_by_run
from highbar.model.history import DamagedRecord, RunRecord, ScenarioCounts
from highbar.model.quarantine import NEVER
from highbar.statistics.bounds import suite_bounds

ALPHA = 0.05


class PassingRate(Struct, frozen=True):
    """How often one text of a scenario passes: its decided trials over several runs, with one-sided 95 % bounds."""

    id: str
    category: str | None
    runs: int
    trials: int
    passed: int
    rate: float
    low: float
    high: float
    passed_runs: int
    failed_runs: int
    turns: int
    """How often it went from passing a run to failing one or back; a run with both counts as two turns."""

    @property
    def is_flaky(self) -> bool:
        """Whether it passed some trials and failed others."""
        return 0 < self.passed < self.trials

    @property
    def may_be_quarantined(self) -> bool:
        """Whether it went back and forth: what broke once, or was repaired once, is not flaky. Attacks never may."""
        return self.turns > 1 and self.category != NEVER


class FlakyScenarios(Struct, frozen=True):
    """The flaky scenarios, those with a rate nearest to one half first, of how many, and the runs behind them."""

    scenarios: tuple[PassingRate, ...]
    of: int
    chosen: ChosenRuns
    damaged: tuple[DamagedRecord, ...] = ()


def flaky(
    history: History, runs: Sequence[RunRecord], most: int, ancestors: Collection[str] | None = None
) -> FlakyScenarios:
    """The flaky scenarios of the last run, by at most `most` runs up to it."""
    alike = comparable(runs, ancestors, any_suite=True)
    if not alike.runs:
        return FlakyScenarios((), 0, alike)
    same = [run for run in alike.runs if run.of_agent == alike.runs[-1].of_agent]
    left = Counter(dict(alike.left_out)) + Counter({OTHER_AGENT: len(alike.runs) - len(same)})
    same = same[-most:]
    rates, damaged = passing_rates(history, same)
    found = sorted((one for one in rates if one.is_flaky), key=lambda one: (abs(one.rate - 0.5), one.id))
    return FlakyScenarios(tuple(found), len(rates), ChosenRuns(tuple(same), tuple(sorted(left.items()))), damaged)


def passing_rates(history: History, runs: Sequence[RunRecord]) -> tuple[list[PassingRate], tuple[DamagedRecord, ...]]:
    """The rate of every scenario of the last readable run, if it has a decided trial; and the damaged records."""
    found, damaged = counts_by_run(history.folder, runs)
    by_run = [counts for _, counts in found]
    keys = list(by_run[-1]) if by_run else []
    return list(_rates([[run[key] for run in by_run if key in run] for key in keys])), damaged


def _rates(scenarios: Sequence[Sequence[ScenarioCounts]]) -> Iterator[PassingRate]:
    for rows in scenarios:
        passed, failed = sum(row.passed for row in rows), sum(row.failed for row in rows)
        trials = passed + failed
        if trials:
            rate = Fraction(passed, trials)
            low, high = suite_bounds(rate, trials, ALPHA)
            yield PassingRate(
                id=rows[-1].id,
                category=rows[-1].category,
                runs=len(rows),
                trials=trials,
                passed=passed,
                rate=float(rate),
                low=low,
                high=high,
                passed_runs=sum(row.passed == row.trials for row in rows),
                failed_runs=sum(row.failed > 0 for row in rows),
                turns=_turns(rows),
            )


def _turns(rows: Sequence[ScenarioCounts]) -> int:
    decided = [row for row in rows if row.passed or row.failed]
    mixed = sum(row.passed > 0 < row.failed for row in decided)
    return 2 * mixed + sum((one.failed > 0) != (other.failed > 0) for one, other in pairwise(decided))
