"""Acceptance numbers: a threshold of 100 % that lets a stated number of failures through, and never more."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from scipy import stats

import highbar
from tests.commandline import refused, run

ALPHA = 0.05


def rows(total, failing, trials=1):
    """Scenarios of which the first ones fail one trial each."""
    return [
        {"id": f"s{at}", "trial": trial, "category": "adversarial", "passed": at >= failing or trial > 0}
        for at in range(total)
        for trial in range(trials)
    ]


def policy(**demand):
    return {"evidence": "confident", "thresholds": {"blocking": {"safety_rate": {"threshold": "100%", **demand}}}}


def check(folder: Path, results, rules, *arguments):
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in results), "utf-8")
    (folder / "highbar.json").write_text(json.dumps(rules), "utf-8")
    return run(folder, "check", "results.jsonl", "--format", "json", *arguments)


@pytest.mark.parametrize(("total", "failing", "exit_code"), [(93, 1, 0), (92, 1, 3), (93, 2, 1)])
def test_the_exit_code_says_whether_so_many_failures_pass(tmp_path, total, failing, exit_code):
    found = check(tmp_path, rows(total, failing), policy(failures=1))
    assert found.exit == exit_code, found.out


def outcomes_of(*cases):
    """By each total, number that fails and number that is accepted, the outcome; each suite is a slice of one run."""
    suites = {f"{total} {failing}": rows(total, failing) for total, failing, _ in cases}
    results = [
        {**row, "id": f"{name} {row['id']}", "tags": {"suite": name}} for name, suite in suites.items() for row in suite
    ]
    demands = [
        {
            "metric": "safety_rate",
            "threshold": "100%",
            "failures": accepted,
            "where": {"tags.suite": f"{total} {failing}"},
        }
        for total, failing, accepted in cases
    ]
    return [rule.outcome for rule in highbar.check(results, {"evidence": "confident", "rules": demands}).rules]


def test_so_many_failures_pass_in_enough_scenarios_and_no_more():
    passing = [(93, 1, 1), (124, 2, 2), (153, 3, 3), (59, 0, 1)]
    assert outcomes_of(*passing) == ["pass"] * 4
    assert outcomes_of((92, 1, 1), (123, 2, 2), (93, 2, 1)) == ["inconclusive", "inconclusive", "fail"]


def test_the_outcome_is_that_of_the_exact_test():
    """Computed a second time, from the binomial law; each suite is a slice of one run."""
    suites = [(total, failing) for total in (46, 61, 93, 124) for failing in range(5)]
    results = [
        {**row, "id": f"{total} {failing} {row['id']}", "tags": {"suite": f"{total} {failing}"}}
        for total, failing in suites
        for row in rows(total, failing)
    ]
    cases = [
        (accepted, tolerate, total, failing)
        for accepted, tolerate in product((0, 1, 2, 3), (0.10, 0.05))
        for total, failing in suites
        if failing <= accepted + 1
    ]
    demands = [
        {
            "metric": "safety_rate",
            "threshold": "100%",
            "failures": accepted,
            "tolerate": tolerate,
            "where": {"tags.suite": f"{total} {failing}"},
        }
        for accepted, tolerate, total, failing in cases
    ]
    judged = highbar.check(results, {"evidence": "confident", "rules": demands}).rules
    for (accepted, tolerate, total, failing), rule in zip(cases, judged, strict=True):
        excluded = stats.binom.cdf(failing, total, tolerate) <= ALPHA
        expected = "fail" if failing > accepted else "pass" if excluded else "inconclusive"
        assert rule.outcome == expected, (accepted, tolerate, total, failing)


def test_a_scenario_that_fails_one_of_its_trials_is_a_failure():
    """Three that fail a third of their trials are three failures, not one."""
    (one,) = highbar.check(rows(120, 1, trials=3), policy(failures=1)).rules
    (three,) = highbar.check(rows(120, 3, trials=3), policy(failures=1)).rules
    assert (one.outcome, three.outcome) == ("pass", "fail")
    assert "3 scenarios failed, 1 is accepted" in three.reason


def test_one_more_failure_never_helps():
    order = ("pass", "inconclusive", "fail")
    totals = (60, 93, 130)
    found = outcomes_of(*((total, failing, 2) for total in totals for failing in range(6)))
    for at, total in enumerate(totals):
        outcomes = found[at * 6 : at * 6 + 6]
        assert outcomes == sorted(outcomes, key=order.index), total


def test_in_a_composite_it_holds_for_a_demand_of_perfection():
    composite = {"formula": "safety_rate", "pass": "final_score >= 0.5 AND safety_rate = 1.0", "failures": 1}
    rules = {"evidence": "confident", "composite": composite}
    outcomes = [highbar.check(rows(93, failing), rules).rules[0].outcome for failing in (0, 1, 2)]
    assert outcomes == ["pass", "pass", "fail"]


@pytest.mark.parametrize(
    ("demand", "code", "found"),
    [
        ({"failures": 1, "evidence": "estimate"}, "policy.no-effect", "estimate"),
        ({"failures": 1.5}, "policy.wrong-type", "1.5"),
        ({"failures": -1}, "policy.wrong-type", "-1"),
        ({"failures": "1"}, "policy.wrong-type", "'1'"),
        ({"failures": 1, "threshold": "95%"}, "policy.conflict", "0.95"),
    ],
)
def test_what_it_cannot_mean_is_a_problem(tmp_path, demand, code, found):
    refused(check(tmp_path, rows(5, 0), policy(**demand)), "safety_rate.failures", found, code=code)


def test_the_policy_says_it_in_words(tmp_path):
    (tmp_path / "highbar.json").write_text(json.dumps(policy(failures=1, tolerate="2%")), "utf-8")
    said = " ".join(run(tmp_path, "policy").out.split())
    assert "1 failed scenario is accepted if a failure rate of 2% is still excluded" in said
