"""Which scenarios of a suite a rule of the policy is about. A run begins these first as long as the rule is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from highbar.documents.scalars import as_written
from highbar.model import NewFailuresRule, Policy, Rule, ScenarioRule, SuiteDemands
from highbar.policy import matches
from highbar.policy.sequential import populations, set_of
from highbar.suite import Scenario, Suite


def describe_scenarios(suite: Suite, ids: Iterable[str]) -> SuiteDemands:
    """The columns of these scenarios, in the form in which a policy stores its suite."""
    return SuiteDemands(suite.file or "", {id_: _columns(suite.scenarios[id_]) for id_ in ids})


def _columns(scenario: Scenario) -> Mapping[str, str]:
    tags = scenario.columns.get("tags") or {}
    values = {**scenario.columns, **{f"tags.{name}": value for name, value in tags.items()}}
    return {name: text for name, value in values.items() if (text := as_written(value)) is not None}


def required_scenarios(policy: Policy, suite: SuiteDemands) -> frozenset[str]:
    """The scenarios that must pass individually, by a blocking rule."""
    rules = [rule for rule in policy.rules if isinstance(rule, ScenarioRule) and rule.level == "blocking"]
    return scenarios_of_rules(rules, policy, suite)


def scenarios_of_rules(rules: Iterable[Rule], policy: Policy, suite: SuiteDemands) -> frozenset[str]:
    """The scenarios that any of these rules is about."""
    return frozenset(id_ for rule in rules for id_ in _scenarios_of(rule, policy, suite))


def _scenarios_of(rule: Rule, policy: Policy, suite: SuiteDemands) -> Iterable[str]:
    match rule:
        case ScenarioRule(pattern=pattern):
            return (id_ for id_ in suite.scenarios if matches(pattern, id_))
        case NewFailuresRule(patterns=(_, *_) as patterns):
            return (id_ for id_ in suite.scenarios if any(matches(pattern, id_) for pattern in patterns))
    # A rule that is not about numbers may depend on any scenario.
    about_numbers = next(populations(rule, policy.metrics), None) is not None
    return set_of(rule, suite, policy.metrics) if about_numbers else suite.scenarios
