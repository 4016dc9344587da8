"""Refuses the rules that crashes would make easier to meet.

A trial without a value counts as the worse end of the column's range, in every formula. Which end that is follows from
`better` of the metric that is only the mean or a percentile of the column. A formula that improves toward that end
would reward crashes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from highbar.catalogue import FINAL_SCORE
from highbar.columns import EXTRA
from highbar.language.exact import write_decimal
from highbar.language.formula import names, unparse
from highbar.model import (
    BaselineRule,
    Call,
    ConditionRule,
    Metric,
    Name,
    Operator,
    Policy,
    ProgressiveRule,
    Rule,
    StepRule,
    ThresholdRule,
)
from highbar.policy.composite import CompositePart, comparisons_in
from highbar.policy.cursor import Cursor
from highbar.policy.directions import ImputedPart, helped_by_crashes
from highbar.policy.metrics import Definition

_TURNED = {"higher": "lower", "lower": "higher"}


def refuse_helpful_crashes(
    cursor: Cursor, policy: Policy, definitions: Iterable[Definition], composite: CompositePart
) -> None:
    """Refuse every rule that crashes make easier to meet; the problem points to the formula that causes it."""
    own = {definition.metric.name: definition.formula for definition in definitions}
    formulas = own | ({FINAL_SCORE: composite.definition.formula} if composite.definition else {})
    refused: set[str] = set()
    for rule in policy.rules:
        if isinstance(rule, ConditionRule):
            _refuse_in_condition(composite.cursor or cursor, rule, policy)
        for name in _judged_metrics(rule, policy):
            at = _innermost(name, policy, formulas)
            if at is not None and at not in refused:
                refused.add(at)
                metric = policy.metrics[at]
                found = _helpful_parts(metric, policy)[0]
                message = f"{at} gets {metric.better}, which is better, the more trials crash: {_say_end(found)}"
                turned = f", or `better: {_TURNED[metric.better]}` for {at}" if at in own else ""
                formulas.get(at, cursor).refuse("formula.rewards-worse", message, _hint(found, policy) + turned)


def _judged_metrics(rule: Rule, policy: Policy) -> Iterator[str]:
    """The metrics that a rule compares with a bound."""
    if isinstance(rule, ThresholdRule | ProgressiveRule | BaselineRule | StepRule):
        yield rule.metric
    elif isinstance(rule, ConditionRule):
        for demand in comparisons_in(rule.condition):
            sides = demand.comparison.left, demand.comparison.right
            yield from (side.name for side in sides if isinstance(side, Name) and side.name in policy.metrics)


def _refuse_in_condition(cursor: Cursor, rule: ConditionRule, policy: Policy) -> None:
    for demand in comparisons_in(rule.condition):
        surely, _ = helped_by_crashes(demand.difference, demand.operator, policy)
        found = [part for part in surely if _is_own(part)]
        alone = any(isinstance(side, Name) for side in (demand.comparison.left, demand.comparison.right))
        # A metric that is one side of the comparison is refused at its own formula; once is enough.
        if found and not (
            alone and any(_helpful_parts(policy.metrics[name], policy) for name in _judged_metrics(rule, policy))
        ):
            words = unparse(demand.comparison)
            cursor.refuse(
                "formula.rewards-worse",
                f"'{words}' is met more easily the more trials crash: {_say_end(found[0])}",
                _hint(found[0], policy),
            )


def _helpful_parts(metric: Metric, policy: Policy) -> list[ImputedPart]:
    """The parts of the metric, on columns of the user's own, in which crashes improve the metric."""
    operator: Operator = ">=" if metric.better == "higher" else "<="
    surely, _ = helped_by_crashes(metric.expression, operator, policy, metric.where)
    return [part for part in surely if _is_own(part)]


def _is_own(part: ImputedPart) -> bool:
    return part.column.startswith(EXTRA) and part.ends.worst is not None


def _innermost(name: str, policy: Policy, formulas: dict[str, Cursor]) -> str | None:
    """The metric whose formula is at fault if crashes improve `name`: the innermost that they improve, else None."""
    if not _helpful_parts(policy.metrics[name], policy):
        return None
    for used in sorted(names(policy.metrics[name].expression)):
        if used in formulas and (inner := _innermost(used, policy, formulas)) is not None:
            return inner
    return name


def _say_end(part: ImputedPart) -> str:
    worst = write_decimal(part.ends.worst) if part.ends.worst is not None else ""
    return f"a trial without `{part.column.removeprefix(EXTRA)}` counts as {worst}, the worse end of its range"


def _hint(part: ImputedPart, policy: Policy) -> str:
    """The hint: for which metric to turn `better` around."""
    column = part.column.removeprefix(EXTRA)
    for metric in policy.metrics.values():
        match metric.expression:
            case Call("mean" | "percentile", (Name(name), *_)) if name == column and metric.range is not None:
                return f"write `better: {_TURNED[metric.better]}` for {metric.name}"
    return f"write `better` for the metric that is mean({column})"
