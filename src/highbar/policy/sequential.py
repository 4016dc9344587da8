"""Sequential rules: what they cannot do, and the scenarios that each is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from highbar import catalogue
from highbar.language.phrases import count
from highbar.model import (
    BaselineRule,
    Binary,
    Call,
    ConditionRule,
    Constant,
    DriftRule,
    JudgeRule,
    Metric,
    Name,
    ProgressiveRule,
    QuarantineRule,
    Rule,
    StepRule,
    SuiteDemands,
    SuiteRule,
    ThresholdRule,
    Where,
)
from highbar.model.rules import demands_of
from highbar.policy.cursor import Cursor
from highbar.policy.metrics import measures_in


def refuse_sequential(
    cursor: Cursor,
    top: Mapping[str, Cursor],
    rules: Sequence[Rule],
    suite: SuiteDemands | None,
    metrics: Mapping[str, Metric],
) -> None:
    """Refuse what a policy with a sequential rule cannot do: correct for the errors of a judge, or a small horizon."""
    correct = top["judge"].child("correct") if "judge" in top else None
    if correct is not None and correct.node.text.lower() == "true":
        message = "shares that are corrected for the errors of a judge cannot be judged sequentially"
        correct.refuse("policy.conflict", message, "write `evidence: confident`, or remove correct")
    for rule, demand in ((each, demand) for each in rules for demand in demands_of(each) if demand.is_sequential):
        planned = 0 if suite is None or demand.horizon is None else len(set_of(rule, suite, metrics))
        if demand.horizon is not None and demand.horizon < planned:
            cursor.refuse("policy.horizon", *small_horizon(rule, demand.horizon, planned), at=rule.place)


def small_horizon(rule: Rule, horizon: int, planned: int) -> tuple[str, str]:
    """The message and the hint about a horizon that is smaller than the number of planned scenarios."""
    message = f"{rule.name}: a horizon of {horizon} is below the {count(planned, 'scenario')} that the rule is about"
    return message, f"write horizon: {planned}, or more"


def is_looked_at(rule: Rule, metrics: Mapping[str, Metric]) -> bool:
    """Whether a sequential rule is judged only at a few looks: a scenario adds no known amount to its metric."""
    if not isinstance(rule, ThresholdRule):
        return isinstance(rule, ConditionRule)
    metric = metrics[rule.metric]
    match metric.expression:
        case Call(function="percentile"):
            return metric.better != "lower"
        case Call(function="mean"):
            return metric.unit != "ratio"
        case Binary(operator="/", right=right):
            return metric.unit != "ratio" or isinstance(right, Constant)
    return True


def needs_every_scenario(rule: Rule) -> bool:
    """Whether a rule can pass only after all its scenarios were run."""
    if isinstance(rule, JudgeRule | QuarantineRule | SuiteRule | DriftRule):
        return False  # these are not about results of scenarios, or demand only that the scenarios were planned
    return isinstance(rule, StepRule) or not any(demand.is_sequential for demand in demands_of(rule))


def set_of(rule: Rule, suite: SuiteDemands, metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """The scenarios of a suite that a rule is about, by the suite's own columns; some may not have its metric."""
    wheres = tuple(dict.fromkeys(populations(rule, metrics)))
    return tuple(id_ for id_, columns in suite.scenarios.items() if any(is_chosen(columns, where) for where in wheres))


def is_chosen(columns: Mapping[str, str], where: Where) -> bool:
    """Whether a scenario with these columns is among those that `where` selects."""
    return all(columns.get(column) in values for column, values in where)


def populations(rule: Rule, metrics: Mapping[str, Metric]) -> Iterator[Where]:
    """The scenarios that a rule about numbers uses: one filter for each sum in its formula."""
    if isinstance(rule, ConditionRule):
        found = measures_in(rule.condition, metrics)
    elif isinstance(rule, ThresholdRule | ProgressiveRule | BaselineRule | StepRule):
        found = measures_in(Name(rule.metric), metrics, () if isinstance(rule, ProgressiveRule) else rule.where)
    else:
        return
    for leaf, where in found:
        wanted = catalogue.terms(leaf, where)
        yield wanted[0].where if isinstance(wanted, tuple) else wanted.where
