"""A history as one page: verdicts, one chart for each metric, and every scenario run by run. It has no script.

Each color has a shape, too. In a chart, a dot has met all blocking rules, a cross has missed one, a ring is undecided.
Anyone may have written a record; `markup` escapes its texts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import groupby, pairwise

from msgspec import Struct

from highbar.history.overview import MetricChart, Overview
from highbar.history.stability import ScenarioRow, StabilityMap
from highbar.language.digits import amount, show, show_threshold
from highbar.language.phrases import count
from highbar.model import Unit, Value
from highbar.model.history import MetricInRun, RuleInRun, RunRecord, ScenarioCounts, Segment, Series, SeriesPoint
from highbar.report.history_text import CHANGES
from highbar.report.html.axis import Axis, around
from highbar.report.html.markup import EMPTY, Markup, element, join
from highbar.report.html.page import package_text, page_document
from highbar.report.html.parts import code, folded, icon, list_section, more_line, named_section, table
from highbar.report.visible import cut, revealed

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 1000, 190, 62.0, 990.0, 22.0, 160.0
_MOST_DOTS = 300
"""With more runs than this, only those that are not plainly met get a mark: dots would overlap on a screen."""
_MOST_CUTS = 40
"""Cuts of a line that are drawn and named: more would hide it."""
_MOST_DAMAGED, _MOST_RUNS, _MOST_SCENARIOS = 10, 100, 200
"""Damaged records, runs and scenarios that the page lists: as many as people look through."""
_SHAPES = {"met": "h0", "missed": "m-4-4l8 8m0-8l-8 8", "inconclusive": "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"}
_LARGEST = 1e12
_BARS = {"p": (10, 4), "m": (5, 9), "f": (0, 14), "u": (6, 3)}
"""The top and the height of a cell of a strip: passed, some trials failed, failed, undecided."""
_LOOKS = {"p": "passed", "m": "some trials failed", "f": "failed", "u": "undecided"}
_CELL, _STRIP = 6, 14
_VERDICTS = {"pass": "p", "fail": "f"}


def render(view: Overview) -> str:
    """The page. `view` must have at least one run."""
    main = element("main", _verdicts(view), _metrics(view), _scenarios(view.stability), _runs(view), id="main")
    style = package_text("page.css") + package_text("history.css")
    return page_document("History · Highbar", view.runs[-1].verdict, [_head(view), main], style=style, script="")


def _head(view: Overview) -> Markup:
    last = view.runs[-1]
    look = last.verdict if last.verdict in _VERDICTS else "inconclusive"
    first, end = view.runs[0].time[:10], last.time[:10]
    shown = f"the last {len(view.runs)} of {view.total} runs" if view.total > len(view.runs) else ""
    return element(
        "header",
        element("h1", element("b", icon(look), last.verdict.upper()), "History: the last run"),
        element(
            "p",
            element("span", shown or count(view.total, "run")),
            element("span", first if first == end else f"{first} to {end}"),
            element("span", "branch ", code(_short(last.branch))),
            class_="about",
        ),
        _damaged(view),
        class_=f"banner {look}",
    )


def _damaged(view: Overview) -> Markup:
    named = [join(code(one.file), f": {one.reason}") for one in view.damaged]
    return list_section(f"{count(len(named), 'record')} left out", "damaged", named, _MOST_DAMAGED)


def _verdicts(view: Overview) -> Markup:
    letters = "".join(_VERDICTS.get(run.verdict, "u") for run in view.runs)
    words = ", ".join(f"{sum(run.verdict == name for run in view.runs)} {name}" for name in ("pass", "fail"))
    return named_section("Verdicts", "verdicts", _legend(), _strip(letters, f"{count(len(letters), 'run')}: {words}"))


def _runs(view: Overview) -> Markup:
    rows = [
        (_moment(run), run.verdict, f"{run.counts.failed} of {run.counts.scenarios}", code(_short(run.branch)),
         code(_commit(run)), code(_short(run.agent_version)), code(run.record[:8]))
        for run in reversed(view.runs[-_MOST_RUNS:])
    ]  # fmt: skip
    names = ("time", "verdict", "failed scenarios", "branch", "commit", "agent version", "record")
    listed = element("div", table(names, rows, "runs"), class_="wide", tabindex="0", role="group", aria_label="Runs")
    return folded(f"Runs ({view.total})", "runs", listed, more_line(view.total, len(rows)))


# --- scenarios -------------------------------------------------------------------------------


def _scenarios(found: StabilityMap) -> Markup:
    """Every scenario in every run, the least stable first."""
    shown = found.rows[:_MOST_SCENARIOS]
    names = ("scenario", "instability", "failed in", "run by run")
    about = (
        "Instability is the chance that of two trials, one from each of two consecutive runs of a branch, one passes "
        "and the other fails."
    )
    return named_section(
        "Scenarios",
        "scenarios",
        element("p", about, class_="dim"),
        table(names, map(_scenario, shown), "heat") if shown else element("p", "No run lists scenarios."),
        more_line(found.scenarios, len(shown)),
        *(element("p", sentence, class_="dim") for sentence in _left_out(found)),
    )


def _left_out(found: StabilityMap) -> Iterator[str]:
    if found.without:
        yield f"{count(found.without, 'run')} with only a verdict: nothing is known of their scenarios."
    if found.runs > len(found.columns):
        yield f"Drawn are the last {len(found.columns)} of {found.runs} runs; results judged twice are drawn once."


def _scenario(one: ScenarioRow) -> tuple[str, ...]:
    failed = f"{one.failed_runs} of {count(one.runs, 'run')}"
    chips = [_short(one.category) if one.category else "", "earlier text" if one.is_earlier else ""]
    name = element("span", code(one.id), *(element("span", chip, class_="chip") for chip in chips if chip))
    unstable = amount(Fraction(str(round(one.instability, 4))), "ratio")
    return name, unstable, failed, _strip("".join(map(_letter, one.cells)), f"{_short(one.id)}: failed in {failed}")


def _letter(cell: ScenarioCounts | None) -> str:
    if cell is None:
        return "."
    if cell.failed:
        return "m" if cell.passed else "f"
    return "u" if cell.undecided else "p"


def _strip(letters: str, words: str) -> Markup:
    """A cell for each letter, from left to right; `.` has none."""
    # One path for each look, with equal neighbors joined, keeps the page small: a rectangle for each run would not.
    paths: dict[str, str] = {}
    start = 0
    for letter, group in groupby(letters):
        width = _CELL * len(list(group))
        if letter in _BARS:
            y, high = _BARS[letter]
            paths[letter] = paths.get(letter, "") + f"M{start} {y}h{width}v{high}h-{width}z"
        start += width
    drawn = (element("path", d=path, class_=letter) for letter, path in paths.items())
    size = {"viewBox": f"0 0 {start} {_STRIP}", "preserveAspectRatio": "none"}
    return element("svg", *drawn, role="img", aria_label=words, class_="cells", **size)


def _legend() -> Markup:
    keys = (element("span", _strip(letter, text), text, class_="key") for letter, text in _LOOKS.items())
    return element("p", *keys, class_="legend")


# --- metrics ---------------------------------------------------------------------------------


class _Columns(Struct, frozen=True, eq=False):
    """The horizontal positions of runs: one column for each, in the order of time."""

    places: Mapping[str, int]

    @property
    def step(self) -> float:
        return (_RIGHT - _LEFT) / max(len(self.places), 1)

    def at(self, run: RunRecord) -> float:
        """The middle of the column of a run."""
        return round(_LEFT + (self.places[run.record] + 0.5) * self.step, 1)


def _metrics(view: Overview) -> Markup:
    about = "The band is the interval, the steps are the threshold. Lines join runs of one branch that are comparable."
    columns = _Columns({run.record: place for place, run in enumerate(view.runs)})
    return named_section(
        "Metrics",
        "metrics",
        element("p", about, class_="dim"),
        *(_chart(one, view.runs, columns) for one in view.charts if one.lines),
        element("p", "Not drawn: ", ", ".join(map(_short, view.unshown)), class_="dim") if view.unshown else EMPTY,
    )


def _chart(metric: MetricChart, runs: Sequence[RunRecord], columns: _Columns) -> Markup:
    axis, last = _axis(metric), next(run for run in reversed(runs) if metric.metric in run.metrics)
    rules = [rule for rule in last.rules if rule.metric == metric.metric and not rule.slice]
    latest = _measured(last.metrics[metric.metric], rules)
    cuts = _cuts(metric)
    words = [f"{_moment(run)} {why}" for run, why in cuts]
    drawn = element(
        "svg",
        element("title", f"{_short(metric.metric)} over {count(len(runs), 'run')}. Last: {latest}"),
        *_grid(axis, runs, columns),
        *(part for line in metric.lines.values() for part in _line(line, axis, columns)),
        *(element("path", d=f"M{_before(run, columns):g} {_TOP - 8:g}V{_BOTTOM:g}", class_="cut") for run, _ in cuts),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        class_="trend",
        role="img",
    )
    return element(
        "div",
        element("h3", code(metric.metric), element("span", latest, class_="latest")),
        element("figure", drawn),
        element("p", "Cut, since values are not comparable: ", "; ".join(words), class_="dim") if cuts else EMPTY,
        class_="metric",
    )


def _cuts(metric: MetricChart) -> list[tuple[RunRecord, str]]:
    """The runs before which a line is cut because something else was measured, and why; the latest first."""
    parts = (part for line in metric.lines.values() for part in line.segments)
    found = [(part.points[0].run, CHANGES[part.because]) for part in parts if part.because is not None]
    return sorted(found, key=lambda one: (one[0].time, one[0].record), reverse=True)[:_MOST_CUTS]


def _before(run: RunRecord, columns: _Columns) -> float:
    return round(columns.at(run) - columns.step / 2, 1)


def _axis(metric: MetricChart) -> Axis:
    """The vertical axis. Around a single number that is not a ratio, it extends by 20% of it to either side."""
    numbers = {*_numbers(metric)}
    if metric.unit != "ratio" and len(numbers) == 1:
        (only,) = numbers
        numbers |= {only * 0.8, only * 1.2}
    return around(numbers, metric.unit, _BOTTOM, _TOP)


def _numbers(metric: MetricChart) -> Iterator[float]:
    """The numbers that the axis must show, rounded to 9 digits, without those too large to draw."""
    for point in (point for line in metric.lines.values() for point in line.points):
        for number in (point.value, point.low, point.high, *(rule.bound for rule in point.rules)):
            if number is not None and math.isfinite(number) and abs(number) < _LARGEST:
                yield float(f"{number:.9g}") if abs(number) > 1 / _LARGEST else 0.0


def _grid(axis: Axis, runs: Sequence[RunRecord], columns: _Columns) -> Iterator[Markup]:
    for y, text in axis.ticks(4):
        yield element("path", d=f"M{_LEFT:g} {y:g}H{_RIGHT:g}", class_="grid")
        yield element("text", text, x=_LEFT - 8, y=y + 4, class_="tick", text_anchor="end")
    for place, anchor in ({0: "start", len(runs) - 1: "end"} if len(runs) > 1 else {0: "middle"}).items():
        x = columns.at(runs[place])
        yield element("text", runs[place].time[:10], x=x, y=_BOTTOM + 20, class_="tick", text_anchor=anchor)


def _line(line: Series, axis: Axis, columns: _Columns) -> Iterator[Markup]:
    """The runs of one branch: the bands, the thresholds, the values and a mark for each run."""
    groups = [
        list(points)  # a point without a value cuts the line
        for segment in line.segments
        for has_value, points in groupby(segment.points, lambda point: point.value is not None)
        if has_value
    ]
    if bands := "".join(_band(points, axis, columns) for points in groups):
        yield element("path", d=bands, class_="band")
    yield from _steps(line.segments, axis, columns)
    if values := "".join(_values(points, axis, columns) for points in groups):
        yield element("path", d=values, class_="values")
    yield from _marks(line.points, axis, columns)


def _values(points: Sequence[SeriesPoint], axis: Axis, columns: _Columns) -> str:
    places = [f"{columns.at(point.run):g} {axis.at(point.value or 0.0):g}" for point in points]
    return f"M{'L'.join(places)}" if len(places) > 1 else f"M{places[0]}h0"


def _band(points: Sequence[SeriesPoint], axis: Axis, columns: _Columns) -> str:
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


def _steps(segments: Iterable[Segment], axis: Axis, columns: _Columns) -> Iterator[Markup]:
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
                to = f"V{axis.at(bound):g}" if key in before else f"M{start:.1f} {axis.at(bound):g}"
                drawn[key] = drawn.get(key, "") + f"{to}H{end:.1f}"
            before = set(bounds)
    for (level, _), path in drawn.items():
        yield element("path", d=path, class_="threshold" if level == "blocking" else "threshold warned")


def _marks(points: Iterable[SeriesPoint], axis: Axis, columns: _Columns) -> Iterator[Markup]:
    drawn: dict[str, str] = {}
    for point in points:
        look = _look(point)
        y = _BOTTOM if point.value is None else axis.at(point.value)
        if look != "met" or len(columns.places) <= _MOST_DOTS:
            drawn[look] = drawn.get(look, "") + f"M{columns.at(point.run):g} {y:g}{_SHAPES[look]}"
    for look, path in drawn.items():
        yield element("path", d=path, class_=f"mark {look}")


def _look(point: SeriesPoint) -> str:
    blocking = {rule.outcome for rule in point.rules if rule.level == "blocking"}
    if blocking & {"fail", "undefined"}:
        return "missed"
    return "inconclusive" if "inconclusive" in blocking or point.value is None else "met"


# --- words -----------------------------------------------------------------------------------


def _short(text: str | None) -> str:
    """A text from a record with invisible characters as escapes; `not known` if None."""
    return "not known" if text is None else cut(revealed(text), 120) or "(empty)"


def _moment(run: RunRecord) -> str:
    return run.time[:16].replace("T", " ")


def _commit(run: RunRecord) -> str:
    """The first 12 characters of a run's commit; with `+` if the working tree had changes."""
    return "not known" if run.commit is None else cut(revealed(run.commit), 13)[:12] + ("+" if run.changed else "")


def _measured(value: MetricInRun, rules: Sequence[RuleInRun]) -> str:
    """`96.0% (91.2–98.6); ≥ 90%: pass`."""
    bounds = [Fraction(str(rule.bound)) for rule in rules if rule.bound is not None]
    exact = None if value.value is None else Fraction(str(value.value))
    shown = show(Value(exact, value.scenarios, 0, value.unit, value.better, low=value.low, high=value.high), bounds)
    open_ = f", {value.undecided} undecided" if value.undecided else ""
    return "; ".join([shown + open_, *(f"{_demand(rule, value.unit)}: {rule.outcome}" for rule in rules)])


def _demand(rule: RuleInRun, unit: Unit) -> str:
    text = show_threshold(rule.threshold or "", unit) or _short(rule.threshold or rule.rule)
    return text if rule.level == "blocking" else f"{text} (warning)"
