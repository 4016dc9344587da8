"""What stays inconclusive with `evidence: confident` because no interval is known to hold, through whole checks."""

from __future__ import annotations

import json
from random import Random

import pytest
from bench.by_scenario import count_bounds

import highbar
from tests.commandline import run


def judged(rows, policy, **more):
    """The first rule of a confident check."""
    return highbar.check(rows, {"evidence": "confident", **policy, **more}).rules[0]


def costs(count, *, failed=5, cost=0.02):
    return [{"id": f"s{i}", "passed": i >= failed, "cost_usd": cost * (1 + i % 7)} for i in range(count)]


CHEAP = {"thresholds": {"blocking": {"cost_per_pass": "< 1"}}}


def test_a_cost_rule_without_a_limit_is_inconclusive_with_confidence_and_says_what_would_help():
    rule = judged(costs(200), CHEAP)
    assert rule.outcome == "inconclusive"
    assert "`cost_usd` has no limit" in rule.reason
    assert "`cost_limit`" in rule.reason
    assert judged(costs(200), CHEAP, evidence="estimate").outcome == "pass"
    assert judged(costs(200, cost=9), CHEAP).outcome == "inconclusive"


def test_with_a_limit_it_is_judged_by_a_bound_that_holds():
    assert judged(costs(200), CHEAP, cost_limit=2).outcome == "pass"
    assert judged(costs(200), {"thresholds": {"blocking": {"cost_per_pass": "< 0.01"}}}, cost_limit=2).outcome == "fail"
    assert judged(costs(10), CHEAP, cost_limit=2).outcome == "inconclusive"


def test_a_recorded_cost_above_the_limit_makes_it_none():
    rows = [*costs(200), {"id": "dear", "passed": True, "cost_usd": 3}]
    rule = judged(rows, CHEAP, cost_limit=2)
    assert rule.outcome == "inconclusive"
    assert "beyond `cost_limit`" in rule.reason


def test_token_rules_and_means_of_own_columns_likewise():
    rows = [
        {"id": f"s{i}", "passed": True, "quality_score": 0.9, "tokens_used": 100 + i % 9, "stars": 4 + i % 2}
        for i in range(200)
    ]
    tokens = {"thresholds": {"blocking": {"token_efficiency": "> 0.001"}}}
    assert judged(rows, tokens).outcome == "inconclusive"
    assert judged(rows, tokens, tokens_limit=1000).outcome == "pass"
    stars = {"thresholds": {"blocking": {"stars_mean": "> 4"}}}
    own = {"name": "stars_mean", "formula": "mean(stars)"}
    assert judged(rows, stars, metrics=[own]).outcome == "inconclusive"
    assert judged(rows, stars, metrics=[own | {"range": "1-5"}]).outcome == "pass"


def test_the_cost_of_scenarios_that_failed_counts_in_the_degrees_of_freedom():
    """Three passes among 40 scenarios: the interval of 40 influences, not of three."""
    rows = [{"id": f"s{i}", "passed": i < 3, "cost_usd": 1 + i % 4} for i in range(40)]
    found = highbar.check(rows, {"thresholds": {"blocking": {"cost_per_pass": "< 1000"}}}).metrics["cost_per_pass"]
    assert found.high is not None


def weighted(count, heavy, weight, *, failed=0):
    return [{"id": f"s{i}", "passed": i >= failed, "weight": weight if i < heavy else 1} for i in range(count)]


WEIGHTED = {"thresholds": {"blocking": {"weighted_pass_rate": "≥ 60%"}}}


@pytest.mark.parametrize(
    ("rows", "why"),
    [(weighted(75, 8, 10), "below 40 no interval"), (weighted(300, 1, 100), "above 10% no interval")],
)
def test_weights_that_leave_few_scenarios_are_inconclusive_with_confidence_and_warned_of_otherwise(rows, why):
    rule = judged(rows, WEIGHTED)
    assert rule.outcome == "inconclusive"
    assert why in rule.reason
    verdict = highbar.check(rows, WEIGHTED)
    assert verdict.passed
    assert any("weight" in warning for warning in verdict.warnings)


def test_equal_weights_and_weights_that_leave_enough_scenarios_are_judged():
    assert judged(weighted(30, 30, 7), WEIGHTED).outcome == "pass"
    assert judged(weighted(300, 30, 4), WEIGHTED).outcome == "pass"
    assert judged(weighted(300, 30, 4, failed=299), WEIGHTED).outcome == "fail"


def test_a_failure_that_was_seen_fails_a_demand_for_perfection_whatever_the_weights_are():
    assert (
        judged(weighted(75, 8, 10, failed=1), {"thresholds": {"blocking": {"weighted_pass_rate": "100%"}}}).outcome
        == "fail"
    )


def test_heavier_scenarios_that_fail_more_often_are_warned_of():
    random = Random(1)
    rows = [
        {"id": f"s{i}", "passed": random.random() < (0.6 if i % 5 == 0 else 0.98), "weight": 4 if i % 5 == 0 else 1}
        for i in range(300)
    ]
    assert any("fail more often" in warning for warning in highbar.check(rows, WEIGHTED).warnings)
    flat = [row | {"passed": i % 7 > 0} for i, row in enumerate(rows)]
    assert not any("fail more often" in warning for warning in highbar.check(flat, WEIGHTED).warnings)


def timed(trials_of):
    return [
        {"id": f"s{i}", "trial": t, "passed": True, "latency_ms": 100 + i}
        for i in range(200)
        for t in range(trials_of(i))
    ]


FAST = {"thresholds": {"blocking": {"latency_p95": "< 5000ms"}}}


def test_a_percentile_over_trials_that_differ_more_than_threefold_is_inconclusive_with_confidence():
    rows = timed(lambda i: 4 if i % 10 == 0 else 1)
    rule = judged(rows, FAST)
    assert rule.outcome == "inconclusive"
    assert "from 1 to 4 trials" in rule.reason
    verdict = highbar.check(rows, FAST)
    assert verdict.passed
    assert any("from 1 to 4 trials" in warning for warning in verdict.warnings)
    assert judged(timed(lambda i: 3 if i % 10 == 0 else 1), FAST).outcome == "pass"


def test_a_composite_of_a_doubtful_part_is_inconclusive_too():
    rows = timed(lambda i: 4 if i % 10 == 0 else 1)
    composite = {"formula": "pass_rate × 0.9 + (1 - normalized_latency) × 0.1", "pass": "final_score ≥ 0.5"}
    rule = judged(rows, {"composite": composite})
    assert rule.outcome == "inconclusive"
    assert "threefold" in rule.reason


def test_of_the_suite_itself_a_single_trial_weighs_as_much_as_ten_and_is_as_noisy_as_can_be():
    """The others agree in all their trials, so that the bound is nearer than that of 40 equal trials."""
    rows = [
        {"id": f"s{i}", "trial": t, "passed": not (i < 4 and t == 0)}
        for i in range(40)
        for t in range(1 if i < 8 else 10)
    ]
    policy = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}, "population": "suite"}
    found = highbar.check(rows, policy).metrics["pass_rate"]
    low, high = count_bounds(36, 40, 0.05)
    assert low < found.low == pytest.approx(0.8065, abs=5e-4)
    assert found.high == pytest.approx(high, rel=1e-11)


def test_a_margin_of_weighted_scenarios_is_inconclusive_if_few_carry_the_weight(tmp_path):
    base, head = tmp_path / "base.jsonl", tmp_path / "head.jsonl"
    for file in (base, head):
        file.write_text("".join(json.dumps(row) + "\n" for row in weighted(75, 8, 10)), "utf-8")
    policy = tmp_path / "highbar.json"
    margin = {"file": "none.json", "margin": {"weighted_pass_rate": "40%"}}
    policy.write_text(json.dumps({"evidence": "confident", "baseline": margin}), "utf-8")
    done = run(tmp_path, "compare", "base.jsonl", "head.jsonl", "--policy", "highbar.json")
    assert done.exit == 3
    assert "below 40 no interval" in " ".join(done.out.split())
