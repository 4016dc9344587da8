"""Runs in an order → each metric as a series, cut where agent, suite, scoring or judge changed."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.model.history import Break, MetricInRun, RunRecord, Segment, Series, SeriesPoint

_PARTS: tuple[Break, ...] = ("suite", "scoring", "judge")


def metrics_of_runs(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """The metrics of the runs: first those with a rule in the last run, in the order of its rules, then the others."""
    gated = [rule.metric for rule in runs[-1].rules if not rule.slice] if runs else []
    return tuple(dict.fromkeys((*gated, *sorted({name for run in runs for name in run.metrics}))))


def series(runs: Sequence[RunRecord], metric: str) -> Series:
    """A metric over runs, in their order. Runs without the metric are left out, and do not cut the series."""
    segments: list[Segment] = []
    points: list[SeriesPoint] = []
    because: Break | None = None
    before: RunRecord | None = None
    last: MetricInRun | None = None
    for run in runs:
        value = run.metrics.get(metric)
        if value is None:
            continue
        cut = None if before is None or last is None else what_changed(before, run) or _definition_change(last, value)
        if cut is not None:
            segments.append(Segment(tuple(points), because))
            points, because = [], cut
        points.append(_point(run, metric, value))
        before, last = run, value
    if last is None:
        return Series(metric, "number", "higher")
    segments.append(Segment(tuple(points), because))
    return Series(metric, last.unit, last.better, tuple(segments))


def what_changed(before: RunRecord, run: RunRecord) -> Break | None:
    """Why a line must not join two runs; None if it may. An unknown fact may have changed, so it cuts the line.

    The settings of the agent may change, but not its name.
    """
    if before.agent_name != run.agent_name:
        return "agent"
    for part, old, new in zip(_PARTS, before.measured_with, run.measured_with, strict=True):
        if old is None or new is None:
            return "unknown"
        if old != new:
            return part
    return None


def _definition_change(before: MetricInRun, now: MetricInRun) -> Break | None:
    return None if before.definition == now.definition and before.unit == now.unit else "scoring"


def _point(run: RunRecord, metric: str, value: MetricInRun) -> SeriesPoint:
    rules = tuple(rule for rule in run.rules if rule.metric == metric and not rule.slice)
    return SeriesPoint(run, value.value, value.low, value.high, value.undecided, rules)
