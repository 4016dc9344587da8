"""The verdict for a terminal: the verdict first and last, between them what did not pass, then everything else.

Readable without color: every color stands beside a word that says the same. Every text that comes from a file goes
through `visible`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from types import MappingProxyType

from highbar.digits import bounds_by_metric, show, wanted
from highbar.errors import Problem
from highbar.model import RuleResult, Slice, Value, Verdict, Where
from highbar.report import PAGE, Display
from highbar.report.headline import NO_POLICY, NO_VERDICT, evidence, headline, more, not_passed, rests_on
from highbar.report.layout import columns, paint, paragraph, title
from highbar.report.visible import cells, cut, visible

_MOST_ROWS = 20
_MOST_PASSED_RULES = 50
_LONGEST_REASON = 300
_COLORS = MappingProxyType({"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow"})
_Bounds = Mapping[str, tuple[Fraction, ...]]


def render(verdict: Verdict, display: Display = PAGE) -> str:
    """The whole report, as lines no wider than the display where words allow it."""
    bounds = bounds_by_metric(verdict.rules)
    lines = [
        render_headline(verdict, display),
        *_evidence(verdict),
        *_missed(verdict, bounds, display),
        *_passed(verdict, bounds, display),
        *_metrics(verdict, bounds, display),
        *_slices(verdict, bounds, display),
        *_failed_scenarios(verdict, display),
        *_warnings(verdict, display),
        "",
        render_headline(verdict, display),
    ]
    return "\n".join(lines) + "\n"


def render_headline(verdict: Verdict, display: Display = PAGE) -> str:
    """The verdict on one line, without a line end."""
    word, _, rest = headline(verdict).partition(":")
    return paint(word, _COLORS[verdict.verdict], display) + f":{rest}"


def render_problems(problems: Iterable[Problem], display: Display = PAGE) -> str:
    """A first line that no verdict has, and every problem that kept one from being made."""
    return "\n".join([paint(NO_VERDICT, "bold red", display), *problem_lines(problems, display)]) + "\n"


def problem_lines(problems: Iterable[Problem], display: Display = PAGE) -> list[str]:
    """`file:line:column: what was found and wanted` of each, and its hint on a line of its own."""
    lines: list[str] = []
    for problem in problems:
        place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part is not None)
        lines.append((paint(visible(place), "bold", display) + ": " if place else "") + visible(problem.message))
        if problem.hint:
            lines.append(f"{paint('hint:', 'green', display)} {visible(problem.hint)}")
    return lines


def _evidence(verdict: Verdict) -> list[str]:
    """What was judged, by which bar. Not wrapped: no line that starts at the margin may start with a text of theirs."""
    told = [] if verdict.agent_version is None else [f"agent version {cut(visible(verdict.agent_version), 40)}"]
    told.append(f"policy {visible(verdict.policy.file)}" if verdict.policy else NO_POLICY)
    return [evidence(verdict.counts), ", ".join(told)]


# --- rules -----------------------------------------------------------------------------------


def _missed(verdict: Verdict, bounds: _Bounds, display: Display) -> list[str]:
    rules = not_passed(verdict.rules)
    if not rules:
        return []
    lines = title("Rules that did not pass", display)
    for rule in rules:
        word, color = _outcome(rule)
        lines.append(f"  {paint(word, color, display)}  {visible(rule.rule)}")
        indent = 4 + len(word)
        lines += [line for told in _told(rule, bounds) for line in paragraph(told, indent, display)]
        lines += [paint(line, "dim", display) for line in paragraph(_origin(rule), indent, display)]
    return lines


def _told(rule: RuleResult, bounds: _Bounds) -> list[str]:
    """The value against what was wanted, and the reason where it says more than that."""
    reason = visible(rule.reason)
    if rule.value is None or rule.threshold is None:
        return [reason]
    if rule.value.value is None:
        return [f"{reason}{_where(rule.slice)}, wanted {_wanted(rule)}"]
    compared = rule.outcome == "fail" and wanted(rule.threshold, rule.value.unit) is not None
    return [_measured(rule, bounds)] if compared else [_measured(rule, bounds), reason]


def _outcome(rule: RuleResult) -> tuple[str, str]:
    """The word for a rule that did not pass, and its color. A warning says so whatever became of it."""
    if rule.level == "warning":
        return "WARN", "bold yellow"
    return ("UNSURE", "bold yellow") if rule.outcome == "inconclusive" else ("FAIL", "bold red")


def _measured(rule: RuleResult, bounds: _Bounds) -> str:
    """`accuracy 88.0% (75.7–95.5), wanted ≥ 90%, over 50 scenarios`."""
    basis = f", over {rests_on(rule.value.scenarios, rule.value.missing)}" if rule.value else ""
    name = f"{visible(rule.metric or '')}{_where(rule.slice)}"
    return f"{name} {_shown(rule, bounds)}, wanted {_wanted(rule)}{basis}"


def _origin(rule: RuleResult) -> str:
    place = ":".join(str(part) for part in (rule.place.file, rule.place.line) if part is not None)
    return " · ".join(visible(part) for part in (place, rule.description) if part)


def _passed(verdict: Verdict, bounds: _Bounds, display: Display) -> list[str]:
    rules = [rule for rule in verdict.rules if rule.outcome == "pass"]
    if not rules:
        return []
    rows = [_passed_row(rule, bounds) for rule in rules[:_MOST_PASSED_RULES]]
    return [
        *title("Rules that passed", display),
        *columns(rows, 2, display),
        *_rest(len(rules), _MOST_PASSED_RULES),
    ]


def _passed_row(rule: RuleResult, bounds: _Bounds) -> tuple[str, ...]:
    if rule.value is None:
        return visible(rule.rule), cut(visible(rule.reason), _LONGEST_REASON)
    basis = rests_on(rule.value.scenarios, rule.value.missing) + _where(rule.slice)
    return visible(rule.rule), _shown(rule, bounds), _wanted(rule), basis


def _shown(rule: RuleResult, bounds: _Bounds) -> str:
    return show(rule.value, bounds.get(rule.metric or "", ())) if rule.value else ""


def _wanted(rule: RuleResult) -> str:
    if rule.threshold is None:
        return ""
    return wanted(rule.threshold, rule.value.unit if rule.value else None) or visible(rule.threshold)


def _where(where: Where) -> str:
    parts = (f"{visible(column)} {' or '.join(visible(value) for value in values)}" for column, values in where)
    return f" where {' and '.join(parts)}" if where else ""


# --- metrics and slices ----------------------------------------------------------------------


def _metrics(verdict: Verdict, bounds: _Bounds, display: Display) -> list[str]:
    rows = [
        (visible(name), show(value, bounds.get(name, ())), rests_on(value.scenarios, value.missing))
        for name, value in verdict.metrics.items()
        if value.value is not None
    ]
    lines = [*title("Metrics", display), *columns(rows, 2, display)]
    for reason, names in _undefined(verdict.metrics).items():
        text = f"undefined: {', '.join(names)}: {cut(reason, _LONGEST_REASON)}"
        lines += [paint(line, "dim", display) for line in paragraph(text, 2, display)]
    return lines if verdict.metrics else []


def _undefined(metrics: Mapping[str, Value]) -> dict[str, list[str]]:
    """The metrics without a value, by their reason."""
    found: dict[str, list[str]] = {}
    for name, value in metrics.items():
        if value.value is None:
            found.setdefault(visible(value.reason or "no reason given"), []).append(visible(name))
    return found


def _slices(verdict: Verdict, bounds: _Bounds, display: Display) -> list[str]:
    lines: list[str] = []
    ruled = {rule.metric for rule in verdict.rules} | {"pass_rate"}
    for column, group in groupby(verdict.slices, key=lambda part: part.by[0]):
        parts = list(group)
        names = [name for name in verdict.metrics if name in ruled and _has(parts, name)]
        header = ["", "scenarios", *(visible(name) for name in names)]
        rows = [header, *(_slice_row(part, names, bounds) for part in parts[:_MOST_ROWS])]
        lines += title(f"By {visible(column)}", display)
        lines += columns(_fitting(rows, display.width - 2), 2, display)
        lines += _rest(len(parts), _MOST_ROWS)
    return lines


def _has(parts: Iterable[Slice], name: str) -> bool:
    return any(name in part.metrics and part.metrics[name].value is not None for part in parts)


def _slice_row(part: Slice, names: list[str], bounds: _Bounds) -> list[str]:
    values = (part.metrics.get(name) for name in names)
    shown = (
        "-" if value is None or value.value is None else show(value, bounds.get(name, ()))
        for name, value in zip(names, values, strict=True)
    )
    return [cut(visible(part.by[1]), 30), str(part.scenarios), *shown]


def _fitting(rows: list[list[str]], width: int) -> list[list[str]]:
    """As many of the columns, from the left, as fit; a table that wraps cannot be read."""
    taken, kept = 0, 0
    for place in range(len(rows[0])):
        taken += max(cells(row[place]) for row in rows) + 2
        if taken - 2 > width:
            break
        kept = place + 1
    return [row[: max(kept, 2)] for row in rows]


# --- scenarios and warnings ------------------------------------------------------------------


def _failed_scenarios(verdict: Verdict, display: Display) -> list[str]:
    if not verdict.counts.failed and not verdict.scenarios_failed:
        return []
    scenarios = sorted(verdict.scenarios_failed, key=lambda scenario: not scenario.required)[:_MOST_ROWS]
    rows = [
        (
            visible(scenario.id),
            visible(scenario.category or "-"),
            "required" if scenario.required else "",
            f"{scenario.passed_trials} of {scenario.trials}" if scenario.trials > 1 else "",
            cut(visible(scenario.reason), _LONGEST_REASON),
        )
        for scenario in scenarios
    ]
    total = max(verdict.counts.failed, len(verdict.scenarios_failed))
    return [*title("Failed scenarios", display), *columns(_squeezed(rows), 2, display), *_rest(total, len(rows))]


def _squeezed(rows: Sequence[tuple[str, ...]]) -> Sequence[tuple[str, ...]]:
    """Without the columns in which no row says anything."""
    kept = [place for place in range(len(rows[0])) if any(row[place] for row in rows)] if rows else []
    return [tuple(row[place] for place in kept) for row in rows]


def _warnings(verdict: Verdict, display: Display) -> list[str]:
    if not verdict.warnings:
        return []
    rows = [("-", visible(warning)) for warning in verdict.warnings[:_MOST_ROWS]]
    return [*title("Warnings", display), *columns(rows, 2, display), *_rest(len(verdict.warnings), _MOST_ROWS)]


def _rest(total: int, shown: int) -> list[str]:
    text = more(total, shown)
    return [f"  {text}"] if text else []
