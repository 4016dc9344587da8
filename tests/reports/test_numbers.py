"""What a check reports of its numbers, by the command line: bounds that hold, and sentences that are so."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from highbar.statistics.bounds import suite_bounds
from tests.commandline import Run, check, judged, refused, run

Row = dict[str, Any]
ESTIMATE = {"thresholds": {"blocking": {"pass_rate": ">= 0.8"}}}


def repeated(*passes: int, trials: int = 3, **columns: Any) -> list[Row]:
    """Scenarios of which so many trials passed."""
    return [
        {"id": f"s{place}", "trial": trial, "passed": trial <= passed, **columns}
        for place, passed in enumerate(passes)
        for trial in range(1, trials + 1)
    ]


def confident(thresholds: dict[str, str]) -> dict[str, Any]:
    return {"evidence": "confident", "thresholds": {"blocking": thresholds}}


# --- bounds -----------------------------------------------------------------------------------


def test_a_trial_that_breaks_lets_no_rule_pass(tmp_path):
    """The scenarios are more alike then, and the bound was nearer to the share than before by more than it fell."""
    policy = confident({"pass_rate": ">= 0.215"})
    judged(check(tmp_path, repeated(1, 1, 1, 1, 3), policy), "inconclusive")
    judged(check(tmp_path, repeated(1, 1, 1, 1, 2), policy), "inconclusive")


@pytest.mark.parametrize(("k", "trials", "worth"), [(2, 5, 2), (3, 5, 1), (2, 2, 1)])
def test_all_of_k_trials_of_the_whole_suite_count_as_one_trial(tmp_path, k, trials, worth):
    rows = repeated(*[trials] * 30, *[trials - 1] * 10, trials=trials)
    policy = {**confident({f"pass_hat_{k}": ">= 0.5"}), "population": "suite"}
    found = judged(check(tmp_path, rows, policy), "pass")["metrics"][f"pass_hat_{k}"]
    low, high = suite_bounds(Fraction(str(found["value"])), 40 * worth, 0.05)
    assert (found["low"], found["high"]) == pytest.approx((low, high), abs=1e-9)


# --- a second run -----------------------------------------------------------------------------


def stated(done: Run) -> tuple[float, float]:
    rule = done.rule("thresholds.blocking.pass_rate")
    return rule["second_run_low"], rule["second_run"]


def test_one_scenario_that_was_repeated_does_not_turn_the_range_into_a_point(tmp_path):
    rows = [{"id": f"s{place}", "trial": 1, "passed": place >= 6} for place in range(40)]
    low, high = stated(check(tmp_path, rows, ESTIMATE))
    again = [*rows, {"id": "s39", "trial": 2, "passed": True}]
    low_again, high_again = stated(check(tmp_path, again, ESTIMATE))
    assert low < high
    assert high_again - low_again > 0.9 * (high - low)
    all_twice = [*rows, *({**row, "trial": 2} for row in rows)]
    low_twice, high_twice = stated(check(tmp_path, all_twice, ESTIMATE))
    assert low_twice == high_twice


def test_undecided_trials_leave_the_correlation_of_trials_open(tmp_path):
    rows = [{"id": f"s{place}", "trial": trial, "passed": place >= 3} for place in range(40) for trial in (1, 2)]
    low, high = stated(check(tmp_path, rows, ESTIMATE))
    assert low == high
    undecided = [{**row, "passed": None} if (row["id"], row["trial"]) == ("s39", 2) else row for row in rows]
    done = check(tmp_path, undecided, ESTIMATE)
    assert done.json["counts"]["undecided"] == 1
    low, high = stated(done)
    assert low < high


# --- sentences --------------------------------------------------------------------------------


def text_of(folder: Path, *arguments: str) -> str:
    """Everything that a command prints, on one line."""
    verbose = ("-v",) if arguments[0] == "check" else ()
    return " ".join(run(folder, *arguments, "--format", "text", *verbose).out.split())


def some(passed: int, of: int, **columns: Any) -> list[Row]:
    return [{"id": f"s{place:03}", "passed": place < passed, **columns} for place in range(of)]


def test_check_and_plan_agree_on_what_is_settled(tmp_path):
    """The interval is clear of the threshold, and yet a second run may well be judged differently."""
    rows = some(189, 200)
    done = check(tmp_path, rows, {"thresholds": {"blocking": {"pass_rate": ">= 0.91"}}})
    rule = done.rule("thresholds.blocking.pass_rate")
    assert (rule["outcome"], rule["fragile"]) == ("pass", False)
    assert rule["second_run"] >= 0.05
    said = text_of(tmp_path, "check", "results.jsonl", "--policy", "policy.json")
    assert "Pass rate is at least 91% 94.5% up to 8% settled thresholds.blocking.pass_rate" in said
    planned = text_of(tmp_path, "plan", "results.jsonl", "--policy", "policy.json")
    assert "1 of 1 rules about a number are settled" in planned
    assert "thresholds.blocking.pass_rate 94.5% ≥ 91% 200 up to 8%" in planned


def test_what_would_settle_a_rule_of_a_slice_is_counted_in_scenarios_of_that_slice(tmp_path):
    rows = [*some(17, 20, category="a"), *({**row, "id": f"b{row['id']}"} for row in some(40, 40, category="b"))]
    rule = {"metric": "pass_rate", "threshold": ">= 0.8", "where": {"category": "a"}, "level": "blocking"}
    policy = {"evidence": "confident", "rules": [rule]}
    judged(check(tmp_path, rows, policy), "inconclusive")
    said = text_of(tmp_path, "check", "results.jsonl", "--policy", "policy.json")
    assert "scenarios of this slice would settle it" in said
    assert "of the slice" in text_of(tmp_path, "plan", "results.jsonl", "--policy", "policy.json")


@pytest.mark.parametrize("how", ["text", "markdown", "html"])
def test_a_rule_that_passes_in_spite_of_failures_says_how_many(tmp_path, how):
    demand = {"metric": "pass_rate", "threshold": ">= 100%", "tolerate": "5%", "failures": 1, "level": "blocking"}
    judged(check(tmp_path, some(199, 200), {"evidence": "confident", "rules": [demand]}), "pass")
    arguments = ("--format", how, "-v", "--width", "120")
    said = run(tmp_path, "check", "results.jsonl", "--policy", "policy.json", *arguments).out
    assert "1 failed, 1 accepted" in " ".join(said.split()) or "1 scenario failed, 1 is accepted" in said


@pytest.mark.parametrize("how", ["text", "markdown", "html"])
def test_thresholds_of_composites_and_baselines_are_written_as_all_others(tmp_path, how):
    policy = {
        "composite": {"formula": "0.5 * pass_rate + 0.5 * (1 - error_rate)", "pass": "final_score >= 0.85"},
        "baseline": {"file": "b.json", "margin": {"pass_rate": "5%"}},
    }
    (tmp_path / "policy.json").write_text(json.dumps({"composite": policy["composite"]}), "utf-8")
    check(tmp_path, some(56, 60), None)
    recorded = run(tmp_path, "baseline", "record", "results.jsonl", "--policy", "policy.json", "--output", "b.json")
    assert recorded.exit == 0
    done = check(tmp_path, some(55, 60), policy)
    assert done.rule("composite.pass")["threshold"] == "final_score >= 0.85"
    assert done.rule("baseline.pass_rate")["threshold"] == ">= baseline - 0.05"
    arguments = ("--format", how, "-v")
    said = " ".join(run(tmp_path, "check", "results.jsonl", "--policy", "policy.json", *arguments).out.split())
    assert "Final score is at least 85%" in said
    assert "Pass rate is at most 5 points below the baseline" in said
    assert "final_score >= 0.85" not in said.partition("Metrics")[0]


def test_a_number_that_is_too_large_is_not_called_infinite(tmp_path):
    metric = {"name": "rubric", "formula": "mean(rubric)", "range": "0 to 1", "better": "higher"}
    policy = {"metrics": [metric], "thresholds": {"blocking": {"rubric": ">= 0.5"}}}
    refused(check(tmp_path, [{"id": "a", "rubric": 1e307}], policy), "rubric", "1e18", code="row.wrong-value")
    refused(check(tmp_path, ['{"id": "a", "rubric": 1' + "0" * 400 + "}"], policy), "rubric", code="row.wrong-value")


def test_a_change_that_cannot_be_told_is_inconclusive_as_rules_are(tmp_path):
    check(tmp_path, some(18, 20), None, name="base.jsonl")
    check(tmp_path, some(17, 20), None, name="head.jsonl")
    said = text_of(tmp_path, "compare", "base.jsonl", "head.jsonl")
    assert "pass_rate unclear 90.0% 85.0%" in said
    assert "cannot tell" not in said
