"""Lists the comparisons of a condition as thresholds, for reports that draw them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from highbar.gate.evidence import Evidence
from highbar.language.exact import write_decimal
from highbar.language.formula import metric_first
from highbar.model import Condition, ConditionRule, Constant, Name, Operator, Relation, Rule
from highbar.model.details import ConditionPart


def comparisons(rules: Iterable[Rule], evidence: Evidence) -> tuple[ConditionPart, ...]:
    """Every comparison of a metric with a number in the conditions of the rules, except those inside a NOT."""
    found = []
    for rule in rules:
        if isinstance(rule, ConditionRule):
            for metric, operator, number in _compared(rule.condition):
                if metric in evidence.metrics:
                    threshold = f"{operator} {write_decimal(number.value)}"
                    found.append(ConditionPart(rule.name, metric, threshold, evidence.measured.value(metric)))
    return tuple(found)


def _compared(condition: Condition) -> Iterator[tuple[str, Operator, Constant]]:
    if isinstance(condition, Relation):
        turned = metric_first(condition)
        if isinstance(turned.left, Name) and isinstance(turned.right, Constant):
            yield turned.left.name, turned.operator, turned.right
    elif condition.operator != "not":
        for operand in condition.operands:
            yield from _compared(operand)
