"""What a later policy demands less than an earlier one: thresholds lowered, rules removed, scoring changed.

Both policies are judged anyway, so this list decides nothing: it shows a reviewer what changed. A change that is
neither more nor less (a formula, a weight) is listed as changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from highbar.language.digits import amount, gap, show_threshold
from highbar.language.exact import write_decimal
from highbar.language.phrases import some_and_more
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
    Step,
    StepRule,
    SuiteRule,
    Threshold,
    ThresholdRule,
    Weakening,
)
from highbar.policy.judged_by import say_demand, say_judged_by
from highbar.policy.notes import is_looser
from highbar.policy.selecting import say_select
from highbar.policy.settings import LIMITS
from highbar.policy.versions import order, steps_from
from highbar.policy.words import rule_in_words

_WEIGHED = ThresholdRule | ConditionRule | BaselineRule | StepRule


def weakened(before: Policy, now: Policy) -> tuple[Weakening, ...]:
    """What `before` demands and `now` does not, or demands less, in the order of `before`."""
    return (
        *(found for rule in before.rules for found in _of_rule(rule, before, now)),
        *_of_suite(before, now),
        *_of_settings(before, now),
        *_of_metrics(before, now),
    )


def _of_rule(rule: Rule, before: Policy, now: Policy) -> Iterator[Weakening]:
    if isinstance(rule, ProgressiveRule):
        yield from _of_steps(rule, now)
        return
    if isinstance(rule, QuarantineRule):
        return  # it is removed only with the whole quarantine, and a bar without exceptions is not weaker
    if any(_covers(other, rule) for other in now.rules):
        return
    other = next((each for each in now.rules if each.name == rule.name and _is_about_same(each, rule)), None)
    if other is None:
        other = next((each for each in now.rules if _is_about_same(each, rule)), None)
    if other is None:
        yield Weakening(rule.name, "removed", _say_rule(rule, before))
        return
    first, second = _difference(rule, other, before, now)
    yield Weakening(rule.name, "changed" if isinstance(rule, ConditionRule) else "lowered", first, second)


def _covers(other: Rule, rule: Rule) -> bool:
    """Whether `other` demands at least as much as `rule`."""
    if not _is_about_same(other, rule) or (rule.level == "blocking" and other.level != "blocking"):
        return False
    match rule:
        case ThresholdRule():
            if isinstance(other, ProgressiveRule):
                return all(_reaches_threshold(step, rule) for step in other.steps)
            return isinstance(other, ThresholdRule) and _reaches_threshold(other, rule)
        case ConditionRule():
            same = isinstance(other, ConditionRule) and other.condition == rule.condition
        case BaselineRule():
            same = isinstance(other, BaselineRule) and other.relative == rule.relative and other.margin <= rule.margin
        case StepRule():
            same = isinstance(other, StepRule) and other.relative == rule.relative and other.step >= rule.step
        case NewFailuresRule():
            return isinstance(other, NewFailuresRule) and _spares_no_more(other, rule)
        case JudgeRule():
            bound = other.bound if isinstance(other, JudgeRule) else None
            return rule.bound is None or (bound is not None and bound >= rule.bound)
        case ScenarioRule() | SuiteRule() | ProgressiveRule() | QuarantineRule() | DriftRule():
            return True  # such rules demand the same if they are alike; `_of_steps` compares progressive ones
        case _:
            assert_never(rule)
    return same and isinstance(other, _WEIGHED) and _weighs_evidence(other.demand, rule.demand)


def _spares_no_more(other: NewFailuresRule, rule: NewFailuresRule) -> bool:
    """Whether `other` covers all scenarios of `rule`, and no other history may excuse a failure."""
    explained = other.history is not None and other.history != rule.history
    return not explained and ("*" in other.patterns or set(other.patterns) >= set(rule.patterns))


def _is_about_same(other: Rule, rule: Rule) -> bool:
    """Whether both rules are about the same thing, even if they demand different things."""
    match other, rule:
        case ThresholdRule(), ThresholdRule():
            return (other.metric, other.where) == (rule.metric, rule.where)
        case BaselineRule(), BaselineRule():
            return (other.metric, other.where) == (rule.metric, rule.where)
        case StepRule(), StepRule():
            return (other.metric, other.where) == (rule.metric, rule.where)
        case ProgressiveRule(), ThresholdRule():
            return other.metric == rule.metric and not rule.where
        case ScenarioRule(), ScenarioRule():
            return other.pattern == rule.pattern
        case JudgeRule(), JudgeRule():
            return other.key == rule.key
        case DriftRule(), DriftRule():
            return other.history == rule.history
    return type(other) is type(rule)


def _reaches_threshold(other: ThresholdRule | Step, rule: ThresholdRule | Step) -> bool:
    return not is_looser(other.threshold, rule.threshold) and _weighs_evidence(other.demand, rule.demand)


def _weighs_evidence(other: Demand, demand: Demand) -> bool:
    """Whether `other` demands at least as much evidence as `demand`."""
    return (
        _weighs_alike(other, demand)
        and other.margin <= demand.margin
        and other.tolerate <= demand.tolerate
        and other.failures <= demand.failures
        and (other.min_scenarios or 0) >= (demand.min_scenarios or 0)
    )


def _weighs_alike(other: Demand, demand: Demand) -> bool:
    """Whether `other` decides nothing that `demand` leaves open.

    Neither `confident` nor `sequential` is weaker, and no spending or horizon is. But each may decide what another left
    open, so changing it after a look at the results is a second chance to pass.
    """
    if demand.evidence == "estimate":
        return True
    return (other.evidence, other.spending, other.horizon) == (demand.evidence, demand.spending, demand.horizon)


def _difference(rule: Rule, other: Rule, before: Policy, now: Policy) -> tuple[str, str]:
    """What the two rules demand, in as few words as show the difference."""
    first, second = _say_short(rule, before), _say_short(other, now)
    if rule.level != other.level:
        first, second = f"{rule.level} {first}".rstrip(), f"{other.level} {second}".rstrip()
    if isinstance(rule, _WEIGHED) and isinstance(other, _WEIGHED) and not _weighs_evidence(other.demand, rule.demand):
        first, second = (
            f"{first} {_say_evidence(rule.demand, other.demand)}",
            f"{second} {_say_evidence(other.demand, rule.demand)}",
        )
    return (first, second) if first != second else (_say_rule(rule, before), _say_rule(other, now))


def _say_evidence(demand: Demand, other: Demand) -> str:
    """The fields of `demand` that differ from `other`, in words."""
    texts = {
        "evidence": demand.evidence,
        "spending": demand.spending,
        "horizon": str(demand.horizon or "none"),
        "margin": write_decimal(demand.margin),
        "tolerate": amount(demand.tolerate, "ratio"),
        "failures": str(demand.failures),
        "min_scenarios": str(demand.min_scenarios or "none"),
    }
    differ = (f"{key}: {text}" for key, text in texts.items() if getattr(demand, key) != getattr(other, key))
    return f"({', '.join(differ)})"


def _say_short(rule: Rule, policy: Policy) -> str:
    """What a rule demands, in short; empty if there is no short form."""
    if isinstance(rule, ThresholdRule):
        return _say_threshold(rule.threshold)
    if isinstance(rule, ProgressiveRule):
        return ", ".join(f"{_say_threshold(step.threshold)} from {step.version}" for step in rule.steps)
    if isinstance(rule, BaselineRule | StepRule):
        size = rule.margin if isinstance(rule, BaselineRule) else rule.step
        unit = policy.metrics[rule.metric].unit
        return f"{write_decimal(size * 100)}% of baseline" if rule.relative else gap(size, unit)
    if isinstance(rule, NewFailuresRule):
        return ", ".join(rule.patterns) + (f" by {rule.history}" if rule.history else "")
    if isinstance(rule, DriftRule):
        return rule.history
    if isinstance(rule, JudgeRule) and rule.bound is not None:
        return write_decimal(rule.bound) if rule.key == "min_labels" else f"≥ {amount(rule.bound, 'ratio')}"
    return " ".join(rule.text.split()) if isinstance(rule, ConditionRule) else ""


def _say_rule(rule: Rule, policy: Policy) -> str:
    return _say_short(rule, policy) or rule_in_words(rule, policy).removesuffix(".")


def _say_threshold(threshold: Threshold) -> str:
    return show_threshold(threshold.text, threshold.unit) or threshold.text


# --- progressive ------------------------------------------------------------------------------


def _of_steps(rule: ProgressiveRule, now: Policy) -> Iterator[Weakening]:
    """Every step whose version has a lower bar now, and a lower target."""
    for step in rule.steps:
        blocking = _blocking(rule, step, now)
        name = f"{rule.name}.{step.version}"
        if not blocking:
            yield Weakening(name, "removed", _say_threshold(step.threshold))
        elif not any(_reaches_threshold(each, step) for each in blocking):
            yield Weakening(name, "lowered", _say_threshold(step.threshold), _say_threshold(blocking[0].threshold))
    other = next((each for each in now.rules if isinstance(each, ProgressiveRule) and each.name == rule.name), None)
    if rule.target and other and other.target is None:
        yield Weakening(f"{rule.name}.target", "removed", _say_threshold(rule.target))
    elif rule.target and other and other.target and is_looser(other.target, rule.target):
        yield Weakening(f"{rule.name}.target", "lowered", _say_threshold(rule.target), _say_threshold(other.target))


def _blocking(rule: ProgressiveRule, step: Step, now: Policy) -> list[Step | ThresholdRule]:
    """The thresholds on the metric that now apply at the step's version, with the rule's level."""
    return [
        steps_from(other, step.version)[0] if isinstance(other, ProgressiveRule) else other
        for other in now.rules
        if isinstance(other, ProgressiveRule | ThresholdRule)
        and (other.metric, other.level) == (rule.metric, rule.level)
        and (isinstance(other, ProgressiveRule) or not other.where)
    ]


# --- suite, settings and metrics --------------------------------------------------------------


def _of_suite(before: Policy, now: Policy) -> Iterator[Weakening]:
    if before.suite is None or now.suite is None:
        return  # without a suite, the rule `suite` is gone, and already listed
    scenarios = now.suite.scenarios
    gone = sorted(before.suite.scenarios.keys() - scenarios.keys())
    if gone:
        yield Weakening("suite", "removed", some_and_more(gone))
    for name, columns in before.suite.scenarios.items():
        if name in scenarios and scenarios[name] != columns:
            yield Weakening(
                f"suite.{name}", "changed", _say_columns(columns.items()), _say_columns(scenarios[name].items())
            )


def _say_columns(columns: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{column} {value}" for column, value in columns) or "nothing fixed"


def _of_settings(before: Policy, now: Policy) -> Iterator[Weakening]:
    if now.confidence < before.confidence:
        yield Weakening("confidence", "lowered", amount(before.confidence, "ratio"), amount(now.confidence, "ratio"))
    if now.pass_score < before.pass_score:
        yield Weakening("pass_score", "lowered", amount(before.pass_score, "ratio"), amount(now.pass_score, "ratio"))
    yield from _of_limits(before, now)
    if _version_lowered(before, now):
        yield Weakening("agent_version", "lowered", before.agent_version or "", now.agent_version)
    if before.agent != now.agent:  # the earlier runs of this agent may excuse a failure
        yield Weakening("agent", "changed", before.agent or "not named", now.agent or "not named")
    for key in ("positive", "population"):
        if getattr(before, key) != getattr(now, key):
            yield Weakening(key, "changed", str(getattr(before, key)), str(getattr(now, key)))
    yield from _of_reading(before, now)
    yield from _of_judge(before, now)
    for key in ("allow_columns", "allow_categories"):
        added = sorted(getattr(now, key) - getattr(before, key))
        if added:
            yield Weakening(key, "changed", "not allowed", some_and_more(added))
    yield from _of_weights(before, now)


def _of_reading(before: Policy, now: Policy) -> Iterator[Weakening]:
    """Changes of which rows are judged, by whom, and how rows are made from other tools' records."""
    if before.select != now.select:
        yield Weakening("select", "changed", *(say_select(each.select) or "all rows" for each in (before, now)))
    for tool in sorted({*before.judged_by, *now.judged_by}):
        old, new = before.judged_by.get(tool, ()), now.judged_by.get(tool, ())
        if sorted(map(say_demand, old)) != sorted(map(say_demand, new)):
            texts = (say_judged_by(demands) or "what the file declares" for demands in (old, new))
            yield Weakening(f"judged_by.{tool}", "changed", *texts)
    if before.mapping != now.mapping:
        yield Weakening("map", "changed", *("a mapping" if each.mapping else "none" for each in (before, now)))


def _of_judge(before: Policy, now: Policy) -> Iterator[Weakening]:
    """Whether shares are no longer corrected. The other parts of the block are rules, which are listed as such."""
    old, new = before.judge, now.judge
    if old is not None and old.correct and (new is None or not new.correct):
        yield Weakening("judge.correct", "changed", "true", "false")


def _of_limits(before: Policy, now: Policy) -> Iterator[Weakening]:
    """Every change of a limit: a higher latency_limit makes slow look fast, a lower limit makes a crash look cheap."""
    if now.latency_limit != before.latency_limit:
        yield Weakening("latency_limit", "changed", amount(before.latency_limit, "ms"), amount(now.latency_limit, "ms"))
    for column, key in LIMITS.items():
        old, new = before.limits.get(column), now.limits.get(column)
        if key != "latency_limit" and old != new:
            shown = (write_decimal(limit) if limit is not None else "not given" for limit in (old, new))
            yield Weakening(key, "changed", *shown)


def _version_lowered(before: Policy, now: Policy) -> bool:
    """Whether progressive rules now apply an older version's step than before."""
    if not any(isinstance(rule, ProgressiveRule) for rule in before.rules):
        return False
    old, new = (order(policy.agent_version or "") for policy in (before, now))
    return old is not None and (new is None or new < old)


def _of_weights(before: Policy, now: Policy) -> Iterator[Weakening]:
    for key in ("by_category", "by_capability", "by_metric"):
        old, new = getattr(before.weights, key), getattr(now.weights, key)
        for name in sorted({*old, *new}):
            if old.get(name, 1) != new.get(name, 1):
                texts = (write_decimal(weights[name]) if name in weights else "not given" for weights in (old, new))
                yield Weakening(f"weights.{key}.{name}", "changed", *texts)


def _of_metrics(before: Policy, now: Policy) -> Iterator[Weakening]:
    for name, metric in before.metrics.items():
        other = now.metrics.get(name)
        if other and (other.expression, other.where, other.better, other.unit, other.range) != (
            metric.expression, metric.where, metric.better, metric.unit, metric.range,
        ):  # fmt: skip
            yield Weakening(
                f"metrics.{name}", "changed", " ".join(metric.formula.split()), " ".join(other.formula.split())
            )
