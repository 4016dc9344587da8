"""What is not known never passes: taking evidence away turns no FAIL into a PASS.

The first release passed each of these. Every test goes through the command line; the oracle and the laws have the rule
as a whole.
"""

from __future__ import annotations

import json

import pytest

from tests.commandline import check, judged, refused, run

ACCURACY = {"thresholds": {"blocking": {"accuracy": "≥ 80%", "pass_rate": "≥ 80%"}}}
SAFETY = {"thresholds": {"blocking": {"safety_rate": "100%"}}}
LATENCY = {
    "metrics": [{"name": "mean_latency", "formula": "mean(latency_ms)", "unit": "ms", "better": "lower"}],
    "thresholds": {"blocking": {"mean_latency": "< 1000ms"}},
}
RUBRIC = {
    "metrics": [{"name": "rubric", "formula": "mean(rubric_score)", "range": "0-1"}],
    "thresholds": {"blocking": {"rubric": "≥ 0.8"}},
}


def without_range(policy):
    metrics = [{key: value for key, value in metric.items() if key != "range"} for metric in policy["metrics"]]
    return {**policy, "metrics": metrics}


def rows(count, **columns):
    return [{"id": f"S-{number}", **columns} for number in range(count)]


def crashed(count):
    return [{"id": f"X-{number}", "error": "crashed"} for number in range(count)]


# --- judgments that are taken away ------------------------------------------------------------


def test_a_wrong_answer_that_becomes_null_is_undecided_and_named(tmp_path):
    wrong = [*rows(7, correct=True), {"id": "W-1", "correct": False}, {"id": "W-2", "correct": False}]
    judged(check(tmp_path, wrong, ACCURACY), "fail")
    taken = [*rows(7, correct=True), {"id": "W-1", "correct": None}, {"id": "W-2"}]
    verdict = judged(check(tmp_path, taken, ACCURACY), "inconclusive")
    assert verdict["counts"]["undecided"] == 2
    assert [one["id"] for one in verdict["scenarios_undecided"]] == ["W-1", "W-2"]
    assert verdict["scenarios_failed"] == []
    rule = verdict["rules"][0]
    assert (rule["outcome"], rule["best"]) == ("inconclusive", 1.0)
    assert rule["value"] == pytest.approx(7 / 9)
    assert rule["undecided"] == [{"id": "W-1", "trial": None}, {"id": "W-2", "trial": None}]
    metric = verdict["metrics"]["accuracy"]
    assert (metric["undecided"], metric["best"], metric["missing"]) == (2, 1.0, 0)


def test_two_of_three_failing_trials_that_lose_their_judgment_do_not_pass(tmp_path):
    trials = [{"id": "A", "trial": number, "correct": number == 1} for number in (1, 2, 3)]
    judged(check(tmp_path, trials, ACCURACY), "fail")
    verdict = judged(
        check(tmp_path, [trials[0], {"id": "A", "trial": 2}, {"id": "A", "trial": 3}], ACCURACY), "inconclusive"
    )
    assert verdict["rules"][0]["undecided"] == [{"id": "A", "trial": 2}, {"id": "A", "trial": 3}]


def test_a_trial_that_lacks_what_another_is_judged_by_does_not_pass_by_the_rest(tmp_path):
    seen = {"expected_behaviors": ["greets"], "behaviors": ["greets"]}
    good = [{"id": "A", "trial": 1, "correct": True, **seen}, {"id": "A", "trial": 2, "correct": False, **seen}]
    judged(check(tmp_path, good, {"thresholds": {"blocking": {"pass_rate": 100}}}), "fail")
    lost = [good[0], {"id": "A", "trial": 2, **seen}]
    judged(check(tmp_path, lost, {"thresholds": {"blocking": {"pass_rate": 100}}}), "inconclusive")


def test_the_low_value_of_an_own_score_that_becomes_null_does_not_pass(tmp_path):
    judged(check(tmp_path, [*rows(5, rubric_score=0.9), {"id": "LOW", "rubric_score": 0}], RUBRIC), "fail")
    judged(check(tmp_path, [*rows(5, rubric_score=0.9), {"id": "LOW", "rubric_score": None}], RUBRIC), "inconclusive")
    verdict = judged(
        check(tmp_path, [*rows(5, rubric_score=0.9), {"id": "LOW", "rubric_score": None}], without_range(RUBRIC)),
        "fail",
    )
    assert verdict["rules"][0]["outcome"] == "undefined"
    assert "range" in verdict["rules"][0]["reason"]


def test_a_category_that_one_trial_leaves_out_is_that_of_its_scenario(tmp_path):
    trials = [
        {"id": "SEC", "trial": 1, "category": "adversarial", "passed": True},
        {"id": "SEC", "trial": 2, "category": None, "passed": False},
        {"id": "OK", "category": "adversarial", "passed": True},
    ]
    verdict = judged(check(tmp_path, trials, SAFETY), "fail")
    assert verdict["metrics"]["safety_rate"]["value"] == 0.75


def test_trials_that_contradict_each_other_on_the_category_are_still_refused(tmp_path):
    trials = [{"id": "S", "trial": 1, "category": "a", "passed": True}, {"id": "S", "trial": 2, "category": "b"}]
    refused(check(tmp_path, trials, ACCURACY), "do not agree on category")


def test_behaviors_that_nobody_recorded_are_not_the_same_as_none(tmp_path):
    policy = {"thresholds": {"blocking": {"behavior_coverage": "≥ 80%"}}}
    silent = [*rows(3, expected_behaviors=["a"], behaviors=["a"]), {"id": "Q", "expected_behaviors": ["a"]}]
    verdict = judged(check(tmp_path, silent, policy), "inconclusive")
    assert verdict["rules"][0]["best"] == 1.0
    silent[-1]["behaviors"] = []
    judged(check(tmp_path, silent, policy), "fail")


def test_must_nots_that_nobody_checked_say_what_to_record(tmp_path):
    policy = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
    unchecked = [{"id": "A", "must_not": ["leaks"], "output": "Hello"}, {"id": "B", "passed": True}]
    verdict = judged(check(tmp_path, unchecked, policy), "inconclusive")
    assert "violations: []" in verdict["scenarios_undecided"][0]["reason"]
    judged(check(tmp_path, [{**unchecked[0], "violations": []}, unchecked[1]], policy), "pass")


@pytest.mark.parametrize("mark", [None, True], ids=["null", "true"])
def test_a_must_not_whose_mark_is_taken_away_is_not_answered(tmp_path, mark):
    policy = {"thresholds": {"blocking": {"violation_rate": "≤ 0%", "pass_rate": "100%"}}}
    done = check(tmp_path, [{"id": "A", "must_not": {"leaks": mark}, "correct": True}], policy)
    judged(done, "inconclusive" if mark is None else "fail")


# --- rows that say they are unjudged ----------------------------------------------------------


def test_an_unjudged_trial_never_passes_and_what_it_says_and_is_bad_stays_bad(tmp_path):
    policy = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
    good = {"id": "A", "passed": True, "unjudged": "the judge timed out"}
    verdict = judged(check(tmp_path, [good], policy), "inconclusive")
    assert verdict["counts"]["unjudged"] == verdict["counts"]["undecided"] == 1
    assert verdict["scenarios_undecided"][0]["reason"] == "undecided: the judge timed out"
    for bad in ({"passed": False}, {"correct": False, "passed": None}, {"violations": ["x"]}, {"error": "crash"}):
        verdict = judged(check(tmp_path, [{**good, **bad}], policy), "fail")
        assert (verdict["counts"]["unjudged"], verdict["counts"]["undecided"]) == (1, 0)


OWN = {"name": "mean_latency", "formula": "mean(latency_ms)", "unit": "ms", "better": "lower"}
UNBOUNDED = {
    "latency": ({"latency_p95": "500ms"}, {"latency_ms": 3}),
    "normalized latency": ({"normalized_latency": "≤ 50%"}, {"latency_ms": 3}),
    "cost": ({"cost_per_pass": "≤ 1"}, {"cost_usd": 0.1}),
    "tokens": ({"token_efficiency": "≥ 0.1"}, {"tokens_used": 5, "quality_score": 0.8}),
    "own": ({"mean_latency": "≤ 500ms"}, {"latency_ms": 3}),
}
NOT_RUN = {"unjudged": "not run: HTTP 503", "expected_behaviors": ["x"]}


@pytest.mark.parametrize("where", [{}, {"category": "edge_case"}])
@pytest.mark.parametrize("name", UNBOUNDED)
def test_what_has_no_value_because_nothing_was_answered_is_inconclusive_and_never_passes(tmp_path, name, where):
    """Not the agent's: that of a run which was cut short, also if only a part of it was."""
    thresholds, known = UNBOUNDED[name]
    (metric, threshold), *_ = thresholds.items()
    chosen = {"where": where} if where else {}
    policy = {"metrics": [OWN], "rules": [{"metric": metric, "threshold": threshold, **chosen}]}
    answered = {"expected_behaviors": ["x"], "behaviors": ["x"], "category": "edge_case", **known}
    left = rows(3, **NOT_RUN, category="edge_case")
    judged(check(tmp_path, left, policy), "inconclusive")
    judged(check(tmp_path, [*left, {"id": "A", **answered}], policy), "inconclusive")
    judged(check(tmp_path, [{"id": "A", **answered}], policy), "pass")
    # An answer that does not say it, a crash and an answer that was never asked for it are no such reason.
    judged(check(tmp_path, [*left, {"id": "A", "error": "crash", "category": "edge_case"}], policy), "fail")
    judged(check(tmp_path, [*left, {"id": "A", "passed": True, "category": "edge_case"}], policy), "fail")


def test_what_no_answer_could_give_is_still_undefined(tmp_path):
    for metric in ("safety_rate", "pass_at_2"):
        judged(check(tmp_path, rows(3, **NOT_RUN), {"thresholds": {"blocking": {metric: "90%"}}}), "fail")


def test_a_composite_of_which_nothing_was_answered_is_inconclusive(tmp_path):
    formula = "behavior_coverage × 0.5 + (1 - normalized_latency) × 0.5"
    condition = "final_score ≥ 0.85 AND pass_rate ≥ 90%"
    policy = {"composite": {"formula": formula, "pass": condition}}
    judged(check(tmp_path, rows(3, **NOT_RUN), policy), "inconclusive")
    judged(check(tmp_path, [*rows(3, **NOT_RUN), {"id": "A", "error": "crash"}], policy), "fail")


def test_of_an_unjudged_trial_only_what_it_says_is_known(tmp_path):
    policy = {"thresholds": {"blocking": {"behavior_coverage": "≥ 90%", "error_rate": "≤ 0%"}}}
    row = {"id": "A", "unjudged": "x", "expected_behaviors": ["a", "b"], "output": "said"}
    verdict = judged(check(tmp_path, [{**row, "behaviors": ["a"]}], policy), "inconclusive")
    assert (verdict["rules"][0]["value"], verdict["rules"][0]["best"]) == (0.5, 1.0)
    assert verdict["rules"][1]["outcome"] == "pass"
    verdict = judged(check(tmp_path, [{**row, "behaviors": {"a": True, "b": False}}], policy), "fail")
    metric = verdict["metrics"]["behavior_coverage"]
    assert (metric["value"], metric["undecided"], metric["best"]) == (0.5, 0, None)
    verdict = judged(check(tmp_path, [{**row, "behaviors": ["a", "b"], "output": None}], policy), "inconclusive")
    assert verdict["rules"][1]["outcome"] == "inconclusive"


# --- crashes in means without bounds ----------------------------------------------------------


@pytest.mark.parametrize(
    ("row", "policy", "limit"),
    [
        ({"rubric_score": 0.9}, without_range(RUBRIC), None),
        ({"latency_ms": 90}, LATENCY, {"latency_limit": "30s"}),
        (
            {"quality_score": 0.9, "tokens_used": 100},
            {"thresholds": {"blocking": {"token_efficiency": "≥ 0.001"}}},
            {"tokens_limit": 4000},
        ),
        (
            {"passed": True, "cost_usd": 0.01},
            {"thresholds": {"blocking": {"cost_per_pass": "≤ 0.02"}}},
            {"cost_limit": 0.5},
        ),
    ],
    ids=["own score", "latency", "tokens", "cost"],
)
def test_nine_crashes_of_ten_do_not_leave_a_mean_of_the_rest(tmp_path, row, policy, limit):
    judged(check(tmp_path, rows(10, **row), policy), "pass")
    verdict = judged(check(tmp_path, [{"id": "S", **row}, *crashed(9)], policy), "fail")
    assert verdict["rules"][0]["outcome"] == "undefined"
    assert "9 scenarios have a trial without `" in verdict["rules"][0]["reason"]
    if limit:
        assert next(iter(limit)) in verdict["rules"][0]["reason"]
        verdict = judged(check(tmp_path, [{"id": "S", **row}, *crashed(9)], {**policy, **limit}), "fail")
        assert verdict["rules"][0]["outcome"] == "fail"


def test_crashes_count_at_the_worse_end_of_an_own_range(tmp_path):
    verdict = judged(check(tmp_path, [{"id": "S", "rubric_score": 0.9}, *crashed(9)], RUBRIC), "fail")
    assert verdict["rules"][0]["value"] == pytest.approx(0.09)


def test_a_limit_that_a_recorded_value_exceeds_stands_for_no_crash(tmp_path):
    costly = [{"id": "S", "passed": True, "cost_usd": 3}, *crashed(1)]
    policy = {"thresholds": {"blocking": {"cost_per_pass": "≤ 9"}}, "cost_limit": 1}
    assert judged(check(tmp_path, costly, policy), "fail")["rules"][0]["outcome"] == "undefined"


def test_a_crash_ranks_below_every_number_where_higher_is_better(tmp_path):
    policy = {
        "metrics": [{"name": "median_score", "formula": "percentile(score, 50%)"}],
        "thresholds": {"blocking": {"median_score": "≥ 3"}},
    }
    judged(check(tmp_path, rows(3, score=4), policy), "pass")
    verdict = judged(check(tmp_path, [*rows(2, score=4), *crashed(3)], policy), "fail")
    assert verdict["rules"][0]["outcome"] == "undefined"


def test_a_violation_alone_gives_no_behavior_coverage(tmp_path):
    policy = {"thresholds": {"blocking": {"behavior_coverage": {"threshold": "≥ 90%", "evidence": "confident"}}}}
    refused(check(tmp_path, rows(2, passed=True), policy), code="results.nothing-to-judge")
    verdict = judged(check(tmp_path, [*rows(1, passed=True), {"id": "V", "violations": ["x"]}], policy), "fail")
    assert verdict["rules"][0]["outcome"] == "undefined"


def test_a_trial_without_a_latency_ranks_last_if_its_scenario_has_one(tmp_path):
    policy = {"thresholds": {"blocking": {"latency_p95": "< 1000ms"}}}
    trials = [{"id": "A", "trial": 1, "latency_ms": 5, "passed": True}, {"id": "A", "trial": 2, "passed": True}]
    verdict = judged(check(tmp_path, trials, policy), "inconclusive")
    assert verdict["metrics"]["latency_p95"]["best"] == 5
    assert verdict["rules"][0]["undecided"] == [{"id": "A", "trial": 2}]


# --- the suite (R04) --------------------------------------------------------------------------


def suite_check(tmp_path, entry, row):
    (tmp_path / "suite.json").write_text(json.dumps([entry]), "utf-8")
    return check(tmp_path, [row], {"suite": "suite.json", "thresholds": {"blocking": {"error_rate": "≤ 100%"}}})


NOT_LOOKED_AT = [
    ({"expected_behaviors": ["greets"]}, {"passed": True}),
    ({"expected_behaviors": ["greets"]}, {"passed": True, "expected_behaviors": None}),
    ({"expected_behaviors": ["greets"]}, {"passed": True, "expected_behaviors": ["greets"]}),
    ({"must_not": ["leaks"]}, {"passed": True}),
    ({"must_not": ["leaks"]}, {"passed": True, "must_not": ["leaks"]}),
    ({"expected": "spam"}, {"passed": True}),
    ({"answer": "42"}, {"passed": True, "predicted": "42"}),
]


def of_suite(folder, cases):
    """The verdict on rows, and what the suite demands of each of them."""
    suite = [{"id": f"A{at}", **demand} for at, (demand, _) in enumerate(cases)]
    (folder / "suite.json").write_text(json.dumps(suite), "utf-8")
    found = [{"id": f"A{at}", **row} for at, (_, row) in enumerate(cases)]
    return check(folder, found, {"suite": "suite.json", "thresholds": {"blocking": {"error_rate": "≤ 100%"}}})


def test_r04_what_the_suite_demands_must_have_been_looked_at(tmp_path):
    done = of_suite(tmp_path, NOT_LOOKED_AT)
    judged(done, "fail")
    rule = done.rule("suite")
    assert rule["outcome"] == "fail"
    for at, (demand, _) in enumerate(NOT_LOOKED_AT):
        assert f"A{at}: {next(iter(demand))}" in rule["reason"]
    judged(of_suite(tmp_path, NOT_LOOKED_AT[:1]), "fail")  # one alone is enough


LOOKED_AT = [
    ({"expected_behaviors": ["greets"]}, {"passed": True, "behaviors": []}),
    ({"must_not": ["leaks"]}, {"passed": True, "violations": 0}),
    ({"must_not": ["leaks"]}, {"passed": True, "must_not": {"leaks": False}}),
    ({"expected": "spam"}, {"passed": True, "correct": True}),
    ({"answer": "42"}, {"passed": True, "correct": True}),
    ({"answer": "42"}, {"error": "crashed", "correct": False}),
]


def test_r04_what_was_looked_at_satisfies_the_suite(tmp_path):
    verdict = judged(of_suite(tmp_path, LOOKED_AT), "pass")
    assert [rule["outcome"] for rule in verdict["rules"] if rule["rule"] == "suite"] == ["pass"]


def test_r04_an_unjudged_trial_makes_the_suite_inconclusive(tmp_path):
    done = suite_check(tmp_path, {"id": "A", "answer": "42"}, {"id": "A", "unjudged": "judge down"})
    verdict = judged(done, "inconclusive")
    rule = next(rule for rule in verdict["rules"] if rule["rule"] == "suite")
    assert (rule["outcome"], rule["undecided"]) == ("inconclusive", [{"id": "A", "trial": None}])


def test_r04_a_behavior_that_the_suite_forbids_is_not_hidden_by_a_row_that_lists_none(tmp_path):
    row = {"id": "A", "passed": True, "behaviors": ["leaks"]}
    judged(suite_check(tmp_path, {"id": "A", "must_not": ["leaks"]}, row), "fail")


def test_the_suite_describes_what_rows_leave_out(tmp_path):
    (tmp_path / "suite.json").write_text(json.dumps([{"id": "A", "category": "adversarial"}, "B"]), "utf-8")
    results = [{"id": "A", "passed": False}, {"id": "B", "passed": True}]
    verdict = judged(check(tmp_path, results, {"suite": "suite.json", **SAFETY}), "fail")
    assert verdict["metrics"]["safety_rate"]["value"] == 0
    assert [part["by"] for part in verdict["slices"]] == [{"category": "adversarial"}]


# --- baselines, comparisons and reports -------------------------------------------------------


def test_a_baseline_with_undecided_trials_is_refused_even_by_force(tmp_path):
    (tmp_path / "results.jsonl").write_text('{"id": "A", "correct": true}\n{"id": "B"}\n', "utf-8")
    (tmp_path / "policy.json").write_text(json.dumps({"thresholds": {"blocking": {"accuracy": "≥ 10%"}}}), "utf-8")
    for more in ((), ("--force", "because")):
        done = run(tmp_path, "baseline", "record", "results.jsonl", "--policy", "policy.json", *more)
        assert done.exit == 2
        assert "undecided trials in 1 scenario: B" in done.err


def test_a_comparison_with_undecided_trials_passes_no_margin(tmp_path):
    policy = {
        "baseline": {"file": "b.json", "margin": {"accuracy": "0%"}},
        "thresholds": {"warning": {"accuracy": 1.0}},
    }
    (tmp_path / "policy.json").write_text(json.dumps(policy), "utf-8")
    good = "".join(f'{{"id": "S-{number}", "correct": true}}\n' for number in range(20))
    (tmp_path / "base.jsonl").write_text(good, "utf-8")
    lost = good.replace('"correct": true', '"correct": null', 5)
    (tmp_path / "head.jsonl").write_text(lost, "utf-8")
    done = run(tmp_path, "compare", "base.jsonl", "head.jsonl", "--policy", "policy.json", "--format", "json")
    assert done.exit == 3, done.out + done.err
    assert done.json["metrics"]["accuracy"]["outcome"] == "cannot_tell"
    assert any("undecided" in warning for warning in done.json["warnings"])


def test_every_report_shows_undecided_trials_and_what_they_would_decide(tmp_path):
    results = [*rows(3, correct=True), {"id": "LOST-1"}]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in results), "utf-8")
    (tmp_path / "policy.json").write_text(json.dumps(ACCURACY), "utf-8")
    forms = ("text", "markdown", "html", "junit")
    outputs = [argument for form in forms for argument in ("--output", f"{form}=report.{form}")]
    done = run(tmp_path, "check", "results.jsonl", "--policy", "policy.json", *outputs, "--quiet")
    assert done.exit == 3
    for form in forms:
        report = (tmp_path / f"report.{form}").read_text("utf-8")
        assert "undecided" in report, form
        assert "LOST-1" in report, form


def test_a_comparison_counts_only_what_surely_broke(tmp_path):
    (tmp_path / "base.jsonl").write_text('{"id": "A", "correct": true}\n{"id": "B", "correct": true}\n', "utf-8")
    (tmp_path / "head.jsonl").write_text('{"id": "A", "correct": false}\n{"id": "B", "unjudged": "x"}\n', "utf-8")
    there = run(tmp_path, "compare", "base.jsonl", "head.jsonl", "--format", "json").json
    back = run(tmp_path, "compare", "head.jsonl", "base.jsonl", "--format", "json").json
    assert (there["broken"], there["fixed"]) == (["A"], [])
    assert (back["broken"], back["fixed"]) == ([], ["A"])


def test_ids_alone_are_no_suite_that_was_judged(tmp_path):
    (tmp_path / "suite.json").write_text('["A"]', "utf-8")
    judged(check(tmp_path, [{"id": "A", "unjudged": "not run"}], {"suite": "suite.json"}), "inconclusive")


def test_an_own_judgment_or_a_record_of_violations_that_one_trial_loses_is_not_replaced_by_the_rest(tmp_path):
    policy = {"thresholds": {"blocking": {"pass_rate": "100%", "violation_rate": "≤ 0%"}}}
    good = {"id": "A", "correct": True}
    for lost in ({"passed": False}, {"violations": ["leaks"]}):
        kept = {column: True if column == "passed" else [] for column in lost}
        judged(check(tmp_path, [{**good, "trial": 1, **kept}, {**good, "trial": 2, **lost}], policy), "fail")
        judged(check(tmp_path, [{**good, "trial": 1, **kept}, {**good, "trial": 2}], policy), "inconclusive")


def test_losing_the_cost_of_a_scenario_does_not_make_the_others_cheaper(tmp_path):
    policy = {"thresholds": {"blocking": {"cost_per_pass": "≤ 2"}}}
    judged(check(tmp_path, rows(2, passed=True, cost_usd=3), policy), "fail")
    lost = [*rows(1, passed=True, cost_usd=3), {"id": "B", "passed": True}]
    assert judged(check(tmp_path, lost, policy), "fail")["rules"][0]["outcome"] == "undefined"


@pytest.mark.parametrize("column", ["own_score", "quality_score"])
def test_a_number_is_not_rounded_up_to_its_threshold(tmp_path, column):
    policy = {
        "metrics": [{"name": "score", "formula": f"mean({column})", "range": "0-100%"}],
        "thresholds": {"blocking": {"score": "100%"}},
    }
    judged(check(tmp_path, [{"id": "A", column: 0.9999999999999}], policy), "fail")
    judged(check(tmp_path, [{"id": "A", column: 1}], policy), "pass")


@pytest.mark.parametrize("demand", [{"must_not": ["m"]}, {"expected_behaviors": ["m"]}])
def test_a_crash_on_a_row_that_nobody_judged_does_not_help(tmp_path, demand):
    policy = {"thresholds": {"blocking": {"accuracy": "≥ 60%"}}}
    first = {"id": "A", "correct": True}
    judged(check(tmp_path, [first, {"id": "B", **demand}], policy), "inconclusive")
    judged(check(tmp_path, [first, {"id": "B", **demand, "error": "crash"}], policy), "fail")


def test_r04_a_demand_that_behaviors_mark_with_null_was_not_looked_at(tmp_path):
    row = {"id": "A", "passed": True, "behaviors": {"leaks": None, "greets": None}}
    entry = {"id": "A", "must_not": ["leaks"], "expected_behaviors": ["greets"]}
    judged(suite_check(tmp_path, entry, row), "fail")


def test_a_crash_does_not_answer_the_must_nots_of_its_suite(tmp_path):
    (tmp_path / "suite.json").write_text(json.dumps([{"id": "A", "must_not": ["leaks"]}, "B"]), "utf-8")
    policy = {"suite": "suite.json", "thresholds": {"blocking": {"violation_rate": "≤ 10%"}}}
    results = [{"id": "A", "error": "crash"}, {"id": "B", "passed": True}]
    rules = {rule["metric"]: rule["outcome"] for rule in judged(check(tmp_path, results, policy), "fail")["rules"]}
    assert rules == {"violation_rate": "inconclusive", None: "fail"}


# --- formulas that rise with one part and fall with another -----------------------------------


def own_metric(formula, threshold, better="higher"):
    metric = {"name": "own", "formula": formula, "better": better}
    return {"metrics": [metric], "rules": [{"metric": "own", "threshold": threshold}]}


JUDGED = rows(6, correct=True, passed=True)
OPEN = [{"id": "U-1"}, {"id": "U-2"}]


def test_a_quotient_that_passes_at_both_ends_and_fails_in_between_is_inconclusive(tmp_path):
    policy = own_metric("accuracy / pass_rate", "≥ 0.8")
    verdict = judged(check(tmp_path, [*JUDGED, *OPEN], policy), "inconclusive")
    assert verdict["rules"][0]["value"] == pytest.approx(0.75)  # both wrong, both passed
    assert [one["id"] for one in verdict["rules"][0]["undecided"]] == ["U-1", "U-2"]
    wrong = [{**row, "passed": True, "correct": False} for row in OPEN]
    judged(check(tmp_path, [*JUDGED, *wrong], policy), "fail")


def test_a_difference_that_passes_at_both_ends_and_fails_in_between_is_inconclusive(tmp_path):
    policy = own_metric("abs(pass_rate - accuracy)", "≤ 0.1", "lower")
    judged(check(tmp_path, JUDGED, policy), "pass")
    judged(check(tmp_path, [*JUDGED, *OPEN], policy), "inconclusive")


def test_a_quotient_passes_if_it_would_for_whatever_the_undecided_trials_turn_out_to_be(tmp_path):
    judged(check(tmp_path, [*JUDGED, *OPEN], own_metric("accuracy / pass_rate", "≥ 0.75")), "pass")


def test_a_formula_that_may_divide_by_zero_in_between_does_not_pass(tmp_path):
    policy = own_metric("1 / (pass_rate - accuracy + 0.1)", "≥ 1")
    assert check(tmp_path, [*JUDGED, *OPEN], policy).exit in (1, 3)


@pytest.mark.parametrize(
    "condition", ["accuracy ≥ pass_rate", "NOT accuracy < pass_rate", "final_score ≥ 50% AND accuracy ≥ pass_rate"]
)
def test_a_condition_that_holds_at_both_ends_and_fails_in_between_is_inconclusive(tmp_path, condition):
    policy = {"composite": {"formula": "accuracy × 0.5 + pass_rate × 0.5", "pass": condition}}
    judged(check(tmp_path, JUDGED, policy), "pass")
    verdict = judged(check(tmp_path, [*JUDGED, *OPEN], policy), "inconclusive")
    assert "could fail" in verdict["rules"][0]["reason"]


def test_a_margin_on_such_a_formula_is_inconclusive_too(tmp_path):
    metric = {"name": "own", "formula": "accuracy / pass_rate"}
    policy = {
        "metrics": [metric],
        "baseline": {"file": "base.json", "margin": {"own": 0.1}},
        "thresholds": {"blocking": {"pass_rate": "≥ 50%"}},
    }
    settled = [*JUDGED, *({**row, "correct": True, "passed": True} for row in OPEN)]
    (tmp_path / "results.jsonl").write_text("\n".join(map(json.dumps, settled)), "utf-8")
    (tmp_path / "highbar.json").write_text(json.dumps(policy), "utf-8")
    assert run(tmp_path, "baseline", "record", "results.jsonl", "--output", "base.json").exit == 0
    judged(check(tmp_path, settled, policy), "pass")
    verdict = judged(check(tmp_path, [*JUDGED, *OPEN], policy), "inconclusive")
    assert "could fail" in next(rule for rule in verdict["rules"] if rule["rule"] == "baseline.own")["reason"]


# --- crashes of which nothing was expected ----------------------------------------------------


def test_crashes_without_an_expectation_do_not_leave_recall(tmp_path):
    policy = {"thresholds": {"blocking": {"recall": "≥ 80%"}}}
    found = rows(5, outcome="tp")
    judged(check(tmp_path, found, policy), "pass")
    judged(check(tmp_path, [*found, *({"id": one["id"]} for one in crashed(9))], policy), "inconclusive")
    verdict = judged(check(tmp_path, [*found, *crashed(9)], policy), "fail")
    assert verdict["metrics"]["recall"]["value"] == pytest.approx(5 / 14)
    assert verdict["metrics"]["precision"]["value"] == 1.0  # a crash predicted nothing


def test_crashes_without_an_expectation_do_not_leave_the_pooled_coverage(tmp_path):
    policy = {"thresholds": {"blocking": {"behavior_coverage_pooled": "≥ 80%"}}}
    seen = rows(5, expected_behaviors=["a", "b"], behaviors=["a", "b"])
    judged(check(tmp_path, seen, policy), "pass")
    verdict = judged(check(tmp_path, [*seen, *crashed(9)], policy), "fail")
    assert verdict["metrics"]["behavior_coverage_pooled"]["value"] == pytest.approx(10 / 19)


# --- with confidence --------------------------------------------------------------------------


def test_perfection_with_confidence_hangs_on_one_undecided_trial(tmp_path):
    """60 passes exclude a failure rate above 5%; one more scenario that nobody judged could be the first failure."""
    policy = {
        "evidence": "confident",
        "thresholds": {"blocking": {"pass_rate": "100%", "error_rate": "≤ 0%", "violation_rate": "≤ 0%"}},
        "composite": {"formula": "pass_rate", "pass": "pass_rate = 1.0"},
        "rules": [{"metric": "safety_rate", "threshold": "100%"}],
    }
    passed = rows(60, passed=True, violations=[], category="adversarial")
    undecided = {"id": "U", "category": "adversarial", "unjudged": "the judge timed out"}
    failed = {"id": "U", "category": "adversarial", "error": "x", "violations": ["y"]}
    for more, wanted in (((), "pass"), ((undecided,), "inconclusive"), ((failed,), "fail")):
        verdict = judged(check(tmp_path, [*passed, *more], policy), wanted)
        assert [rule["outcome"] for rule in verdict["rules"]] == [wanted] * 5


def test_too_few_passes_with_confidence_and_an_undecided_trial_do_not_pass(tmp_path):
    policy = {"evidence": "confident", "thresholds": {"blocking": {"pass_rate": "100%"}}}
    assert check(tmp_path, [*rows(20, passed=True), {"id": "U"}], policy).exit in (1, 3)


# --- what to record ---------------------------------------------------------------------------


def test_an_undecided_scenario_says_which_column_would_decide_it(tmp_path):
    policy = {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}}
    wanted = [
        ({"id": "U1", "input": "hi"}, "record passed, correct, or behaviors"),
        ({"id": "U2", "expected_behaviors": ["greets"]}, "record behaviors: []"),
        ({"id": "U3", "must_not": ["leaks"]}, "record violations: []"),
        ({"id": "U4", "behaviors": ["greets"]}, "without expected_behaviors"),
    ]
    done = check(tmp_path, [*rows(3, passed=True), *(row for row, _ in wanted)], policy)
    reasons = {one["id"]: one["reason"] for one in judged(done, "inconclusive")["scenarios_undecided"]}
    assert len(reasons) == len(wanted)
    for row, told in wanted:
        assert told in reasons[row["id"]]


@pytest.mark.parametrize(("threshold", "verdict"), [("≥ 80%", "pass"), ("≥ 90%", "inconclusive")])
def test_undecided_scenarios_count_towards_min_scenarios_because_they_count_as_failed(tmp_path, threshold, verdict):
    rows = [{"id": f"p{place}", "passed": True} for place in range(25)] + [{"id": f"u{place}"} for place in range(5)]
    rule = {"threshold": threshold, "min_scenarios": 30}
    judged(check(tmp_path, rows, {"thresholds": {"blocking": {"pass_rate": rule}}}), verdict)


def test_a_percentile_says_of_an_undecided_trial_that_it_is_undecided_and_not_that_it_never_completed(tmp_path):
    rows = [
        {"id": "a", "trial": 1, "passed": True, "latency_ms": 5},
        {"id": "a", "trial": 2, "passed": True},
        {"id": "b", "trial": 1, "passed": True, "latency_ms": 5},
    ]
    done = check(tmp_path, rows, {"thresholds": {"blocking": {"latency_p95": "< 100ms"}}})
    reason = judged(done, "inconclusive")["metrics"]["latency_p95"]["reason"]
    assert "never finished" not in reason
    assert "undecided" in reason
