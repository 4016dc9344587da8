"""What changed between two runs: differences with their intervals, and the scenarios that broke or were fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from highbar.model.comparison import Change, Comparison, MetricChange, MovedScenario, SliceChange
from highbar.model.details import Excerpt, TrialDetail
from highbar.report import comparison_words as words
from highbar.report.html.charts import change_line
from highbar.report.html.markup import EMPTY, Markup, element, join, legible
from highbar.report.html.parts import (
    LONGEST_TEXT,
    code,
    for_screen_readers,
    icon,
    more_line,
    named_section,
    table,
    undefined_metrics,
)
from highbar.report.value_words import undefined_by_reason
from highbar.report.visible import cut, revealed

MOST_ROWS = 60
"""Slices of one column that are drawn: nobody takes in more at a glance, and the JSON report has all."""
MOST_IDS = 500
"""Scenarios in one list of the page."""
_LOOKS: dict[Change, tuple[str, str]] = {
    "better": ("pass", "met"),
    "worse": ("fail", "missed"),
    "within_margin": ("plain", "plain"),
    "cannot_tell": ("plain", "plain"),
}
_NO_OUTPUTS = "This run has no outputs to show: it is a baseline, or was read from standard input."


def metric_changes(comparison: Comparison) -> Markup:
    """Every metric in both runs, and a chart of the difference, its interval and the accepted difference."""
    known = {name: change for name, change in comparison.metrics.items() if change.difference.value is not None}
    rows = [_row(code(name), change) for name, change in known.items()]
    names = ("metric", "change", "before", "after", "difference", for_screen_readers("drawn"))
    sides = [
        join(element("dt", name), element("dd", Markup(words.side(side, code))))
        for name, side in (("Base", comparison.base), ("Head", comparison.head))
    ]
    latency = words.latency(comparison)
    return named_section(
        f"Changes over {comparison.pairs} scenarios",
        "changes",
        element("dl", *sides, class_="record"),
        table(names, rows, "changes") if rows else EMPTY,
        element("p", words.explanation(comparison), class_="dim"),
        element("p", latency, class_="dim") if latency else EMPTY,
        undefined_metrics("Metrics without a difference", undefined_by_reason(words.metric_differences(comparison))),
    )


def _row(name: Markup, change: MetricChange) -> tuple[str, ...]:
    _, outcome, base, head, difference = words.metric_cells("", change, code)
    kind, look = _LOOKS[change.outcome]
    sign = icon(kind) if kind != "plain" else None
    shown = element("span", sign, outcome, class_=f"badge {kind}")
    number, _, bounds = difference.partition(" (")
    gap = join(element("b", number), element("span", f" ({bounds}" if bounds else "", class_="dim"))
    return name, shown, base, head, gap, change_line(change.difference, look, change.allowed)


def moved(comparison: Comparison) -> Markup:
    """The scenarios that broke, were fixed, are flaky, or could not be compared."""
    shown = {scenario.id: scenario for scenario in comparison.moved}
    lists = [
        _ids(title, ids, shown if place < 2 else {}, opened=place < 2)
        for place, (title, ids) in enumerate(words.scenario_lists(comparison))
        if ids
    ]
    summary = element("p", words.changed_passes(comparison.passes))
    return named_section("Scenarios", "moved", summary, *lists)


def _ids(title: str, ids: Sequence[str], shown: Mapping[str, MovedScenario], *, opened: bool) -> Markup:
    """The scenarios whose outputs were read, with both outputs, then the ids of the others."""
    both = [_side_by_side(shown[id_]) for id_ in ids if id_ in shown]
    others = [id_ for id_ in ids if id_ not in shown]
    listed = element("ul", *(element("li", code(id_)) for id_ in others[:MOST_IDS]), class_="ids") if others else EMPTY
    rest = more_line(len(others), MOST_IDS)
    return element("details", element("summary", f"{title} ({len(ids)})"), *both, listed, rest, open=opened)


def _side_by_side(scenario: MovedScenario) -> Markup:
    """A closed row for the scenario, which opens to the input and both replies."""
    base, head = (None if trials is None else _shown_trial(trials) for trials in (scenario.base, scenario.head))
    known = [trial for trial in (head, base) if trial is not None]
    asked = next((trial.input for trial in known if trial.input), None)
    why = next((trial.reason for trial in known if trial.reason), "") or ""
    return element(
        "details",
        element("summary", code(scenario.id), element("span", cut(revealed(why), LONGEST_TEXT), class_="reason")),
        join(element("h3", "Input"), _text(asked, "Input")) if asked else EMPTY,
        element("div", _side("Base", scenario.base, base), _side("Head", scenario.head, head), class_="sides"),
        class_="both",
    )


def _shown_trial(trials: tuple[TrialDetail, ...]) -> TrialDetail | None:
    """The trial to show: the first that did not pass, else the first; None if there are none."""
    return next((trial for trial in trials if not trial.passed), trials[0] if trials else None)


def _side(name: str, trials: tuple[TrialDetail, ...] | None, trial: TrialDetail | None) -> Markup:
    if trial is None:
        return element("div", element("h3", name), element("p", _NO_OUTPUTS, class_="dim"), class_="trial")
    passed = sum(bool(each.passed) for each in trials or ())
    count = f", {passed} of {len(trials or ())} trials passed" if len(trials or ()) > 1 else ""
    outcome = {True: "passed", False: "did not pass", None: "undecided"}[trial.passed]
    title = element("h3", f"{name}: {outcome}{count}")
    why = element("p", cut(revealed(trial.reason), LONGEST_TEXT)) if trial.reason else EMPTY
    error = join(element("h4", "Error"), _text(Excerpt(trial.error), f"Error, {name}")) if trial.error else EMPTY
    nothing = element("p", "No output was recorded.", class_="dim")
    reply = _text(trial.output, f"Output, {name}") if trial.output else nothing
    return element("div", title, why, error, reply, class_=f"trial {'passed' if trial.passed else 'failed'}")


def _text(text: Excerpt, label: str) -> Markup:
    rest = element("p", f"… and {text.left_out} more characters", class_="dim") if text.left_out else EMPTY
    return join(element("pre", legible(text.text) or "(empty)", tabindex=0, role="group", aria_label=label), rest)


def slice_changes(comparison: Comparison) -> Markup:
    """How the pass rate changed in each slice, with a mark if it changed by more than chance."""
    if not comparison.slices:
        return EMPTY
    parts = [_column(column, list(group)) for column, group in groupby(comparison.slices, lambda part: part.by[0])]
    return named_section("Changes by slice", "sliced", *parts)


def _column(column: str, parts: list[SliceChange]) -> Markup:
    rows = []
    for part in parts[:MOST_ROWS]:
        kind = "pass" if part.metrics["pass_rate"].outcome == "better" else "warn"
        flag = element("span", icon(kind), "stands out", class_=f"badge {kind}") if part.stands_out else EMPTY
        name, *cells = _row(join(code(part.by[1]), " ", flag), part.metrics["pass_rate"])
        counts = (str(number) for number in (part.pairs, part.passes.broken, part.passes.fixed))
        rows.append((name, *counts, *cells))
    names = (
        column,
        "scenarios",
        "broke",
        "fixed",
        "pass rate",
        "before",
        "after",
        "difference",
        for_screen_readers("drawn"),
    )
    rest = more_line(len(parts), MOST_ROWS)
    return join(element("h3", "By ", code(column)), table(names, rows, "changes"), rest)
