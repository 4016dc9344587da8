"""Which rules undecided trials leave open: until all that matter are closed, a run may not stop."""

from __future__ import annotations

from fractions import Fraction

import pytest
from msgspec.structs import replace

from highbar.gate import decide, judge, still_open
from highbar.language import formula
from highbar.model import ConditionRule, DriftRule, RuleResult, StepRule
from highbar.model.recall import Recalled
from tests.unit.gate.table import Span, Then, evidence, value
from tests.unit.gate.test_undecided import RATE, TRIALS, both


@pytest.mark.parametrize(
    ("worst", "best", "is_open"),
    [
        ("95/100", "1", False),  # passes, whatever they come to
        ("5/10", "6/10", False),  # fails, whatever they come to
        ("5/10", "1", True),
        (None, "1", True),
        (None, None, True),  # a value that is undefined now may be a number later
    ],
)
def test_a_threshold_is_open_unless_both_ends_pass_or_both_fail(worst, best, is_open):
    assert both(value(worst, reason="no data"), value(best, reason="no data")).open is is_open


def test_a_threshold_without_a_value_is_inconclusive_if_trials_were_only_not_judged():
    for unjudged, outcome in ((False, "undefined"), (True, "inconclusive")):
        one = evidence({"accuracy": value(None, reason="no data")})
        one = replace(one, measured=replace(one.measured, unjudged=unjudged))
        assert judge(RATE, replace(one, best=one)).outcome == outcome


def test_nothing_is_open_if_nothing_is_undecided():
    assert not judge(RATE, evidence({"accuracy": value(None, reason="no data")})).open


def test_a_fail_that_more_than_chance_explains_is_open_if_the_best_case_is_only_inconclusive():
    rule = replace(RATE, demand=replace(RATE.demand, evidence="confident"))
    result = both(value("5/10", low=0.4, high=0.6), value("8/10", low=0.7, high=0.95), rule=rule)
    assert (result.outcome, result.open) == ("fail", True)


@pytest.mark.parametrize(("high", "is_open"), [("-1/10", False), ("1/10", True)])
def test_a_condition_that_fails_at_both_ends_is_open_if_it_can_hold_in_between(high, is_open):
    text = "a >= 0.5"
    rule = ConditionRule("composite.pass", "blocking", formula.parse_condition(text), text)
    worst, best = evidence({"a": value("1/10")}), evidence({"a": value("4/10")})
    spans = {("a", "0.5"): Span(Fraction(-1), Fraction(high))}
    worst = replace(worst, measured=replace(worst.measured, spans=spans))
    result = judge(rule, replace(worst, best=replace(best, at_best=True), undecided={rule.name: TRIALS}))
    assert (result.outcome, result.open) == ("fail", is_open)


@pytest.mark.parametrize(("unordered", "is_open"), [((), False), ((("m", ()),), True)])
def test_a_step_that_is_missed_at_both_ends_is_open_if_the_metric_cannot_be_ordered(unordered, is_open):
    rule = StepRule("baseline.step.m", "blocking", "m", Fraction(1, 10), relative=False, file="b.json")
    now = value("4/10", low=0.3, high=0.5)
    base = Then(value("5/10"), now, low=-0.3, high=-0.1, unordered=unordered)
    worst = replace(evidence({("m", ()): now}), baseline=base, undecided={rule.name: TRIALS})
    result = judge(rule, replace(worst, best=replace(worst, at_best=True)))
    assert (result.outcome, result.open) == ("fail", is_open)


def test_drift_is_open_as_long_as_anything_is_undecided():
    rule = DriftRule("history.drift", "blocking", "runs", "runs")
    worst = replace(evidence(), recalled=Recalled())
    assert not judge(rule, worst).open
    result = judge(rule, replace(worst, best=replace(worst, at_best=True)))
    assert (result.outcome, result.open) == ("pass", True)


def rule(outcome, level="blocking", *, is_open=False, name="r"):
    return RuleResult(name, level, outcome, "why", open=is_open)


PASSED, FAILED, OPEN = rule("pass"), rule("fail"), rule("inconclusive", is_open=True, name="open")
WARNED = rule("inconclusive", "warning", is_open=True, name="warning")


@pytest.mark.parametrize(
    ("rules", "strict", "names"),
    [
        ((PASSED, PASSED), False, []),
        ((PASSED, OPEN), False, ["open"]),
        ((FAILED, OPEN), False, []),  # it has failed, whatever the others come to
        ((rule("undefined"), OPEN), False, []),
        ((rule("fail", is_open=True), PASSED), False, ["r"]),  # it may still be inconclusive
        ((rule("fail", "warning"), OPEN), False, ["open"]),  # a warning decides nothing
        ((PASSED, WARNED), False, []),
        ((PASSED, WARNED), True, ["warning"]),  # --strict: a warning is exit code 1
        ((FAILED, WARNED), True, []),
    ],
)
def test_a_decision_is_certain_if_a_blocking_rule_failed_for_good_or_if_none_is_open(rules, strict, names):
    assert [one.rule for one in still_open(rules, strict=strict)] == names


def test_rules_that_are_certain_decide():
    assert decide((PASSED, WARNED)) == "pass"
