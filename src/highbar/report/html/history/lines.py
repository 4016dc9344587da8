"""A metric over runs as an SVG: a line with the band of its intervals, the threshold as steps, and the line's cuts.

Each color has a shape, too: a dot has met all blocking rules, a cross has missed one, a ring is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from msgspec import Struct

from highbar.history.change_points import ChangePoint
from highbar.history.tracks import MetricTracks
from highbar.language.phrases import count
from highbar.model.history import RunRecord, Segment, Series, SeriesPoint
from highbar.report.history_text import CHANGES
from highbar.report.html.axis import Axis, around
from highbar.report.html.history.words import commit, measured_words, moment, short_text
from highbar.report.html.markup import EMPTY, Markup, element, join
from highbar.report.html.parts import code

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 1000, 190, 62.0, 990.0, 22.0, 160.0
MOST_BRANCHES = 30
"""Branches with their own group of elements, which a filter can show; the others share one group."""
MOST_DOTS = 300
"""With more runs than this, only those that are not plainly met get a mark: dots would overlap on a screen."""
MOST_CUTS = 40
"""Cuts of a line that are drawn and explained; the others are counted."""
_LABEL_ROOM = 150.0
_SHAPES = {"met": "h0", "missed": "m-4-4l8 8m0-8l-8 8", "inconclusive": "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"}
_LARGEST = 1e12


class RunColumns(Struct, frozen=True, eq=False):
    """The horizontal positions of runs: one column for each, in the order of time."""

    places: Mapping[str, int]

    @property
    def step(self) -> float:
        """The width of a column."""
        return (RIGHT - LEFT) / max(len(self.places), 1)

    def at(self, run: RunRecord) -> float:
        """The middle of the column of a run."""
        return round(LEFT + (self.places[run.record] + 0.5) * self.step, 1)


def chart(
    metric: MetricTracks, runs: Sequence[RunRecord], numbered: Mapping[str | None, int], changes: Iterable[ChangePoint]
) -> Markup:
    """The figure of a metric; `numbered` has the number of each branch, the most frequent first."""
    columns = RunColumns({run.record: place for place, run in enumerate(runs)})
    axis = _axis(metric)
    dotted = len(runs) <= MOST_DOTS
    own = [branch for branch in metric.tracks if numbered[branch] < MOST_BRANCHES]
    rest = [one for branch, one in metric.tracks.items() if numbered[branch] >= MOST_BRANCHES]
    groups = [
        element(
            "g",
            *_track(metric.tracks[branch], axis, columns, dotted=dotted),
            class_="track",
            data_branch=str(numbered[branch]),
        )
        for branch in own
    ]
    others = [part for one in rest for part in _track(one, axis, columns, dotted=dotted)]
    drawn = element(
        "svg",
        element("title", f"{short_text(metric.metric)} over {count(len(runs), 'run')}. Last: {_last(metric, runs)}"),
        *_grid(axis, runs, columns),
        *groups,
        element("g", *others, class_="others") if others else EMPTY,
        *_cuts(metric, columns),
        *(_change_mark(one, columns) for one in changes),
        element("line", x1=0, x2=0, y1=TOP, y2=BOTTOM, class_="chosen"),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        class_="trend",
        role="img",
    )
    return element(
        "div",
        element("h3", code(metric.metric), element("span", _last(metric, runs), class_="latest")),
        element("figure", drawn, tabindex="0", role="group", aria_label=f"{short_text(metric.metric)}, run by run"),
        _reasons(metric),
        class_="metric",
    )


def _axis(metric: MetricTracks) -> Axis:
    """The vertical axis. Around a single number that is not a ratio, it extends by 20% of it to either side."""
    numbers = set(_numbers(metric))
    if metric.unit != "ratio" and len(numbers) == 1:
        (only,) = numbers
        numbers |= {only * 0.8, only * 1.2}
    return around(numbers, metric.unit, BOTTOM, TOP)


def _numbers(metric: MetricTracks) -> Iterator[float]:
    """The numbers that the axis must show, rounded to 9 digits, without those too large to draw."""
    for series in metric.tracks.values():
        for point in series.points:
            for number in (point.value, point.low, point.high, *(rule.bound for rule in point.rules)):
                if number is not None and math.isfinite(number) and abs(number) < _LARGEST:
                    yield float(f"{number:.9g}") if abs(number) > 1 / _LARGEST else 0.0


def _last(metric: MetricTracks, runs: Sequence[RunRecord]) -> str:
    run = next(run for run in reversed(runs) if metric.metric in run.metrics)
    rules = [rule for rule in run.rules if rule.metric == metric.metric and not rule.slice]
    return measured_words(run.metrics[metric.metric], rules)


def _grid(axis: Axis, runs: Sequence[RunRecord], columns: RunColumns) -> Iterator[Markup]:
    for y, text in axis.ticks(4):
        yield element("path", d=f"M{LEFT:g} {y:g}H{RIGHT:g}", class_="grid")
        yield element("text", text, x=LEFT - 8, y=y + 4, class_="tick", text_anchor="end")
    shown = {0: "start", len(runs) - 1: "end"} if len(runs) > 1 else {0: "middle"}
    for place, anchor in shown.items():
        x = columns.at(runs[place])
        yield element("text", runs[place].time[:10], x=x, y=BOTTOM + 20, class_="tick", text_anchor=anchor)


# --- one branch ------------------------------------------------------------------------------


def _track(series: Series, axis: Axis, columns: RunColumns, *, dotted: bool) -> Iterator[Markup]:
    bands, lines = "", ""
    for segment in series.segments:
        for points in _joined_points(segment):
            bands += _band(points, axis, columns)
            lines += _line(points, axis, columns)
    if bands:
        yield element("path", d=bands, class_="band")
    yield from _steps(series.segments, axis, columns)
    if lines:
        yield element("path", d=lines, class_="values")
    yield from _marks(series.points, axis, columns, dotted=dotted)


def _joined_points(segment: Segment) -> Iterator[list[SeriesPoint]]:
    """The groups of points that a line joins: a point without a value cuts it."""
    for has_value, points in groupby(segment.points, lambda point: point.value is not None):
        if has_value:
            yield list(points)


def _line(points: Sequence[SeriesPoint], axis: Axis, columns: RunColumns) -> str:
    places = [f"{columns.at(point.run):g} {axis.at(point.value or 0.0):g}" for point in points]
    return f"M{'L'.join(places)}" if len(places) > 1 else f"M{places[0]}h0"


def _band(points: Sequence[SeriesPoint], axis: Axis, columns: RunColumns) -> str:
    """The area between the ends of the intervals; a single interval is as wide as its column, at most 12 pixels."""
    drawn = ""
    for is_bounded, group in groupby(points, lambda point: point.low is not None and point.high is not None):
        ends = [(columns.at(one.run), axis.at(one.low or 0.0), axis.at(one.high or 0.0)) for one in group]
        if not is_bounded:
            continue
        if len(ends) == 1:
            x, low, high = ends[0]
            half = round(min(6.0, columns.step / 2), 1)
            ends = [(x - half, low, high), (x + half, low, high)]
        upper = "L".join(f"{x:g} {high:g}" for x, _, high in ends)
        lower = "L".join(f"{x:g} {low:g}" for x, low, _ in reversed(ends))
        drawn += f"M{upper}L{lower}Z"
    return drawn


def _steps(segments: Iterable[Segment], axis: Axis, columns: RunColumns) -> Iterator[Markup]:
    """The threshold of each rule: a horizontal line, with a step halfway between two runs if it changed."""
    drawn: dict[tuple[str, str], str] = {}
    for segment in segments:
        half = columns.step / 2
        middles = [columns.at(point.run) for point in segment.points]
        between = [(one + two) / 2 for one, two in pairwise(middles)]
        starts, ends = [middles[0] - half, *between], [*between, middles[-1] + half]
        before: set[tuple[str, str]] = set()
        for point, start, end in zip(segment.points, starts, ends, strict=True):
            bounds = {(rule.level, rule.rule): rule.bound for rule in point.rules if rule.bound is not None}
            for key, bound in bounds.items():
                y = axis.at(bound)
                drawn[key] = drawn.get(key, "") + (
                    f"V{y:g}H{end:.1f}" if key in before else f"M{start:.1f} {y:g}H{end:.1f}"
                )
            before = set(bounds)
    for (level, _), path in drawn.items():
        yield element("path", d=path, class_="threshold" if level == "blocking" else "threshold warned")


def _marks(points: Iterable[SeriesPoint], axis: Axis, columns: RunColumns, *, dotted: bool) -> Iterator[Markup]:
    """A mark for each run; without `dotted`, only for runs that are not plainly met."""
    drawn: dict[str, str] = {}
    for point in points:
        look = _look(point)
        y = BOTTOM if point.value is None else axis.at(point.value)
        if dotted or look != "met":
            drawn[look] = drawn.get(look, "") + f"M{columns.at(point.run):g} {y:g}{_SHAPES[look]}"
    for look, path in drawn.items():
        yield element("path", d=path, class_=f"mark {look}")


def _look(point: SeriesPoint) -> str:
    blocking = {rule.outcome for rule in point.rules if rule.level == "blocking"}
    if blocking & {"fail", "undefined"}:
        return "missed"
    return "inconclusive" if "inconclusive" in blocking or point.value is None else "met"


# --- cuts of a line --------------------------------------------------------------------------


def _cut_points(metric: MetricTracks) -> list[tuple[RunRecord, str]]:
    """The runs before which a line is cut because something else was measured, with the reason, the latest first."""
    found = [
        (part.points[0].run, CHANGES[part.because])
        for series in metric.tracks.values()
        for part in series.segments
        if part.because is not None
    ]
    return sorted(found, key=lambda one: (one[0].time, one[0].record), reverse=True)


def _cuts(metric: MetricTracks, columns: RunColumns) -> Iterator[Markup]:
    # From the latest to the earliest, so from right to left: a label that would overlap the one before is left out.
    room = RIGHT + _LABEL_ROOM / 2
    for run, reason in _cut_points(metric)[:MOST_CUTS]:
        x = round(columns.at(run) - columns.step / 2, 1)
        yield element("path", element("title", reason), d=f"M{x:g} {TOP - 8:g}V{BOTTOM:g}", class_="cut")
        if room - x >= _LABEL_ROOM:
            anchor = "end" if x > RIGHT - _LABEL_ROOM else "start"
            beside = x - 4 if anchor == "end" else x + 4
            yield element("text", reason, x=beside, y=TOP - 9, class_="tick", text_anchor=anchor)
            room = x - (_LABEL_ROOM if anchor == "end" else 0)


def _reasons(metric: MetricTracks) -> Markup:
    """A list of the cuts with their dates, branches, commits and reasons."""
    cuts = _cut_points(metric)
    if not cuts:
        return EMPTY
    items = [
        element("li", f"{moment(run)}, ", code(short_text(run.branch)), " ", code(commit(run)), f": {reason}")
        for run, reason in cuts[:MOST_CUTS]
    ]
    more = len(cuts) - len(items)
    rest = element("p", f"and {more} earlier ones, which are not marked either", class_="dim") if more else EMPTY
    summary = f"Cut {count(len(cuts), 'time')}: values on both sides are not comparable"
    return element("details", element("summary", summary), element("ul", *items), rest)


def _change_mark(change: ChangePoint, columns: RunColumns) -> Markup:
    x = (columns.at(change.before) + columns.at(change.after)) / 2
    look = "change better" if change.is_better else "change worse"
    mark = element("path", d=f"M{x:g} {BOTTOM + 1:g}l-6 10h12z", class_=look)
    return join(mark, element("path", d=f"M{x:g} {TOP:g}V{BOTTOM:g}", class_=f"{look} stem"))
