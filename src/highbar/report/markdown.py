"""The verdict as Markdown, for a pull request comment or a job summary: the verdict first, then tables.

Every text from a file is in a code span, in which it cannot close an element, load an image, mention a user or refer to
an issue. Inputs and outputs of scenarios are left out: more people read a comment than a results file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from highbar.errors import Problem
from highbar.language.digits import bounds_by_metric, show, wanted
from highbar.model import NO_POLICY, FailedScenario, RuleResult, Slice, Verdict, Where
from highbar.report import PAGE, Display, advice, progressive
from highbar.report.headline import (
    NO_VERDICT,
    UNDECIDED,
    bounds_label,
    could_change,
    counted,
    evidence,
    headline,
    judged,
    more,
    not_passed,
    notes,
    repeated,
    second_run,
    selected,
    standings,
    undecided,
    unsettled,
    weakened,
)
from highbar.report.visible import cut, visible

LONGEST = 65_536  # characters of a GitHub comment
_LONGEST_TEXT = 300
_ROOM_FOR_A_COUNT = 40
_CUT_HERE = "The report is cut here: a comment holds no more. The JSON report has everything."
_BACKTICKS = re.compile(r"`+")
_PIPE = re.compile(r"(\\?)\|")
_Bounds = Mapping[str, tuple[Fraction, ...]]


class _Section(Struct, frozen=True):
    """A heading, the first lines of a table, and its rows, of which there are `total` in all."""

    heading: str
    opening: tuple[str, ...]
    rows: tuple[str, ...]
    total: int


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """The report, cut at whole rows if it is longer than a comment may be; the verdict always stays."""
    return within(verdict, LONGEST)


def within(verdict: Verdict, longest: int) -> str:
    """The report in at most so many characters."""
    bounds = bounds_by_metric(verdict.rules or verdict.advice)
    heading, less = weakened(verdict, code)
    sections = (
        _Section("### Why", (), tuple(_problem(problem) for problem in verdict.problems), len(verdict.problems)),
        _table(f"### {advice.HEADING}", ("metric", *advice.COLUMNS), advice.rows(verdict)),
        _list(f"### {heading}", less),
        _rules(verdict, bounds),
        _table(f"### {progressive.HEADING}", ("rule", *progressive.COLUMNS), progressive.rows(verdict, code)),
        _metrics(verdict, bounds),
        _failed_scenarios(verdict.scenarios_failed, verdict.counts.failed),
        _undecided_scenarios(verdict),
        *_slices(verdict, bounds),
        _list("### Repeated trials", repeated(verdict)),
        _list("### Notes", [code(note) for note in notes(verdict)]),
    )
    parts = [f"## {headline(verdict)}", _about(verdict)]
    room = longest - len(_CUT_HERE) - 3 - sum(len(part) + 2 for part in parts)
    for section in (section for section in sections if section.rows):
        text = _fitted(section, room)
        parts.append(text or _CUT_HERE)
        if not text:
            break
        room -= len(text) + 2
    return "\n\n".join(parts) + "\n"


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """A list of the problems, in place of a verdict, under a heading that no verdict has."""
    rows = tuple(_problem(problem) for problem in problems)
    section = _Section(f"## {NO_VERDICT}", (), rows, len(rows))
    return _fitted(section, LONGEST - 1) + "\n"


def _problem(problem: Problem) -> str:
    place = ":".join(str(part) for part in (problem.file, problem.line, problem.column) if part is not None)
    hint = f" (hint: {code(problem.hint)})" if problem.hint else ""
    return f"- {code(place) + ' ' if place else ''}{code(problem.message)}{hint}"


def _fitted(section: _Section, room: int) -> str:
    """The section with as many rows as fit, and a count of the rest; empty if no row fits."""
    head = [section.heading, "", *section.opening]
    left = room - sum(len(line) + 1 for line in head) - _ROOM_FOR_A_COUNT
    shown: list[str] = []
    for row in section.rows:
        left -= len(row) + 1
        if left < 0:
            break
        shown.append(row)
    rest = more(section.total, len(shown))
    return "\n".join([*head, *shown, *(["", rest] if rest else [])]) if shown else ""


def code(text: str) -> str:
    """The one encoder of this output: `text` as a code span that also holds inside a table cell."""
    shown = cut(visible(text), _LONGEST_TEXT).replace("<!--", r"\x3c!--")
    # A table cell ends at a bare `|`, in code too, and renderers disagree on what `\\|` is.
    shown = _PIPE.sub(lambda match: r"\x5c\x7c" if match[1] else r"\|", shown)
    if not shown.strip():
        return "(blank)"
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(shown)), default=0) + 1)
    pad = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _about(verdict: Verdict) -> str:
    parts = [evidence(verdict.counts)]
    if verdict.agent_version is not None:
        parts.append(f"agent version {code(verdict.agent_version)}")
    parts.append(f"policy {code(verdict.policy.file)}" if verdict.policy else f"**{NO_POLICY}**")
    if verdict.against:
        parts.append(f"and the policy at {code(verdict.against.ref)} ({verdict.against.commit[:12]})")
    about = [", ".join(parts), judged(verdict.judged_by, code), selected(verdict.selection, code)]
    again = second_run(verdict)
    return "  \n".join(filter(None, about)) + (f"\n\n{again[0].upper()}{again[1:]}." if again else "")


def _table(heading: str, names: Sequence[str], rows: Iterable[Sequence[str]], total: int = 0) -> _Section:
    lines = tuple(_row(row) for row in rows)
    return _Section(heading, (_row(names), _row(["---"] * len(names))), lines, max(total, len(lines)))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rules(verdict: Verdict, bounds: _Bounds) -> _Section:
    missed = not_passed(verdict.rules)
    ordered = (*missed, *(rule for rule in verdict.rules if rule.outcome == "pass"))
    names = ("outcome", "rule", "value", "wanted", "scenarios", "why")
    return _table("### Rules", names, (_rule_row(rule, bounds) for rule in ordered))


def _rule_row(rule: RuleResult, bounds: _Bounds) -> Sequence[str]:
    value = rule.value
    outcome = rule.outcome if rule.outcome == "pass" else f"**{rule.outcome}**"
    return (
        outcome if rule.level == "blocking" else f"{outcome} (warning)",
        code(rule.rule) + _where(rule.slice),
        show(value, bounds.get(rule.metric or "", ())) if value else "",
        _wanted(rule),
        counted(value) if value else "",
        code(rule.reason) + (f" {unsettled(rule)}" if could_change(rule) else ""),
    )


def _wanted(rule: RuleResult) -> str:
    if rule.threshold is None:
        return ""
    return wanted(rule.threshold, rule.value.unit if rule.value else None) or code(rule.threshold)


def _where(where: Where) -> str:
    return "".join(f" {code(f'{column}: {value}')}" for column, values in where for value in values)


def _metrics(verdict: Verdict, bounds: _Bounds) -> _Section:
    rows = (
        (
            code(name),
            show(value, bounds.get(name, ())),
            counted(value),
            code(value.reason) if value.reason else "",
        )
        for name, value in verdict.metrics.items()
    )
    return _table("### Metrics", ("metric", bounds_label(verdict), "scenarios", "note"), rows)


def _slices(verdict: Verdict, bounds: _Bounds) -> list[_Section]:
    """A table for each column, and below it which slices are worse."""
    ruled = {rule.metric for rule in verdict.rules} | {"pass_rate"}
    sections: list[_Section] = []
    for column in dict.fromkeys(part.by[0] for part in verdict.slices):
        parts = [part for part in verdict.slices if part.by[0] == column]
        sections.append(_slice_table(column, parts, ruled, bounds))
        sections.append(_list(f"How {code(column)} stands", standings(parts, code)))
    return sections


def _slice_table(column: str, parts: Sequence[Slice], ruled: set[str | None], bounds: _Bounds) -> _Section:
    names = [name for name in parts[0].metrics if name in ruled]
    rows = (
        (
            code(part.by[1]),
            str(part.scenarios),
            *(show(part.metrics[name], bounds.get(name, ())) if name in part.metrics else "" for name in names),
        )
        for part in parts
    )
    return _table(f"### By {code(column)}", ("value", "scenarios", *(code(name) for name in names)), rows)


def _failed_scenarios(scenarios: Sequence[FailedScenario], total: int) -> _Section:
    rows = (
        (
            code(scenario.id) + (" **required**" if scenario.required else ""),
            code(scenario.category) if scenario.category else "",
            f"{scenario.passed_trials} of {scenario.trials}",
            code(scenario.reason),
        )
        for scenario in sorted(scenarios, key=lambda scenario: not scenario.required)
    )
    names = ("scenario", "category", "trials passed", "why")
    return _table("### Failed scenarios", names, rows, total)


def _undecided_scenarios(verdict: Verdict) -> _Section:
    rows = [(id_, "" if category == code("-") else category, why) for id_, category, why in undecided(verdict, code)]
    return _table(f"### {UNDECIDED}", ("scenario", "category", "why"), rows, len(verdict.scenarios_undecided))


def _list(heading: str, items: Sequence[str]) -> _Section:
    return _Section(heading, (), tuple(f"- {item}" for item in items), len(items))
