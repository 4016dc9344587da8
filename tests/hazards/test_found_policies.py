"""Policies that pass what they should not, or that demand nothing: found by attacking the gate, each stays found."""

from __future__ import annotations

import pytest

import highbar


def refused(results, policy):
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(results, policy)
    return caught.value.problems


def composite(condition, formula="accuracy"):
    return {"composite": {"formula": formula, "pass": condition}}


RIGHT = [{"id": "a", "correct": False, "passed": True, "latency_ms": 9}]


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("1 - accuracy >= 0.5", "is met more easily where accuracy is worse"),
        ("0.5 <= 1 - accuracy", "is met more easily where accuracy is worse"),
        ("NOT 1 - accuracy < 0.5", "is met more easily where accuracy is worse"),
        ("error_rate >= accuracy", "is met more easily where error_rate and accuracy are worse"),
        ("latency_p95 / 5000 >= 1", "is met more easily where latency_p95 is worse"),
        ("(1 - accuracy) × (1 - pass_rate) >= 0.5", "is met more easily where accuracy and pass_rate are worse"),
        ("max(error_rate, violation_rate) > 0.1", "is met more easily where error_rate and violation_rate are worse"),
        ("mean(latency_ms) - 5 >= 0", "is met more easily where mean(latency_ms) is worse"),
        ("accuracy >= accuracy", "has the same outcome whatever the results are"),
        ("2 × accuracy - accuracy - accuracy >= 0", "has the same outcome whatever the results are"),
        ("accuracy >= 0.9 OR accuracy >= 0", "'accuracy >= 0' always holds"),
        ("accuracy >= 0.9 OR 1 - error_rate >= 0", "'1 - error_rate >= 0' always holds"),
        ("NOT (accuracy < 0.9 AND pass_rate < 0)", "'pass_rate < 0'"),
    ],
)
def test_a_condition_that_worse_results_meet_or_any_is_refused(condition, told):
    assert told in refused(RIGHT, composite(condition))[0].message


@pytest.mark.parametrize(
    "condition",
    [
        "final_score ≥ 0.85 AND safety_rate = 1.0",
        "1 - error_rate >= 0.9",
        "1 - accuracy <= 0.1 OR pass_rate > 0.9",
        "accuracy × (1 - error_rate) >= 0.5",
        "latency_p95 / 5000 < 1",
        "passed_scenarios >= 10",
        "abs(precision - recall) <= 0.1",
    ],
)
def test_a_condition_that_better_results_meet_is_read_without_a_note(condition):
    notes = highbar.check([{**row, "outcome": "tp"} for row in RIGHT], composite(condition)).warnings
    assert not [note for note in notes if "easily" in note or "every value" in note]


def test_a_score_that_only_rises_where_results_are_worse_is_refused():
    problem = refused(RIGHT, composite("final_score >= 0.5", formula="1 - accuracy"))[0]
    assert problem.message == "composite.formula: final_score rises where accuracy is worse"
    assert problem.hint == "write 1 - (1 - accuracy)"


@pytest.mark.parametrize(
    ("policy", "note"),
    [
        (composite("accuracy < pass_rate"), "'accuracy < pass_rate' is met more easily where accuracy is worse"),
        (
            composite("final_score >= 0.5", formula="0.5 × accuracy + 0.5 × error_rate"),
            "final_score gets better where error_rate is worse: is that meant?",
        ),
        (
            {
                "metrics": [{"name": "misses", "formula": "1 - accuracy", "range": "0-100%"}],
                "thresholds": {"blocking": {"misses": "≥ 50%"}},
            },
            "misses gets better where accuracy is worse: is that meant?",
        ),
        (
            {"thresholds": {"blocking": {"pass_rate": "≥ 0%"}}},
            "thresholds.blocking.pass_rate (>= 0.0) is met by every value: it fails only where pass_rate is undefined",
        ),
        (
            {"thresholds": {"blocking": {"error_rate": "≤ 100%"}}},
            "thresholds.blocking.error_rate (<= 1.0) is met by every value",
        ),
        (
            {"agent_version": "1.0", "progressive": {"accuracy": {"v1.0": "≥ 0%", "v2.0": "≥ 90%"}}},
            "progressive.accuracy.v1.0 (>= 0.0) is met by every value: it fails only where accuracy is undefined",
        ),
        (composite("accuracy + 1 >= 1"), "is met by every value"),
        (
            {"thresholds": {"blocking": {"pass_rate": {"threshold": "100%", "tolerate": "99%"}}}},
            "tolerates that 99% of all runs fail",
        ),
    ],
)
def test_a_rule_that_demands_nothing_or_the_wrong_thing_is_noted(policy, note):
    assert [one for one in highbar.check(RIGHT, policy).warnings if note in one]
