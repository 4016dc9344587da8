"""Charts as inline SVG: lines with a value, its interval and a threshold; a histogram; a bar for a term of a score.

Each color has a shape, too: a dot has passed, a diamond has not, a ring is undecided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from highbar.language.digits import amount, change
from highbar.model import Value
from highbar.model.comparison import Difference
from highbar.model.details import Bin
from highbar.report.html.axis import Axis, around, as_number, from_zero, numbers_of
from highbar.report.html.markup import EMPTY, Markup, element, join

WIDTH = 260
_EDGE = 8.0


def demand_line(axis: Axis, value: Value, threshold: tuple[str, Fraction] | None, look: str) -> Markup:
    """A value, its interval and its threshold on a common axis, with the accepted side tinted; empty if undefined.

    `threshold` has an operator and a number.
    The table's header has the axis labels of percentages; a line in another unit has its own labels.
    """
    numbers = numbers_of(value)
    if not numbers:
        return EMPTY
    middle = 11.0
    labels = [] if value.unit == "ratio" else _end_labels(axis, 31)
    # Later elements are drawn over earlier ones: the dot must not be hidden by the threshold.
    return element(
        "svg",
        element("rect", x=axis.left, y=middle - 6, width=axis.right - axis.left, height=12, rx=3, class_="track"),
        EMPTY if threshold is None else _accepted(axis, *threshold, value, middle),
        _interval(axis, value, middle, look),
        EMPTY if threshold is None else _mark(axis.at(as_number(threshold[1])), 1, 21, "bar"),
        _dot(axis.at(numbers[0]), middle, look),
        *labels,
        viewBox=f"0 0 {WIDTH} {34 if labels else 22}",
        class_="line",
        aria_hidden="true",
    )


def _end_labels(axis: Axis, y: float) -> list[Markup]:
    return [
        element("text", text, x=x, y=y, class_="tick", text_anchor=anchor)
        for (x, text), anchor in zip(_ends(axis), ("start", "end"), strict=True)
    ]


def change_line(difference: Difference, look: str, allowed: Fraction | None = None) -> Markup:
    """A difference, its interval, and the worst accepted difference: `allowed`, else 0; empty if undefined."""
    value, unit = difference.value, difference.head.unit
    if value is None or not math.isfinite(as_number(value)):
        return EMPTY
    ends = [end for end in (difference.low, difference.high) if end is not None]
    limit = allowed or Fraction(0)
    axis = around((0.0, as_number(limit), as_number(value), *ends), unit, _EDGE, WIDTH - _EDGE, signed=True)
    changed = replace(difference.head, value=value, low=difference.low, high=difference.high)
    middle = 14.0
    operator = ">" if changed.better == "higher" else "<"
    labels = [
        element("text", change(Fraction(f"{number:.9g}"), unit), x=x, y=36, class_="tick", text_anchor=anchor)
        for number, x, anchor in ((axis.start, axis.left, "start"), (axis.end, axis.right, "end"))
    ]
    return element(
        "svg",
        element("rect", x=_EDGE, y=middle - 6, width=axis.right - axis.left, height=12, rx=3, class_="track"),
        _accepted(axis, operator, limit, changed, middle),
        _interval(axis, changed, middle, look),
        _mark(axis.at(as_number(limit)), middle - 11, middle + 11, "bar"),
        _dot(axis.at(as_number(value)), middle, look),
        *labels,
        viewBox=f"0 0 {WIDTH} 40",
        class_="line",
        aria_hidden="true",
    )


def value_line(axis: Axis, value: Value | None, look: str, whole: Fraction | None = None) -> Markup:
    """A value and its interval on a common axis; `across` is a number that is marked on every line."""
    middle = 11.0
    numbers = numbers_of(value)
    parts = [
        element("path", d=f"M{axis.left:g} {middle:g}H{axis.right:g}", class_="rail"),
        EMPTY if whole is None else _mark(axis.at(as_number(whole)), 0, 22, "whole"),
    ]
    if value is not None and numbers:
        parts += [_interval(axis, value, middle, look), _dot(axis.at(numbers[0]), middle, look)]
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} 22", class_="line", aria_hidden="true")


def axis_scale(axis: Axis) -> Markup:
    """The labels of a common axis, drawn above its lines."""
    found = list(axis.ticks(4))
    marks = [
        join(
            element("path", d=f"M{x:g} 14v4", class_="rail"),
            element("text", text, x=x, y=11, class_="tick", text_anchor=_anchor(place, len(found))),
        )
        for place, (x, text) in enumerate(found)
    ]
    return element("svg", *marks, viewBox=f"0 0 {WIDTH} 18", class_="line", aria_hidden="true")


def shared_axis(values: Iterable[Value], more: Iterable[Fraction] = ()) -> Axis:
    """An axis for several values of the same unit, which also shows the numbers in `more`."""
    found = list(values)
    numbers = [number for value in found for number in numbers_of(value)] + [as_number(number) for number in more]
    return around(numbers, found[0].unit if found else "ratio", _EDGE, WIDTH - _EDGE)


def term_bar(adds: Fraction | None, most: Fraction | None, longest: Fraction) -> Markup:
    """A bar for what a term adds to a score, inside an outline of the most that it could add; empty if undefined."""
    if adds is None or not longest:
        return EMPTY
    axis = Axis(0.0, as_number(longest), as_number(longest), 0.0, float(WIDTH), "number")
    parts = []
    if most is not None and most > 0:
        parts.append(
            element("rect", x=0.5, y=3.5, width=axis.at(as_number(most)) - 0.5, height=13, rx=2, class_="most")
        )
    parts.append(
        element(
            "rect",
            x=0,
            y=3,
            width=axis.at(abs(as_number(adds))),
            height=14,
            rx=2,
            class_="adds" if adds >= 0 else "takes",
        )
    )
    return element("svg", *parts, viewBox=f"0 0 {WIDTH} 20", class_="line", aria_hidden="true")


class Limit(Struct, frozen=True):
    """A line across a histogram: a threshold, or the value of a metric."""

    text: str
    value: Fraction
    look: str


def histogram(bins: Sequence[Bin], limits: Sequence[Limit], title: str) -> Markup:
    """Trials as columns over latency, with limits as lines across them, each with its label on a separate row.

    A bin without an upper end is drawn pale and extends to the end of the axis, since its trials may be beyond it.
    """
    width, height, row = 760.0, 150.0, 16.0
    # An open bin has no end of its own: the axis leaves 15% for it.
    last = as_number(bins[-1].low) * 1.15 if bins[-1].high is None else as_number(bins[-1].high)
    axis = from_zero(max([last, *(as_number(limit.value) for limit in limits)]), "ms", 4, width - 8)
    tallest = max(one.trials for one in bins) or 1
    bottom = row * len(limits) + 8 + height
    columns = [_column(one, axis, bottom, one.trials / tallest * height) for one in bins if one.trials]
    ticks = [
        element("text", text, x=x, y=bottom + 15, class_="tick", text_anchor="start" if x < 20 else "middle")
        for x, text in axis.ticks()
        if x < width - 60  # the word "latency" is there
    ]
    places = [(axis.at(as_number(limit.value)), row * place, limit) for place, limit in enumerate(limits)]
    lines = [_mark(x, y + 6, bottom, limit.look) for x, y, limit in places]
    labels = [_limit_label(x, y + 14, limit.text, width) for x, y, limit in places]
    base = element("path", d=f"M{axis.left:g} {bottom:g}H{axis.right:g}", class_="rail")
    side = element("path", d=f"M{axis.left:g} {bottom - height:g}V{bottom:g}", class_="rail")
    highest = element("text", f"{tallest} trials", x=axis.left + 4, y=bottom - height + 4, class_="tick")
    below = element("text", "latency", x=width - 8, y=bottom + 15, class_="tick", text_anchor="end")
    parts = [element("title", title), *columns, base, side, highest, below, *ticks, *lines, *labels]
    return element("svg", *parts, viewBox=f"0 0 {width:g} {bottom + 20:g}", class_="histogram", role="img")


def _column(one: Bin, axis: Axis, bottom: float, height: float) -> Markup:
    left = axis.at(as_number(one.low))
    right = axis.right if one.high is None else axis.at(as_number(one.high))
    shown = max(height, 1.5)  # so that one trial among thousands is visible
    upper = " and above" if one.high is None else f" to {amount(one.high, 'ms')}"
    named = element("title", f"{amount(one.low, 'ms')}{upper}: {one.trials}")
    look = "column open" if one.high is None else "column"
    box = {"x": round(left + 0.5, 1), "y": round(bottom - shown, 1), "width": round(max(right - left - 1, 1), 1)}
    return element("rect", named, height=round(shown, 1), class_=look, **box)


def _limit_label(x: float, y: float, text: str, width: float) -> Markup:
    # Near the right edge the label is to the left of its line, or it would be cut off.
    turned = x > width * 0.6
    beside = {"x": x - 5 if turned else x + 5, "text_anchor": "end" if turned else "start"}
    return element("text", text, y=y, class_="limit", **beside)


# --- parts of a line -------------------------------------------------------------------------


def _ends(axis: Axis) -> list[tuple[float, str]]:
    found = list(axis.ticks(1_000))
    return [(axis.left, found[0][1]), (axis.right, found[-1][1])]


def _anchor(place: int, count: int) -> str:
    return "start" if place == 0 else "end" if place == count - 1 else "middle"


def _accepted(axis: Axis, operator: str, bound: Fraction, value: Value, middle: float) -> Markup:
    """The tinted side of the threshold that meets it; empty if the operator accepts no whole side."""
    x = axis.at(as_number(bound))
    if operator == "!=" or (operator == "=" and axis.start < as_number(bound) < axis.end):
        return EMPTY
    upward = operator.startswith(">") or (operator == "=" and value.better == "higher")
    left, right = (x, axis.right) if upward else (axis.left, x)
    return element("rect", x=left, y=middle - 6, width=round(right - left, 1), height=12, rx=3, class_="accepted")


def _interval(axis: Axis, value: Value, middle: float, look: str) -> Markup:
    """The interval, with a cap at each known end; an open end extends to the end of the axis."""
    if value.low is None and value.high is None:
        return EMPTY
    known = [end if end is not None and math.isfinite(end) else None for end in (value.low, value.high)]
    left = axis.left if known[0] is None else axis.at(known[0])
    right = axis.right if known[1] is None else axis.at(known[1])
    caps = [f"M{x:g} {middle - 5:g}v10" for x, end in zip((left, right), known, strict=True) if end is not None]
    return element("path", d=f"M{left:g} {middle:g}H{right:g}{''.join(caps)}", class_=f"interval {look}")


def _dot(x: float, y: float, look: str) -> Markup:
    # Another shape, not only another color, because some readers cannot tell the colors apart.
    if look in ("missed", "warned"):
        return element("path", d=f"M{x:g} {y - 6:g}l6 6-6 6-6-6z", class_=f"dot {look}")
    return element("circle", cx=x, cy=y, r=4.5 if look == "inconclusive" else 5, class_=f"dot {look}")


def _mark(x: float, top: float, bottom: float, look: str) -> Markup:
    return element("path", d=f"M{x:g} {top:g}V{bottom:g}", class_=look)
