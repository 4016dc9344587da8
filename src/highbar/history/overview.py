"""A history → everything that its HTML page shows: lines of metrics, changes of level, and scenarios by stability."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from highbar.history import History
from highbar.history.change_points import ChangePoints, change_points
from highbar.history.series import metrics_of_runs
from highbar.history.stability import StabilityMap, stability
from highbar.history.tracks import MetricTracks, gated, spending, tracks
from highbar.model.history import DamagedRecord, RunRecord

MOST_RUNS, MOST_METRICS = 2000, 12
"""Runs and metrics on the page: more make it slow, and nobody compares more than a dozen charts."""


class Overview(Struct, frozen=True, eq=False):
    """Runs in order of time, at most the last 2,000 of `total`, and what is computed over them.

    `metrics` are the metrics that have a rule, or all if no metric has one (`is_gated` says which), at most 12.
    `spending` are the metrics of cost and latency that are not among them. `unshown` names the metrics beyond these.
    """

    runs: tuple[RunRecord, ...]
    total: int
    metrics: tuple[MetricTracks, ...]
    is_gated: bool
    unshown: tuple[str, ...]
    spending: tuple[MetricTracks, ...]
    changes: ChangePoints
    stability: StabilityMap
    damaged: tuple[DamagedRecord, ...] = ()


def overview(history: History, runs: Sequence[RunRecord]) -> Overview:
    """What the page shows about these runs of the history."""
    shown = tuple(runs[-MOST_RUNS:])
    ruled = gated(shown)
    names = ruled or metrics_of_runs(shown)
    rest = [name for name in spending(shown) if name not in names[:MOST_METRICS]]
    lines = tuple(tracks(shown, name) for name in names[:MOST_METRICS])
    spent = tuple(tracks(shown, name) for name in rest[:MOST_METRICS])
    found = stability(history.folder, shown)
    return Overview(
        runs=shown,
        total=len(runs),
        metrics=lines,
        is_gated=bool(ruled),
        unshown=(*(name for name in names[MOST_METRICS:] if name not in rest), *rest[MOST_METRICS:]),
        spending=spent,
        changes=change_points((*lines, *spent)),
        stability=found,
        damaged=(*history.damaged, *found.damaged),
    )
