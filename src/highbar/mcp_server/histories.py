"""`history`: the folder of a history in; its last runs, or one metric over them, out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from highbar import history as histories
from highbar.errors import InputError, Problem
from highbar.history.drift import drift
from highbar.history.series import metrics_of_runs, series
from highbar.language.spelling import did_you_mean
from highbar.mcp_server.arguments import IS_PATH, ToolArguments, UntrustedAnswer, Word
from highbar.mcp_server.confinement import Workspace
from highbar.mcp_server.texts import UNTRUSTED, count_fitting
from highbar.model.history import RunRecord, SeriesPoint
from highbar.report.history_drift import say_drift

_DIGITS = 12


class HistoryArguments(ToolArguments, frozen=True, kw_only=True):
    """The arguments of `history`."""

    folder: Annotated[str, Meta(extra=IS_PATH, description="The folder of the history.")] = histories.FOLDER
    metric: Annotated[Word | None, Meta(description="One metric, run by run: pass_rate. Else the runs are listed.")] = (
        None
    )
    branch: Annotated[Word | None, Meta(description="Only runs of this branch.")] = None
    last: Annotated[int, Meta(ge=1, le=50, description="How many runs, the last ones.")] = 10


class RunBrief(Struct, frozen=True, omit_defaults=True):
    """A run of the history."""

    record: str
    time: str
    verdict: str
    failed: int
    scenarios: int
    commit: str | None = None
    branch: str | None = None
    agent_version: str | None = None


class PointBrief(Struct, frozen=True, omit_defaults=True):
    """The metric in one run; `new_line` says why it cannot be compared with the run before."""

    record: str
    time: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    outcomes: tuple[str, ...] = ()
    new_line: str | None = None


class HistoryAnswer(UntrustedAnswer, frozen=True, omit_defaults=True, kw_only=True):
    """The last runs, or a metric over them, and whether scenarios pass less and less often."""

    runs: Annotated[int, Meta(description="How many runs there are in all, of that branch if one was named.")]
    damaged: Annotated[int, Meta(description="Records that could not be read.")] = 0
    drift: str
    listed: tuple[RunBrief, ...] = ()
    metric: str | None = None
    points: tuple[PointBrief, ...] = ()


def answer_history(asked: HistoryArguments, _workspace: Workspace) -> HistoryAnswer:
    """List the runs of a history, or a metric over them."""
    history = histories.read_history(asked.folder)
    runs = histories.runs_of(history, asked.branch)
    if not runs:
        raise InputError(Problem("history.empty", "there are no runs in it", asked.folder, hint=histories.FIRST))
    points = () if asked.metric is None else _points(runs, asked.metric, asked.folder)[-asked.last :]
    listed = () if points else tuple(_run(run) for run in runs[-asked.last :])
    shown = count_fitting(reversed(points or listed))
    return HistoryAnswer(
        untrusted=UNTRUSTED,
        runs=len(runs),
        damaged=len(history.damaged),
        drift=say_drift(drift(history, runs).found),
        listed=listed[-shown:],
        metric=asked.metric,
        points=points[-shown:],
        cut=(f"the last {shown} of {len(runs)} runs are here",) if shown < len(runs) else (),
    )


def _run(run: RunRecord) -> RunBrief:
    return RunBrief(
        run.record[:_DIGITS],
        run.time,
        run.verdict,
        run.counts.failed,
        run.counts.scenarios,
        None if run.commit is None else run.commit[:_DIGITS],
        run.branch,
        run.agent_version,
    )


def _points(runs: Sequence[RunRecord], metric: str, folder: str) -> tuple[PointBrief, ...]:
    known = metrics_of_runs(runs)
    if metric not in known:
        hint = did_you_mean(metric, known) or f"there is {', '.join(known[:10])}"
        raise InputError(Problem("history.not-found", f"no run has the metric {metric!r}", folder, hint=hint))
    found = series(runs, metric).segments
    return tuple(
        _point(point, segment.because if number == 0 else None)
        for segment in found
        for number, point in enumerate(segment.points)
    )


def _point(point: SeriesPoint, because: str | None) -> PointBrief:
    outcomes = tuple(f"{rule.rule}: {rule.outcome}" for rule in point.rules)
    return PointBrief(point.run.record[:_DIGITS], point.run.time, point.value, point.low, point.high, outcomes, because)
