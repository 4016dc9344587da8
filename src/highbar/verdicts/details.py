"""The details that some reports show beside the verdict; computed only for those."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from highbar import __version__, gate, measure
from highbar.language.exact import write_decimal
from highbar.language.formula import metric_first
from highbar.measure.scores import percentiles_of, scores
from highbar.model import Condition, ConditionRule, Constant, Name, Operator, Policy, Relation, Rule
from highbar.model.details import ConditionPart, Details
from highbar.model.job import Job
from highbar.model.reduction import Reduction

if TYPE_CHECKING:  # few policies compare
    from highbar.changes.since import Changes


def details(
    job: Job, policy: Policy, evidence: gate.Evidence, whole: measure.Measured, sums: Reduction, changes: Changes | None
) -> Details:
    """The trials of failed scenarios, the terms of scores and conditions, and the comparison with the baseline."""
    latency = sums.details.latency if sums.details else None
    if latency is not None:
        latency = replace(latency, metrics=percentiles_of("latency_ms", tuple(policy.metrics.values())))
    comparison = None
    if changes is not None:
        from highbar.changes.comparison import comparison_of  # few policies compare

        comparison = comparison_of(policy, changes.base, changes.head, slices=job.wants.slices)
    parts = condition_parts(policy.rules, evidence)
    failed = sums.details.scenarios if sums.details else ()
    return Details(failed, latency, scores(whole), parts, policy.text, __version__, comparison)


def condition_parts(rules: Iterable[Rule], evidence: gate.Evidence) -> tuple[ConditionPart, ...]:
    """Every comparison of a metric with a number in the conditions of the rules, except those inside a NOT."""
    found = []
    for rule in rules:
        if isinstance(rule, ConditionRule):
            for metric, operator, number in _comparisons(rule.condition):
                if metric in evidence.metrics:
                    threshold = f"{operator} {write_decimal(number.value)}"
                    found.append(ConditionPart(rule.name, metric, threshold, evidence.measured.value(metric)))
    return tuple(found)


def _comparisons(condition: Condition) -> Iterator[tuple[str, Operator, Constant]]:
    if isinstance(condition, Relation):
        turned = metric_first(condition)
        if isinstance(turned.left, Name) and isinstance(turned.right, Constant):
            yield turned.left.name, turned.operator, turned.right
    elif condition.operator != "not":
        for operand in condition.operands:
            yield from _comparisons(operand)
