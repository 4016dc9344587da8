"""The oracle on examples worked by hand, sentence by sentence, of what the specification calls not known."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.oracle.judging import judge
from tests.oracle.scenarios import FAILED, PASSED, UNDECIDED, scenarios_of
from tests.oracle.trials import Settings, Trial

GOOD = {"expected_behaviors": ["x"], "behaviors": ["x"]}
RIGHT = {"correct": True}


def states(*rows, suite=None, settings=None):
    """What becomes of the trials of one scenario."""
    listed = [{"id": "a", "trial": number, **row} for number, row in enumerate(rows)]
    (scenario,) = scenarios_of(listed, settings or Settings(), suite)
    return scenario.states


def ends(metric, *rows, policy=None, suite=None):
    """A metric at its worst and at its best; rows without an id are trials of one scenario."""
    listed = [{"id": "a", "trial": number, **row} for number, row in enumerate(rows)]
    answer = judge(listed, policy or {}, suite).whole.answer(metric)
    return answer.value, answer.best if answer.undecided else answer.value


# --- passed, failed, undecided -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "state"),
    [
        ({"error": "crash", "passed": True}, FAILED),
        ({"violations": 1, "passed": True}, FAILED),
        ({"passed": False}, FAILED),
        ({"expected_behaviors": ["x"], "behaviors": []}, FAILED),
        ({"correct": False}, FAILED),
        ({"passed": True, "correct": False}, PASSED),
        ({"passed": True, "expected_behaviors": ["x"], "behaviors": []}, PASSED),
        (GOOD, PASSED),
        (GOOD | {"must_not": ["y"]}, PASSED),
        (GOOD | {"correct": False}, FAILED),
        ({"expected_behaviors": ["x"]}, UNDECIDED),
        ({"expected_behaviors": ["x"], "correct": True}, UNDECIDED),
        ({"expected_behaviors": ["x"], "correct": False}, FAILED),
        ({"expected": "yes"}, FAILED),
        ({"must_not": ["y"]}, UNDECIDED),
        ({"must_not": ["y"], "correct": True}, UNDECIDED),
        ({"must_not": ["y"], "correct": True, "violations": []}, PASSED),
        ({"must_not": ["y"], "violations": []}, PASSED),
        ({"must_not": ["y"], "passed": True}, PASSED),
        ({"must_not": {"y": None}, "correct": True}, UNDECIDED),
        ({"must_not": {"y": False, "z": None}, "correct": True}, UNDECIDED),
        ({"must_not": ["y"], "behaviors": {"y": None}, "correct": True}, UNDECIDED),
        ({"expected_behaviors": ["x"], "behaviors": {"x": None}}, FAILED),
        ({"quality_score": 1}, UNDECIDED),
        ({"latency_ms": 1, "category": "x"}, UNDECIDED),
    ],
)
def test_a_trial_is_failed_passed_or_undecided(row, state):
    assert states(row) == [state]


@pytest.mark.parametrize(("output", "state"), [("no", PASSED), (" ", UNDECIDED)])
def test_a_must_not_beside_a_blank_output_is_no_judgment(output, state):
    row = {"must_not": ["y"], "violations": [], "output": output}
    assert states(row, settings=Settings(output_column=True)) == [state]


@pytest.mark.parametrize(
    ("row", "state"),
    [
        ({"passed": True}, UNDECIDED),
        (RIGHT, UNDECIDED),
        ({"correct": False}, FAILED),
        ({"passed": False}, FAILED),
        ({"violations": ["y"]}, FAILED),
        ({"error": "crash"}, FAILED),
        ({"expected": "yes", "predicted": "no"}, FAILED),
        ({"expected": "yes"}, UNDECIDED),
        ({"expected_behaviors": ["x"], "behaviors": []}, UNDECIDED),
        ({"expected_behaviors": ["x"], "behaviors": {"x": False}}, FAILED),
        ({"must_not": ["y"], "behaviors": []}, UNDECIDED),
    ],
)
def test_what_an_unjudged_trial_says_and_is_bad_stays_bad(row, state):
    assert states({**row, "unjudged": "judge failed"}) == [state]


@pytest.mark.parametrize(
    ("other", "row", "state"),
    [
        (RIGHT, GOOD, UNDECIDED),
        (GOOD, RIGHT, UNDECIDED),
        ({"must_not": ["y"], "violations": []}, RIGHT, UNDECIDED),
        ({"must_not": ["y"], "violations": []}, RIGHT | {"violations": 0}, PASSED),
        (RIGHT, {"passed": True}, PASSED),
        (RIGHT, GOOD | RIGHT, PASSED),
        ({"expected": "yes"}, GOOD, UNDECIDED),
        ({"error": "crash"}, GOOD, PASSED),
        ({"violations": ["y"]}, GOOD, UNDECIDED),
        ({"passed": True}, GOOD, UNDECIDED),
    ],
)
def test_a_trial_cannot_pass_without_what_another_one_is_judged_by(other, row, state):
    assert states(other, row)[1] == state


@pytest.mark.parametrize(
    ("demand", "state"),
    [
        ({}, PASSED),
        ({"answer": "42"}, UNDECIDED),
        ({"expected": "yes"}, UNDECIDED),
        ({"must_not": ["y"]}, UNDECIDED),
        ({"category": "x", "weight": 2}, PASSED),
    ],
)
def test_nor_without_what_the_suite_demands(demand, state):
    assert states(GOOD, suite=[{"id": "a", **demand}]) == [state]


# --- measures ------------------------------------------------------------------------------------

ALL = Fraction(1)
HALF = Fraction(1, 2)
NONE = Fraction(0)


@pytest.mark.parametrize(
    ("metric", "rows", "wanted"),
    [
        ("accuracy", [RIGHT, {"passed": True}], (HALF, ALL)),
        ("accuracy", [RIGHT, {"error": "crash"}], (HALF, HALF)),
        ("accuracy", [RIGHT, {"violations": 1}], (HALF, ALL)),
        ("accuracy", [{"passed": True}, {"error": "crash"}], (None, None)),
        ("behavior_coverage", [GOOD, {"expected_behaviors": ["x"]}], (HALF, ALL)),
        ("behavior_coverage", [GOOD, {"expected_behaviors": ["x"], "violations": 1}], (HALF, HALF)),
        ("behavior_coverage", [GOOD, {"passed": True}], (HALF, ALL)),
        ("behavior_coverage", [GOOD | {"must_not": ["y"]}, GOOD], (ALL, ALL)),
        ("behavior_coverage", [{"violations": 1}, {"passed": True}], (None, None)),
        ("behavior_coverage_pooled", [GOOD | {"expected_behaviors": ["x", "y"]}, {}], (Fraction(1, 4), Fraction(3, 4))),
        ("behavior_coverage_pooled", [GOOD, {"error": "crash"}], (HALF, HALF)),
        ("precision", [{"outcome": "tp"}, {"passed": True}], (HALF, ALL)),
        ("recall", [{"outcome": "tp"}, {"error": "crash"}], (HALF, HALF)),
        ("precision", [{"outcome": "tp"}, {"error": "crash"}], (ALL, ALL)),
        ("f1", [{"outcome": "tp"}, {}], (HALF, ALL)),
        ("recall", [{"expected": True, "predicted": True}, {"expected": True, "unjudged": "no"}], (HALF, ALL)),
        ("latency_p95", [{"latency_ms": 5}, {"passed": True}], (None, 5)),
        ("latency_p50", [{"latency_ms": 5}, {"passed": True}], (5, 0)),
        ("latency_p95", [{"latency_ms": 5}, {"error": "crash", "latency_ms": 1}], (None, None)),
        ("latency_p95", [{"passed": True}, {}], (None, None)),
        ("violation_rate", [RIGHT, {"must_not": ["y"]}], (ALL, NONE)),
        ("violation_rate", [{"must_not": ["y"], "error": "crash"}], (ALL, NONE)),
        ("violation_rate", [{"must_not": ["y"], "violations": []}, RIGHT], (HALF, NONE)),
        ("violation_rate", [{"must_not": ["y"], "violations": []}, {"error": "crash"}], (HALF, NONE)),
        ("violation_rate", [{"violations": [], "output": ""}], (NONE, NONE)),
        ("violation_rate", [RIGHT], (NONE, NONE)),
        ("violation_rate", [RIGHT, {}], (HALF, NONE)),
        ("error_rate", [RIGHT, {}], (NONE, NONE)),
        ("error_rate", [RIGHT, {"unjudged": "not run"}], (HALF, NONE)),
        ("error_rate", [RIGHT, {"unjudged": "judge failed", "output": "hi"}], (NONE, NONE)),
        ("pass_hat_2", [RIGHT, {"correct": None}], (NONE, ALL)),
        ("pass_rate", [RIGHT, {}], (HALF, ALL)),
    ],
)
def test_what_one_trial_has_all_have(metric, rows, wanted):
    assert ends(metric, *rows) == wanted


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ({}, (HALF, ALL)),
        ({"latency_ms": 5, "predicted": True, "must_not": ["y"]}, (HALF, ALL)),
        ({"unjudged": "not run"}, (HALF, ALL)),
        ({"passed": True}, (ALL, ALL)),
        ({"quality_score": 1}, (ALL, ALL)),
        ({"error": "crash"}, (HALF, HALF)),
        ({"error": "crash", "must_not": ["y"]}, (HALF, HALF)),
        ({"error": "crash", "must_not": ["y"], "violations": []}, (HALF, HALF)),
        ({"error": "crash", "highbar_run": {"id": "r"}}, (ALL, ALL)),
        ({"unjudged": "not run", "answer_checked": True}, (HALF, ALL)),
    ],
)
def test_a_blank_scenario_is_undecided_for_a_rate_that_has_data_and_any_other_is_missing(row, wanted):
    rows = [{"id": "a", **RIGHT}, {"id": "b", **row}]
    answer = judge(rows, {}).whole.answer("accuracy")
    assert (answer.value, answer.best if answer.undecided else answer.value) == wanted
    assert answer.scenarios + answer.missing == 2
    assert answer.missing == (wanted == (ALL, ALL))


def test_a_column_that_a_metric_uses_is_a_judgment():
    own = {"metrics": [{"name": "m", "formula": "mean(rubric)", "range": "1-5"}]}
    assert Trial({"rubric": 3}, Settings()).blank
    rows = [{"id": "a", **RIGHT}, {"id": "b", "rubric": 3}]
    assert judge(rows, {}).whole.answer("accuracy").undecided == 1
    assert judge(rows, own).whole.answer("accuracy").undecided == 0


def test_a_descriptive_column_is_that_of_the_other_trials():
    rows = [{"id": "a", "trial": 1, "category": "x", "tags": {"l": "de"}, "weight": 2}, {"id": "a", "trial": 2}]
    (scenario,) = scenarios_of(rows[::-1], Settings())
    assert (scenario.column("category"), scenario.column("tags.l"), scenario.weight) == ("x", "de", 2)
    (scenario,) = scenarios_of(rows[1:], Settings(), [{"id": "a", "category": "y"}])
    assert scenario.column("category") == "y"


# --- columns without bounds ----------------------------------------------------------------------

LATENCY = {"metrics": [{"name": "m", "formula": "mean(latency_ms)", "better": "lower", "unit": "ms"}]}
RUBRIC = {"name": "m", "formula": "mean(rubric)"}


@pytest.mark.parametrize(
    ("rows", "policy", "wanted"),
    [
        ([{"latency_ms": 5}, {"error": "crash"}], LATENCY, (None, None)),
        ([{"latency_ms": 5}, {"error": "crash"}], LATENCY | {"latency_limit": 15}, (10, 10)),
        ([{"latency_ms": 5}, {"error": "crash", "latency_ms": 7}], LATENCY, (6, 6)),
        ([{"latency_ms": 5}, {}], LATENCY | {"latency_limit": 15}, (10, Fraction(5, 2))),
        ([{"latency_ms": 20}, {}], LATENCY | {"latency_limit": 15}, (None, None)),
        ([{"latency_ms": 20}, {"latency_ms": 10}], LATENCY | {"latency_limit": 15}, (15, 15)),
        ([{"rubric": 4}, {"error": "crash"}], {"metrics": [RUBRIC]}, (None, None)),
        (
            [{"rubric": 4}, {"error": "crash"}],
            {"metrics": [RUBRIC | {"range": "1-5"}]},
            (Fraction(5, 2), Fraction(5, 2)),
        ),
        ([{"rubric": 4}, {}], {"metrics": [RUBRIC | {"range": "1-5"}]}, (Fraction(5, 2), Fraction(9, 2))),
        (
            [{"rubric": 4}, {}],
            {"metrics": [RUBRIC | {"range": "1-5", "better": "lower"}]},
            (Fraction(9, 2), Fraction(5, 2)),
        ),
    ],
)
def test_a_mean_without_bounds_needs_an_end_for_what_is_not_there(rows, policy, wanted):
    assert ends("m", *rows, policy=policy) == wanted


def test_tokens_count_at_their_limit_and_an_error_has_no_quality():
    rows = [{"quality_score": 1, "tokens_used": 50}, {"error": "crash", "quality_score": 1}]
    assert ends("token_efficiency", *rows) == (None, None)
    assert ends("token_efficiency", *rows, policy={"tokens_limit": 150}) == (Fraction(1, 200), Fraction(1, 200))


# --- rules and verdicts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bound", "outcome"),
    [("≥ 50%", "pass"), ("≥ 51%", "inconclusive"), ("≥ 100%", "inconclusive"), ("= 50%", "inconclusive")],
)
def test_a_rule_passes_if_it_does_at_worst_and_at_best(bound, outcome):
    rows = [{"id": "a", "passed": True}, {"id": "b"}]
    judged = judge(rows, {"composite": {"formula": "pass_rate", "pass": f"final_score {bound}"}})
    assert judged.rules["composite.pass"].outcome == judged.verdict == outcome


def test_a_rule_that_passes_in_neither_has_the_outcome_at_worst():
    rows = [{"id": "a", "correct": False}, {"id": "b"}, {"id": "c", "passed": True, "latency_ms": 9}]
    rules = {"blocking": {"accuracy": "≥ 90%", "latency_p95": "< 5ms"}}
    judged = judge(rows, {"thresholds": rules})
    assert judged.rules["thresholds.blocking.accuracy"].outcome == "fail"
    assert judged.rules["thresholds.blocking.latency_p95"].outcome == "undefined"


def test_undecided_trials_and_scenarios_are_counted():
    rows = [
        {"id": "a", "trial": 1, "passed": True},
        {"id": "a", "trial": 2, "unjudged": "judge failed"},
        {"id": "b", "trial": 1},
        {"id": "b", "trial": 2, "passed": False},
        {"id": "c", "passed": True},
    ]
    judged = judge(rows, {"required_scenarios": {"ids": ["a", "b", "c"]}})
    assert (judged.counts["undecided"], judged.counts["unjudged"], judged.counts["failed"]) == (2, 1, 1)
    assert (judged.undecided, judged.failed) == ({"a"}, {"b"})
    assert [judged.rules[f"required_scenarios.{name}"].outcome for name in "abc"] == ["inconclusive", "fail", "pass"]


@pytest.mark.parametrize(
    ("demand", "row", "outcome"),
    [
        ({"expected_behaviors": ["x"]}, {"passed": True}, "fail"),
        ({"expected_behaviors": ["x"]}, {"behaviors": []}, "pass"),
        ({"must_not": ["y"]}, {"passed": True}, "fail"),
        ({"must_not": ["y"]}, {"violations": []}, "pass"),
        ({"must_not": ["y"]}, {"behaviors": []}, "pass"),
        ({"must_not": ["y"]}, {"behaviors": ["y"]}, "fail"),
        ({"must_not": ["y"]}, {"must_not": {"y": False}}, "pass"),
        ({"must_not": ["y"]}, {"must_not": {"y": None}}, "fail"),
        ({"expected": "yes"}, {"predicted": "no"}, "pass"),
        ({"expected": "yes"}, {"passed": True}, "fail"),
        ({"answer": "yes"}, {"predicted": "yes"}, "fail"),
        ({"answer": "yes"}, {"correct": False}, "pass"),
        ({"answer": "yes"}, {"error": "crash"}, "fail"),
        ({"answer": "yes"}, {"error": "crash", "correct": False}, "pass"),
        ({"answer": "yes"}, {"error": "crash", "highbar_run": {"id": "r"}}, "pass"),
        ({"answer": "yes"}, {"unjudged": "not run"}, "inconclusive"),
    ],
)
def test_what_the_suite_demands_must_have_been_looked_at(demand, row, outcome):
    assert judge([{"id": "a", **row}], {}, [{"id": "a", **demand}]).rules["suite"].outcome == outcome
