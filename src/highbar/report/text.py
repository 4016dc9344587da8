"""The verdict for a terminal: the verdict first and last, between them what did not pass, then everything else.

Readable without color: a word beside every color says the same. Every text that comes from a file goes through
`visible`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from types import MappingProxyType

from msgspec.structs import replace

from highbar.errors import Excerpt, Problem
from highbar.language.digits import bounds_by_metric, held_against, show, wanted
from highbar.model import NO_POLICY, RuleResult, Slice, Value, Verdict, Where
from highbar.report import PAGE, Display, advice, progressive
from highbar.report.headline import (
    MOST_TO_SETTLE,
    NO_VERDICT,
    UNDECIDED,
    accepted,
    bounds_label,
    chance,
    could_change,
    counted,
    evidence,
    headline,
    is_clear,
    judged,
    more,
    not_passed,
    notes,
    repeated,
    second_run,
    selected,
    settled_by,
    standings,
    undecided,
    unsettled,
    weakened,
)
from highbar.report.layout import columns, paint, paragraph, table, title
from highbar.report.visible import cells, cut, visible

_MOST_ROWS = 20
_MOST_PASSED_RULES = 50
_LONGEST_REASON = 300
_FRAGILE = (
    "differs: the chance that a second run on the same scenarios is judged differently; settled by: a new run of about"
    " so many scenarios, if the value stays (highbar plan)"
)
_TOO_CLOSE = "too close"
_CLEAR = "settled"
_COLORS = MappingProxyType({"pass": "bold green", "fail": "bold red", "inconclusive": "bold yellow", None: "bold red"})
_Bounds = Mapping[str, tuple[Fraction, ...]]


def render(verdict: Verdict, display: Display = PAGE) -> str:
    """The whole report, as lines no wider than the display if the words allow it."""
    bounds = bounds_by_metric(verdict.rules or verdict.advice)
    lines = [
        render_headline(verdict, display),
        *_evidence(verdict, display),
        *problem_lines(verdict.problems, display),
        *_weakened(verdict, display),
        *_missed(verdict, display),
        *_advice(verdict, display),
        *_passed(verdict, bounds, display),
        *_progressive(verdict, display),
        *_metrics(verdict, bounds, display),
        *_slices(verdict, bounds, display),
        *_failed_scenarios(verdict, display),
        *_undecided_scenarios(verdict, display),
        *_repeated(verdict, display),
        *_notes(verdict, display),
        "",
        render_headline(verdict, display),
    ]
    return "\n".join(lines) + "\n"


def render_headline(verdict: Verdict, display: Display = PAGE) -> str:
    """The verdict on one line, without a line end."""
    word, _, rest = headline(verdict).partition(":")
    return paint(word, _COLORS[verdict.verdict], display) + f":{rest}"


def render_problems(problems: Iterable[Problem], display: Display = PAGE) -> str:
    """Every problem, in place of a verdict, after a first line that no verdict has."""
    return "\n".join([paint(NO_VERDICT, "bold red", display), *problem_lines(problems, display)]) + "\n"


def problem_lines(problems: Iterable[Problem], display: Display = PAGE) -> list[str]:
    """`file:line:column: what was found and wanted` of each; below it its hint, and the example to paste."""
    lines: list[str] = []
    for problem in problems:
        place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part is not None)
        # With its colon: a file that is named by one would make an order of the two.
        where = visible(f"{place}:").removesuffix(":")
        lines.append((paint(where, "bold", display) + ": " if place else "") + visible(problem.message))
        if problem.excerpt:
            lines += _excerpt(problem.excerpt, problem.line)
        if problem.hint:
            lines.append(f"{paint('hint:', 'green', display)} {visible(problem.hint)}")
        if problem.example:
            lines += [f"    {visible(line)}" for line in problem.example.splitlines()]
    return lines


def _excerpt(excerpt: Excerpt, number: int | None) -> list[str]:
    """The line of a file with its number, and below it a caret at the place."""
    margin = f"  {number or ''} | "
    caret = " " * cells(visible(excerpt.text[: excerpt.before]))
    return [f"{margin}{visible(excerpt.text)}", f"{' ' * (len(margin) - 2)}| {caret}^"]


def _evidence(verdict: Verdict, display: Display) -> list[str]:
    """What was judged, by which bar. Texts from files are not wrapped, so that none can start a line at the margin."""
    origin = [] if verdict.agent_version is None else [f"agent version {cut(visible(verdict.agent_version), 40)}"]
    if verdict.verdict is not None:  # else the headline and the problems below say that there is none
        origin.append(f"policy {visible(verdict.policy.file)}" if verdict.policy else NO_POLICY)
    if verdict.against:
        origin.append(f"and the policy at {visible(verdict.against.ref)} ({verdict.against.commit[:12]})")
    who, which = judged(verdict.judged_by, visible), selected(verdict.selection, visible)
    lines = [evidence(verdict.counts), *filter(None, (", ".join(origin), who, which))]
    return [*lines, *paragraph(second_run(verdict), 0, display)]


def _advice(verdict: Verdict, display: Display) -> list[str]:
    rows = advice.rows(verdict)
    return [*title(advice.HEADING, display), *table(("", *advice.COLUMNS), rows, display)] if rows else []


def _weakened(verdict: Verdict, display: Display) -> list[str]:
    heading, rows = weakened(verdict, visible)
    if not rows:
        return []
    lines = columns([("-", row) for row in rows[:_MOST_ROWS]], 2, display)
    return [*title(heading, display), *lines, *_rest(len(rows), _MOST_ROWS)]


# --- rules -----------------------------------------------------------------------------------


def _missed(verdict: Verdict, display: Display) -> list[str]:
    rules = not_passed(verdict.rules)
    if not rules:
        return []
    lines = title("Rules that did not pass", display)
    for rule in rules:
        word, color = _outcome(rule)
        indent = 4 + len(word)
        lines.append(f"  {paint(word, color, display)}  {visible(rule.rule)}")
        lines += [line for sentence in _sentences(rule) for line in paragraph(sentence, indent, display)]
        about = visible(rule.description or "")
        lines += [paint(line, "dim", display) for line in paragraph(about, indent, display)]
    return lines


def _sentences(rule: RuleResult) -> list[str]:
    """The metric and the reason; what was wanted, if the value is undefined; what would settle the rule."""
    reason, metric = visible(rule.reason), visible(rule.metric or "")
    # Once more, for a name that ends in a colon: the one behind it would make an order of the two.
    named = reason if not metric or reason.startswith(metric) else visible(f"{metric}{_where(rule.slice)}: {reason}")
    valueless = rule.threshold is not None and (rule.value is None or rule.value.value is None)
    return [named, f"wanted {_wanted(rule)}{_where(rule.slice)}" if valueless else "", unsettled(rule)]


def _outcome(rule: RuleResult) -> tuple[str, str]:
    """The word for a rule that did not pass, and its color. A warning is always called one."""
    if rule.level == "warning":
        return "WARN", "bold yellow"
    return ("UNSURE", "bold yellow") if rule.outcome == "inconclusive" else ("FAIL", "bold red")


def _passed(verdict: Verdict, bounds: _Bounds, display: Display) -> list[str]:
    """The rules that passed; first, in a list of their own, those that a second run may judge differently."""
    rules = [rule for rule in verdict.rules if rule.outcome == "pass"]
    fragile = [_fragile_row(rule, bounds) for rule in rules if could_change(rule)]
    firm = [_passed_row(rule, bounds) for rule in rules if not could_change(rule)]
    lines: list[str] = []
    if fragile:
        lines += title("Rules that passed, but are fragile", display)
        lines += [paint(line, "dim", display) for line in paragraph(_FRAGILE, 2, display)]
        lines += table(("", "value", "wanted", "differs", "settled by"), fragile[:_MOST_PASSED_RULES], display)
        lines += _rest(len(fragile), _MOST_PASSED_RULES)
    if firm:
        lines += title("Rules that passed", display)
        lines += table(("", "value", "wanted", "scenarios"), firm[:_MOST_PASSED_RULES], display)
        lines += _rest(len(firm), _MOST_PASSED_RULES)
    return lines


def _progressive(verdict: Verdict, display: Display) -> list[str]:
    rows = progressive.rows(verdict, visible)
    return [*title(progressive.HEADING, display), *table(("", *progressive.COLUMNS), rows, display)] if rows else []


def _passed_row(rule: RuleResult, bounds: _Bounds) -> tuple[str, ...]:
    if rule.value is None or not _is_plain(rule):
        return _name(rule), cut(visible(rule.reason), _LONGEST_REASON)
    rests = ", ".join(filter(None, (counted(rule.value), accepted(rule))))
    return _name(rule), _bare(rule.value, bounds.get(rule.metric or "", ())), _wanted(rule), rests


def _is_plain(rule: RuleResult) -> bool:
    """Whether a value and a threshold say all; of a rule about the baseline its reason says more."""
    threshold = rule.threshold or ""
    if held_against(threshold) is not None:
        return True
    return rule.metric == "final_score" and wanted(threshold, "ratio") is not None


def _fragile_row(rule: RuleResult, bounds: _Bounds) -> tuple[str, ...]:
    simple = rule.value is not None and wanted(rule.threshold or "", rule.value.unit) is not None
    value = _bare(rule.value, bounds.get(rule.metric or "", ())) if rule.value else ""
    value = ", ".join(filter(None, (value, accepted(rule))))
    size = settled_by(rule)
    settled = _CLEAR if is_clear(rule) else ""
    if size is not None:
        settled = _TOO_CLOSE if size > MOST_TO_SETTLE else f"{size} of the slice" if rule.slice else str(size)
    return _name(rule), value, _wanted(rule) if simple else "", chance(rule), settled


def _name(rule: RuleResult) -> str:
    """The rule's name, with its metric if the name is only a number."""
    return visible(f"{rule.rule} {rule.metric}" if rule.rule.startswith("rules[") else rule.rule)


def _bare(value: Value, bounds: Iterable[Fraction]) -> str:
    """The value without its interval, for lists to skim; the metrics show the intervals."""
    return show(replace(value, low=None, high=None), bounds)


def _wanted(rule: RuleResult) -> str:
    if rule.threshold is None:
        return ""
    return wanted(rule.threshold, rule.value.unit if rule.value else None) or visible(rule.threshold)


def _where(where: Where) -> str:
    parts = (f"{visible(column)} {' or '.join(visible(value) for value in values)}" for column, values in where)
    return f" ({', '.join(parts)})" if where else ""


# --- metrics and slices ----------------------------------------------------------------------


def _metrics(verdict: Verdict, bounds: _Bounds, display: Display) -> list[str]:
    rows = [
        (visible(name), show(value, bounds.get(name, ())), counted(value))
        for name, value in verdict.metrics.items()
        if value.value is not None
    ]
    lines = [*title("Metrics", display), *table(("", bounds_label(verdict), "scenarios"), rows, display)]
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
        lines += title(f"By {visible(column)}", display)
        lines += _slice_table(parts[:_MOST_ROWS], names, bounds, display)
        lines += _rest(len(parts), _MOST_ROWS)
        lines += columns([("-", sentence) for sentence in standings(parts, visible)], 2, display)
    return lines


def _has(parts: Iterable[Slice], name: str) -> bool:
    return any(name in part.metrics and part.metrics[name].value is not None for part in parts)


def _slice_table(parts: list[Slice], names: list[str], bounds: _Bounds, display: Display) -> list[str]:
    """A row for each slice; without intervals if they do not fit, and only with the metrics that fit."""
    room = display.width - 2
    header = ["", "scenarios", *(visible(name) for name in names)]
    for intervals in (True, False):
        rows = [header, *(_slice_row(part, names, bounds, intervals=intervals) for part in parts)]
        fitting = _fitting(rows, room)
        if fitting == len(header):
            break
    first, *rest = [row[:fitting] for row in rows]
    left_out = len(header) - fitting
    more_metrics = f"  … and {left_out} more metric{'s' if left_out > 1 else ''}"
    return [*table(first, rest, display), *([more_metrics] if left_out else [])]


def _slice_row(part: Slice, names: list[str], bounds: _Bounds, *, intervals: bool) -> list[str]:
    row = [cut(visible(part.by[1]), 30), str(part.scenarios)]
    for name in names:
        value = part.metrics.get(name)
        if value is None or value.value is None:
            row.append("-")
        else:
            row.append((show if intervals else _bare)(value, bounds.get(name, ())))
    return row


def _fitting(rows: list[list[str]], width: int) -> int:
    """How many columns fit, from the left, but at least two: a table that wraps is unreadable."""
    taken = 0
    for place in range(len(rows[0])):
        taken += max(cells(row[place]) for row in rows) + 2
        if taken - 2 > width:
            return max(place, 2)
    return len(rows[0])


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
            cut(visible(scenario.reason), _LONGEST_REASON),
        )
        for scenario in scenarios
    ]
    total = max(verdict.counts.failed, len(verdict.scenarios_failed))
    return [*title("Failed scenarios", display), *columns(_squeezed(rows), 2, display), *_rest(total, len(rows))]


def _undecided_scenarios(verdict: Verdict, display: Display) -> list[str]:
    rows = [(id_, category, cut(reason, _LONGEST_REASON)) for id_, category, reason in undecided(verdict, visible)]
    if not rows:
        return []
    rest = _rest(len(verdict.scenarios_undecided), len(rows))
    return [*title(UNDECIDED, display), *columns(rows, 2, display), *rest]


def _squeezed(rows: Sequence[tuple[str, ...]]) -> Sequence[tuple[str, ...]]:
    """The rows without the columns that are empty in all of them."""
    used = [place for place in range(len(rows[0])) if any(row[place] for row in rows)] if rows else []
    return [tuple(row[place] for place in used) for row in rows]


def _repeated(verdict: Verdict, display: Display) -> list[str]:
    sentences = [("-", sentence) for sentence in repeated(verdict)]
    return [*title("Repeated trials", display), *columns(sentences, 2, display)] if sentences else []


def _notes(verdict: Verdict, display: Display) -> list[str]:
    noted = notes(verdict)
    if not noted:
        return []
    rows = [("-", visible(note)) for note in noted[:_MOST_ROWS]]
    return [*title("Notes", display), *columns(rows, 2, display), *_rest(len(noted), _MOST_ROWS)]


def _rest(total: int, shown: int) -> list[str]:
    text = more(total, shown)
    return [f"  {text}"] if text else []
