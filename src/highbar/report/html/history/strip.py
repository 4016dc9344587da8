"""The verdict of each run as a strip of cells, the newest on the right, and the details of one run."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.history.overview import Overview
from highbar.language.phrases import count
from highbar.model.history import RunRecord
from highbar.report.html.history.words import commit, facts, moment, run_line, short_text
from highbar.report.html.markup import EMPTY, Markup, element
from highbar.report.html.parts import code, folded, named_section, table

_FEW, _MANY = 60, 400
MOST_IN_TABLE = 100
"""Runs in the table of the page; `highbar history list` prints all."""


def strip(view: Overview) -> Markup:
    """The section, with the details of the last run; the script moves the focus and shows the focused run."""
    size = "few" if len(view.runs) <= _FEW else "many" if len(view.runs) <= _MANY else "most"
    last = len(view.runs) - 1
    cells = [_cell(run, place == last) for place, run in enumerate(view.runs)]
    legend = element("p", *_legend(), class_="legend")
    return named_section(
        "Verdicts",
        "verdicts",
        element("ol", *cells, class_=f"strip {size}", id="strip", aria_label="Runs, the newest last"),
        legend,
        element("p", "← → to move from run to run", class_="keys dim"),
        element("div", _details(view.runs[last], names_of(view)), id="run", role="region", aria_label="The run"),
    )


def _cell(run: RunRecord, is_last: bool) -> Markup:  # noqa: FBT001 - one caller
    button = element(
        "button",
        type="button",
        class_=run.verdict,
        tabindex="0" if is_last else "-1",
        aria_label=run_line(run),
        aria_current="true" if is_last else None,
    )
    return element("li", button)


def _legend() -> list[Markup]:
    return [
        element("span", element("i", class_=verdict, aria_hidden="true"), verdict, class_="key")
        for verdict in ("pass", "fail", "inconclusive")
    ]


def names_of(view: Overview) -> list[str]:
    """The names of the metrics that the page draws."""
    return [one.metric for one in (*view.metrics, *view.spending)]


def _details(run: RunRecord, metrics: Sequence[str]) -> Markup:
    """The facts about a run. The script builds the same elements for other runs: change both."""
    parts = [part for term, text in facts(run, metrics) for part in (element("dt", term), element("dd", text))]
    return element("dl", *parts)


def runs_table(view: Overview) -> Markup:
    """The last runs as a table that is closed at first."""
    rows = [
        (moment(run), run.verdict, f"{run.counts.failed} of {run.counts.scenarios}", code(short_text(run.branch)),
         code(commit(run)), code(short_text(run.agent_version)), code(run.record[:8]))
        for run in reversed(view.runs[-MOST_IN_TABLE:])
    ]  # fmt: skip
    names = ("time", "verdict", "failed scenarios", "branch", "commit", "agent version", "record")
    more = view.total - len(rows)
    rest = f"and {count(more, 'earlier run')}; highbar history list prints all" if more else ""
    return folded(
        f"Runs ({view.total})",
        "runs",
        element("div", table(names, rows, "runs"), class_="wide", tabindex="0", role="group", aria_label="Runs"),
        element("p", rest, class_="dim") if rest else EMPTY,
    )
