"""A comparison for a terminal: the headline first and last, and what changed between them."""

from __future__ import annotations

from itertools import groupby
from types import MappingProxyType

from highbar.model import RuleResult
from highbar.model.comparison import Comparison, SliceChange
from highbar.report import PAGE, Display
from highbar.report import comparison_words as words
from highbar.report.headline import and_more
from highbar.report.layout import columns, paint, paragraph, text_table, title
from highbar.report.titles import demands, missed_first
from highbar.report.value_words import undefined_by_reason
from highbar.report.visible import cut, visible

_MOST_ROWS = 20
"""Rows of a table: about as many as a screen shows."""
_COLORS = MappingProxyType({"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"})


def render(comparison: Comparison, display: Display = PAGE) -> str:
    """The whole report, wrapped to the display's width."""
    lines = [
        render_headline(comparison, display),
        f"base: {words.side(comparison.base, visible)}",
        f"head: {words.side(comparison.head, visible)}",
        *_rules(comparison, display),
        *_metrics(comparison, display),
        *_scenarios(comparison, display),
        *_slices(comparison, display),
        *_notes(comparison, display),
        "",
        render_headline(comparison, display),
    ]
    return "\n".join(lines) + "\n"


def render_headline(comparison: Comparison, display: Display = PAGE) -> str:
    """The headline, wrapped and colored, without a newline at the end."""
    word, _, rest = words.headline(comparison).partition(":")
    first, *others = paragraph(f"{word}:{rest}", 0, display)
    return "\n".join([paint(word, _color(comparison), display) + first.removeprefix(word), *others])


def _color(comparison: Comparison) -> str:
    by_direction = {"better": "bold green", "worse": "bold red", "mixed": "bold yellow"}
    return _COLORS[comparison.verdict] if comparison.verdict else by_direction.get(comparison.direction, "bold")


def _rules(comparison: Comparison, display: Display) -> list[str]:
    found = sorted(demands(words.as_verdict(comparison)), key=missed_first)
    missed = [each for each in found if each.rule.outcome != "pass"]
    met = [each for each in found if each.rule.outcome == "pass"]
    lines: list[str] = []
    for heading, group in (("Demands that are not met", missed), ("Demands that are met", met)):
        lines += title(heading, display) if group else []
        for demand in group:
            word = _word(demand.rule)
            indent = 4 + len(word)
            first, *others = paragraph(f"{demand.title} ({', '.join(map(visible, demand.paths))})", indent, display)
            lines += [f"  {paint(word, _rule_color(demand.rule), display)}  {first.strip()}", *others]
            lines += paragraph(visible(demand.rule.reason), indent, display)
    return lines


def _word(rule: RuleResult) -> str:
    if rule.outcome == "pass":
        return "PASS"
    return "WARN" if rule.level == "warning" else "INCONCLUSIVE" if rule.outcome == "inconclusive" else "FAIL"


def _rule_color(rule: RuleResult) -> str:
    return {"PASS": "bold green", "FAIL": "bold red"}.get(_word(rule), "bold yellow")


def _metrics(comparison: Comparison, display: Display) -> list[str]:
    known = {n: change for n, change in comparison.metrics.items() if change.difference.value is not None}
    rows = [words.short_cells(name, change, visible) for name, change in known.items()]
    lines = title(f"Metrics over the {comparison.pairs} scenarios of both runs", display)
    lines += text_table(("", "", "before", "after", "difference"), rows, display)
    lines += [paint(line, "dim", display) for line in paragraph(words.explanation(comparison), 2, display)]
    for reason, names in undefined_by_reason(words.metric_differences(comparison)).items():
        text = f"{', '.join(map(visible, names))}: {cut(visible(reason), 300)}"
        lines += [paint(line, "dim", display) for line in paragraph(text, 2, display)]
    latency = words.latency(comparison)
    return [*lines, *([f"  {latency}"] if latency else [])]


def _scenarios(comparison: Comparison, display: Display) -> list[str]:
    lines = [*title("Scenarios", display), *paragraph(words.changed_passes(comparison.passes), 2, display)]
    for heading, ids in words.scenario_lists(comparison):
        if ids:
            shown = ", ".join(visible(id_) for id_ in ids[:_MOST_ROWS])
            rest = and_more(len(ids), _MOST_ROWS)
            lines += [f"  {heading} ({len(ids)})", *paragraph(f"{shown} {rest}".rstrip(), 4, display)]
    return lines


def _slices(comparison: Comparison, display: Display) -> list[str]:
    lines: list[str] = []
    for column, group in groupby(comparison.slices, key=lambda part: part.by[0]):
        parts = list(group)
        lines += title(f"By {visible(column)}", display)
        header = ("", "pass rate", "scenarios", "broke", "fixed", "difference")
        lines += text_table(header, [_slice(part) for part in parts[:_MOST_ROWS]], display)
        rest = and_more(len(parts), _MOST_ROWS)
        lines += [f"  {rest}"] if rest else []
    return lines


def _slice(part: SliceChange) -> tuple[str, ...]:
    _, outcome, _, _, difference = words.short_cells("", part.metrics["pass_rate"], visible)
    change = f"{outcome}, stands out" if part.stands_out else outcome
    counts = (str(number) for number in (part.pairs, part.passes.broken, part.passes.fixed))
    return cut(visible(part.by[1]), 30), change, *counts, difference


def _notes(comparison: Comparison, display: Display) -> list[str]:
    if not comparison.warnings:
        return []
    rows = [("-", visible(note)) for note in comparison.warnings[:_MOST_ROWS]]
    rest = and_more(len(comparison.warnings), len(rows))
    return [*title("Notes", display), *columns(rows, 2, display), *([f"  {rest}"] if rest else [])]
