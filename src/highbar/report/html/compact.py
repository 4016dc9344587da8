"""A verdict or a comparison for a notebook: small, without a script, and with a style that affects nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from highbar.language.digits import Bounds, bounds_by_metric, rule_bounds, show
from highbar.model import Verdict
from highbar.model.comparison import Comparison
from highbar.report import advice
from highbar.report import comparison_words as words
from highbar.report.early_words import at_stopping
from highbar.report.headline import MOST_UNDECIDED, evidence, headline, origin_lines
from highbar.report.html.markup import EMPTY, Markup, element, join, to_markup
from highbar.report.html.page import package_text
from highbar.report.html.parts import badge, code, icon, more_line, table
from highbar.report.titles import DemandResult, demands, missed_first

_MOST_ROWS = 20
"""Rows of a table in a notebook; the HTML report has all."""


def compact(verdict: Verdict) -> str:
    """The headline, the demands with the missed ones first, and the failed and undecided scenarios."""
    word, _, rest = headline(verdict).partition(": ")
    kind = verdict.verdict or "inconclusive"
    bounds = bounds_by_metric(verdict.rules)
    ordered = sorted(demands(verdict, to_markup), key=missed_first)
    rows = [_row(demand, bounds) for demand in ordered[:_MOST_ROWS]]
    listed = table(("outcome", "demand", "value"), rows) if verdict.verdict else _unjudged(verdict)
    return element(
        "div",
        Markup(f"<style>{package_text('compact.css')}</style>"),
        element("p", element("b", icon(kind), word, class_=f"badge {kind}"), " ", rest),
        element("p", evidence(verdict.counts), class_="dim"),
        *(element("p", Markup(line), class_="dim") for line in origin_lines(verdict, code) if line),
        listed,
        more_line(len(ordered), _MOST_ROWS),
        _failed(verdict),
        _undecided(verdict),
        class_="highbar",
    )


def _unjudged(verdict: Verdict) -> Markup:
    """Why nothing was judged, and the comparison with the typical thresholds."""
    messages = [element("p", problem.coded_message, class_="dim") for problem in verdict.problems]
    return join(*messages, table(("metric", *advice.COLUMNS), advice.advice_rows(verdict)))


def compact_comparison(comparison: Comparison) -> str:
    """The headline, every metric in both runs, and the scenarios that broke or were fixed."""
    word, _, rest = words.headline(comparison).partition(": ")
    kind = comparison.verdict or "plain"
    known = {name: change for name, change in comparison.metrics.items() if change.difference.value is not None}
    rows = [tuple(words.metric_cells(name, change, lambda text: text)) for name, change in known.items()]
    lists = [_ids(title, ids) for title, ids in words.scenario_lists(comparison)[:2] if ids]
    return element(
        "div",
        Markup(f"<style>{package_text('compact.css')}</style>"),
        element("p", element("b", word, class_=f"badge {kind}"), " ", rest),
        *(
            element("p", f"{name}: ", Markup(words.side(side, code)), class_="dim")
            for name, side in (("base", comparison.base), ("head", comparison.head))
        ),
        table(("metric", "change", "before", "after", "difference"), rows[:_MOST_ROWS]),
        more_line(len(rows), _MOST_ROWS),
        *lists,
        class_="highbar",
    )


def _ids(title: str, ids: Sequence[str]) -> Markup:
    listed = [join(code(id_), " ") for id_ in ids[:_MOST_ROWS]]
    return element("details", element("summary", f"{title} ({len(ids)})"), *listed, more_line(len(ids), _MOST_ROWS))


def _row(demand: DemandResult, bounds: Bounds) -> tuple[Markup | str, ...]:
    rule = demand.rule
    value = show(rule.value, rule_bounds(rule, bounds)) if rule.value else ""
    value = ", ".join(filter(None, (value, at_stopping(rule)))) if value else ""
    paths = element("small", *(join(" ", code(path)) for path in demand.paths), class_="dim")
    return badge(rule.outcome, rule.level), join(Markup(demand.title), paths), value or code(rule.reason)


def _failed(verdict: Verdict) -> Markup:
    if not verdict.scenarios_failed:
        return EMPTY
    rows = [(code(one.id), code(one.reason)) for one in verdict.scenarios_failed[:_MOST_ROWS]]
    total = max(verdict.counts.failed, len(verdict.scenarios_failed))
    title = element("summary", f"failed scenarios ({total})")
    return element("details", title, table(("scenario", "why"), rows), more_line(total, len(rows)))


def _undecided(verdict: Verdict) -> Markup:
    found = verdict.scenarios_undecided
    if not found:
        return EMPTY
    rows = [(code(one.id), code(one.reason)) for one in found[:MOST_UNDECIDED]]
    title = element("summary", f"undecided scenarios ({len(found)})")
    return element("details", title, table(("scenario", "why"), rows), more_line(len(found), len(rows)))
