"""Lines of metrics → the runs between which the level changed by more than chance explains.

A line is split at its best place if the permutation test's p-value, times the number of all tested lines, is at most
5 %; then each half is tested in the same way. Results that were judged twice count once. A very long line is tested
twice: its last runs one by one, and the whole line by means over blocks of consecutive runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from highbar.history.pooling import each_result_once
from highbar.history.tracks import MetricTracks
from highbar.model import Better, Unit
from highbar.model.history import RunRecord
from highbar.statistics.splits import Split, best_split, can_be_split

LEVEL = 0.05
MOST_VALUES = 150
"""Values of one line: testing more takes too long."""


class ChangePoint(Struct, frozen=True):
    """The level of a metric changed between the runs `before` and `after` of a branch.

    In nine of ten resamples, the change comes just before a run from `earliest` to `latest`. `p_value` is corrected for
    all places of the line and for all tested lines.
    """

    metric: str
    unit: Unit
    better: Better
    branch: str | None
    before: RunRecord
    after: RunRecord
    earliest: RunRecord
    latest: RunRecord
    level_before: float
    level_after: float
    runs_before: int
    runs_after: int
    p_value: float

    @property
    def is_better(self) -> bool:
        """Whether it changed for the better."""
        return (self.level_after > self.level_before) == (self.better == "higher")


class ChangePoints(Struct, frozen=True):
    """The changes that were found, the latest first, and how many lines were long enough to test."""

    found: tuple[ChangePoint, ...]
    lines: int


class _Line(Struct, frozen=True):
    """One segment of a metric on one branch; each value is the mean over a block of consecutive runs."""

    of: MetricTracks
    branch: str | None
    blocks: tuple[tuple[RunRecord, ...], ...]
    values: tuple[float, ...]


def change_points(metrics: Iterable[MetricTracks]) -> ChangePoints:
    """The changes of all metrics."""
    lines = [line for metric in metrics for line in _lines(metric) if can_be_split(line.values)]
    found: list[ChangePoint] = []
    # Lines of single runs come first: of a change that is found twice, the more precise place is kept.
    for line in sorted(lines, key=lambda one: len(one.blocks[0])):
        found += [change for change in _changes(line, len(lines)) if not any(_is_same(change, one) for one in found)]
    found.sort(key=lambda one: one.after.moment, reverse=True)
    return ChangePoints(tuple(found), len(lines))


def _is_same(coarse: ChangePoint, fine: ChangePoint) -> bool:
    """Whether a change in means over blocks is the one that was found in single runs."""
    alike = (coarse.metric, coarse.branch) == (fine.metric, fine.branch)
    return alike and coarse.earliest.time <= fine.after.time <= coarse.latest.time


def _lines(metric: MetricTracks) -> Iterator[_Line]:
    for branch, series in metric.tracks.items():
        for segment in series.segments:
            once = {run.record for run in each_result_once([point.run for point in segment.points])}
            points = [
                (point.run, point.value)
                for point in segment.points
                if point.value is not None and point.run.record in once
            ]
            yield _line(metric, branch, points[-MOST_VALUES:], 1)
            if len(points) > MOST_VALUES:
                yield _line(metric, branch, points, -(-len(points) // MOST_VALUES))


def _line(metric: MetricTracks, branch: str | None, points: Sequence[tuple[RunRecord, float]], size: int) -> _Line:
    """A line with blocks of `size` runs. The first runs are left out if they do not fill a block."""
    blocks = [points[start : start + size] for start in range(len(points) % size, len(points), size)]
    runs = tuple(tuple(run for run, _ in block) for block in blocks)
    return _Line(metric, branch, runs, tuple(math.fsum(value for _, value in block) / size for block in blocks))


def _changes(line: _Line, lines: int) -> Iterator[ChangePoint]:
    splits = sorted(_splits(line.values, 0, lines), key=lambda one: one.place)
    ends = [0, *(one.place for one in splits), len(line.values)]
    size = len(line.blocks[0])
    for place, split in enumerate(splits):
        before, after = line.values[ends[place] : split.place], line.values[split.place : ends[place + 2]]
        # The change may be inside of the block before the split, or of the one after it.
        inside = size > 1
        yield ChangePoint(
            metric=line.of.metric,
            unit=line.of.unit,
            better=line.of.better,
            branch=line.branch,
            before=line.blocks[split.place - 1][-1],
            after=line.blocks[split.place][0],
            earliest=line.blocks[split.earliest - inside][0],
            latest=line.blocks[split.latest][-1],
            level_before=math.fsum(before) / len(before),
            level_after=math.fsum(after) / len(after),
            runs_before=len(before) * size,
            runs_after=len(after) * size,
            p_value=split.p_value,
        )


def _splits(values: Sequence[float], start: int, lines: int) -> Iterator[Split]:
    """The splits of a line and of its parts; places count from the beginning of the whole line."""
    split = best_split(values)
    if split is None or split.p_value * lines > LEVEL:
        return
    yield replace(
        split,
        place=start + split.place,
        p_value=split.p_value * lines,
        earliest=start + split.earliest,
        latest=start + split.latest,
    )
    yield from _splits(values[: split.place], start, lines)
    yield from _splits(values[split.place :], start + split.place, lines)
