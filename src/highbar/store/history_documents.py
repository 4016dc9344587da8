"""What `highbar history` prints as JSON: the list of runs, one run, and trends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from highbar.model.history import DamagedRecord, RunRecord, Series, SeriesPoint
from highbar.store.history import StoredRun


def write_list(folder: str, runs: Sequence[RunRecord], damaged: Iterable[DamagedRecord]) -> dict[str, Any]:
    """`highbar/history-list/1`: every run as its footer has it."""
    return {"schema": "highbar/history-list/1", **_of(folder, damaged), "runs": msgspec.to_builtins(runs)}


def write_run(found: StoredRun) -> dict[str, Any]:
    """`highbar/history-run/1`: a whole record, with the verdict document as it was stored."""
    return {
        "schema": "highbar/history-run/1",
        "run": msgspec.to_builtins(found.run),
        "verdict": json.loads(found.document),
        "scenarios": msgspec.to_builtins(found.scenarios),
    }


def write_trends(
    folder: str, found: Sequence[Series], damaged: Iterable[DamagedRecord], drift: Mapping[str, Any]
) -> dict[str, Any]:
    """`highbar/history-trend/1`: each metric in segments that no line may join, and whether passes decline."""
    return {
        "schema": "highbar/history-trend/1",
        **_of(folder, damaged),
        "metrics": [_series(one) for one in found],
        "drift": drift,
    }


def _of(folder: str, damaged: Iterable[DamagedRecord]) -> dict[str, Any]:
    return {"folder": folder, "damaged": msgspec.to_builtins(tuple(damaged))}


def _series(series: Series) -> dict[str, Any]:
    return {
        "metric": series.metric,
        "unit": series.unit,
        "better": series.better,
        "segments": [
            {"because": segment.because, "points": [_point(point) for point in segment.points]}
            for segment in series.segments
        ],
    }


def _point(point: SeriesPoint) -> dict[str, Any]:
    run = point.run
    return {
        "record": run.record,
        "time": run.time,
        "commit": run.commit,
        "branch": run.branch,
        "agent_version": run.agent_version,
        **{name: getattr(point, name) for name in ("value", "low", "high", "undecided")},
        "rules": msgspec.to_builtins(point.rules),
    }
