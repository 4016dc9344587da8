"""A history as one page: verdicts, metrics over time, changes of level, cost and latency, and unstable scenarios.

The page is self-contained and drawn here. Its script only filters, searches, turns pages and moves the focus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from highbar.history.change_points import LEVEL, MOST_VALUES, ChangePoint, ChangePoints
from highbar.history.overview import Overview
from highbar.history.tracks import MetricTracks, by_branch
from highbar.language.phrases import count
from highbar.model.history import RunRecord
from highbar.report.html.history.heat import BARS, CELL, HEIGHT, PAGE_LENGTH, heat, packed_rows
from highbar.report.html.history.lines import BOTTOM, LEFT, RIGHT, chart
from highbar.report.html.history.strip import names_of, runs_table, strip
from highbar.report.html.history.words import commit, facts, moment, number_words, run_line, short_text
from highbar.report.html.markup import EMPTY, Markup, element, join
from highbar.report.html.page import pack, package_text, page_document, script_data
from highbar.report.html.parts import code, icon, named_section, table
from highbar.report.visible import revealed
from highbar.statistics.splits import FEWEST

_MOST_UNSHOWN = 50
"""Metrics without a drawing that the page names; it counts the others."""
_MOST_DAMAGED = 10
"""Damaged records that the page names; it counts the others."""
_MOST_CHANGES = 50
"""Changes of level that the page lists; it counts the others."""
_ABOUT_CHANGES = (
    "A line is cut where the mean ranks before and after differ most, in all of it or in a part. The change is listed "
    "if the same values in random order are cut as clearly in less than {level:.0%} of cases, corrected for the place "
    "that was searched for and for the number of lines. A line of more than {most} runs is looked at twice: its last "
    "{most} runs one by one, and all of it by means of several runs. A change says that runs differ, not why."
)


def render(view: Overview) -> str:
    """The page. `view` must have at least one run."""
    main = element(
        "main",
        _filters(view.runs),
        strip(view),
        _changes_section(view.changes),
        _metrics(view),
        _spending(view),
        heat(view.stability),
        runs_table(view),
        _clip(),
        id="main",
    )
    style = package_text("page.css") + package_text("history.css", __package__)
    sections = [_head(view), main, _data(view)]
    return page_document(
        "History · Highbar",
        view.runs[-1].verdict,
        sections,
        style=style,
        script=package_text("history.js", __package__),
    )


def _head(view: Overview) -> Markup:
    last = view.runs[-1]
    look = {"pass": "pass", "fail": "fail"}.get(last.verdict, "inconclusive")
    first, end = view.runs[0].time[:10], last.time[:10]
    dates = first if first == end else f"{first} to {end}"
    shown = f"the last {len(view.runs)} of {view.total} runs" if view.total > len(view.runs) else ""
    return element(
        "header",
        element("h1", element("b", icon(look), last.verdict.upper()), "History: the last run"),
        element(
            "p",
            element("span", shown or count(view.total, "run")),
            element("span", dates),
            element("span", "branch ", code(short_text(last.branch))),
            class_="about",
        ),
        *_damaged(view),
        class_=f"banner {look}",
    )


def _damaged(view: Overview) -> Iterator[Markup]:
    if view.damaged:
        named = [element("li", code(one.file), f": {one.reason}") for one in view.damaged[:_MOST_DAMAGED]]
        more = len(view.damaged) - len(named)
        rest = [element("li", f"and {more} more")] if more else []
        yield element("p", f"{count(len(view.damaged), 'record')} left out:", class_="lead")
        yield element("ul", *named, *rest, class_="problems")


# --- filters ---------------------------------------------------------------------------------


def _filters(runs: Sequence[RunRecord]) -> Markup:
    """The filters, hidden until the script shows them."""
    verdicts = [("", "all"), *((one, one) for one in ("pass", "fail", "inconclusive"))]
    return element(
        "form",
        _choice("Branch", "branch", _numbered(by_branch(runs))),
        _choice("Agent version", "version", _numbered(_versions(runs))),
        element("label", "Verdict", element("select", *(_option(*one) for one in verdicts), id="verdict")),
        element("label", "From", element("input", type="date", id="from")),
        element("label", "To", element("input", type="date", id="to")),
        element("button", "Reset", type="reset", id="reset"),
        element("p", id="shown", role="status"),
        class_="tools filters",
        id="filters",
        hidden=True,
        aria_label="Filters",
    )


def _option(value: str, text: str) -> Markup:
    return element("option", text, value=value)


def _choice(title: str, name: str, numbered: dict[str | None, int]) -> Markup:
    options = [element("option", short_text(text), value=str(place)) for text, place in numbered.items()]
    return element("label", title, element("select", _option("", "all"), *options, id=name))


def _versions(runs: Sequence[RunRecord]) -> Iterator[str | None]:
    return iter(dict.fromkeys(run.agent_version for run in reversed(runs)))


def _numbered(names: Iterator[str | None] | dict[str | None, list[RunRecord]]) -> dict[str | None, int]:
    return {name: place for place, name in enumerate(names)}


# --- metrics ---------------------------------------------------------------------------------


def _metrics(view: Overview) -> Markup:
    about = "The band is the interval, the steps are the threshold. Lines join runs of one branch that are comparable."
    none = element("p", "No rule is about a metric: these are all.") if not view.is_gated else EMPTY
    named = [code(name) for name in view.unshown[:_MOST_UNSHOWN]]
    more = len(view.unshown) - len(named)
    unshown = element("p", "Not drawn: ", *named, f" and {more} more" if more else "", class_="dim unshown")
    return named_section(
        "Metrics",
        "metrics",
        element("p", about, class_="dim"),
        element("p", *_legend(), class_="legend"),
        none,
        *_charts(view, view.metrics),
        unshown if view.unshown else EMPTY,
    )


def _legend() -> Iterator[Markup]:
    for look, text, shape in (
        ("met", "met", "M8 7h0"),
        ("missed", "missed a blocking rule", "M4 3l8 8m0-8l-8 8"),
        ("inconclusive", "inconclusive", "M4 7a4 4 0 1 0 8 0a4 4 0 1 0-8 0"),
    ):
        drawn = element("path", d=shape, class_=f"mark {look}")
        yield element("span", element("svg", drawn, width=16, height=14, aria_hidden="true"), text, class_="key")


def _spending(view: Overview) -> Markup:
    if not view.spending:
        drawn = [one.metric for one in view.metrics if one.unit in ("ms", "USD")]
        sentence = "They are above, with their rules." if drawn else "No run has a metric of cost or latency."
        return named_section("Cost and latency", "cost", element("p", sentence))
    charts = _charts(view, view.spending)
    return named_section("Cost and latency", "cost", *charts)


def _charts(view: Overview, metrics: Sequence[MetricTracks]) -> Iterator[Markup]:
    numbered = _numbered(by_branch(view.runs))
    for one in metrics:
        if one.tracks:
            yield chart(one, view.runs, numbered, [each for each in view.changes.found if each.metric == one.metric])


def _clip() -> Markup:
    """The clip path that limits the charts to the runs that the filters leave; the script fills it."""
    return element(
        "svg", element("clipPath", id="shown-columns"), width=0, height=0, aria_hidden="true", class_="off-screen"
    )


# --- what the script unpacks -----------------------------------------------------------------


def _data(view: Overview) -> Markup:
    """Data for the script. It has only Base64, numbers and names of our own, so nothing can end the element."""
    branches, versions = _numbered(by_branch(view.runs)), _numbered(_versions(view.runs))
    names = names_of(view)
    runs = [
        [
            run.time[:10],
            run.verdict,
            branches[run.branch],
            versions[run.agent_version],
            run_line(run),
            facts(run, names),
        ]
        for run in view.runs
    ]
    places = {run.record: place for place, run in enumerate(view.runs)}
    found = view.stability
    parts = {
        "runs": pack(runs),
        "rows": pack(packed_rows(found)),
        "columns": [places[run.record] for run in found.columns],
        "bars": BARS,
        "cell": [CELL, HEIGHT, PAGE_LENGTH],
        "chart": [LEFT, RIGHT, BOTTOM],
    }
    return script_data("data", parts)


def _changes_section(found: ChangePoints) -> Markup:
    """The section, with the first `_MOST_CHANGES` changes and an explanation of the method."""
    names = ("metric", "between", "level", "how sure")
    rows = [_change_row(one) for one in found.found[:_MOST_CHANGES]]
    more = len(found.found) - len(rows)
    return named_section(
        "Changes of level",
        "level-changes",
        element("p", _changes_summary(found)),
        table(names, rows, "level-changes") if rows else EMPTY,
        element("p", f"and {more} earlier ones", class_="dim") if more else EMPTY,
        element(
            "details",
            element("summary", "How they are found"),
            element("p", _ABOUT_CHANGES.format(level=LEVEL, most=MOST_VALUES)),
        ),
    )


def _changes_summary(found: ChangePoints) -> str:
    if not found.lines:
        return f"Not looked for: no line has {FEWEST} comparable runs of one branch with different values."
    where = f"in {count(found.lines, 'line')} of at least {FEWEST} comparable runs"
    if not found.found:
        return f"Nothing {where} that chance does not explain. A small or recent change may be there all the same."
    return f"{count(len(found.found), 'change')} {where} that chance does not explain."


def _change_row(one: ChangePoint) -> tuple[str, ...]:
    look = "better" if one.is_better else "worse"
    level = f"{number_words(one.level_before, one.unit)} → {number_words(one.level_after, one.unit)}"
    runs = f"mean of {count(one.runs_before, 'run')}, then of {one.runs_after}"
    place = ""
    if (one.earliest, one.latest) != (one.after, one.after):
        place = f"nine of ten resamples: first run after it from {_run_words(one.earliest)} to {_run_words(one.latest)}"
    return (
        join(code(one.metric), element("span", look, class_=f"chip {look}")),
        join(_between(one), element("span", "branch ", code(short_text(one.branch)), class_="dim")),
        join(level, element("span", runs, class_="dim")),
        join(f"p ≤ {one.p_value:.2g}", element("span", place, class_="dim") if place else None),
    )


def _between(one: ChangePoint) -> Markup:
    """The two runs, and the git command that lists the commits between them."""
    runs = join(_run_words(one.before), " and ", _run_words(one.after))
    before, after = one.before.commit, one.after.commit
    if before is None or after is None:
        return runs
    if before == after:
        return join(runs, element("span", "the same commit: nothing in the repository explains it", class_="dim"))
    listed = f"git log {revealed(before)[:12]}..{revealed(after)[:12]}"
    return join(runs, " ", code(listed))


def _run_words(run: RunRecord) -> str:
    return f"{moment(run)} ({commit(run)})"
