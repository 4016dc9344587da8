"""A comparison as Markdown, for a pull request comment: the headline first, then tables.

Every text from a file is in a code span made by `markdown.code_span`.
"""

from __future__ import annotations

from collections.abc import Sequence

from highbar.model.comparison import Comparison, SliceChange
from highbar.report import PAGE, Display
from highbar.report import comparison_words as words
from highbar.report.headline import and_more
from highbar.report.markdown import CUT_HERE, LONGEST, code_span
from highbar.report.titles import demands, missed_first

_MOST_ROWS = 50
"""Rows of a table: a GitHub comment has room for 65,536 characters."""


def render(comparison: Comparison, _display: Display = PAGE) -> str:
    """The report, cut before the first section that does not fit into a comment."""
    parts = [
        f"## {words.headline(comparison)}",
        f"base: {words.side(comparison.base, code_span)}  \nhead: {words.side(comparison.head, code_span)}",
    ]
    sections = (_rules, _metrics, _scenarios, _slices, _notes)
    for section in (make(comparison) for make in sections):
        if sum(len(part) + 2 for part in (*parts, section, CUT_HERE)) > LONGEST:
            parts.append(CUT_HERE)
            break
        parts += [section] if section else []
    return "\n\n".join(parts) + "\n"


def _table(heading: str, names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    shown = [f"| {' | '.join(cells)} |" for cells in (names, ["---"] * len(names), *rows[:_MOST_ROWS])]
    rest = and_more(len(rows), _MOST_ROWS)
    return "\n".join([heading, "", *shown, *(["", rest] if rest else [])])


def _rules(comparison: Comparison) -> str:
    found = demands(words.as_verdict(comparison), code_span)
    rows = [
        (
            (rule.outcome if rule.outcome == "pass" else f"**{rule.outcome}**")
            + (" (warning)" if rule.level == "warning" else ""),
            f"{demand.title} ({', '.join(map(code_span, demand.paths))})",
            code_span(rule.reason),
        )
        for demand in sorted(found, key=missed_first)
        for rule in (demand.rule,)
    ]
    return _table("### Demands", ("outcome", "demand", "why"), rows)


def _metrics(comparison: Comparison) -> str:
    names = ("metric", "", "before", "after", "difference")
    rows = [
        words.metric_cells(name, change, code_span)
        for name, change in comparison.metrics.items()
        if change.difference.value is not None
    ]
    latency = words.latency(comparison)
    below = f"\n\n{words.explanation(comparison)}" + (f"; {latency}" if latency else "")
    return _table(f"### Metrics over the {comparison.pairs} scenarios of both runs", names, rows) + (
        below if rows else ""
    )


def _scenarios(comparison: Comparison) -> str:
    lines = ["### Scenarios", "", words.changed_passes(comparison.passes)]
    for heading, ids in words.scenario_lists(comparison):
        if ids:
            shown = ", ".join(code_span(id_) for id_ in ids[:_MOST_ROWS])
            lines += ["", f"- {heading} ({len(ids)}): {shown} {and_more(len(ids), _MOST_ROWS)}".rstrip()]
    return "\n".join(lines)


def _slices(comparison: Comparison) -> str:
    names = ("value", "pass rate", "scenarios", "broke", "fixed", "before", "after", "difference")
    return "\n\n".join(
        _table(
            f"### By {code_span(column)}", names, [_slice(part) for part in comparison.slices if part.by[0] == column]
        )
        for column in dict.fromkeys(part.by[0] for part in comparison.slices)
    )


def _slice(part: SliceChange) -> Sequence[str]:
    _, outcome, *numbers = words.metric_cells("", part.metrics["pass_rate"], code_span)
    change = f"{outcome}, **stands out**" if part.stands_out else outcome
    counts = (str(number) for number in (part.pairs, part.passes.broken, part.passes.fixed))
    return code_span(part.by[1]), change, *counts, *numbers


def _notes(comparison: Comparison) -> str:
    notes = [f"- {code_span(note)}" for note in comparison.warnings]
    return "\n".join(["### Notes", "", *notes]) if notes else ""
