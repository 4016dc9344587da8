r"""The verdict as one CSV table. `kind` is verdict, problem, metric, slice, rule, advice, scenario, or unlisted.

Spreadsheets execute a text that begins like a formula, even in quotes, so an apostrophe is put before it; also before a
text that begins with an apostrophe, so that removing the first one restores the text. In locales with a decimal comma,
spreadsheets begin a new cell at `;`, so a `;` before what looks like a formula becomes `\x3b`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from highbar.errors import Problem
from highbar.language.digits import Bounds, bounds_by_metric, rule_bounds
from highbar.model import RuleResult, ScenarioResult, Value, Verdict, Where
from highbar.report import PAGE, Display
from highbar.report.headline import evidence, headline, origin_lines, quarantined_ids
from highbar.report.numbers import interval_end, number
from highbar.report.visible import visible

COLUMNS = (
    "kind", "name", "outcome", "level", "metric", "column", "slice", "threshold", "value", "low", "high", "unit",
    "better", "scenarios", "missing", "category", "trials", "passed_trials", "required", "fragile", "reason",
    "undecided", "best", "raw", "corrected", "quarantined",
)  # fmt: skip
"""Add new columns at the end: some readers find columns by position."""
_NUMBERS = {
    "value",
    "low",
    "high",
    "scenarios",
    "missing",
    "trials",
    "passed_trials",
    "undecided",
    "best",
    "raw",
    "corrected",
}
# What a spreadsheet may take as the start of a formula (OWASP), also in full width, and the apostrophe that we add.
_FORMULA = tuple("=+-@\t\r\n\0'＝＋－＠")
_NEW_CELL = re.compile(r";(?=[\s\"']*[=+\-@＝＋－＠])")
_Row = Mapping[str, str | int | None]


def render(verdict: Verdict, _display: Display = PAGE) -> str:
    """A row for the verdict, then for each problem, metric, metric of a slice, rule, typical threshold and scenario."""
    bounds = bounds_by_metric(verdict.rules or verdict.advice)
    return _text(_rows(verdict, bounds))


def render_problems(problems: Iterable[Problem], _display: Display = PAGE) -> str:
    """A row for the verdict `none`, and one for each problem."""
    return _text([{"kind": "verdict", "outcome": "none"}, *(_problem(problem) for problem in problems)])


def _rows(verdict: Verdict, bounds: Bounds) -> Iterator[_Row]:
    counts = verdict.counts
    yield {
        "kind": "verdict",
        "name": verdict.agent_version,
        "outcome": verdict.verdict or "none",
        "scenarios": counts.scenarios,
        "trials": counts.trials,
        "undecided": counts.undecided,
        "reason": "; ".join(filter(None, (headline(verdict), evidence(verdict.counts), *origin_lines(verdict, str)))),
    }
    yield from (_problem(problem) for problem in verdict.problems)
    for name, value in verdict.metrics.items():
        yield {"kind": "metric", "metric": name, "name": name, **_value(value, bounds.get(name, ()))}
    for part in verdict.slices:
        by = {"kind": "slice", "column": part.by[0], "slice": part.by[1]}
        for name, value in part.metrics.items():
            outcome = "worse" if part.worse and name == "pass_rate" else ""
            yield {**by, "metric": name, "name": name, "outcome": outcome, **_value(value, bounds.get(name, ()))}
    for rule in verdict.rules:
        yield _rule(rule, bounds)
    for rule in verdict.advice:
        yield {**_rule(rule, bounds), "kind": "advice"}
    yield from _scenarios(verdict)


def _value(value: Value, bounds: tuple[Fraction, ...]) -> _Row:
    return {
        "value": number(value.value, bounds),
        "low": interval_end(value.low),
        "high": interval_end(value.high),
        "unit": value.unit,
        "better": value.better,
        "scenarios": value.scenarios,
        "missing": value.missing,
        "undecided": value.undecided,
        "best": number(value.best, bounds),
        "corrected": number(None if value.corrected is None else value.corrected.value, bounds),
        "reason": value.reason,
    }


def _rule(rule: RuleResult, bounds: Bounds) -> _Row:
    value = _value(rule.value, rule_bounds(rule, bounds)) if rule.value else {}
    return {
        **value,
        "kind": "rule",
        "name": rule.rule,
        "outcome": rule.outcome,
        "level": rule.level,
        "metric": rule.metric,
        **_where(rule.slice),
        "threshold": rule.threshold,
        "fragile": _yes(rule.fragile),
        "raw": number(None if rule.raw is None else rule.raw.value, rule_bounds(rule, bounds)),
        "reason": rule.reason,
    }


def _where(where: Where) -> _Row:
    return {
        "column": " and ".join(column for column, _ in where),
        "slice": " and ".join(" or ".join(values) for _, values in where),
    }


def _scenarios(verdict: Verdict) -> Iterator[_Row]:
    quarantined = quarantined_ids(verdict)
    for row in _scenario_rows(verdict):
        yield {**row, "quarantined": _yes(row.get("name") in quarantined)} if quarantined else row


def _scenario_rows(verdict: Verdict) -> Iterator[_Row]:
    """All scenarios if the verdict lists them, else the failed and undecided ones; a last row counts the others."""
    for one in verdict.scenarios:
        yield _scenario(one)
    if not verdict.scenarios:
        for failed in verdict.scenarios_failed:
            scenario = ScenarioResult(failed.id, failed.category, failed.trials, failed.passed_trials)
            yield {**_scenario(scenario), "reason": failed.reason, "required": _yes(failed.required)}
        for undecided in verdict.scenarios_undecided:
            yield _scenario(undecided.as_result())
    listed = len(verdict.scenarios) or len(verdict.scenarios_failed) + len(verdict.scenarios_undecided)
    if listed < verdict.counts.scenarios:
        yield {
            "kind": "unlisted",
            "scenarios": verdict.counts.scenarios - listed,
            "reason": f"so many scenarios more, which are not listed; {verdict.counts.failed} failed in all",
        }


def _scenario(scenario: ScenarioResult) -> _Row:
    return {
        "kind": "scenario",
        "name": scenario.id,
        "outcome": "pass" if scenario.passed else "undecided" if scenario.undecided else "fail",
        "category": scenario.category,
        "trials": scenario.trials,
        "passed_trials": scenario.passed_trials,
        "undecided": scenario.undecided_trials,
        "required": _yes(scenario.required),
        "reason": scenario.reason,
    }


def _problem(problem: Problem) -> _Row:
    place = problem.place_text
    hint = f" (hint: {problem.hint})" if problem.hint else ""
    return {"kind": "problem", "name": place, "reason": f"{problem.message}{hint}"}


def _yes(answer: bool) -> str:  # noqa: FBT001 - the one thing it takes
    return "yes" if answer else ""


def _text(rows: Iterable[_Row]) -> str:
    lines = (",".join(_cell(column, row.get(column)) for column in COLUMNS) for row in rows)
    return "\n".join([",".join(COLUMNS), *lines, ""])


def _cell(column: str, value: str | int | None) -> str:
    """A number without quotes, so that a spreadsheet can add it up; a text in quotes."""
    if value is None or value == "":
        return ""
    return str(value) if column in _NUMBERS else f'"{csv_text(str(value))}"'


def csv_text(text: str) -> str:
    """The only encoder of this format: visible text for the inside of quotes that no spreadsheet takes as a formula.

    >>> print(csv_text("=1+1"), csv_text("a"))
    '=1+1 a
    """
    shown = _NEW_CELL.sub(r"\\x3b", visible(text))
    before = "'" if text.startswith(_FORMULA) or shown.startswith(_FORMULA) else ""
    return (before + shown).replace('"', '""')
