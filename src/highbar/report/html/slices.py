"""The metrics by slice: one dot with its interval for each value of a column, on one axis; the flagged ones marked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from highbar.digits import bounds_by_metric, show
from highbar.model import Slice, Value, Verdict
from highbar.report.headline import more, standings
from highbar.report.html.charts import scale, shared_axis, value_line
from highbar.report.html.markup import EMPTY, Markup, element, encode, join
from highbar.report.html.parts import LONGEST_TEXT, code, heading, icon, table, unseen
from highbar.report.html.rules import Bounds
from highbar.report.visible import cut

MOST_ROWS = 60


def slices(verdict: Verdict) -> Markup:
    """A chart of the pass rate for each column, and below it, closed, those of the other metrics that rules name."""
    if not verdict.slices:
        return EMPTY
    bounds = bounds_by_metric(verdict.rules)
    groups = [
        _column(column, list(parts), verdict, bounds) for column, parts in groupby(verdict.slices, lambda s: s.by[0])
    ]
    about = element("p", "Each dot with its interval; the dashed line is the value over all scenarios.", class_="dim")
    return element("section", heading("Slices", "slices"), about, *groups, aria_labelledby="slices")


def _column(column: str, parts: list[Slice], verdict: Verdict, bounds: Bounds) -> Markup:
    ruled = {rule.metric for rule in verdict.rules} | {"pass_rate"}
    names = [name for name in verdict.metrics if name in ruled and any(_known(part, name) for part in parts)]
    names.sort(key=lambda name: name != "pass_rate")
    kept = _kept(parts)
    told = [element("p", icon("warn") if " worse " in one else None, one) for one in _standings(parts)]
    first, rest = names[:1], names[1:]
    charts = [_chart(name, column, kept, verdict, bounds) for name in first]
    others = [_chart(name, column, kept, verdict, bounds) for name in rest]
    opened = (
        element("details", element("summary", f"{len(rest)} more metrics by ", code(column)), *others)
        if rest
        else EMPTY
    )
    left_out = more(len(parts), len(kept))
    title = element("h3", "By ", code(column))
    return join(title, *told, *charts, element("p", left_out, class_="dim") if left_out else EMPTY, opened)


def _standings(parts: Sequence[Slice]) -> list[Markup]:
    return [Markup(sentence) for sentence in standings(parts, lambda text: encode(cut(text, LONGEST_TEXT)))]


def _kept(parts: list[Slice]) -> list[Slice]:
    """As many as are read, in their order; the flagged ones always."""
    if len(parts) <= MOST_ROWS:
        return parts
    flagged = sum(part.worse for part in parts)
    room = max(MOST_ROWS - flagged, 0)
    kept: list[Slice] = []
    for part in parts:
        if part.worse or room > 0:
            kept.append(part)
            room -= not part.worse
    return kept


def _known(part: Slice, name: str) -> bool:
    value = part.metrics.get(name)
    return value is not None and value.value is not None


def _chart(name: str, column: str, parts: Sequence[Slice], verdict: Verdict, bounds: Bounds) -> Markup:
    whole = verdict.metrics[name].value
    values = [part.metrics[name] for part in parts if _known(part, name)]
    axis = shared_axis(values, () if whole is None else (whole,))
    rows = []
    for part in parts:
        value = part.metrics.get(name)
        flagged = part.worse and name == "pass_rate"
        named = join(
            code(part.by[1]), element("span", icon("warn"), "worse", class_="badge warn") if flagged else EMPTY
        )
        drawn = value_line(axis, value, "warned" if flagged else "plain", whole)
        rows.append((named, str(part.scenarios), _shown(value, bounds.get(name, ())), drawn))
    return table((column, "scenarios", name, join(unseen("drawn"), scale(axis))), rows, "slices")


def _shown(value: Value | None, bounds: tuple[object, ...]) -> str:
    return "–" if value is None or value.value is None else show(value, bounds)  # type: ignore[arg-type]
