"""Policies that pass what they should not, or that demand nothing: found by attacking the gate, each stays found."""

from __future__ import annotations

import pytest

import highbar
from tests.commandline import check, judged


def refused(results, policy):
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(results, policy)
    return caught.value.problems


def composite(condition, formula="accuracy"):
    return {"composite": {"formula": formula, "pass": condition}}


RIGHT = [{"id": "a", "correct": False, "passed": True, "latency_ms": 9}]


@pytest.mark.parametrize(
    ("condition", "code", "named"),
    [
        ("1 - accuracy >= 0.5", "formula.rewards-worse", "accuracy"),
        ("0.5 <= 1 - accuracy", "formula.rewards-worse", "accuracy"),
        ("NOT 1 - accuracy < 0.5", "formula.rewards-worse", "accuracy"),
        ("error_rate >= accuracy", "formula.rewards-worse", "error_rate and accuracy"),
        ("latency_p95 / 5000 >= 1", "formula.rewards-worse", "latency_p95"),
        ("(1 - accuracy) × (1 - pass_rate) >= 0.5", "formula.rewards-worse", "accuracy and pass_rate"),
        ("max(error_rate, violation_rate) > 0.1", "formula.rewards-worse", "error_rate and violation_rate"),
        ("mean(latency_ms) - 5 >= 0", "formula.rewards-worse", "mean(latency_ms)"),
        ("accuracy >= accuracy", "formula.constant", "'accuracy >= accuracy'"),
        ("2 × accuracy - accuracy - accuracy >= 0", "formula.constant", "'2 × accuracy - accuracy - accuracy >= 0'"),
        ("accuracy >= 0.9 OR accuracy >= 0", "formula.constant", "'accuracy >= 0'"),
        ("accuracy >= 0.9 OR 1 - error_rate >= 0", "formula.constant", "'1 - error_rate >= 0'"),
        ("NOT (accuracy < 0.9 AND pass_rate < 0)", "formula.constant", "'pass_rate < 0'"),
    ],
)
def test_a_condition_that_worse_results_meet_or_any_is_refused(condition, code, named):
    problem = refused(RIGHT, composite(condition))[0]
    assert problem.code == code
    assert named in problem.message


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


def test_a_score_that_only_rises_if_results_are_worse_is_refused():
    problem = refused(RIGHT, composite("final_score >= 0.5", formula="1 - accuracy"))[0]
    assert problem.message == "composite.formula: final_score rises if accuracy is worse"
    assert problem.hint == "write 1 - (1 - accuracy)"


@pytest.mark.parametrize(
    ("policy", "note"),
    [
        (composite("accuracy < pass_rate"), "'accuracy < pass_rate' is met"),
        (
            composite("final_score >= 0.5", formula="0.5 × accuracy + 0.5 × error_rate"),
            "final_score gets better if error_rate is worse: is that meant?",
        ),
        (
            {
                "metrics": [{"name": "misses", "formula": "1 - accuracy", "range": "0-100%"}],
                "thresholds": {"blocking": {"misses": "≥ 50%"}},
            },
            "misses gets better if accuracy is worse: is that meant?",
        ),
        (
            {"thresholds": {"blocking": {"pass_rate": "≥ 0%"}}},
            "thresholds.blocking.pass_rate (>= 0.0) is met by every value: it fails only if pass_rate is undefined",
        ),
        (
            {"thresholds": {"blocking": {"error_rate": "≤ 100%"}}},
            "thresholds.blocking.error_rate (<= 1.0) is met by every value",
        ),
        (
            {"agent_version": "1.0", "progressive": {"accuracy": {"v1.0": "≥ 0%", "v2.0": "≥ 90%"}}},
            "progressive.accuracy.v1.0 (>= 0.0) is met by every value: it fails only if accuracy is undefined",
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


HALLUCINATION = {"name": "hallucination", "formula": "mean(halluc)", "range": "0-1"}
GUESSES = [{"id": f"s{place}", "halluc": 0.3, "latency_ms": 10, "tokens_used": 5} for place in range(4)]
CRASHES = [{"id": f"x{place}", "error": "boom"} for place in range(6)]


def derived(formula, threshold, **more):
    own = {"name": "own", "formula": formula, **more}
    return {"metrics": [HALLUCINATION, own], "rules": [{"metric": "own", "threshold": threshold}]}


@pytest.mark.parametrize(
    "policy",
    [
        derived("1 - hallucination", "≥ 0.8", range="0-1"),
        derived("1 - mean(halluc)", "≥ 0.8"),
        derived("0 - 2 × hallucination", "≥ -0.4"),
        derived("1 / (1 + hallucination)", "≥ 0.8"),
        derived("min(1 - hallucination, 1)", "≥ 0.8"),
        derived("sum(halluc)", "≤ 1", better="lower"),
        derived("sum(halluc) / total_scenarios", "≤ 0.2", better="lower"),
        derived("1 - percentile(halluc, 50%)", "≥ 0.8"),
        {**derived("1 - hallucination", "≥ 0.8", range="0-1"), "rules": [], "weights": {"by_metric": {"own": 2}},
         "thresholds": {"blocking": {"weighted_score": "80%"}}},
        {"metrics": [HALLUCINATION], **composite("final_score >= 0.8", formula="pass_rate - hallucination")},
        {"metrics": [HALLUCINATION], **composite("mean(halluc) <= 0.2")},
        {"metrics": [HALLUCINATION], **composite("pass_rate - hallucination >= 0.5")},
    ],
)  # fmt: skip
def test_a_rule_that_crashes_make_easier_to_meet_is_refused_and_the_hint_says_which_end_is_wrong(policy):
    problem = refused(GUESSES, policy)[0]
    assert problem.code == "formula.rewards-worse"
    assert "`halluc`" in problem.message
    assert "`better: lower` for hallucination" in problem.hint


def test_the_refusal_has_its_file_and_line_and_with_the_hint_followed_crashes_fail(tmp_path):
    policy = {**derived("1 - hallucination", "≥ 90%", range="0-1"), "latency_limit": 50}
    wrong = check(tmp_path, GUESSES + CRASHES, policy)
    assert wrong.exit == 2
    assert "policy.json" in wrong.problems
    right = {**policy, "metrics": [{**HALLUCINATION, "better": "lower"}, policy["metrics"][1]]}
    good = [{**row, "halluc": 0} for row in GUESSES]
    judged(check(tmp_path, good, right), "pass")
    judged(check(tmp_path, good + CRASHES, right), "fail")


def test_an_outer_formula_is_not_blamed_for_the_one_inside_it():
    policy = derived("1 - hallucination", "≥ 0.8")
    policy["metrics"].append({"name": "outer", "formula": "own × 2"})
    policy["rules"] = [{"metric": "outer", "threshold": "≥ 1"}]
    assert [problem.message.partition(" gets")[0] for problem in refused(GUESSES, policy)] == [
        "metrics[1].formula: own"
    ]


@pytest.mark.parametrize(
    ("policy", "column"),
    [
        (derived("abs(hallucination - 0.1)", "≤ 0.05", better="lower"), "halluc"),
        (derived("1 / (hallucination - 0.5)", "≥ -3"), "halluc"),
        ({"metrics": [HALLUCINATION], **composite("abs(hallucination - 0.1) <= 0.05")}, "halluc"),
        ({"metrics": [HALLUCINATION], **composite("hallucination × 2 = 0.24")}, "halluc"),
        (derived("percentile(halluc, 10%) × 100", "≥ 40"), None),
        (
            {**derived("sum(tokens_used) / sum(latency_ms)", "≥ 0.6"), "latency_limit": 9, "tokens_limit": 99},
            "tokens_used",
        ),
    ],
)
def test_a_formula_for_which_no_end_is_surely_the_worse_one_is_undefined_if_a_trial_crashed(policy, column):
    assert highbar.check(GUESSES, policy).rules[0].outcome == "fail"
    rule = highbar.check(GUESSES + CRASHES, policy).rules[0]
    assert rule.outcome in ("undefined", "fail")
    if column:
        assert f"a trial crashed without `{column}`" in rule.reason


def test_an_error_share_of_a_metric_of_ours_is_still_a_metric():
    policy = {
        "metrics": [{"name": "misses", "formula": "1 - accuracy", "range": "0-100%", "better": "lower"}],
        "thresholds": {"blocking": {"misses": "≤ 50%"}},
    }
    rows = [{"id": "a", "correct": True}, {"id": "b", "correct": True}]
    assert highbar.check(rows, policy).passed
    assert not highbar.check([*rows, *CRASHES], policy).passed


@pytest.mark.parametrize(
    ("formula", "better", "threshold"),
    [
        ("(1 - hal) * (1 - error_rate)", "higher", ">= 0.01"),
        ("(1 - hal) * pass_rate", "higher", ">= 0.01"),
        ("hal * (1 - pass_rate)", "lower", "<= 0.9"),
        ("hal * (2 - pass_rate)", "lower", "<= 0.99"),
        ("hal / (2 - pass_rate)", "lower", "<= 0.9"),
    ],
)
def test_a_formula_that_surely_gets_worse_by_a_crash_is_judged(formula, better, threshold):
    rows = [{"id": "a", "passed": True, "h": 0.1}, {"id": "b", "error": "x"}]
    own = [
        {"name": "hal", "formula": "mean(h)", "range": "0-100%", "better": "lower"},
        {"name": "m", "formula": formula, "better": better},
    ]
    assert highbar.check(rows, {"metrics": own, "thresholds": {"blocking": {"m": threshold}}}).passed


def test_a_margin_over_a_slice_with_an_undecided_trial_names_it(tmp_path):
    """It ended in an internal error: only a margin asked about that slice."""
    rows = [{"id": "a", "category": "x", "passed": True}, {"id": "b", "category": "x", "unjudged": "u"}]
    margin = {"pass_rate": {"margin": "1%", "where": {"category": "x"}}}
    verdict = highbar.check(rows, {"baseline": {"file": str(tmp_path / "none.json"), "margin": margin}})
    assert verdict.rules[0].outcome == "undefined"
    assert verdict.rules[0].undecided == (("b", None),)


def test_rows_cannot_be_chosen_by_a_column_that_no_file_has():
    policy = {"select": {"tags.locale": "de"}, "thresholds": {"blocking": {"pass_rate": "50%"}}}
    with pytest.raises(highbar.InputError, match=r"no row has a value for 'tags\.locale'"):
        highbar.check([{"id": "a", "passed": True}], policy)
