"""The history for a terminal: a list of runs, one run, and each metric as a sparkline or a chart.

Anyone may have written the file of a record, so every text from it goes through `visible`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from types import MappingProxyType

from highbar.language.digits import amount, show, show_threshold
from highbar.language.phrases import count
from highbar.model import Unit, Value
from highbar.model.history import Break, RuleInRun, RunRecord, Series, SeriesPoint
from highbar.report import PAGE, Display
from highbar.report.layout import columns, paint
from highbar.report.visible import cells, cut, visible

_BARS = "▁▂▃▄▅▆▇█"
_CUT, _UNDEFINED, _MISSED, _POINT, _THRESHOLD = "│", "·", "✗", "o", "-"
_HEIGHT = 10
_LONGEST = 24
_NONE = "-"
CHANGES = MappingProxyType(
    {
        "agent": "another agent, or one without a name",
        "suite": "other scenarios",
        "scoring": "other scoring",
        "judge": "another judge",
        "unknown": "not known whether suite, scoring and judge are the same",
    }
)


def render_list(runs: Sequence[RunRecord], display: Display = PAGE) -> str:
    """A line for each run, in the order of `runs`; without the column `agent` if no run names its agent."""
    if not runs:
        return "no runs\n"
    header = ("time", "verdict", "failed", "commit", "branch", "agent", "version", "record")
    table = [header, *(_row(run) for run in runs)]
    if not any(run.agent_name for run in runs):
        table = [row[:5] + row[6:] for row in table]
    first, *rows = columns(table, 0, display, widest=16)
    return "\n".join([paint(first, "dim", display), *rows]) + "\n"


def _row(run: RunRecord) -> tuple[str, ...]:
    return (
        run.time[:16].replace("T", " "),
        run.verdict,
        f"{run.counts.failed} of {run.counts.scenarios}",
        _commit(run),
        visible(run.branch or _NONE),
        cut(visible(run.agent_name or _NONE), 20),
        cut(visible(run.agent_version or _NONE), 10),
        run.record[:8],
    )


def _commit(run: RunRecord) -> str:
    return _NONE if run.commit is None else visible(run.commit[:7]) + ("+" if run.changed else "")


def render_origin(run: RunRecord, display: Display = PAGE) -> str:
    """The facts printed above a run's verdict: commit, branch, agent, and the digests of what it was measured with."""
    sources = {"run": "when the run ended", "given": "as given", "added": "when it was added"}
    facts = [
        ("record", run.record),
        ("time", f"{run.time} ({sources[run.time_of]})"),
        ("commit", visible(run.commit or "not known") + (" with changes in the working tree" if run.changed else "")),
        ("parents", "not known" if run.parents is None else visible(", ".join(run.parents)) or "none"),
        ("branch", visible(run.branch or "not known")),
        ("agent", visible(run.agent_name or "not named")),
        ("version", visible(run.agent_version or "not known")),
        ("judges", visible(", ".join(run.judges)) or _NONE),
        *((name, visible(getattr(run, name) or "not known")) for name in ("policy", "suite", "scoring", "judge")),
        ("listed", "only the verdict" if run.listed is None else count(run.listed, "scenario")),
    ]
    return "\n".join(columns(facts, 0, display)) + "\n"


# --- trends ----------------------------------------------------------------------------------


def render_trends(found: Sequence[Series], runs: Sequence[RunRecord], display: Display = PAGE) -> str:
    """A line for each metric: a sparkline, the last value with its interval, and the threshold with its outcome."""
    lines = [_span(runs)]
    names = [cut(visible(series.metric), _LONGEST) for series in found]
    width = max((cells(name) for name in names), default=0)
    ends = [_last(series) for series in found]
    room = max(10, display.width - width - 4 - max((cells(end) for end in ends), default=0))
    for name, series, end in zip(names, found, ends, strict=True):
        bars, misses = _spark(series, room)
        head = f"{name}{' ' * (width - cells(name))}  "
        lines.append(f"{head}{bars}  {end}".rstrip())
        if misses.strip():
            lines.append(" " * cells(head) + paint(misses.rstrip(), "red", display))
    lines += _cuts(found)
    return "\n".join(lines) + "\n"


def _span(runs: Sequence[RunRecord]) -> str:
    if not runs:
        return "no runs"
    first, last = runs[0].time[:10], runs[-1].time[:10]
    return f"{count(len(runs), 'run')}, {first}" + (f" to {last}" if last != first else "")


def _cuts(found: Sequence[Series]) -> list[str]:
    reasons = dict.fromkeys(part.because for series in found for part in series.segments if part.because)
    return [f"{_CUT} {'; '.join(CHANGES[reason] for reason in reasons)}: not comparable across it"] if reasons else []


def _spark(series: Series, room: int) -> tuple[str, str]:
    """The last points that fit, as bars, and a line that marks those that missed a blocking rule."""
    places = _places(series)[-room:]
    low, high = _range(point for point in places if isinstance(point, SeriesPoint))
    bars = "".join(_CUT if not isinstance(one, SeriesPoint) else _bar(one.value, low, high) for one in places)
    misses = "".join(_MISSED if isinstance(one, SeriesPoint) and _is_missed(one) else " " for one in places)
    return bars, misses


def _places(series: Series) -> list[SeriesPoint | Break]:
    """The points, and between two segments what changed."""
    places: list[SeriesPoint | Break] = []
    for segment in series.segments:
        places += [segment.because] if segment.because else []
        places += segment.points
    return places


def _range(points: Iterable[SeriesPoint]) -> tuple[float, float]:
    """The least and the greatest of all values and thresholds; 0 and 1 if there are none."""
    found = [number for point in points for number in (point.value, _bound(point)) if number is not None]
    return (min(found), max(found)) if found else (0.0, 1.0)


def _bar(value: float | None, low: float, high: float) -> str:
    return _UNDEFINED if value is None else _BARS[_level(value, low, high, len(_BARS))]


def _level(value: float, low: float, high: float, levels: int) -> int:
    """The level of a value, from 0 to `levels` - 1; the highest if `low` equals `high`."""
    return levels - 1 if high <= low else round((value - low) / (high - low) * (levels - 1))


def _rule(point: SeriesPoint) -> RuleInRun | None:
    """The rule that is shown: the first blocking rule with a number, else the first rule with a number."""
    bounded = [rule for rule in point.rules if rule.bound is not None]
    return next((rule for rule in bounded if rule.level == "blocking"), bounded[0] if bounded else None)


def _bound(point: SeriesPoint) -> float | None:
    rule = _rule(point)
    return None if rule is None else rule.bound


def _is_missed(point: SeriesPoint) -> bool:
    return any(rule.level == "blocking" and rule.outcome != "pass" for rule in point.rules)


def _last(series: Series) -> str:
    """The last value: `96.0% (91.2–98.6), ≥ 90%: pass`."""
    points = series.points
    if not points:
        return "no value"
    point, rule = points[-1], _rule(points[-1])
    bounds = () if rule is None or rule.bound is None else (Fraction(str(rule.bound)),)
    shown = show(_value(point, series.unit), bounds)
    if rule is None:
        return shown
    demand = show_threshold(rule.threshold or "", series.unit) or visible(rule.threshold or "")
    return f"{shown}, {demand}{'' if rule.level == 'blocking' else ' (warning)'}: {rule.outcome}"


def _value(point: SeriesPoint, unit: Unit) -> Value:
    # By its decimal digits: Fraction(0.9) is slightly above 9/10, and could be shown on the wrong side of a threshold.
    exact = None if point.value is None else Fraction(str(point.value))
    return Value(exact, 0, 0, unit, "higher", low=point.low, high=point.high)


# --- one metric as a chart -------------------------------------------------------------------


def render_chart(series: Series, runs: Sequence[RunRecord], display: Display = PAGE) -> str:
    """One metric with a column for each run: `o` is the value, `✗` if it missed a blocking rule, `-` the threshold."""
    places = _places(series)
    low, high = _range(point for point in places if isinstance(point, SeriesPoint))
    labels = {level: amount(Fraction(str(low + (high - low) * level / (_HEIGHT - 1))), series.unit)
              for level in (0, _HEIGHT - 1)}  # fmt: skip
    margin = max(cells(label) for label in labels.values()) + 2
    shown = places[-max(10, display.width - margin - 1) :]
    lines = [f"{visible(series.metric)}: {_span(runs)}", ""]
    for level in reversed(range(_HEIGHT)):
        label = labels.get(level, "")
        drawn = "".join(_cell(place, level, (low, high)) for place in shown)
        lines.append(f"{' ' * (margin - 2 - cells(label))}{label}  {drawn}".rstrip())
    lines += ["", f"last run: {_last(series)}"]
    if len(shown) < len(places):
        lines.append(f"only the last {count(sum(isinstance(one, SeriesPoint) for one in shown), 'run')}")
    return "\n".join([*lines, *(_times(series))]) + "\n"


def _cell(place: SeriesPoint | Break, level: int, ends: tuple[float, float]) -> str:
    if not isinstance(place, SeriesPoint):
        return _CUT
    if place.value is None and level == 0:
        return _UNDEFINED
    if place.value is not None and _level(place.value, *ends, _HEIGHT) == level:
        return _MISSED if _is_missed(place) else _POINT
    bound = _bound(place)
    return _THRESHOLD if bound is not None and _level(bound, *ends, _HEIGHT) == level else " "


def _times(series: Series) -> list[str]:
    """For each cut of the line its date, its commit and the reason."""
    return [
        f"{_CUT} {part.points[0].run.time[:10]}, {_commit(part.points[0].run)}: {CHANGES[part.because]}"
        for part in series.segments
        if part.because
    ]
