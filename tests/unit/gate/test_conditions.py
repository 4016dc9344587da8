"""Conditions over metrics, by the estimate and with confidence."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from highbar.gate.conditions import judge_condition
from highbar.language import formula
from highbar.model import ConditionRule, Demand
from highbar.statistics.bounds import Sums
from tests.unit.gate.table import evidence, share, value

CONFIDENT = Demand(evidence="confident")


def judged(text, found, demand=CONFIDENT):
    rule = ConditionRule("composite.pass", "blocking", formula.parse_condition(text), text, demand)
    return judge_condition(rule, found)


def shares(**counts):
    """Metrics that are shares of scenarios, from (passed, total)."""
    made = {name: share(*pair) for name, pair in counts.items()}
    return evidence(
        {name: of for name, (of, _) in made.items()}, shares={name: sums for name, (_, sums) in made.items()}
    )


OUTCOMES = {
    "pass": value("9/10", low=0.86, high=0.95),
    "fail": value("7/10", low=0.6, high=0.8),
    "undefined": value(None, reason="no data"),
    "inconclusive": value("9/10", low=0.8, high=0.95),
}


@pytest.mark.parametrize(("first", "second"), list(product(OUTCOMES, repeat=2)))
def test_with_confidence_a_fail_beats_an_undefined_and_that_an_inconclusive_in_and(first, second):
    found = evidence({"a": OUTCOMES[first], "b": OUTCOMES[second]})
    worst = next(o for o in ("fail", "undefined", "inconclusive", "pass") if o in (first, second))
    best = next(o for o in ("pass", "undefined", "inconclusive", "fail") if o in (first, second))
    assert judged("a ≥ 0.85 AND b ≥ 0.85", found).outcome == worst
    assert judged("a ≥ 0.85 OR b ≥ 0.85", found).outcome == best


@pytest.mark.parametrize(
    ("inner", "outer"),
    [("pass", "fail"), ("fail", "pass"), ("undefined", "undefined"), ("inconclusive", "inconclusive")],
)
def test_with_confidence_not_turns_a_clear_outcome_round(inner, outer):
    assert judged("NOT a ≥ 0.85", evidence({"a": OUTCOMES[inner]})).outcome == outer


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("a ≥ 0.85", "inconclusive"),
        ("a ≥ 0.85 AND b ≥ 0.85", "fail"),
        ("a ≥ 0.85 OR b ≥ 0.85", "inconclusive"),
        ("a ≥ 0.85 OR c ≥ 0.85", "pass"),
        ("NOT a < 0.85", "inconclusive"),
    ],
)
def test_by_the_estimate_too_the_demanded_scenarios_must_be_there(text, outcome):
    found = evidence(
        {"a": value("9/10", scenarios=60), "b": value("7/10", scenarios=60), "c": value(1, scenarios=1000)}
    )
    result = judged(text, found, Demand(min_scenarios=1000))
    assert result.outcome == outcome
    if outcome == "inconclusive":
        assert "at least 1000 scenarios are demanded" in result.reason


@pytest.mark.parametrize(("first", "second"), list(product(OUTCOMES, repeat=2)))
def test_with_confidence_not_reaches_through_and_or_and_not(first, second):
    found = evidence({"a": OUTCOMES[first], "b": OUTCOMES[second]})
    either = judged("NOT a ≥ 0.85 OR NOT b ≥ 0.85", found)
    both = judged("NOT a ≥ 0.85 AND NOT b ≥ 0.85", found)
    assert judged("NOT (a ≥ 0.85 AND b ≥ 0.85)", found).outcome == either.outcome
    assert judged("NOT (a ≥ 0.85 OR b ≥ 0.85)", found).outcome == both.outcome
    assert judged("NOT (NOT a ≥ 0.85)", found).outcome == judged("a ≥ 0.85", found).outcome
    assert judged("NOT (NOT (a ≥ 0.85 AND b ≥ 0.85))", found).outcome == judged("a ≥ 0.85 AND b ≥ 0.85", found).outcome


def test_by_the_estimate_the_values_are_compared_as_they_are():
    for text, outcome in (
        ("a ≥ 0.85", "pass"),
        ("a ≥ 0.85 AND b ≥ 0.85", "fail"),
        ("b ≥ 0.85 OR c ≥ 1.0", "undefined"),
    ):
        found = evidence({"a": OUTCOMES["inconclusive"], "b": OUTCOMES["fail"], "c": OUTCOMES["undefined"]})
        assert judged(text, found, Demand()).outcome == outcome


def test_the_reason_names_the_sides_that_decided():
    found = evidence({"a": OUTCOMES["fail"], "b": OUTCOMES["pass"], "c": OUTCOMES["fail"]})
    assert judged("a ≥ 0.85 AND b ≥ 0.85 AND c ≥ 0.85", found).reason == (
        "a 70.0% (60.0–80.0) is not ≥ 85% (over 20 scenarios); nor is the better end of the interval; "
        "c 70.0% (60.0–80.0) is not ≥ 85% (over 20 scenarios); nor is the better end of the interval"
    )
    assert judged("a ≥ 0.85", evidence({"a": OUTCOMES["undefined"]})).reason == "a is undefined: no data"


def test_by_the_estimate_each_value_is_shown_in_its_own_unit():
    found = evidence(
        {"a": value("9/10"), "latency_p95": value(4000, unit="ms", better="lower")},
        differences={("a + a", "1"): value("4/5", unit="number")},
    )
    assert judged("a ≥ 0.85", found, Demand()).reason == "a 90.0% is ≥ 85%"
    assert judged("latency_p95 < 5000", found, Demand()).reason == "latency_p95 4000 ms is < 5000 ms"
    assert judged("a + a ≥ 1", found, Demand()).reason == "a + a 1.8 is ≥ 1"


def test_a_metric_held_against_a_number_is_judged_as_a_threshold_is():
    perfect = shares(safety_rate=(59, 59))
    assert judged("safety_rate = 1.0", perfect).outcome == "pass"
    few = shares(safety_rate=(58, 58))
    result = judged("safety_rate = 1.0", few)
    assert (result.outcome, result.fragile, result.more_scenarios) == ("inconclusive", True, 1)
    assert result.reason.startswith("safety_rate 100% (95.0–100) is = 100% (over 58 scenarios), but too few")


@pytest.mark.parametrize("passed", [(59, 59), (58, 58), (58, 59)])
@pytest.mark.parametrize("demand", [CONFIDENT, Demand("confident", failures=1)])
def test_a_number_held_against_a_metric_is_judged_alike(passed, demand):
    found = shares(safety_rate=passed)
    turned, straight = (judged(text, found, demand) for text in ("1.0 ≤ safety_rate", "safety_rate ≥ 1.0"))
    assert turned == straight
    assert judged("NOT 1.0 > safety_rate", found, demand) == straight


def test_a_metric_held_against_a_number_rests_on_its_clusters():
    safety = value(1, scenarios=40, low=0.5, high=1.0)
    found = evidence({"safety_rate": safety}, shares={"safety_rate": Sums.of([(2, 2)] * 20)})
    assert judged("safety_rate = 1.0", found).more_scenarios == 2 * 39  # 39 clusters of two scenarios each


def test_how_far_it_can_be_trusted_is_that_of_the_weakest_side():
    found = shares(a=(46, 50), b=(49, 50))
    one, other = judged("a ≥ 0.85", found), judged("b ≥ 0.95", found)
    both = judged("a ≥ 0.85 AND b ≥ 0.95", found)
    # Of 50 scenarios none can show 95 % with confidence, so the whole can only stay open, or fail as one of the two.
    assert one.outcome == other.outcome == both.outcome == "inconclusive"
    assert other.second_run <= both.second_run < one.second_run + other.second_run
    assert both.more_scenarios == max(one.more_scenarios, other.more_scenarios)
    assert both.fragile
    by_estimate = judged("a ≥ 0.85 AND b ≥ 0.95", found, Demand())
    assert by_estimate.outcome == "pass"
    assert by_estimate.second_run != both.second_run  # the chance is that of what the rule compares
    assert (by_estimate.more_scenarios, by_estimate.fragile) == (both.more_scenarios, True)


def test_a_condition_whose_sides_are_all_clear_is_not_fragile():
    found = evidence({"a": OUTCOMES["pass"], "b": OUTCOMES["pass"]})
    result = judged("a ≥ 0.85 AND b ≥ 0.85", found)
    assert (result.fragile, result.more_scenarios) == (False, None)


def test_one_fragile_side_makes_the_whole_fragile():
    found = evidence({"a": OUTCOMES["pass"], "b": OUTCOMES["inconclusive"]})
    assert judged("a ≥ 0.85 AND b ≥ 0.85", found, Demand()).fragile


@pytest.mark.parametrize(
    ("operator", "low", "high", "outcome"),
    [
        ("≥", 0.01, 0.2, "pass"),
        ("≥", -0.01, 0.2, "inconclusive"),
        ("≥", -0.2, -0.01, "fail"),
        ("<", -0.2, -0.01, "pass"),
        ("<", -0.2, 0.01, "inconclusive"),
        ("<", 0.01, 0.2, "fail"),
        ("≤", -0.2, -0.01, "pass"),
        (">", 0.01, 0.2, "pass"),
        ("≠", 0.01, 0.2, "pass"),
        ("≠", -0.2, 0.1, "inconclusive"),
        ("≠", -0.2, 0.2, "inconclusive"),  # the value is the number itself
        ("≠", -0.2, 0.0, "inconclusive"),
        ("≠", 0.0, 0.0, "fail"),
        ("=", 0.0, 0.0, "pass"),
        ("=", -0.2, 0.1, "inconclusive"),
        ("=", -0.2, -0.1, "fail"),
    ],
)
def test_two_metrics_are_compared_by_the_interval_of_their_difference(operator, low, high, outcome):
    difference = value(Fraction(low + high) / 2, unit="number", low=low, high=high)
    found = evidence({"a": value(1), "b": value(1)}, differences={("a", "b"): difference})
    result = judged(f"a {operator} b", found)
    assert result.outcome == outcome
    assert result.reason.startswith("a - b: ")


@pytest.mark.parametrize("turned", ["{} - 0.5 {} 0", "NOT ({} - 0.5 {} 0)"])
@pytest.mark.parametrize("operator", ["≥", ">", "≤", "<", "=", "≠"])
def test_confidence_never_decides_otherwise_than_the_estimate(operator, turned):
    """At every value on, in and (by the rounding of its ends) just outside of its interval, and on every number."""
    text = turned.format("a", operator)
    for low, number, high in product((-1, 0, 1), repeat=3):
        difference = value(Fraction(number, 10), unit="number", low=low / 10, high=high / 10)
        found = evidence(
            {"a": value(Fraction(number, 10) + Fraction(1, 2))}, differences={("a - 0.5", "0"): difference}
        )
        estimate, confident = (judged(text, found, demand).outcome for demand in (Demand(), CONFIDENT))
        assert confident in (estimate, "inconclusive"), (low, number, high)


def test_a_second_run_of_a_comparison_of_two_metrics_can_differ_too():
    difference = value(-0.05, unit="number", low=-0.2, high=0.01)
    found = evidence({"a": value(1), "b": value(1)}, differences={("a", "b"): difference})
    less = judged("a < b", found)
    assert 0 < less.second_run < 0.5
    assert judged("a <= b", found).second_run == less.second_run
    assert judged("a > b", found).second_run == pytest.approx(less.second_run)


@pytest.mark.parametrize(("operator", "sign"), [("<", 1), ("≤", 1), (">", -1), ("≥", -1)])
def test_a_margin_moves_a_comparison_of_two_metrics_the_way_that_is_worse(operator, sign):
    low, high = sorted((sign * -0.01, sign * 0.04))
    difference = value(Fraction(low + high) / 2, unit="number", low=low, high=high)
    found = evidence({"a": value(1), "b": value(1)}, differences={("a", "b"): difference})
    assert judged(f"a {operator} b", found).outcome == "inconclusive"
    assert judged(f"a {operator} b", found, Demand("confident", Fraction(5, 100))).outcome == "pass"


def test_an_undefined_difference_is_undefined():
    nothing = value(None, unit="number", reason="no data")
    found = evidence({"a": value(1)}, differences={("a", "a + 1"): nothing, ("a + 1", "1"): nothing})
    result = judged("a ≥ a + 1", found)
    assert (result.outcome, result.reason) == ("undefined", "a - a + 1 is undefined: no data")
    assert judged("a + 1 ≥ 1", found).outcome == "undefined"
