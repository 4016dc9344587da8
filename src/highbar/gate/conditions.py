"""Judges a condition over metrics, by the estimate or with confidence.

With confidence, a comparison passes if it holds at the worse end of the interval of its sides' difference, fails if it
does not hold even at the better end, and is otherwise inconclusive. A metric compared with a number is judged like a
threshold.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import assert_never

from msgspec.structs import replace

from highbar.gate.evidence import Evidence
from highbar.gate.outlook import ValueSupport, combine_outlooks
from highbar.gate.thresholds import ThresholdOutcome, judge_value, possible_truths
from highbar.language import digits, exact, formula
from highbar.model import (
    Condition,
    ConditionRule,
    Constant,
    Demand,
    Expression,
    Logic,
    Name,
    Outcome,
    Relation,
    Threshold,
    Unit,
)
from highbar.statistics.second_run import all_of, any_of

ORDER: dict[str, tuple[Outcome, ...]] = {
    "and": ("fail", "undefined", "inconclusive", "pass"),
    "or": ("pass", "undefined", "inconclusive", "fail"),
}
"""By operator: the first of these outcomes that an operand has is the outcome of the whole."""


def judge_condition(rule: ConditionRule, evidence: Evidence) -> ThresholdOutcome:
    """The outcome of the condition, and why."""
    judged = _judge(rule.condition, rule.demand, evidence)
    if rule.demand.is_confident or judged.outcome == "inconclusive":
        return judged  # by the estimate, it is inconclusive only with fewer scenarios than demanded

    def shown(expression: Expression, value: Fraction, beside: Expression) -> str:
        """The value in the unit of its metric; a number in that of the metric on the other side, and exactly."""
        named = beside if isinstance(expression, Constant) else expression
        metric = evidence.metrics.get(named.name) if isinstance(named, Name) else None
        if metric is None:
            return exact.cut_decimal(value)
        number = expression if isinstance(expression, Constant) else beside
        return digits.amount(value, metric.unit, (number.value,) if isinstance(number, Constant) else ())

    outcome, reason = formula.evaluate_condition(rule.condition, evidence.measured.lookup(), shown)
    if judged.outcome == "undefined" and outcome == "pass":
        return judged  # every name in it has a value, but a comparison is undefined
    return replace(judged, outcome=outcome, reason=reason)


def could_fail(condition: Condition, evidence: Evidence) -> bool:
    """Whether the condition fails for some values of the undecided trials, from their worst to their best."""
    return False in _possible(condition, evidence)


def could_hold(condition: Condition, evidence: Evidence) -> bool:
    """Whether the condition holds for some values of the undecided trials."""
    return True in _possible(condition, evidence)


def _possible(condition: Condition, evidence: Evidence) -> set[bool]:
    """The truth values that the condition can have, if its comparisons vary independently of each other."""
    match condition:
        case Relation(operator, left, right):
            span = evidence.measured.span(left, right)
            low = -math.inf if span.low is None else span.low
            high = math.inf if span.high is None else span.high
            return possible_truths(operator, low, high)
        case Logic("not", (operand,)):
            return {not one for one in _possible(operand, evidence)}
        case Logic(joined_by, operands):
            parts = [_possible(operand, evidence) for operand in operands]
            # An AND can hold if all operands can, and fail if one can; an OR is the other way around.
            join, turned = (all, any) if joined_by == "and" else (any, all)
            found = {True} if join(True in part for part in parts) else set()
            return found | ({False} if turned(False in part for part in parts) else set())
    assert_never(condition)


def _judge(condition: Condition, demand: Demand, evidence: Evidence) -> ThresholdOutcome:
    match condition:
        case Relation():
            return _compare(condition, demand, evidence)
        case Logic("not", (operand,)):
            return _judge(_negated_condition(operand), demand, evidence)
        case Logic(joined_by, operands):
            parts = [_judge(operand, demand, evidence) for operand in operands]
            outcome = next(o for o in ORDER[joined_by] if any(part.outcome == o for part in parts))
            needed = [part.more_scenarios for part in parts if part.more_scenarios is not None]
            return ThresholdOutcome(
                outcome=outcome,
                reason="; ".join(part.reason for part in parts if part.outcome == outcome),
                fragile=any(part.fragile for part in parts),
                more_scenarios=max(needed, default=None),
                outlooks=combine_outlooks([part.outlooks for part in parts], all_of if joined_by == "and" else any_of),
            )
    assert_never(condition)


def _negated_condition(condition: Condition) -> Condition:
    """The opposite condition. Swapping pass and fail instead would skip the evidence that the opposite demands."""
    match condition:
        case Relation(operator, left, right):
            return Relation(formula.NEGATED[operator], left, right)
        case Logic("not", (operand,)):
            return operand
        case Logic(joined_by, operands):
            return Logic(
                "or" if joined_by == "and" else "and", tuple(_negated_condition(operand) for operand in operands)
            )
    assert_never(condition)


def _compare(comparison: Relation, demand: Demand, evidence: Evidence) -> ThresholdOutcome:
    comparison = formula.metric_first(comparison)
    left, right = comparison.left, comparison.right
    if isinstance(left, Name) and isinstance(right, Constant) and left.name in evidence.metrics:
        metric = evidence.metrics[left.name]
        threshold = Threshold(
            comparison.operator, right.value, metric.unit, _written(comparison.operator, right.value, metric.unit)
        )
        value = evidence.measured.value(left.name)
        judged = judge_value(left.name, value, threshold, demand, evidence.alpha, evidence.support(left.name))
        return judged if value.value is None else replace(judged, reason=f"{left.name} {judged.reason}")
    value = evidence.measured.difference(left, right, "lower" if comparison.operator in ("<", "<=") else "higher")
    if comparison.operator in ("=", "!=") and value.value is not None:  # neither direction is better: check both
        turned = evidence.measured.difference(left, right, "lower")
        value = turned if turned.value is None else value
    threshold = Threshold(comparison.operator, Fraction(0), "number", f"{comparison.operator} 0")
    name = f"{formula.unparse(left)} - {formula.unparse(right)}"
    judged = judge_value(name, value, threshold, demand, evidence.alpha, ValueSupport(noise=evidence.noise))
    return judged if value.value is None else replace(judged, reason=f"{name}: {judged.reason}")


def _written(operator: str, value: Fraction, unit: Unit) -> str:
    return f"{operator} {exact.write_decimal(value)}{'ms' if unit == 'ms' else ''}"
