"""Puts the rules of a policy into sentences, for readers who do not read its file."""

from __future__ import annotations

from fractions import Fraction
from typing import assert_never

from highbar.language.exact import write_decimal
from highbar.language.phrases import some
from highbar.model import (
    BaselineRule,
    ConditionRule,
    Demand,
    DriftRule,
    JudgeRule,
    NewFailuresRule,
    Policy,
    ProgressiveRule,
    QuarantineRule,
    Rule,
    ScenarioRule,
    StepRule,
    SuiteRule,
    Threshold,
    ThresholdRule,
    Unit,
    Where,
)
from highbar.policy.judged_by import say_judged_by
from highbar.policy.scenario_ids import is_pattern
from highbar.policy.selecting import say_select
from highbar.policy.sequential import is_looked_at, needs_every_scenario

_OPERATORS = {">=": "at least", ">": "above", "<=": "at most", "<": "below", "=": "exactly", "!=": "not"}
_UNITS: dict[Unit, str] = {"ratio": "", "ms": " ms", "USD": "", "per token": " per token", "number": ""}


def rule_in_words(rule: Rule, policy: Policy) -> str:
    """What `rule` demands, as one sentence without its level."""
    match rule:
        case ThresholdRule():
            what = f"{rule.metric} must be {say_threshold(rule.threshold)}{_say_where(rule.where)}"
            return f"{what}{_say_evidence(rule, policy, rule.threshold.unit)}{_say_accepted(rule.demand)}."
        case ConditionRule():
            what = f"This must hold: {' '.join(rule.text.split())}{_say_evidence(rule, policy, 'ratio')}"
            return f"{what}{_say_accepted(rule.demand)}."
        case ScenarioRule():
            return _say_scenario(rule)
        case SuiteRule() | QuarantineRule():
            return _say_suite(rule, policy)
        case BaselineRule():
            what = f"{rule.metric} must not be worse than in {rule.file} by more than {_say_margin(rule, policy)}"
            return f"{what}{_say_where(rule.where)}{_say_evidence(rule, policy, policy.metrics[rule.metric].unit)}."
        case StepRule():
            what = f"{rule.metric} must be better than in {rule.file} by at least {_say_margin(rule, policy)}"
            return f"{what}{_say_where(rule.where)}{_say_evidence(rule, policy, policy.metrics[rule.metric].unit)}."
        case NewFailuresRule() | DriftRule():
            return _say_by_history(rule)
        case ProgressiveRule():
            return _say_progressive(rule)
        case JudgeRule():
            return _say_judge(rule, policy)
    assert_never(rule)


def _say_by_history(rule: NewFailuresRule | DriftRule) -> str:
    if isinstance(rule, DriftRule):
        return f"Scenarios must not pass less and less often, by the runs in {rule.folder}."
    which = "No scenario" if rule.patterns == ("*",) else f"None of {', '.join(rule.patterns)}"
    unless = "" if rule.folder is None else f", unless its runs in {rule.folder} explain the failure"
    return f"{which} may fail or be missing that passed all its trials in {rule.file}{unless}."


def say_all(policy: Policy) -> tuple[tuple[Rule, str], ...]:
    """Every rule with its sentence, in the policy's order."""
    return tuple((rule, rule_in_words(rule, policy)) for rule in policy.rules)


def say_reading(policy: Policy) -> tuple[tuple[str, str], ...]:
    """Sentences, each with its key, on which rows are judged, by whom, corrections for a judge, and the quarantine."""
    sentences = [("select", f"Only rows with {say_select(policy.select)} are judged.")] if policy.select else []
    if policy.is_sequential:
        sentences.append(("evidence", _say_order(policy)))
    for tool, demands in policy.judged_by.items():
        all_hold = " must hold" if len(demands) == 1 else " must all hold"
        sentences.append((f"judged_by.{tool}", f"A record passes by its scorers: {say_judged_by(demands)}{all_hold}."))
    if policy.judge is not None and policy.judge.labels is not None:
        sentences.append(
            ("judge.labels", f"What people said about the judge's statements is in {policy.judge.labels}.")
        )
    if policy.judge is not None and policy.judge.correct:
        sentences.append(("judge.correct", "Shares of trials are corrected for the errors of the judge."))
    if policy.quarantine is not None:
        ids = [id_ if until is None else f"{id_} until {until}" for id_, until in policy.quarantine.items()]
        sentences.append(("quarantine.ids", f"These are quarantined, and never new failures: {', '.join(ids)}."))
    return tuple(sentences)


def _say_order(policy: Policy) -> str:
    """What a run that ends early means for the rules."""
    needing = [rule.name for rule in policy.rules if rule.level == "blocking" and needs_every_scenario(rule)]
    order = "Sequential rules see the scenarios in the random order that a run records before its first call."
    rest = f" These pass only when all their scenarios were run: {some(needing)}." if needing else ""
    return f"{order}{rest}"


def say_threshold(threshold: Threshold) -> str:
    """A threshold in words: `at least 90%`, `below 5000 ms`, `100%`."""
    best = {">=": 1, "<=": 0}.get(threshold.operator)
    if threshold.unit == "ratio" and threshold.value == best:
        return _amount(threshold.value, "ratio")
    return f"{_OPERATORS[threshold.operator]} {_amount(threshold.value, threshold.unit)}"


def _amount(value: Fraction, unit: Unit) -> str:
    if unit == "USD":
        return f"${write_decimal(value)}"
    return f"{write_decimal(value * 100)}%" if unit == "ratio" else f"{write_decimal(value)}{_UNITS[unit]}"


def _say_where(where: Where) -> str:
    return f" over the scenarios with {say_select(where)}" if where else ""


def _say_evidence(rule: ThresholdRule | ConditionRule | BaselineRule | StepRule, policy: Policy, unit: Unit) -> str:
    """How the evidence is weighed; empty if only the value counts."""
    demand = rule.demand
    parts = []
    if demand.is_confident:
        parts.append(f"with {_amount(policy.confidence, 'ratio')} confidence")
    if demand.is_sequential:
        parts.append(_say_sequential(rule, policy))
    if demand.margin:
        parts.append(f"{_say_points(demand.margin, unit)} worse is accepted")
    if demand.min_scenarios:
        parts.append(f"from at least {demand.min_scenarios} scenarios")
    return "".join(f", {part}" for part in parts)


def _say_sequential(rule: ThresholdRule | ConditionRule | BaselineRule | StepRule, policy: Policy) -> str:
    demand = rule.demand
    if isinstance(rule, StepRule):
        return "judged once all scenarios were run"
    late = " (late: mostly near the end of the run)" if demand.spending == "late" else ""
    planned = "" if demand.horizon is None else f", planned for {demand.horizon} scenarios"
    if is_looked_at(rule, policy.metrics):
        return f"decided at one of five looks during the run{late}{planned}"
    return f"decided as soon as enough scenarios were run{late}{planned}"


def _say_accepted(demand: Demand) -> str:
    """The failures that an acceptance number accepts; empty without one."""
    if not demand.failures:
        return ""
    failed = "1 failed scenario is" if demand.failures == 1 else f"{demand.failures} failed scenarios are"
    return f"; {failed} accepted if a failure rate of {_amount(demand.tolerate, 'ratio')} is still excluded"


def _say_points(margin: Fraction, unit: Unit) -> str:
    return f"{write_decimal(margin * 100)} percentage points" if unit == "ratio" else _amount(margin, unit)


def _say_judge(rule: JudgeRule, policy: Policy) -> str:
    """A demand on the judge. Its rates are shares of trials, and their lower bounds count."""
    if rule.key == "uncalibrated" or rule.bound is None:
        return "Trials that rest on a judge must rest on one that was calibrated with people's labels."
    if rule.key == "min_labels":
        trials = "trial" if rule.bound == 1 else "trials"
        return f"People must have labeled at least {write_decimal(rule.bound)} {trials} of the judge."
    passes = "passes" if rule.key == "min_sensitivity" else "fails"
    sure = f"with {_amount(policy.confidence, 'ratio')} confidence"
    return f"The judge must find at least {_amount(rule.bound, 'ratio')} of what people say {passes}, {sure}."


def _say_suite(rule: SuiteRule | QuarantineRule, policy: Policy) -> str:
    if isinstance(rule, QuarantineRule):
        return "At most 5% of the scenarios may be quarantined, or one if 5% is less than one."
    count = f"each of the {len(policy.suite.scenarios)} scenarios" if policy.suite else "each scenario"
    return f"The results must contain {count} of the suite, and no others."


def _say_scenario(rule: ScenarioRule) -> str:
    if is_pattern(rule.pattern):
        return f"Every scenario that matches {rule.pattern} must pass all its trials, and at least one must match."
    return f"The scenario {rule.pattern} must have a result and pass all its trials."


def _say_margin(rule: BaselineRule | StepRule, policy: Policy) -> str:
    amount = rule.margin if isinstance(rule, BaselineRule) else rule.step
    if rule.relative:
        return f"{write_decimal(amount * 100)}% of its value there"
    return _say_points(amount, policy.metrics[rule.metric].unit)


def _say_progressive(rule: ProgressiveRule) -> str:
    steps = ", ".join(
        f"{say_threshold(step.threshold)} from {step.version}"
        + (f" ({_say_points(step.demand.margin, step.threshold.unit)} worse is accepted)" if step.demand.margin else "")
        for step in rule.steps
    )
    target = f"; the target is {say_threshold(rule.target)}" if rule.target else ""
    return f"{rule.metric} must be {steps}{target}."
