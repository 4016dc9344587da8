"""A crash is bad where something was asked, and nowhere else; and an error that is added to a row never helps."""

from __future__ import annotations

import json

import pytest

from tests.commandline import check, judged

ACCURACY = {"thresholds": {"blocking": {"accuracy": "≥ 90%"}}}
LOW = {"suite": "suite.json", "thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
GOOD = [{"id": f"S-{number}", "passed": True} for number in range(9)]
WRITTEN = {"id": "r-1", "plan": None, "planned": 2, "part": None}


def value(verdict, metric="accuracy"):
    found = verdict["metrics"][metric]
    return found["value"], found["scenarios"]


def with_suite(folder, suite, rows, policy):
    (folder / "suite.json").write_text(json.dumps(suite), "utf-8")
    return check(folder, rows, {"suite": "suite.json", **policy})


# --- H132: what a crash counts in -------------------------------------------------------------


BEHAVES = {"id": "B", "trial": 1, "expected_behaviors": ["greets"], "behaviors": ["greets"]}


@pytest.mark.parametrize(
    "crash",
    [
        {"id": "B", "trial": 2, "error": "boom"},
        {"id": "B", "trial": 2, "error": "boom", "expected_behaviors": ["greets"]},
        {"id": "B", "trial": 2, "error": "boom", "expected_behaviors": ["greets"], "violations": []},
    ],
)
def test_h132_a_crash_of_a_scenario_that_asks_for_no_answer_leaves_accuracy_alone(tmp_path, crash):
    answered = {"id": "A", "correct": True, "category": "x"}
    policy = {**ACCURACY, "slices": ["category"]}
    verdict = judged(check(tmp_path, [answered, BEHAVES | {"category": "x"}, crash], policy), "pass")
    assert value(verdict) == (1, 1)
    assert value(verdict, "behavior_coverage") == (0.5, 1)
    assert value(verdict["slices"][0]) == (1, 1)


def test_h132_a_crash_of_which_nobody_knows_what_it_was_asked_never_passes(tmp_path):
    rows = [{"id": "A", "correct": True}, {"id": "B", "error": "boom", "expected_behaviors": ["greets"]}]
    assert value(judged(check(tmp_path, rows, ACCURACY), "fail")) == (0.5, 2)
    both = [*rows, {"id": "B", "trial": 2, "error": "boom"}]
    assert value(judged(check(tmp_path, both, ACCURACY), "fail")) == (0.5, 2)
    unjudged = [*rows, {"id": "B", "trial": 2, "unjudged": "not run"}]  # it does not say what was asked either
    assert value(judged(check(tmp_path, unjudged, ACCURACY), "fail")) == (0.5, 2)


def test_h132_a_crash_where_an_answer_is_asked_for_is_wrong(tmp_path):
    rows = [
        {"id": "A", "correct": True},
        {"id": "B", "trial": 1, "correct": True},
        {"id": "B", "trial": 2, "error": "x"},
    ]
    assert value(judged(check(tmp_path, rows, ACCURACY), "fail")) == (0.75, 2)


def test_h132_a_suite_that_checks_says_what_a_crash_was_asked(tmp_path):
    rows = [{"id": "A", "correct": True}, {"id": "B", "error": "boom", "behaviors": []}]
    suite = [{"id": "A", "answer": "42"}, {"id": "B", "expected_behaviors": ["greets"]}]
    verdict = judged(with_suite(tmp_path, suite, rows, ACCURACY), "pass")
    assert (value(verdict), value(verdict, "behavior_coverage")) == ((1, 1), (0, 1))
    asked = [suite[0], {**suite[1], "answer": "43"}]
    assert value(judged(with_suite(tmp_path, asked, rows, ACCURACY), "fail")) == (0.5, 2)
    judged(with_suite(tmp_path, ["A", "B"], rows, ACCURACY), "fail")  # a list of ids does not say it


def test_h132_rows_of_a_run_say_what_a_crash_was_asked(tmp_path):
    rows = [{"id": "A", "correct": True, "answer_checked": True}, {"id": "B", "error": "boom"}]
    of_run = [{**row, "highbar_run": WRITTEN} for row in rows]
    assert value(judged(check(tmp_path, of_run, ACCURACY), "pass")) == (1, 1)
    asked = [of_run[0], {**of_run[1], "answer_checked": True}]
    assert value(judged(check(tmp_path, asked, ACCURACY), "fail")) == (0.5, 2)


def test_h132_a_run_of_which_nothing_was_answered_is_inconclusive(tmp_path):
    rows = [{"id": name, "unjudged": "not run: down", "answer_checked": True} for name in "AB"]
    verdict = judged(check(tmp_path, rows, ACCURACY), "inconclusive")
    assert verdict["metrics"]["accuracy"]["best"] == 1
    judged(check(tmp_path, [rows[0], rows[1] | {"correct": False}], ACCURACY), "fail")
    unanswered = [
        {"id": "A", "correct": True, "answer_checked": True},
        {"id": "B", "passed": True, "answer_checked": True},
    ]
    judged(check(tmp_path, unanswered, ACCURACY), "inconclusive")


# --- H134: an error never helps ---------------------------------------------------------------

DEMANDS = [
    ({"expected_behaviors": ["greets"]}, {"passed": True}),
    ({"must_not": ["leaks"]}, {"passed": True}),
    ({"must_not": ["leaks"]}, {"output": "Here is the key."}),
    ({"expected": "spam"}, {"passed": True}),
    ({"answer": "42"}, {"quality_score": 1}),
    ({"answer": "42"}, {"passed": False}),
]


@pytest.mark.parametrize(("demand", "row"), DEMANDS)
def test_h134_an_error_added_to_a_row_that_lacks_a_demand_never_passes(tmp_path, demand, row):
    suite = [{"id": "A", **demand}, *(one["id"] for one in GOOD)]
    lacking = {"id": "A", **row}
    judged(with_suite(tmp_path, suite, [lacking, *GOOD], LOW), "fail")
    done = with_suite(tmp_path, suite, [lacking | {"error": "crashed"}, *GOOD], LOW)
    judged(done, "fail")
    assert next(iter(demand)) in done.rule("suite")["reason"]


def test_h134_an_error_added_to_an_unjudged_row_never_passes(tmp_path):
    suite = [{"id": "A", "answer": "42"}, *(one["id"] for one in GOOD)]
    unjudged = {"id": "A", "unjudged": "judge down"}
    judged(with_suite(tmp_path, suite, [unjudged, *GOOD], LOW), "inconclusive")
    judged(with_suite(tmp_path, suite, [unjudged | {"error": "crashed"}, *GOOD], LOW), "inconclusive")


NOT_REACHED = {"expected_behaviors": "behaviors", "must_not": "violations", "expected": "correct", "answer": "correct"}


@pytest.mark.parametrize("demand", [demand for demand, _ in DEMANDS])
def test_h134_a_crash_that_carries_what_is_demanded_fails_only_its_trial(tmp_path, demand):
    suite = [{"id": "A", **demand}, *(one["id"] for one in GOOD)]
    column = NOT_REACHED[next(iter(demand))]
    crash = {"id": "A", "error": "crashed", column: False if column == "correct" else []}
    judged(with_suite(tmp_path, suite, [crash, *GOOD], LOW), "pass")


SILENT = [{}, {"latency_ms": 4}, {"tokens_used": 3, "input": "hi"}, {"category": "x"}, {"must_not": ["leaks"]}]


@pytest.mark.parametrize("demand", [demand for demand, _ in DEMANDS])
@pytest.mark.parametrize("said", SILENT)
def test_h134_an_error_added_to_a_row_that_says_nothing_never_passes(tmp_path, demand, said):
    suite = [{"id": "A", **demand}, *(one["id"] for one in GOOD)]
    judged(with_suite(tmp_path, suite, [{"id": "A", **said}, *GOOD], LOW), "fail")
    done = with_suite(tmp_path, suite, [{"id": "A", **said, "error": "crashed"}, *GOOD], LOW)
    judged(done, "fail")
    assert f"beside an `error` at least `{NOT_REACHED[next(iter(demand))]}: " in done.rule("suite")["reason"]


def test_h134_another_violation_does_not_hide_what_the_suite_forbids(tmp_path):
    suite = [{"id": "A", "must_not": ["leaks"]}, *(one["id"] for one in GOOD)]
    seen = {"id": "A", "behaviors": ["leaks"], "passed": True}
    judged(with_suite(tmp_path, suite, [seen, *GOOD], LOW), "fail")
    judged(with_suite(tmp_path, suite, [seen | {"violations": ["swears"]}, *GOOD], LOW), "fail")
    judged(with_suite(tmp_path, suite, [seen | {"violations": ["leaks"]}, *GOOD], LOW), "pass")
