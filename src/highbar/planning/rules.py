"""The rules of a policy, or a verdict on them → how many scenarios each of them takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from msgspec.structs import replace

from highbar.language import formula
from highbar.language.digits import parse_threshold
from highbar.model import (
    Binary,
    Call,
    ConditionRule,
    Constant,
    Demand,
    Metric,
    Policy,
    ProgressiveRule,
    RuleResult,
    ThresholdRule,
    Verdict,
)
from highbar.planning.plans import Assumptions, Budget, Joint, Plan, Repeats, RuleNeed, RuleStanding
from highbar.planning.repeated import lower_bound, scenarios_to_bound, spread
from highbar.planning.suites import fewest_to_pass, gate_chance, reach, size_needed
from highbar.planning.unseen import SINGLE, unseen_by_plan, unseen_loss
from highbar.statistics.planning import clusters_to_exclude, more_scenarios

SOME_TRIALS = (1, 2, 3, 5, 10)
SPLIT = "pass_rate"
"""The metric whose variance is split into that between scenarios and that between trials."""


def plan_policy(policy: Policy, assumptions: Assumptions, scenarios: int | None = None) -> Plan:
    """How many scenarios each rule about a number takes, and what a suite of `scenarios` could show about it."""
    needs = tuple(
        _need(rule, policy, assumptions, scenarios) if isinstance(rule, ThresholdRule) else without_plan(rule)
        for rule in rules_about_numbers(policy)
    )
    together = joint([need.chance for need in needs if need.level == "blocking" and need.chance is not None])
    main = next((need for need in needs if need.metric in SINGLE and _is_main(need)), None)
    unseen = None
    if main is not None and main.metric is not None and main.supposed is not None and scenarios is not None:
        unseen = unseen_by_plan(main.metric, scenarios, float(main.supposed), float(1 - policy.confidence))
    return Plan(assumptions, rules=needs, policy=policy.file, scenarios=scenarios, joint=together, unseen=unseen)


def _is_main(need: RuleNeed) -> bool:
    return need.level == "blocking" and not need.slice and need.supposed is not None and need.supposed < 1


def rules_about_numbers(policy: Policy) -> Iterator[ThresholdRule | ConditionRule | ProgressiveRule]:
    """The rules that compare a number, which are the ones that a plan is about."""
    for rule in policy.rules:
        if isinstance(rule, ThresholdRule | ConditionRule | ProgressiveRule):
            yield rule


def joint(chances: Sequence[float]) -> Joint | None:
    """The chance that all rules with these chances pass; None with fewer than two of them."""
    return Joint(len(chances), math.prod(chances), min(chances)) if len(chances) > 1 else None


def _blocking_rules(policy: Policy) -> int:
    """How many blocking rules may fail a good agent: all but those at 100 %, which are planned for a perfect agent."""
    planned = [
        share_to_reach(rule, policy.metrics[rule.metric], policy)
        for rule in policy.rules
        if isinstance(rule, ThresholdRule) and rule.level == "blocking"
    ]
    return sum(bar is not None and 0 < bar < 1 for bar in planned)


def _need(rule: ThresholdRule, policy: Policy, assumptions: Assumptions, scenarios: int | None) -> RuleNeed:
    metric = policy.metrics[rule.metric]
    bar = share_to_reach(rule, metric, policy)
    if bar is None or bar <= 0:
        return without_share(rule, metric, bar)
    assumed = Assumptions(policy.confidence, assumptions.power, tolerate=rule.demand.tolerate)
    if bar == 1:
        # The supposed agent is then perfect and passes for certain, whatever the other rules do.
        needed = together = fewest_to_pass(bar, assumed, rule.demand.failures)
    else:
        # The n-th root of the power: n rules that vary independently then pass together with that power.
        each = Fraction(float(assumptions.power) ** (1 / max(1, _blocking_rules(policy))))
        needed = size_needed(bar, halfway(bar), assumed).scenarios
        together = size_needed(bar, halfway(bar), replace(assumed, power=each)).scenarios
    lower = metric.unit == "ratio" and metric.better == "lower"
    shown = None if scenarios is None else reach(scenarios, bar, assumed, rule.demand.failures)

    def enough(size: int | None) -> int | None:
        # With fewer scenarios than `min_scenarios` the gate passes nothing, however good they are.
        return None if size is None else max(rule.demand.min_scenarios or 0, size)

    size = scenarios or enough(needed)
    return RuleNeed(
        rule.name,
        rule.level,
        rule.metric,
        rule.where,
        rule.threshold.text,
        metric.unit,
        better="lower" if lower else "higher",
        fewest=enough(fewest_to_pass(bar, assumed)),
        supposed=1 - halfway(bar) if lower else halfway(bar),
        scenarios=enough(needed),
        rate_to_pass=_rate(shown.rate_to_pass if shown else None, lower=lower),
        rate_to_fail=_rate(shown.rate_to_fail if shown else None, lower=lower),
        chance=None if size is None else _chance(rule.demand, size, bar, assumed),
        together=enough(together),
    )


def _chance(demand: Demand, scenarios: int, bar: Fraction, assumed: Assumptions) -> float:
    """How likely an agent halfway to perfection passes on so many scenarios."""
    if scenarios < (demand.min_scenarios or 0):
        return 0.0
    return gate_chance(scenarios, bar, halfway(bar), assumed, demand.failures).passes


def halfway(bar: Fraction) -> Fraction:
    """The rate halfway between the threshold and perfection."""
    return (bar + 1) / 2


def _rate(rate: float | None, *, lower: bool) -> float | None:
    """A share of good scenarios in the metric's own terms: its complement if lower is better."""
    return None if rate is None else 1 - rate if lower else rate


def share_to_reach(rule: ThresholdRule, metric: Metric, policy: Policy) -> Fraction | None:
    """The share of good scenarios that the rule demands; None if the metric is no share.

    `error_rate ≤ 2%` demands 98 % without an error, `latency_p95 < 5000ms` that 95 % completed within it. Scores
    between 0 and 1 vary less than passes and fails: for them the plan is the worst case.
    """
    expression = metric.expression
    if isinstance(expression, Call) and expression.function == "percentile":
        share = expression.arguments[1]
        return share.value if isinstance(share, Constant) and metric.better == "lower" else None
    # Of a formula over other metrics, only results can tell how much it varies.
    named = formula.names(expression)
    single = isinstance(expression, Call) or (isinstance(expression, Binary) and expression.operator == "/")
    if metric.unit != "ratio" or not single or named & policy.metrics.keys():
        return None
    if metric.better == "higher":
        return rule.threshold.value - rule.demand.margin
    return 1 - rule.threshold.value - rule.demand.margin


def without_share(rule: ThresholdRule, metric: Metric, bar: Fraction | None) -> RuleNeed:
    """The row of a rule that demands no share of scenarios (`bar` is None), or one that every agent reaches."""
    reason = f"how much {rule.metric} varies is known only from results: name them"
    if bar is not None:
        reason = "every value reaches it"
    return RuleNeed(rule.name, rule.level, rule.metric, rule.where, rule.threshold.text, metric.unit, reason=reason)


def without_plan(rule: ConditionRule | ProgressiveRule) -> RuleNeed:
    """The row of a rule that no number of scenarios can be planned for."""
    if isinstance(rule, ConditionRule):
        reason = "how much it varies is known only from results: name them"
        return RuleNeed(rule.name, rule.level, None, (), rule.text, None, reason=reason)
    reason = "its threshold depends on the agent's version: give --agent-version"
    return RuleNeed(rule.name, rule.level, rule.metric, (), None, None, reason=reason)


def plan_verdict(verdict: Verdict) -> Plan:
    """Whether each rule about a number is settled, and what would settle it if its value stayed the same.

    The numbers are those of the verdict, for a power of 80 %.
    """
    return Plan(
        Assumptions(verdict.confidence),
        standings=tuple(
            _standing(rule, verdict) for rule in verdict.rules or verdict.advice if rule.threshold is not None
        ),
        policy=verdict.policy.file if verdict.policy else None,
        scenarios=verdict.counts.scenarios,
        trials=verdict.counts.trials,
        repeats=_repeats(verdict),
        unseen=unseen_loss(verdict),
    )


def _standing(rule: RuleResult, verdict: Verdict) -> RuleStanding:
    settled = rule.outcome in ("pass", "fail") and not rule.fragile
    more = rule.more_scenarios if rule.stopping is None else _more_for_sequential(rule, verdict)
    return RuleStanding(
        rule=rule.rule,
        level=rule.level,
        metric=rule.metric,
        slice=rule.slice,
        threshold=rule.threshold,
        value=rule.value,
        outcome=rule.outcome,
        settled=settled,
        more_scenarios=0 if settled else more,
        reason=rule.reason,
        second_run=rule.second_run,
        second_run_low=rule.second_run_low,
    )


def _more_for_sequential(rule: RuleResult, verdict: Verdict) -> int | None:
    """How many more scenarios a new run that judges the rule once would need; None if no number is known.

    The verdict of a sequential rule does not have this number, because its run cannot be prolonged.
    """
    value, bar = rule.value, parse_threshold(rule.threshold or "")
    if value is None or value.value is None or value.unit != "ratio" or bar is None:
        return None
    rate, aim = (value.value, bar[1]) if value.better == "higher" else (1 - value.value, 1 - bar[1])
    demand, alpha = rule.demand or Demand(), float(1 - verdict.confidence)
    aim -= demand.margin
    if aim == 1:
        failed, accepted = rule.accepted or (0 if rate == 1 else 1, 0)
        if failed > accepted:
            return None
        return max(1, clusters_to_exclude(demand.tolerate, alpha, failed) - value.scenarios)
    return more_scenarios(aim, rate, value.scenarios, alpha)


def _repeats(verdict: Verdict) -> Repeats | None:
    """What repeated trials showed; None if no scenario was repeated, or nothing varied."""
    found, rate = verdict.repetition, verdict.metrics.get(SPLIT)
    if found is None or found.correlation is None or rate is None or not rate.value or rate.value == 1:
        return None
    scenarios, alpha = verdict.counts.scenarios, float(1 - verdict.confidence)
    each = Fraction(verdict.counts.trials, scenarios)
    low = lower_bound(scenarios, rate.value, spread(float(each), found.correlation), alpha)
    equal = []
    for number in SOME_TRIALS:
        needed = scenarios_to_bound(low, rate.value, spread(number, found.correlation), alpha)
        equal.append(Budget(number, needed, needed * number))
    gap, nearest = (
        float(rate.value) - low,
        float(rate.value) - lower_bound(scenarios, rate.value, found.correlation, alpha),
    )
    return Repeats(
        trials=each,
        between=found.between,
        within=found.within,
        correlation=found.correlation,
        flaky=found.flaky,
        equal=tuple(equal),
        narrowest=1 - nearest / gap,
    )
