"""The metrics by slice: a dot with an interval for each value of a column, on a common axis; worse ones are marked."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby

from highbar.language.digits import Bounds, bounds_by_metric, show
from highbar.language.phrases import count
from highbar.model import Slice, Value, Verdict
from highbar.report.headline import slice_sentences
from highbar.report.html.charts import axis_scale, shared_axis, value_line
from highbar.report.html.markup import EMPTY, Markup, element, join, to_markup
from highbar.report.html.parts import LONGEST_TEXT, code, folded, for_screen_readers, icon, more_line, table
from highbar.report.titles import metric_words
from highbar.report.visible import cut

MOST_ROWS = 60
"""Rows that are drawn for one column."""
ALL_ROWS = 180
"""Rows of all columns together, separately for the charts of the pass rate and for the folded ones below them."""


def slices(verdict: Verdict) -> Markup:
    """For each column a chart of the pass rate, and folded below it charts of the other metrics that rules name."""
    if not verdict.slices:
        return EMPTY
    bounds = bounds_by_metric(verdict.rules)
    columns = {column: list(parts) for column, parts in groupby(verdict.slices, lambda part: part.by[0])}
    room = ALL_ROWS // len(columns)
    groups = [_column(column, parts, verdict, bounds, room) for column, parts in columns.items()]
    about = (
        "Each row is a part of the suite: a dot for its value, a bar for the interval. The dashed line is the whole."
    )
    heading = "Slices: the same metrics for parts of the suite"
    return folded(heading, "slices", element("p", about, class_="dim"), *groups)


def _column(column: str, parts: list[Slice], verdict: Verdict, bounds: Bounds, room: int) -> Markup:
    ruled = {rule.metric for rule in verdict.rules} | {"pass_rate"}
    names = [name for name in verdict.metrics if name in ruled and any(_has_value(part, name) for part in parts)]
    names.sort(key=lambda name: name != "pass_rate")
    drawn = _slices_to_draw(parts, min(MOST_ROWS, room))
    sentences = [element("p", sentence, ".") for sentence in _standings(parts)]
    charts = [_chart(name, column, drawn, verdict, bounds) for name in names[:1]]
    title = element("h3", "By ", code(column))
    others = _others(names[1:], column, drawn, verdict, bounds, room)
    return join(title, *sentences, *charts, more_line(len(parts), len(drawn)), others)


def _others(
    names: Sequence[str], column: str, drawn: Sequence[Slice], verdict: Verdict, bounds: Bounds, room: int
) -> Markup:
    """The folded charts of the other metrics: at least one, and as many as fit into `room` rows."""
    fitting = names[: max(room // max(len(drawn), 1), 1)]
    if not fitting:
        return EMPTY
    charts = [_chart(name, column, drawn, verdict, bounds) for name in fitting]
    title = element("summary", f"{count(len(fitting), 'more metric')} by ", code(column))
    return element("details", title, *charts, more_line(len(names), len(fitting)))


def _standings(parts: Sequence[Slice]) -> list[Markup]:
    return [Markup(sentence) for sentence in slice_sentences(parts, lambda text: to_markup(cut(text, LONGEST_TEXT)))]


def _slices_to_draw(parts: list[Slice], most: int) -> list[Slice]:
    """The slices to draw, in their order: all worse ones, and as many of the others as `most` allows."""
    if len(parts) <= most:
        return parts
    flagged = sum(part.worse for part in parts)
    room = max(most - flagged, 0)
    drawn: list[Slice] = []
    for part in parts:
        if part.worse or room > 0:
            drawn.append(part)
            room -= not part.worse
    return drawn


def _has_value(part: Slice, name: str) -> bool:
    value = part.metrics.get(name)
    return value is not None and value.value is not None


def _chart(name: str, column: str, parts: Sequence[Slice], verdict: Verdict, bounds: Bounds) -> Markup:
    whole = verdict.metrics[name].value
    values = [part.metrics[name] for part in parts if _has_value(part, name)]
    axis = shared_axis(values, () if whole is None else (whole,))
    rows = []
    for part in parts:
        value = part.metrics.get(name)
        flagged = part.worse and name == "pass_rate"
        named = join(
            code(part.by[1]), element("span", icon("warn"), "worse", class_="badge warn") if flagged else EMPTY
        )
        drawn = value_line(axis, value, "warned" if flagged else "plain", whole)
        rows.append((named, str(part.scenarios), _value_cell(value, bounds.get(name, ())), drawn))
    return table(
        (column, "scenarios", metric_words(name), join(for_screen_readers("drawn"), axis_scale(axis))), rows, "slices"
    )


def _value_cell(value: Value | None, bounds: tuple[Fraction, ...]) -> str:
    return "–" if value is None or value.value is None else show(value, bounds)
