"""The loss that a suite would miss, as `check -v`, the page and `plan` say it."""

from __future__ import annotations

import json
import re
from fractions import Fraction

import pytest

import highbar
from highbar.planning import Assumptions, reach, unseen_loss
from highbar.report.html import render as page
from highbar.statistics.planning import gate_limits
from tests.commandline import run
from tests.repository import put

BAR = {"thresholds": {"blocking": {"pass_rate": "50%"}}}
SENTENCE = re.compile(r"(\d+) scenarios: a loss of (\S+) points? of (\w+) is missed in (.+) of 10 runs; (\d+) would")


def rows(scenarios, failed, trials=1, **columns):
    """Scenarios of which the first ones fail in their first trial; `columns` has functions of a scenario's number."""
    return [
        {"id": f"S{n}", "trial": trial, "passed": n >= failed or trial > 0} | {k: f(n) for k, f in columns.items()}
        for n in range(scenarios)
        for trial in range(trials)
    ]


def unseen(scenarios, failed, trials=1, policy=BAR, **columns):
    return unseen_loss(highbar.check(rows(scenarios, failed, trials, **columns), policy))


def test_check_says_it_with_v_and_in_the_page_and_nowhere_else(tmp_path):
    put(tmp_path, {"r.jsonl": "\n".join(map(json.dumps, rows(60, 5))), "highbar.json": json.dumps(BAR)})
    assert "a loss of" not in run(tmp_path, "check", "r.jsonl").out
    said = " ".join(run(tmp_path, "check", "r.jsonl", "-v").out.split())
    assert SENTENCE.search(said)[0] in page(highbar.check(rows(60, 5), BAR))


def test_plan_says_it_first_and_in_json(tmp_path):
    put(tmp_path, {"r.jsonl": "\n".join(map(json.dumps, rows(60, 5))), "highbar.json": json.dumps(BAR)})
    first, second = run(tmp_path, "plan", "r.jsonl").out.splitlines()[1:3]
    found = SENTENCE.match(f"{first} {second}")
    assert found.groups()[:4] == ("60", "5", "pass_rate", "up to 8")
    unseen_part = json.loads(run(tmp_path, "plan", "r.jsonl", "--format", "json").out)["unseen"]
    assert (unseen_part["metric"], unseen_part["loss"], unseen_part["at_most"]) == ("pass_rate", 0.05, True)
    assert unseen_part["enough"] == int(found[5])


def test_a_plan_before_results_speaks_of_an_agent_halfway_to_perfection(tmp_path):
    put(tmp_path, {"highbar.json": json.dumps({"thresholds": {"accuracy": "90%"}})})
    said = run(tmp_path, "plan", "--policy", "highbar.json", "--scenarios", "60").out
    assert "a loss of 5 points of accuracy is missed in up to 7 of 10" in " ".join(said.split())
    assert "a loss of" not in run(tmp_path, "plan").out


def test_the_size_of_the_suite_decides_which_loss_is_missed_and_how_often():
    found = [unseen(size, size // 10) for size in (20, 60, 120)]
    assert [one.missed for one in found] == sorted((one.missed for one in found), reverse=True)
    assert unseen(1000, 100).loss == 0.02


def test_trials_that_agree_leave_no_doubt_about_the_noise():
    single, repeated = unseen(60, 6), unseen(60, 6, trials=5)
    assert (single.at_most, repeated.at_most) == (True, False)
    assert repeated.enough < single.enough


def test_scenarios_in_clusters_are_worth_fewer():
    alone, together = unseen(60, 6), unseen(60, 6, cluster=lambda n: f"C{n // 3}")
    assert together.missed > alone.missed
    assert together.enough > alone.enough


def test_it_speaks_of_the_blocking_rule_about_a_rate_else_of_the_pass_rate():
    bar = {"thresholds": {"blocking": {"safety_rate": "100%", "accuracy": "50%"}}}
    assert unseen(60, 5, policy=bar, correct=lambda n: n > 6, violations=lambda _: []).metric == "accuracy"
    assert unseen(60, 5, policy={"thresholds": {"warning": {"accuracy": "50%"}}}, correct=bool).metric == "pass_rate"


@pytest.mark.parametrize(("scenarios", "failed"), [(9, 1), (60, 60)], ids=["few", "all failed"])
def test_nothing_is_said_if_nothing_can_be_said(scenarios, failed):
    assert unseen(scenarios, failed) is None


def test_a_suite_with_undecided_trials_says_nothing():
    undecided = [*rows(60, 5)[1:], {"id": "S0", "trial": 0, "unjudged": "the judge was not reached"}]
    assert unseen_loss(highbar.check(undecided, BAR)) is None


@pytest.mark.parametrize(("scenarios", "best"), [(10, 19), (19, 19), (24, 19), (27, 30), (100, 102)])
def test_a_plan_names_the_size_near_it_at_which_a_failure_more_is_allowed(scenarios, best):
    (found,) = [reach(scenarios, Fraction(85, 100), Assumptions())]
    assert found.best == best
    allowed = found.best - gate_limits(found.best, 0.85)[0]
    before, _ = gate_limits(found.best - 1, 0.85)
    assert before is None or found.best - 1 - before == allowed - 1


def test_the_best_size_is_in_the_table_and_in_json(tmp_path):
    assert "best near" in run(tmp_path, "plan", "--scenarios", "100", "--threshold", "85%").out
    found = json.loads(run(tmp_path, "plan", "--scenarios", "100", "--threshold", "85%", "--format", "json").out)
    assert [one["best"] for one in found["suites"]] == [reach(100, Fraction(85, 100), Assumptions()).best]
