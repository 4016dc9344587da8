"""One rule and the evidence → its outcome, with a reason in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, assert_never

from highbar import exact, formula
from highbar.model import (
    BaselineRule,
    ConditionRule,
    Expression,
    Metric,
    Name,
    Outcome,
    ProgressiveRule,
    Rule,
    RuleResult,
    ScenarioRule,
    SuiteRule,
    ThresholdRule,
    Value,
    Where,
)


class Measured(Protocol):
    """The metrics of the whole, over any scenarios."""

    def value(self, name: str, where: Where = ()) -> Value:
        """The value of one metric."""

    def lookup(self, where: Where = ()) -> formula.Lookup:
        """What the names of a formula are worth."""


class Matched(Protocol):
    """What a pattern of ids found."""

    @property
    def scenarios(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def examples(self) -> tuple[str, ...]: ...


class SuiteMatch(Protocol):
    """How the results differ from the suite."""

    @property
    def missing(self) -> int: ...
    @property
    def missing_ids(self) -> tuple[str, ...]: ...
    @property
    def extra(self) -> int: ...
    @property
    def extra_ids(self) -> tuple[str, ...]: ...
    @property
    def different(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a rule may look at."""

    measured: Measured
    metrics: Mapping[str, Metric]
    patterns: Mapping[str, Matched]
    suite: SuiteMatch | None


def judge(rule: Rule, evidence: Evidence) -> RuleResult:
    """What became of the rule. What cannot be checked has not passed."""
    match rule:
        case ThresholdRule():
            return _threshold(rule, evidence)
        case ConditionRule():
            return _condition(rule, evidence)
        case ScenarioRule():
            outcome, reason = _scenarios(rule, evidence)
        case SuiteRule():
            outcome, reason = _suite(evidence.suite)
        case BaselineRule():
            outcome, reason = "undefined", f"there is no baseline to compare with at {rule.file}"
        case ProgressiveRule():
            outcome, reason = "undefined", "the agent's version is not known"
        case _:
            assert_never(rule)
    metric = rule.metric if isinstance(rule, BaselineRule | ProgressiveRule) else None
    return RuleResult(rule.name, rule.level, outcome, reason, metric=metric, place=rule.place)


def _threshold(rule: ThresholdRule, evidence: Evidence) -> RuleResult:
    value = evidence.measured.value(rule.metric, rule.where)
    outcome, reason = _compare(rule, value)
    return RuleResult(
        rule=rule.name,
        level=rule.level,
        outcome=outcome,
        reason=reason,
        metric=rule.metric,
        slice=rule.where,
        threshold=rule.threshold.text,
        value=value,
        description=rule.description,
        place=rule.place,
    )


def _compare(rule: ThresholdRule, value: Value) -> tuple[Outcome, str]:
    if value.value is None:
        return "undefined", f"{rule.metric} is undefined: {value.reason}"
    shown = show(value.value, value, rule.threshold.value)
    wanted = f"{rule.threshold.operator} {show(rule.threshold.value, value)}"
    counted = f"over {count(value.scenarios, 'scenario')}" + (f", {value.missing} lack it" if value.missing else "")
    if not rule.threshold.met_by(value.value):
        return "fail", f"{shown} is not {wanted} ({counted})"
    fewest = rule.demand.min_scenarios
    if fewest is not None and value.scenarios < fewest:
        return "inconclusive", f"{shown} is {wanted}, but rests on {count(value.scenarios, 'scenario')} of at least {fewest} wanted"
    return "pass", f"{shown} is {wanted} ({counted})"


def _condition(rule: ConditionRule, evidence: Evidence) -> RuleResult:
    def shown(expression: Expression, value: Fraction) -> str:
        metric = evidence.metrics.get(expression.name) if isinstance(expression, Name) else None
        return exact.cut_decimal(value) if metric is None or metric.unit != "ratio" else percent(value)

    outcome, reason = formula.judge(rule.condition, evidence.measured.lookup(), shown)
    named = [name for name in ("final_score",) if name in formula.names(rule.condition)]
    metric = named[0] if named else None
    return RuleResult(
        rule=rule.name,
        level=rule.level,
        outcome=outcome,
        reason=reason,
        metric=metric,
        threshold=rule.text,
        value=evidence.measured.value(metric) if metric else None,
        description=rule.description,
        place=rule.place,
    )


def _scenarios(rule: ScenarioRule, evidence: Evidence) -> tuple[Outcome, str]:
    found = evidence.patterns[rule.pattern]
    if not found.scenarios:
        return "fail", f"no result has the id {rule.pattern}" if not _is_pattern(rule.pattern) else f"no id matches {rule.pattern}"
    if found.failed:
        more = "" if found.failed <= len(found.examples) else ", …"
        ids = ", ".join(found.examples)
        return "fail", f"{found.failed} of {count(found.scenarios, 'scenario')} did not pass every trial: {ids}{more}"
    return "pass", f"{count(found.scenarios, 'scenario')} passed every trial"


def _is_pattern(text: str) -> bool:
    return any(character in text for character in "*?")


def _suite(match: SuiteMatch | None) -> tuple[Outcome, str]:
    if match is None:
        return "undefined", "the results were not compared with the suite"
    parts = []
    if match.missing:
        parts.append(f"{count(match.missing, 'scenario')} of the suite without a result: {_some(match.missing, match.missing_ids)}")
    if match.extra:
        parts.append(f"{count(match.extra, 'scenario')} not in the suite: {_some(match.extra, match.extra_ids)}")
    parts.extend(match.different)
    if parts:
        return "fail", "; ".join(parts)
    return "pass", "every scenario of the suite has a result, and no other has"


def _some(number: int, ids: tuple[str, ...]) -> str:
    return ", ".join(ids) + (", …" if number > len(ids) else "")


def count(number: int, noun: str) -> str:
    """`1 scenario`, `2 scenarios`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def show(number: Fraction, value: Value, beside: Fraction | None = None) -> str:
    """A number in the metric's unit, with digits enough to tell it from the number that it stands beside."""
    if value.unit == "ratio":
        return percent(number, beside)
    suffix = {"ms": " ms", "USD": " USD", "per token": " per token"}.get(value.unit, "")
    return f"{exact.cut_decimal(number)}{suffix}"


def percent(number: Fraction, beside: Fraction | None = None) -> str:
    """A share in percent, cut, never rounded up: what is below 100 % never reads as 100 %."""
    for digits in range(1, 10):
        scaled = number * 100 * 10**digits
        cut = Fraction(scaled.numerator // scaled.denominator, 10**digits)
        if beside is None or number == beside or cut not in (beside * 100,):
            break
    text = f"{cut.numerator * 10**digits // cut.denominator}".rjust(digits + 1, "0")
    whole, part = text[:-digits], text[-digits:].rstrip("0")
    return f"{whole}.{part}%" if part else f"{whole}%"
