from __future__ import annotations

import json
from fractions import Fraction

import pytest
from bench import early_exact

from highbar.planning import Assumptions, Design, plan_policy, plan_sequential, stop_early
from highbar.planning.sequential import MOST_PLANNED, is_yes_or_no
from highbar.policy import read_dict, read_named
from highbar.statistics.planning import gate_chances
from highbar.statistics.spending import binomial_boundaries

USUAL = Assumptions()
BAR = Fraction(85, 100)


def rows(policy, scenarios=None):
    """By rule and rate, what the policy's plan says."""
    found = plan_sequential(read_dict(policy), USUAL, scenarios)
    return {(row.rule, row.rate): row for row in found.early}


def blocking(metrics):
    return {"thresholds": {"blocking": metrics}}


def test_a_run_that_stops_early_is_planned_beside_all_scenarios_judged_once():
    (row,) = stop_early(Design(BAR, 200, USUAL), [Fraction(90, 100)])
    expected = early_exact.sampled(binomial_boundaries(BAR, 200, 0.05), 0.9)
    assert (row.passes, row.fails, row.expected) == pytest.approx(expected, abs=1e-9)
    assert row.passes + row.fails + row.inconclusive == pytest.approx(1)
    once = gate_chances(200, BAR, Fraction(90, 100))
    assert (row.fixed.passes, row.fixed.fails) == (once.passes, once.fails)


@pytest.mark.parametrize(("percent", "equal"), [(70, 228), (80, 427), (90, 416), (95, 228), (99, 68)])
def test_the_suite_that_is_as_good_judged_once_is_the_published_one(percent, equal):
    (row,) = stop_early(Design(BAR, 500, USUAL), [Fraction(percent, 100)])
    assert row.equal == equal


def test_no_suite_is_as_good_at_the_threshold_itself_and_a_smaller_one_for_a_perfect_agent():
    at, perfect = stop_early(Design(BAR, 200, USUAL), [BAR, Fraction(1)])
    assert (at.equal, perfect.equal) == (None, 19)
    assert perfect.expected == pytest.approx(31)


def test_a_rule_is_planned_for_its_horizon_else_for_the_scenarios_asked_about_else_for_what_it_needs():
    rule = "thresholds.blocking.accuracy"
    policy = {"evidence": "sequential", **blocking({"accuracy": "85%"})}
    needed = plan_policy(read_dict(policy), USUAL).rules[0].scenarios
    assert {row.scenarios for row in rows(policy).values()} == {needed}
    assert {row.scenarios for row in rows(policy, 120).values()} == {120}
    ahead = {"evidence": "sequential", **blocking({"accuracy": {"threshold": "85%", "horizon": 300}})}
    assert {row.scenarios for row in rows(ahead, 120).values()} == {300}
    assert (rule, BAR) in rows(policy)


def test_a_rule_is_planned_for_the_scenarios_of_the_suite_that_it_is_about(tmp_path):
    listed = [{"id": f"s{at}", "category": "adversarial" if at < 70 else "happy_path"} for at in range(150)]
    (tmp_path / "suite.json").write_text(json.dumps(listed), "utf-8")
    (tmp_path / "highbar.json").write_text(
        json.dumps(
            {"suite": "suite.json", "evidence": "sequential", **blocking({"safety_rate": "100%", "pass_rate": "85%"})}
        ),
        "utf-8",
    )
    found = plan_sequential(read_named(str(tmp_path / "highbar.json")), USUAL).early
    assert {(row.rule.rsplit(".", 1)[1], row.scenarios) for row in found} == {("safety_rate", 70), ("pass_rate", 150)}


def test_a_threshold_of_100_percent_stops_at_the_first_failure_or_when_the_rate_is_excluded():
    policy = blocking({"safety_rate": {"threshold": "100%", "tolerate": "5%"}})
    found = rows(policy, 200)
    perfect = found["thresholds.blocking.safety_rate", Fraction(1)]
    assert (perfect.passes, perfect.expected) == (1, pytest.approx(59))
    failing = found["thresholds.blocking.safety_rate", Fraction(99, 100)]
    assert failing.passes == pytest.approx(0.99**59)
    # All 200 judged once fail it if there is any failure.
    assert failing.fixed.passes == pytest.approx(0.99**200)


def test_an_acceptance_number_is_planned_with_the_failures_that_it_accepts():
    demand = {"threshold": "100%", "evidence": "sequential", "failures": 1}
    row = rows(blocking({"safety_rate": demand}), 100)["thresholds.blocking.safety_rate", Fraction(99, 100)]
    assert row.passes == pytest.approx(0.99**93 + 93 * 0.01 * 0.99**92)
    assert row.fixed.passes == pytest.approx(0.99**100 + 100 * 0.01 * 0.99**99)


def test_a_rate_where_lower_is_better_is_shown_as_it_is():
    found = rows(blocking({"error_rate": "≤ 5%"}), 300)
    row = found["thresholds.blocking.error_rate", Fraction(25, 1000)]
    assert row.threshold == Fraction(5, 100)
    assert row.passes > row.fails


def test_the_whole_suite_is_always_decided():
    policy = {"population": "suite", "answers": "fixed", **blocking({"pass_rate": "85%"})}
    assert all(row.inconclusive == pytest.approx(0, abs=1e-9) for row in rows(policy, 100).values())


def test_scores_are_planned_by_bets_which_decide_less():
    by_counts = rows(blocking({"pass_rate": "85%"}), 150)["thresholds.blocking.pass_rate", Fraction(925, 1000)]
    by_bets = rows(blocking({"behavior_coverage": "85%"}), 150)[
        "thresholds.blocking.behavior_coverage", Fraction(925, 1000)
    ]
    assert by_bets.passes < by_counts.passes


@pytest.mark.parametrize(
    ("metric", "counted"),
    [
        *(("pass_rate", True), ("accuracy", True), ("safety_rate", True), ("error_rate", True)),
        *(("violation_rate", True), ("latency_p95", True)),
        *(("precision", False), ("recall", False), ("f1", False), ("behavior_coverage", False)),
        *(("behavior_coverage_pooled", False), ("weighted_pass_rate", False), ("pass_hat_3", False)),
    ],
)
def test_only_shares_of_scenarios_are_judged_by_their_number(metric, counted):
    thresholds = {"latency_p95": "5000ms", "error_rate": "≤ 5%", "violation_rate": "≤ 5%"}
    policy = read_dict(blocking({metric: thresholds.get(metric, "85%")}))
    assert is_yes_or_no(policy.metrics[metric]) is counted


def test_all_blocking_rules_pass_between_the_product_and_the_minimum_in_both_designs():
    policy = read_dict({**blocking({"pass_rate": "90%", "accuracy": "85%"}), "evidence": "sequential"})
    plan = plan_sequential(policy, USUAL, 150)
    halfway = [row for row in plan.early if row.rate == (1 + row.threshold) / 2]
    one, other = (row.passes for row in halfway)
    assert (plan.early_joint.rules, plan.early_joint.low, plan.early_joint.high) == (2, one * other, min(one, other))
    one, other = (row.fixed.passes for row in halfway)
    assert (plan.joint.low, plan.joint.high) == (one * other, min(one, other))
    assert plan.early_joint.low < plan.joint.low


def test_a_rule_without_a_number_says_why():
    plan = plan_sequential(read_dict(blocking({"token_efficiency": 1, "pass_rate": "85%"})), USUAL, 100)
    assert [row.rule for row in plan.rules] == ["thresholds.blocking.token_efficiency"]
    assert "known only from results" in plan.rules[0].reason


def test_a_suite_that_is_too_large_to_plan_says_so():
    plan = plan_sequential(read_dict(blocking({"pass_rate": "85%"})), USUAL, MOST_PLANNED + 1)
    assert plan.early == ()
    assert "too many to plan" in plan.rules[0].reason
