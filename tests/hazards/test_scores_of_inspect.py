"""H163: Inspect AI logs whose scores, times and metrics mean something else than their names say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import Run, check, refused

ACCURACY = [{"name": "inspect_ai/accuracy", "options": {}}]
MEAN = [{"name": "inspect_ai/mean", "options": {}}]
GROUPED = [
    {
        "name": "inspect_ai/grouped",
        "options": {"metric": {"type": "metric", "name": "accuracy", "params": {}}, "group_key": "kind"},
    }
]
"""As Inspect AI 0.3.285 writes `metrics=[grouped(accuracy(), "kind")]`."""
POLICY: dict[str, Any] = {"thresholds": {"blocking": {"pass_rate": "80%"}}}


def log(
    scorers: dict[str, Any], *scores: dict[str, Any], results: dict[str, Any] | None = None, **sample: Any
) -> dict[str, Any]:
    """A log of one sample for each of `scores`, as `--log-format json` writes it; `results` has the scored ones."""
    ids = [f"s{number}" for number in range(len(scores))]
    computed = [{"name": name, "scorer": name, "metrics": metrics} for name, metrics in (results or {}).items()]
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "sums",
            "model": "m",
            "dataset": {"samples": len(ids), "sample_ids": ids},
            "config": {"epochs": 1},
            "scorers": [{"name": name, "options": {}, "metrics": metrics} for name, metrics in scorers.items()],
        },
        "results": {"total_samples": len(ids), "completed_samples": len(ids), "scores": computed},
        "samples": [
            {
                "id": identity,
                "epoch": 1,
                "input": "2 + 2?",
                "target": "4",
                "output": {"completion": "4"},
                "scores": {name: {"value": value} for name, value in given.items()},
                **sample,
            }
            for identity, given in zip(ids, scores, strict=True)
        ],
    }


def checked(folder: Path, document: dict[str, Any], policy: dict[str, Any] | None = None) -> Run:
    return check(folder, json.dumps(document).encode(), policy or POLICY, name="log.json")


# --- scales --------------------------------------------------------------------------------------


@pytest.mark.parametrize("judged_by", [{}, {"judged_by": {"inspect": [{"scorer": "stars"}]}}])
def test_h163_a_judging_score_above_one_never_passes(tmp_path: Path, judged_by: dict[str, Any]) -> None:
    """By the policy without `at_least`, every one of five stars would be enough."""
    document = log({"stars": ACCURACY}, *({"stars": value} for value in (1, 2, 2, 5)), results={"stars": {}})
    done = checked(tmp_path, document, POLICY | judged_by)
    refused(done, "sample s1, epoch 1: ", "gave 2,", code="judge.undeclared")
    assert "judged_by: { inspect: [ { scorer: stars, at_least: " in done.problems


@pytest.mark.parametrize(("least", "code"), [(5, 1), (2, 1), (1, 0)])
def test_h163_the_policy_says_what_is_good_enough_on_another_scale(tmp_path: Path, least: int, code: int) -> None:
    document = log({"stars": ACCURACY}, *({"stars": value} for value in (1, 2, 2, 5)), results={"stars": {}})
    policy = POLICY | {"judged_by": {"inspect": [{"scorer": "stars", "at_least": least}]}}
    assert checked(tmp_path, document, policy).exit == code


def test_h163_a_score_above_one_that_does_not_judge_is_a_column(tmp_path: Path) -> None:
    document = log({"right": ACCURACY, "stars": MEAN}, {"right": "C", "stars": 4}, results={"right": {}, "stars": {}})
    assert checked(tmp_path, document).exit == 0


# --- metrics -------------------------------------------------------------------------------------


@pytest.mark.parametrize("metrics", [GROUPED, {"safe": GROUPED}])
def test_h163_a_scorer_whose_accuracy_is_grouped_judges(tmp_path: Path, metrics: Any) -> None:
    worse = {"safe": "I", "kind": 1} if isinstance(metrics, dict) else "I"
    document = log({"right": ACCURACY, "fair": metrics}, {"right": "C", "fair": worse}, results={"right": {}})
    done = checked(tmp_path, document)
    assert done.exit == 1, done.out


def test_h163_the_name_of_a_group_is_no_metric(tmp_path: Path) -> None:
    inner = {"type": "metric", "name": "mean", "params": {}}
    groups = {"accuracy": {"name": "accuracy", "group": "grouped", "value": 1.0, "params": {"metric": inner}}}
    declared = [{"name": "inspect_ai/grouped", "options": {"metric": inner, "group_key": "kind"}}]
    document = log({"style": declared}, {"style": 1}, results={"style": groups})
    done = checked(tmp_path, document)
    assert done.exit == 2, done.out
    assert "nobody judges these samples" in done.problems


# --- scorers that never scored -------------------------------------------------------------------


def test_h163_a_scorer_that_never_scored_is_no_judge_beside_one_that_did(tmp_path: Path) -> None:
    """`inspect eval --no-score`, then `inspect score --action append`."""
    for grade, code in (("C", 0), ("I", 1)):
        document = log({"match": ACCURACY, "later": ACCURACY}, {"later": grade}, results={"later": {}})
        assert checked(tmp_path, document).exit == code
    stars = log({"match": ACCURACY, "stars": MEAN}, {"stars": 1}, results={"stars": {}})
    assert "there are stars (mean)" in checked(tmp_path, stars).problems


def test_h163_a_judge_that_lost_its_scores_stays_one(tmp_path: Path) -> None:
    scorers = {"match": ACCURACY, "later": ACCURACY}
    lost = log(scorers, {"later": "C"}, results={"later": {}, "match": {}})
    assert checked(tmp_path, lost).exit == 3
    broke = log(scorers, {"later": "C", "match": None}, results={"later": {}})
    assert checked(tmp_path, broke).exit == 3
    some = log(scorers, {"later": "C"}, {"later": "C", "match": "C"}, results={"later": {}})
    assert checked(tmp_path, some).exit == 3
    nobody = log(scorers, {}, results={})
    assert checked(tmp_path, nobody).exit == 3


def test_h163_a_scorer_of_samples_that_all_crashed_stays_a_judge(tmp_path: Path) -> None:
    document = log({"match": ACCURACY, "later": ACCURACY}, {"later": "C"}, results={}, error={"message": "down"})
    document["results"]["completed_samples"] = 0
    assert checked(tmp_path, document).exit == 1


# --- times ---------------------------------------------------------------------------------------


def latency(folder: Path, **sample: Any) -> float:
    policy = {"thresholds": {"blocking": {"accuracy": "1%"}, "warning": {"latency_p95": "< 2s"}}}
    done = checked(folder, log({"right": ACCURACY}, {"right": "C"}, results={"right": {}}, **sample), policy)
    assert done.exit == 0, done.err
    return float(done.json["metrics"]["latency_p95"]["value"])


def test_h163_latency_is_the_time_that_the_agent_worked(tmp_path: Path) -> None:
    assert latency(tmp_path, total_time=90.0, working_time=1.5) == 1500
    assert latency(tmp_path, total_time=90.0) == 90_000
    assert latency(tmp_path, total_time=90.0, working_time=None) == 90_000


def test_h163_the_working_time_of_a_judge_is_not_the_agents(tmp_path: Path) -> None:
    """The judge waited for a minute, of which the agent's working time has nothing."""
    document = log({"right": ACCURACY}, {"right": "C"}, results={"right": {}}, total_time=70.0, working_time=3.0)
    document["eval"]["model_roles"] = {"grader": {"model": "judge"}}
    judge = {
        "event": "model",
        "role": "grader",
        "timestamp": "2026-11-19T02:00:00+00:00",
        "completed": "2026-11-19T02:01:02+00:00",
        "working_start": 1.0,
        "working_time": 2.0,
    }
    document["samples"][0]["events"] = [judge, judge]
    policy = {"thresholds": {"blocking": {"accuracy": "1%"}, "warning": {"latency_p95": "< 2s"}}}
    done = checked(tmp_path, document, policy)
    assert done.json["metrics"]["latency_p95"]["value"] == 1000
    for event in document["samples"][0]["events"]:
        event.pop("working_time", None)
    assert checked(tmp_path, document, policy).json["metrics"]["latency_p95"]["value"] == 0
