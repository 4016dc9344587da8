"""Runs → each metric as one line per branch: a line between branches would show a change that nobody made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from highbar.history.series import metrics_of_runs, series
from highbar.model import Better, Unit
from highbar.model.history import RunRecord, Series


class MetricTracks(Struct, frozen=True):
    """A metric over runs, branch by branch; the branch with the most runs comes first.

    The branch None stands for all runs whose branch is not known.
    """

    metric: str
    unit: Unit
    better: Better
    tracks: Mapping[str | None, Series]


def by_branch(runs: Sequence[RunRecord]) -> dict[str | None, list[RunRecord]]:
    """The runs of each branch in their order; the branch with the most runs comes first."""
    found: dict[str | None, list[RunRecord]] = {}
    for run in runs:
        found.setdefault(run.branch, []).append(run)
    return dict(sorted(found.items(), key=lambda one: -len(one[1])))


def tracks(runs: Sequence[RunRecord], metric: str) -> MetricTracks:
    """A metric over the runs, branch by branch."""
    found = {branch: series(own, metric) for branch, own in by_branch(runs).items()}
    last = next((run.metrics[metric] for run in reversed(runs) if metric in run.metrics), None)
    if last is None:
        return MetricTracks(metric, "number", "higher", {})
    return MetricTracks(metric, last.unit, last.better, {branch: one for branch, one in found.items() if one.segments})


def gated(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """The metrics that have a rule in any of the runs, those of the last run first."""
    ruled = {rule.metric for run in runs for rule in run.rules if not rule.slice}
    return tuple(name for name in metrics_of_runs(runs) if name in ruled)


def spending(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """The metrics in milliseconds or dollars that any of the runs has."""
    units = {name: value.unit for run in runs for name, value in run.metrics.items()}
    return tuple(name for name in metrics_of_runs(runs) if units.get(name) in ("ms", "USD"))
