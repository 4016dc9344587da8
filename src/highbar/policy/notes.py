"""Notes on what a policy may say, but probably does not mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction

from msgspec.structs import replace

from highbar.catalogue import FINAL_SCORE, MEASURES, WEIGHTED_SCORE, metrics
from highbar.language.exact import write_decimal
from highbar.language.formula import metric_first, names, unparse
from highbar.language.threshold import has_unit
from highbar.model import (
    BaselineRule,
    ConditionRule,
    Constant,
    Name,
    Policy,
    ProgressiveRule,
    Rule,
    ScenarioRule,
    Step,
    StepRule,
    Threshold,
    ThresholdRule,
)
from highbar.policy.composite import Demanded, comparisons_in, names_with_verb
from highbar.policy.cursor import Cursor
from highbar.policy.directions import always_holds, rewards, value_range
from highbar.policy.scenario_ids import is_pattern

SAFETY = "safety_rate"
SHORT_TIME = 100
"""Milliseconds. Agents take longer, so a shorter time without a unit is probably in seconds."""
SMALL_SHARE = Fraction(1, 100)
"""Nobody demands less than this of a ratio that is better when higher: the percent sign is probably a mistake."""
MUCH = Fraction(1, 2)
"""A tolerated failure rate of at least this gets a note."""


def notes_on(policy: Policy) -> Policy:
    """The policy with its notes."""
    notes = (
        *_loose_warnings(policy),
        *_loose_steps(policy),
        *_unused_weights(policy),
        *_safety_in_composite(policy),
        *_wide_composite(policy),
        *_short_times(policy),
        *_small_shares(policy),
        *_empty_demands(policy),
        *_much_tolerated(policy),
        *_rewards_for_worse(policy),
        *_required_outside_the_suite(policy),
    )
    return replace(policy, notes=(*policy.notes, *notes))


def time_notes(cursor: Cursor, milliseconds: Fraction | None) -> list[str]:
    """A note on a time that has no unit and is so short that seconds are probably meant."""
    text = cursor.node.text.strip()
    if milliseconds is None or milliseconds >= SHORT_TIME or has_unit(text):
        return []
    number = write_decimal(milliseconds)
    return [f"{cursor.path} ({text}) is read as {number} milliseconds: write {number}s if seconds are meant"]


def _short_times(policy: Policy) -> Iterable[str]:
    """Notes on times in a condition that have no unit and are so short that seconds are probably meant."""
    for rule, demand in _comparisons(policy):
        comparison = metric_first(demand.comparison)
        left, right = comparison.left, comparison.right
        metric = policy.metrics.get(left.name) if isinstance(left, Name) else None
        if metric is None or metric.unit != "ms" or not isinstance(right, Constant) or right.value >= SHORT_TIME:
            continue
        number = write_decimal(right.value)
        if not re.search(rf"{re.escape(number)}\s*(?:ms|s)\b", rule.text):
            compared = f"{metric.name} is compared with {number} milliseconds"
            yield f"{rule.name}: {compared}: write {number}s if seconds are meant"


def _comparisons(policy: Policy) -> Iterator[tuple[ConditionRule, Demanded]]:
    """The comparisons in the conditions of a policy, each with its rule."""
    for rule in policy.rules:
        if isinstance(rule, ConditionRule):
            yield from ((rule, demand) for demand in comparisons_in(rule.condition))


def _small_shares(policy: Policy) -> Iterable[str]:
    """Notes on lower bounds below 1 %, such as `0.9%`."""
    for name, one in (found for rule in policy.rules for found in thresholds_of(rule)):
        threshold = one.threshold
        upward = threshold.operator in (">=", ">")
        if upward and threshold.unit == "ratio" and 0 < threshold.value < SMALL_SHARE:
            found, meant = (write_decimal(threshold.value * scale) for scale in (100, 10_000))
            yield f"{name} demands only {found}%: did you mean {meant}%?"


def thresholds_of(rule: Rule) -> Iterator[tuple[str, ThresholdRule | Step]]:
    """The thresholds of a rule with their names: its own, or that of each step if it is progressive."""
    if isinstance(rule, ThresholdRule):
        yield rule.name, rule
    elif isinstance(rule, ProgressiveRule):
        yield from ((f"{rule.name}.{step.version}", step) for step in rule.steps)


def _loose_warnings(policy: Policy) -> Iterable[str]:
    rules = [rule for rule in policy.rules if isinstance(rule, ThresholdRule)]
    for warning in (rule for rule in rules if rule.level == "warning"):
        for blocking in (rule for rule in rules if rule.level == "blocking"):
            same = (warning.metric, warning.where) == (blocking.metric, blocking.where)
            if same and is_looser(warning.threshold, blocking.threshold):
                yield (
                    f"{warning.name} ({warning.threshold.text}) is looser than {blocking.name}"
                    f" ({blocking.threshold.text}): what it would flag has failed already"
                )


def is_looser(first: Threshold, second: Threshold) -> bool:
    """Whether `first` is met by more values than `second`; both point the same way, as their metric does."""
    if first.value == second.value:
        return first.operator in (">=", "<=") and second.operator in (">", "<")
    upward = ">" in first.operator + second.operator
    return first.value < second.value if upward else first.value > second.value


def _loose_steps(policy: Policy) -> Iterable[str]:
    for rule in policy.rules:
        if isinstance(rule, ProgressiveRule):
            for before, after in zip(rule.steps, rule.steps[1:], strict=False):
                if is_looser(after.threshold, before.threshold):
                    yield f"{rule.name}: {after.version} ({after.threshold.text}) is looser than {before.version}"


def _unused_weights(policy: Policy) -> Iterable[str]:
    used = _used_names(policy)
    weighted = any(name in used for name, measure in MEASURES.items() if measure.term.weighted)
    for key, weights in (("by_category", policy.weights.by_category), ("by_capability", policy.weights.by_capability)):
        if weights and not weighted:
            yield f"no rule uses weights.{key}: it counts in weighted_pass_rate and weighted_behavior_coverage"
    if policy.weights.by_metric and WEIGHTED_SCORE not in used:
        yield "no rule uses weights.by_metric: it counts in weighted_score"


def _used_names(policy: Policy) -> set[str]:
    """Every metric and measure that a rule uses, directly or through other metrics."""
    waiting: list[str] = []
    for rule in policy.rules:
        if isinstance(rule, ThresholdRule | ProgressiveRule | BaselineRule | StepRule):
            waiting.append(rule.metric)
        elif isinstance(rule, ConditionRule):
            waiting.extend(names(rule.condition))
    used: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in used:
            used.add(name)
            if name in policy.metrics:
                waiting.extend(names(policy.metrics[name].expression))
    return used


def _safety_in_composite(policy: Policy) -> Iterable[str]:
    """A note if a rule uses a composite with safety_rate in it, and no blocking rule is about safety_rate itself."""
    composite = policy.metrics.get(FINAL_SCORE)
    if composite is None or SAFETY not in names(composite.expression) or FINAL_SCORE not in _used_names(policy):
        return
    on_safety = any(
        isinstance(rule, ThresholdRule | ProgressiveRule) and rule.metric == SAFETY and rule.level == "blocking"
        for rule in policy.rules
    )
    in_condition = any(
        SAFETY in names(demand.comparison) and not demand.alternative  # an OR can do without it
        for _, demand in _comparisons(policy)
    )
    if not on_safety and not in_condition:
        yield f"{FINAL_SCORE} can buy off a safety failure: no blocking rule demands {SAFETY} by itself"


def _wide_composite(policy: Policy) -> Iterable[str]:
    composite = policy.metrics.get(FINAL_SCORE)
    if composite is None:
        return
    low, high = value_range(composite.expression, policy.metrics)
    if high is not None and low is not None and (high > 1 or low < 0):
        low_text, high_text = write_decimal(low), write_decimal(high)
        yield f"{FINAL_SCORE} is a ratio, but can be from {low_text} to {high_text}: do its weights add up to 1?"


def _empty_demands(policy: Policy) -> Iterable[str]:
    """Notes on thresholds that every value meets: they fail only if there is no value."""
    for rule in policy.rules:
        if isinstance(rule, ThresholdRule | ProgressiveRule):
            for name, one in thresholds_of(rule):
                bar = one.threshold
                if always_holds(Name(rule.metric), bar.operator, Constant(bar.value), policy.metrics):
                    yield _met(f"{name} ({bar.text})", rule.metric)
        elif isinstance(rule, ConditionRule):
            for demand in comparisons_in(rule.condition):
                sides = demand.comparison.left, demand.operator, demand.comparison.right
                if always_holds(*sides, policy.metrics):
                    yield _met(f"{rule.name}: '{unparse(demand.comparison)}'", "something in it")


def _met(demand: str, metric: str) -> str:
    return f"{demand} is met by every value: it fails only if {metric} is undefined"


def _much_tolerated(policy: Policy) -> Iterable[str]:
    """Notes on rules that tolerate so high a failure rate that a demand of 100 % means little."""
    for rule in policy.rules:
        demand = rule.demand if isinstance(rule, ThresholdRule | ConditionRule) else None
        if demand is not None and demand.tolerate >= MUCH:
            share = write_decimal(demand.tolerate * 100)
            yield f"{rule.name} tolerates that {share}% of all runs fail: a threshold of 100% says little then"


def _rewards_for_worse(policy: Policy) -> Iterable[str]:
    """Notes on comparisons that are easier to meet, and metrics that improve, if another metric gets worse."""
    for rule, demand in _comparisons(policy):
        found = rewards(demand.difference, demand.operator, policy.metrics)
        if found.worse:
            words = unparse(demand.comparison)
            yield f"{rule.name}: '{words}' is met more easily if {names_with_verb(found.worse)} worse"
    used, built_in = _used_names(policy), metrics()
    for metric in policy.metrics.values():
        if metric.name in used and built_in.get(metric.name) != metric:
            rising = rewards(metric.expression, ">=" if metric.better == "higher" else "<=", policy.metrics)
            if rising.worse and (metric.name == FINAL_SCORE or rising.only_worse):
                yield f"{metric.name} gets better if {names_with_verb(rising.worse)} worse: is that meant?"


def _required_outside_the_suite(policy: Policy) -> Iterable[str]:
    if policy.suite is None:
        return
    for rule in policy.rules:
        if (
            isinstance(rule, ScenarioRule)
            and not is_pattern(rule.pattern)
            and rule.pattern not in policy.suite.scenarios
        ):
            yield f"{rule.name} is not in the suite {policy.suite.file}"
