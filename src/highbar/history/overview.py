"""A history → everything that its HTML page shows: a chart for each metric, and scenarios by stability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from highbar.history import History
from highbar.history.series import metrics_of_runs, series
from highbar.history.stability import StabilityMap, stability
from highbar.model import Unit
from highbar.model.history import DamagedRecord, RunRecord, Series

MOST_RUNS, MOST_METRICS = 2000, 24
"""Runs and metrics on the page: more make it slow, and nobody compares more than two dozen charts."""


class MetricChart(Struct, frozen=True):
    """A metric over runs, as one line for each branch: a line between branches would show a change that nobody made.

    The branch None stands for all runs whose branch is not known.
    """

    metric: str
    unit: Unit
    lines: Mapping[str | None, Series]


class Overview(Struct, frozen=True, eq=False):
    """Runs in order of time, at most the last 2,000 of `total`, and what is computed over them.

    `charts` has every metric that was measured, those with a rule first, and at most 24; `unshown` names the others.
    """

    runs: tuple[RunRecord, ...]
    total: int
    charts: tuple[MetricChart, ...]
    unshown: tuple[str, ...]
    stability: StabilityMap
    damaged: tuple[DamagedRecord, ...] = ()


def overview(history: History, runs: Sequence[RunRecord]) -> Overview:
    """What the page shows about these runs of the history."""
    shown = tuple(runs[-MOST_RUNS:])
    ruled = {rule.metric for run in shown for rule in run.rules if not rule.slice}
    names = sorted(metrics_of_runs(shown), key=lambda name: name not in ruled)
    found = stability(history.folder, shown)
    return Overview(
        runs=shown,
        total=len(runs),
        charts=tuple(_chart(shown, name) for name in names[:MOST_METRICS]),
        unshown=tuple(names[MOST_METRICS:]),
        stability=found,
        damaged=(*history.damaged, *found.damaged),
    )


def _chart(runs: Sequence[RunRecord], metric: str) -> MetricChart:
    by_branch: dict[str | None, list[RunRecord]] = {}
    for run in runs:
        by_branch.setdefault(run.branch, []).append(run)
    unit = next(run.metrics[metric].unit for run in reversed(runs) if metric in run.metrics)
    lines = {branch: series(own, metric) for branch, own in by_branch.items()}
    return MetricChart(metric, unit, {branch: line for branch, line in lines.items() if line.segments})
