"""Trials that were planned and are not there are undecided, and trials that were repeated until they passed are seen.

Whoever deletes the rows of failed trials, or loses them, must not get a better verdict by it.
"""

from __future__ import annotations

import json
from random import Random

import pytest

from tests.commandline import check, judged, refused, run
from tests.runs.projects import python_project

IDS = [f"q{number}" for number in range(50)]
HIGH = {"thresholds": {"blocking": {"pass_rate": "≥ 95%"}}}
SURE = {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}, "evidence": "confident"}
BAR = {"thresholds": {"blocking": {"pass_rate": "≥ 85%"}}}
LIST = [{"id": name} for name in IDS]

PLANS = {
    "run": {"run": {"trials": 10}, "scenarios": LIST},
    "top": {"trials": 10, "scenarios": LIST},
    "defaults": {"defaults": {"trials": 10}, "scenarios": LIST},
    "scenarios": [{"id": name, "trials": 10} for name in IDS],
    "the nearest one": {
        "run": {"trials": 3},
        "defaults": {"trials": 5},
        "scenarios": [{**one, "trials": 10} for one in LIST],
    },
}


def trials(failed=46, each=10):
    """So many trials of each of 50 scenarios; one of the first `failed` scenarios' trials failed in each."""
    return [
        {"id": name, "trial": number, "passed": not (place < failed and number == 1 + place % each)}
        for place, name in enumerate(IDS)
        for number in range(1, each + 1)
    ]


def passed(rows):
    return [row for row in rows if row["passed"]]


def with_plan(folder, plan, rows, policy):
    (folder / "suite.json").write_text(json.dumps(plan), "utf-8")
    return check(folder, rows, {"suite": "suite.json", **policy})


# --- H129: planned trials ---------------------------------------------------------------------


@pytest.mark.parametrize("plan", PLANS)
def test_h129_failed_trials_that_the_suite_planned_and_nobody_recorded_never_pass(tmp_path, plan):
    judged(with_plan(tmp_path, PLANS[plan], trials(), HIGH), "fail")
    verdict = judged(with_plan(tmp_path, PLANS[plan], passed(trials()), HIGH), "inconclusive")
    assert verdict["counts"]["undecided"] == 46
    assert verdict["counts"]["unjudged"] == 0  # no row says it
    rule = next(rule for rule in verdict["rules"] if rule["metric"] == "pass_rate")
    assert (rule["outcome"], rule["value"], rule["best"]) == ("inconclusive", 0.908, 1)
    assert rule["undecided"][0] == {"id": "q0", "trial": 1}
    assert any("46 planned trials are not in the results" in note for note in verdict["warnings"])
    judged(with_plan(tmp_path, PLANS[plan], trials(failed=5), HIGH), "pass")


@pytest.mark.parametrize("policy", [HIGH, SURE])
def test_h129_nor_do_those_that_the_policy_planned(tmp_path, policy):
    before = check(tmp_path, trials(), {**policy, "trials": 10}).json["verdict"]
    assert before != "pass"
    judged(check(tmp_path, passed(trials()), {**policy, "trials": 10}), "inconclusive")
    judged(check(tmp_path, trials(failed=0), {**policy, "trials": 10}), "pass")


def test_h129_the_policy_comes_before_the_suite(tmp_path):
    judged(with_plan(tmp_path, PLANS["run"], passed(trials()), {**HIGH, "trials": 9}), "pass")
    judged(with_plan(tmp_path, {"run": {"trials": 3}, "scenarios": LIST}, passed(trials()), HIGH), "pass")


def test_h129_what_was_lost_and_decides_nothing_is_no_obstacle(tmp_path):
    policy = {"trials": 10, "thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}
    judged(check(tmp_path, passed(trials()), policy), "pass")


def test_h129_one_trial_for_all_of_several_never_passes(tmp_path):
    rows = [{"id": name, "passed": True} for name in IDS]  # not even a column for the number
    judged(check(tmp_path, rows, HIGH), "pass")
    verdict = judged(check(tmp_path, rows, {**HIGH, "trials": 3}), "inconclusive")
    assert verdict["counts"]["undecided"] == 100


def test_h129_as_recorded_waives_it_and_is_said(tmp_path):
    verdict = judged(with_plan(tmp_path, PLANS["run"], passed(trials()), {**HIGH, "trials": "as_recorded"}), "pass")
    assert any("as_recorded" in note for note in verdict["warnings"])


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "three", True, [3], 100_000])
def test_h129_another_number_is_refused(tmp_path, wrong):
    refused(check(tmp_path, trials(), {**HIGH, "trials": wrong}), "trials")


def test_h129_where_nothing_says_how_many_there_were_to_be_unequal_numbers_are_named(tmp_path):
    rows = [row for row in trials(failed=0) if (row["id"], row["trial"]) not in {("q7", 1), ("q7", 2), ("q8", 3)}]
    verdict = judged(check(tmp_path, rows, HIGH), "pass")
    (note,) = [note for note in verdict["warnings"] if "numbers of trials" in note]
    assert "10 (48 scenarios), 9 (q8), 8 (q7)" in note
    assert "trials: 10" in note
    assert not [note for note in judged(check(tmp_path, trials(0), HIGH), "pass")["warnings"] if "trials" in note]


@pytest.mark.parametrize("metric", ["pass_at_3", "pass_hat_10", "accuracy", "error_rate", "violation_rate"])
def test_h129_a_trial_that_is_not_there_is_undecided_for_every_metric(tmp_path, metric):
    rows = [{**row, "correct": row["passed"], "violations": [], "error": None} for row in trials(failed=0)]
    bar = {"rules": [f"{metric} {'<= 0%' if metric.endswith('_rate') else '>= 100%'}"], "trials": 10}
    judged(check(tmp_path, rows, bar), "pass")
    judged(check(tmp_path, rows[10:], bar), "pass")  # the policy does not say which scenarios there were to be
    judged(check(tmp_path, rows[1:], bar), "pass" if metric == "pass_at_3" else "inconclusive")
    verdict = judged(check(tmp_path, rows[8:], bar), "inconclusive")
    assert verdict["metrics"][metric]["undecided"] == 8


def test_h129_a_required_scenario_with_a_lost_trial_is_not_passed(tmp_path):
    policy = {"required_scenarios": ["q0"], "trials": 10}
    judged(check(tmp_path, trials(), policy), "fail")
    judged(check(tmp_path, passed(trials()), policy), "inconclusive")


def test_h129_ids_and_numbers_of_trials_of_any_kind(tmp_path):
    rows = [{"id": 1, "trial": 7, "passed": True}, {"id": 2, "passed": True}, {"id": "x", "trial": -3, "passed": True}]
    verdict = judged(check(tmp_path, rows, {**HIGH, "trials": 2, "slices": ["category"]}), "inconclusive")
    assert verdict["counts"]["undecided"] == 3
    csv = b"id,trial,passed,category\n1,1,true,a\n1,2,true,a\n2,1,true,b\n"
    verdict = judged(check(tmp_path, csv, {**HIGH, "trials": 2}, name="results.csv"), "inconclusive")
    assert [part["metrics"]["pass_rate"]["value"] for part in verdict["slices"]] == [1, 0.5]


def recorded(folder, rows, policy=BAR):
    """A folder with a baseline of these rows, and the policy that compares with it."""
    (folder / "before.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (folder / "highbar.json").write_text(json.dumps(policy), "utf-8")
    done = run(folder, "baseline", "record", "before.jsonl", "--policy", "highbar.json", "--output", "baseline.json")
    assert done.exit == 0, done.err
    return {**policy, "baseline": {"file": "baseline.json", "margin": {"pass_rate": "2%"}}}


def lost(rows, number=163):
    """The rows without so many at random, the failed ones first."""
    random = Random(5)
    failed = [row for row in rows if not row["passed"]]
    gone = failed + random.sample(passed(rows), number - len(failed))
    return [row for row in rows if row not in gone]


def test_h129_trials_that_the_baseline_has_and_the_run_lost_never_pass(tmp_path):
    policy = recorded(tmp_path, trials(failed=0))
    judged(check(tmp_path, trials(failed=46), policy), "fail")
    done = check(tmp_path, lost(trials(failed=46)), policy)
    verdict = judged(done, "inconclusive")
    assert verdict["counts"]["undecided"] == 163
    assert done.rule("baseline.pass_rate")["outcome"] == "inconclusive"
    judged(check(tmp_path, trials(failed=0), policy), "pass")
    judged(check(tmp_path, lost(trials(failed=46)), {**policy, "trials": "as_recorded"}), "pass")


def test_h129_nor_do_they_in_a_comparison(tmp_path):
    policy = recorded(tmp_path, trials(failed=0))
    (tmp_path / "policy.json").write_text(json.dumps(policy), "utf-8")

    def compared(rows, base):
        (tmp_path / "head.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return run(tmp_path, "compare", base, "head.jsonl", "--policy", "policy.json", "--format", "json")

    for base in ("baseline.json", "before.jsonl"):
        judged(compared(trials(failed=46), base), "fail")
        judged(compared(lost(trials(failed=46)), base), "inconclusive")
        judged(compared(trials(failed=0), base), "pass")


def test_h129_another_plan_is_a_note(tmp_path):
    policy = recorded(tmp_path, trials(failed=0))
    verdict = judged(check(tmp_path, trials(failed=0, each=7), policy), "pass")
    assert any("3 trials fewer" in note for note in verdict["warnings"])


@pytest.mark.process
def test_h129_the_plan_of_a_run_comes_before_its_suite(tmp_path):
    suite = [{"id": name, "input": name, "answer": {"contains": "yes"}, "trials": 3} for name in ("A", "B")]
    project = python_project(tmp_path, "def answer(said):\n    return 'yes ' + note(said)\n", suite)
    (tmp_path / "highbar.yaml").write_text("suite: suite.json\nthresholds: { blocking: { pass_rate: 95% } }\n", "utf-8")
    judged(project.run("--trials", "1"), "pass")
    judged(project.check(), "pass")
    judged(project.check("--policy", "highbar.yaml"), "pass")


# --- H130: tried again until it passed --------------------------------------------------------


def until_green(rate=0.7, scenarios=60, most=6):
    """What a harness records that tries a failed scenario again, and writes every attempt as a trial."""
    random = Random(11)
    rows = []
    for place in range(scenarios):
        for number in range(1, most + 1):
            rows.append({"id": f"q{place}", "trial": number, "passed": random.random() < rate})
            if rows[-1]["passed"]:
                break
    return rows


def test_h130_attempts_until_the_first_pass_are_not_taken_for_trials(tmp_path):
    rows = until_green()
    first = [row for row in rows if row["trial"] == 1]
    bar = {"thresholds": {"blocking": {"pass_rate": "≥ 70%"}}, "evidence": "confident"}
    assert check(tmp_path, first, bar).json["verdict"] == "inconclusive"
    verdict = judged(check(tmp_path, rows, bar), "inconclusive")
    assert any("tried again until they passed" in note for note in verdict["warnings"])
    assert "first trial of each scenario alone" in verdict["rules"][0]["reason"]
    by_estimate = judged(check(tmp_path, rows, {**bar, "evidence": "estimate"}), "pass")
    assert any("tried again until they passed" in note for note in by_estimate["warnings"])


def test_h130_nor_does_a_margin_that_must_be_sure_pass_by_them(tmp_path):
    random = Random(3)
    before = [{"id": f"q{place}", "trial": 1, "passed": random.random() < 0.75} for place in range(60)]
    policy = recorded(tmp_path, before, {"rules": ["pass_rate >= 0%"]})
    sure = {"margin": "40%", "evidence": "confident"}
    policy = {**policy, "baseline": {"file": "baseline.json", "margin": {"pass_rate": sure}}}
    judged(check(tmp_path, before, policy), "pass")
    verdict = judged(check(tmp_path, until_green(), policy), "inconclusive")
    (rule,) = [rule for rule in verdict["rules"] if rule["rule"].startswith("baseline")]
    assert "tried again until they passed" in rule["reason"]
    policy["baseline"]["margin"] = {"pass_rate": "40%"}
    judged(check(tmp_path, until_green(), policy), "pass")


def test_h130_nor_as_recorded_or_by_a_plan_of_one_trial(tmp_path):
    bar = {"thresholds": {"blocking": {"pass_rate": "≥ 70%"}}, "evidence": "confident"}
    for number in ("as_recorded", 1):
        judged(check(tmp_path, until_green(), {**bar, "trials": number}), "inconclusive")


def test_h130_a_trial_that_failed_at_the_end_shows_that_nobody_waited_for_a_pass(tmp_path):
    rows = [*until_green(), {"id": "x", "trial": 1, "passed": False}]
    bar = {"thresholds": {"blocking": {"pass_rate": "≥ 70%"}}, "evidence": "confident"}
    verdict = judged(check(tmp_path, rows, bar), "pass")
    assert not [note for note in verdict["warnings"] if "tried again" in note]


def test_h130_equal_numbers_of_trials_are_no_retries(tmp_path):
    rows = [{"id": f"q{place}", "trial": number, "passed": True} for place in range(60) for number in (1, 2, 3)]
    verdict = judged(check(tmp_path, rows, {**SURE, "trials": 3}), "pass")
    assert not [note for note in verdict["warnings"] if "trials" in note]
