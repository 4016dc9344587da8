"""tau-bench and tau2-bench: against their own pass^k, on the published trajectories, and where the two differ.

The packages are not on the registry, so the sums of their `display_metrics` and `compute_metrics` are written out here.
"""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import pytest

import highbar
from tests.commandline import check, judged, refused
from tests.importers.imported import imported, problems_of, recognized, samples, written

RULES = {"pass_rate": "≥ 1%", "pass_hat_1": "≥ 1%", "pass_hat_2": "≥ 1%", "pass_hat_4": "≥ 1%"}
POLICY = {
    "thresholds": {"blocking": RULES},
    "metrics": [{"name": "mean_reward", "formula": "mean(reward)", "range": "0-100%"}],
}


def pass_hat(runs: list[dict[str, Any]], k: int) -> Fraction:
    """pass^k as tau-bench computes it: over the trials that the whole file has, not over those of each task."""
    trials = len({run["trial"] for run in runs})
    passed: defaultdict[int, int] = defaultdict(int)
    for run in runs:
        passed[run["task_id"]] += 1 - 1e-6 <= run["reward"] <= 1 + 1e-6
    return sum((Fraction(comb(c, k), comb(trials, k)) for c in passed.values()), Fraction()) / len(passed)


@pytest.mark.parametrize("path", samples("tau_bench"), ids=lambda path: path.name)
def test_the_published_trajectories_give_tau_benchs_own_numbers(path: Path) -> None:
    runs = json.loads(path.read_text("utf-8"))
    assert recognized(path) == "tau-bench"
    rows, report = imported("tau-bench", path)
    assert len(rows) == report.records == len(runs) == 200
    verdict = highbar.check(path, POLICY)
    for k in (1, 2, 4):
        assert verdict.metrics[f"pass_hat_{k}"].value == pass_hat(runs, k)
    average = sum(Fraction(run["reward"]) for run in runs) / len(runs)
    assert verdict.metrics["mean_reward"].value == verdict.metrics["pass_rate"].value == average
    assert (verdict.counts.scenarios, verdict.counts.trials, verdict.counts.errors) == (50, 200, 0)


def test_a_run_that_raised_is_an_error_and_counts_as_failed_in_both(tmp_path: Path) -> None:
    runs = [_run(0, 0, 1.0), {**_run(1, 0, 0.0), "info": {"error": "", "traceback": "…"}, "traj": []}]
    path = written(tmp_path, "runs.json", runs)
    rows, report = imported("tau-bench", path)
    assert rows[1]["error"] == "the run ended with an exception"
    assert report.errors == 1
    verdict = highbar.check(path, {"thresholds": {"blocking": {"pass_hat_1": "≥ 1%"}}})
    assert verdict.metrics["pass_hat_1"].value == pass_hat(runs, 1) == Fraction(1, 2)


def test_a_trial_that_one_task_lacks_counts_as_failed_in_both(tmp_path: Path) -> None:
    """tau-bench divides by the trials that any task has; here the trial that is not there is an error."""
    runs = [_run(0, 0, 1.0), _run(0, 1, 1.0), _run(1, 0, 1.0)]
    path = written(tmp_path, "runs.json", runs)
    rows, report = imported("tau-bench", path)
    assert (report.records, report.missing, report.rows) == (3, 1, 4)
    assert (rows[-1]["id"], rows[-1]["trial"]) == ("1", 1)
    verdict = highbar.check(path, {"thresholds": {"blocking": {"pass_hat_2": "≥ 1%"}}})
    assert verdict.metrics["pass_hat_2"].value == pass_hat(runs, 2) == Fraction(1, 2)


def test_what_tau2_planned_and_did_not_run_is_an_error(tmp_path: Path) -> None:
    """tau2-bench averages over the simulations that there are, and lowers k to the fewest trials of any task."""
    path = written(tmp_path, "results.json", _tau2([_simulation("a", 0, 1.0, "user_stop")]))
    rows, report = imported("tau-bench", path)
    assert [(row["id"], row["trial"], "error" in row) for row in rows] == [
        ("a", 0, False), ("a", 1, True), ("b", 0, True), ("b", 1, True)
    ]  # fmt: skip
    assert report.missing == 3


@pytest.mark.parametrize(("reward", "passed"), [(1, True), (0.9999999, True), (0.99, False), (0, False), (2, False)])
def test_only_a_reward_of_one_passes(tmp_path: Path, reward: float, passed: bool) -> None:
    rows, _ = imported("tau-bench", written(tmp_path, "runs.json", [_run(0, 0, reward)]))
    assert rows[0]["passed"] is passed


def test_a_reward_that_is_not_there_passes_nothing(tmp_path: Path) -> None:
    for reward in ("null", "NaN"):
        text = f'[{{"task_id": 0, "reward": {reward}, "info": {{}}, "traj": [], "trial": 0}}]'
        rows, report = imported("tau-bench", written(tmp_path, "runs.json", text))
        assert "passed" not in rows[0]
        assert report.unscored == 1


def test_what_the_reward_was_made_of_is_seen_or_not(tmp_path: Path) -> None:
    checks = {"reward": 0.0, "info": {"r_outputs": 0.0, "outputs": {"54.04": True, "41.64": False}}, "actions": []}
    rows, _ = imported("tau-bench", written(tmp_path, "runs.json", [_run(0, 0, 0.0, checks)]))
    assert rows[0]["expected_behaviors"] == ["says 54.04", "says 41.64"]
    assert rows[0]["behaviors"] == ["says 54.04"]


def test_a_check_that_failed_fails_the_trial_whatever_the_reward_says(tmp_path: Path) -> None:
    checks = {"reward": 1.0, "info": {"r_actions": 0.0, "gt_data_hash": "…"}, "actions": []}
    rows, _ = imported("tau-bench", written(tmp_path, "runs.json", [_run(0, 0, 1.0, checks)]))
    assert rows[0]["passed"] is False


def test_tau2_leaves_broken_runs_out_of_its_averages_and_here_they_fail(tmp_path: Path) -> None:
    simulations = [
        _simulation("a", 0, 1.0, "user_stop"),
        _simulation("a", 1, 1.0, "agent_stop"),
        _simulation("b", 0, 0.0, "max_steps"),
        {**_simulation("b", 1, None, "infrastructure_error"), "reward_info": None},
    ]
    path = written(tmp_path, "results.json", _tau2(simulations))
    assert recognized(path) == "tau-bench"
    rows, report = imported("tau-bench", path)
    evaluated = [s for s in simulations if s["termination_reason"] != "infrastructure_error"]
    assert sum(s["reward_info"]["reward"] for s in evaluated) / len(evaluated) == 2 / 3
    assert [row.get("passed") for row in rows] == [True, True, False, None]
    assert rows[3]["error"] == "infrastructure_error"
    assert report.errors == 1
    verdict = highbar.check(path, {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}})
    assert verdict.metrics["pass_rate"].value == Fraction(1, 2)
    assert rows[0]["input"] == '{"reason_for_call": "an exchange"}'
    assert (rows[0]["suite"], rows[0]["cost_usd"]) == ("retail", 0.25)
    assert rows[0]["behaviors"] == ["db", "communicate"]


def test_an_index_of_simulations_is_read_where_they_stand_in_files_of_their_own(tmp_path: Path) -> None:
    index = [{"id": "x", "task_id": "a", "trial": 0, "reward": 1.0, "termination_reason": "user_stop"}]
    path = written(tmp_path, "results.json", {**_tau2([]), "simulation_index": index})
    rows, _ = imported("tau-bench", path)
    assert (rows[0]["id"], rows[0]["passed"]) == ("a", True)


@pytest.mark.parametrize(
    ("content", "code", "place"),
    [
        ([], "results.empty", ""),
        ({"simulations": []}, "results.empty", ""),
        ([{"reward": 1}], "import.wrong-value", "record[0]: task_id: found null"),
        ([{"task_id": True, "reward": 1}], "import.wrong-value", "record[0]: task_id: found true"),
        ([{"task_id": 1, "reward": "1"}], "import.wrong-value", "record[0]: reward: found '1'"),
        ([{"task_id": 1, "reward": 1, "trial": 0.5}], "import.wrong-value", "record[0]: trial: found 0.5"),
        ([[1]], "import.wrong-value", "record[0]: "),
    ],
)
def test_what_is_no_run_is_refused_with_its_place(tmp_path: Path, content: object, code: str, place: str) -> None:
    (problem,) = problems_of("tau-bench", written(tmp_path, "runs.json", content))
    assert problem.code == code
    assert problem.message.startswith(place)


def _run(task: int, trial: int, reward: float, checks: object = None) -> dict[str, Any]:
    info = {"task": {"instruction": "book a flight"}, "source": "user", "reward_info": checks}
    return {"task_id": task, "reward": reward, "info": info, "traj": [], "trial": trial}


def _simulation(task: str, trial: int, reward: float | None, reason: str) -> dict[str, Any]:
    parts = {"DB": reward, "COMMUNICATE": reward}
    return {
        "id": f"{task}-{trial}",
        "task_id": task,
        "trial": trial,
        "termination_reason": reason,
        "agent_cost": 0.25,
        "duration": 3.0,
        "reward_info": {"reward": reward, "reward_breakdown": parts},
        "messages": [{"role": "assistant", "content": "done"}],
    }


def _tau2(simulations: list[dict[str, Any]]) -> dict[str, Any]:
    info = {"git_commit": "…", "num_trials": 2, "environment_info": {"domain_name": "retail"}}
    tasks = [{"id": name, "user_scenario": {"instructions": {"reason_for_call": "an exchange"}}} for name in "ab"]
    return {"timestamp": "2025-10-31", "info": info, "tasks": tasks, "simulations": simulations}


def test_two_rewards_that_disagree_are_refused(tmp_path: Path) -> None:
    for inside, outside in ((0.0, 1.0), (1.0, 0.0)):
        runs = [_run(0, 0, outside, {"reward": inside, "info": {}, "actions": []})]
        done = check(
            tmp_path, json.dumps(runs).encode(), {"thresholds": {"blocking": {"pass_rate": "1%"}}}, name="r.json"
        )
        refused(done, "record[0]: ", f"reward is {outside}", f"it is {inside}", code="import.contradiction")


def test_the_parts_of_a_reward_that_is_not_there_pass_nothing(tmp_path: Path) -> None:
    runs = [{**_run(0, 0, 1.0, {"info": {"r_actions": 1.0}, "actions": []}), "reward": None}]
    rows, report = imported("tau-bench", written(tmp_path, "runs.json", runs))
    assert rows[0]["unjudged"] == "judge: reward: it is missing"
    assert report.judges == ("reward",)


@pytest.mark.parametrize("trial", [0, None])
def test_as_many_trials_as_were_declared_must_be_there_whatever_they_are_called(
    tmp_path: Path, trial: int | None
) -> None:
    simulations = [{**_simulation(task, 0, 1.0, "user_stop"), "trial": trial} for task in "ab"]
    policy = {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}}
    done = check(tmp_path, json.dumps(_tau2(simulations)).encode(), policy, name="results.json")
    assert judged(done, "fail")["counts"] | {"trials": 4, "errors": 2} == done.json["counts"]


def test_a_task_that_never_ran_is_missed_even_if_nothing_says_how_many_trials_there_are(tmp_path: Path) -> None:
    document = _tau2([{**_simulation("a", 0, 1.0, "user_stop"), "trial": None}])
    del document["info"]["num_trials"]
    rows, report = imported("tau-bench", written(tmp_path, "results.json", document))
    assert [(row["id"], "error" in row) for row in rows] == [("a", False), ("b", True)]
    assert report.missing == 1


@pytest.mark.parametrize("declared", [-1, 0, 10_001])
def test_a_number_of_trials_that_cannot_be_is_refused(tmp_path: Path, declared: int) -> None:
    document = _tau2([_simulation("a", 0, 1.0, "user_stop")])
    document["info"]["num_trials"] = declared
    done = check(
        tmp_path, json.dumps(document).encode(), {"thresholds": {"blocking": {"pass_rate": "1%"}}}, name="r.json"
    )
    refused(done, f"num_trials: found {declared},", code="import.wrong-value")
