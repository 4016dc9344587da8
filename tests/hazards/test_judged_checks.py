"""Group G: a judge that failed, that was changed, or that nobody ever looked at must not make a pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import check, judged, refused, run
from tests.judged_results import JUDGE, judged_must_not, judged_row, labels_of, write_lines

RATE = {"thresholds": {"pass_rate": "70%"}}
ROWS = [judged_row(f"s{n}", n >= 2) for n in range(20)]
RIGHT = {f"s{n}": n >= 2 for n in range(20)}


def failed(id_: str) -> dict[str, Any]:
    """A row as a run writes it if the judge gave no usable answer."""
    row = judged_row(id_, True)
    del row["judge"], row["judged"], row["behaviors"]
    return {**row, "unjudged": "judge: the reply is not what was asked for"}


@pytest.mark.parametrize("columns", [{}, {"behaviors": {}}, {"judge": JUDGE}])
def test_h100_a_trial_of_which_the_judge_said_nothing_does_not_pass(tmp_path: Path, columns: dict[str, Any]) -> None:
    rows = [failed(f"s{n}") | columns for n in range(5)]
    done = check(tmp_path, rows, RATE)
    judged(done, "inconclusive")
    assert done.json["counts"]["undecided"] == 5
    assert done.rule("thresholds.blocking.pass_rate")["value"] == 0


@pytest.mark.parametrize("word", [None, "", "pass", True, {"verdict": "observed"}])
def test_h100_a_judgment_that_is_no_word_of_ours_is_refused(tmp_path: Path, word: object) -> None:
    row = judged_row("s", True)
    row["judged"]["statements"]["polite"]["judgment"] = word
    refused(check(tmp_path, [row], {**RATE, "judge": {}}), "judged of 's' cannot be read")


def test_h103_a_judge_that_was_down_for_a_part_of_the_run_leaves_the_verdict_open(tmp_path: Path) -> None:
    rows = [*(judged_row(f"s{n}", True) for n in range(7)), *(failed(f"f{n}") for n in range(3))]
    done = check(tmp_path, rows, {"thresholds": {"pass_rate": "80%"}})
    judged(done, "inconclusive")
    assert (done.json["judge"]["trials"], done.json["judge"]["undecided"]) == (10, 3)
    write_lines(tmp_path / "labels.jsonl", labels_of(rows, {f"s{n}": True for n in range(7)}))
    policy = {"thresholds": {"pass_rate": "80%"}, "judge": {"labels": "labels.jsonl", "correct": True}}
    done = check(tmp_path, rows, policy)
    judged(done, "inconclusive")
    rule = done.rule("thresholds.blocking.pass_rate")
    assert (rule["value"], rule["best"]) == (0.7, 1)


def test_h103_a_must_not_of_which_the_judge_cannot_tell_is_no_pass(tmp_path: Path) -> None:
    judged(check(tmp_path, [judged_must_not("s", None)], {"thresholds": {"pass_rate": "100%"}}), "inconclusive")
    judged(check(tmp_path, [judged_must_not("s", None)], {"thresholds": {"violation_rate": "<= 0%"}}), "inconclusive")


@pytest.mark.parametrize("other", ["judge-2 #0123456789ab", "judge-1 #ba9876543210"])
def test_h104_another_model_or_prompt_makes_runs_incomparable(tmp_path: Path, other: str) -> None:
    policy = {**RATE, "baseline": {"file": "baseline.json", "margin": {"pass_rate": "5%"}}}
    (tmp_path / "policy.json").write_text(json.dumps(policy))
    write_lines(tmp_path / "base.jsonl", ROWS)
    assert run(tmp_path, "baseline", "record", "base.jsonl", "--policy", "policy.json").exit == 0
    judged(check(tmp_path, ROWS, policy), "pass")
    now = [judged_row(f"s{n}", True, judge=other) for n in range(20)]
    done = check(tmp_path, now, policy)
    judged(done, "fail")
    rule = done.rule("baseline.pass_rate")
    assert rule["outcome"] == "undefined"
    assert f"{JUDGE} in the baseline, {other} now" in rule["reason"]
    write_lines(tmp_path / "now.jsonl", now)
    refused(
        run(tmp_path, "compare", "base.jsonl", "now.jsonl", "--format", "json"), f"{JUDGE} the base, {other} the head"
    )


def test_h104_labels_of_another_judge_calibrate_nothing(tmp_path: Path) -> None:
    write_lines(tmp_path / "labels.jsonl", labels_of(ROWS, RIGHT))
    demands = {"labels": "labels.jsonl", "min_labels": 5, "min_specificity": "1%", "correct": True}
    now = [judged_row(f"s{n}", n >= 2, judge="judge-1 #ba9876543210") for n in range(20)]
    done = check(tmp_path, now, {**RATE, "judge": {**demands, "uncalibrated": "inconclusive"}})
    judged(done, "inconclusive")
    for name in ("judge.min_labels", "judge.min_specificity", "judge.uncalibrated", "thresholds.blocking.pass_rate"):
        assert done.rule(name)["outcome"] == "inconclusive"
    assert JUDGE in done.rule("judge.uncalibrated")["reason"]
    assert done.json["judge"]["calibrated"] is False


@pytest.mark.parametrize("taken", ["sample", "everything"])
def test_labels_that_nobody_can_check_do_not_calibrate(tmp_path: Path, taken: str) -> None:
    labels = labels_of(ROWS, RIGHT)
    kept = [{key: value for key, value in label.items() if key != "sample"} for label in labels]
    write_lines(tmp_path / "labels.jsonl", kept if taken == "sample" else [])
    done = check(tmp_path, ROWS, {**RATE, "judge": {"labels": "labels.jsonl", "uncalibrated": "inconclusive"}})
    judged(done, "inconclusive")


def test_a_file_of_labels_that_cannot_be_read_judges_nothing(tmp_path: Path) -> None:
    policy = {**RATE, "judge": {"labels": "labels.jsonl"}}
    refused(check(tmp_path, ROWS, policy), "labels.jsonl does not exist")
    (tmp_path / "labels.jsonl").write_text('{"id": "s1", "trial": 1, "behavior": "polite", "observed": "yes"}\n')
    refused(check(tmp_path, ROWS, policy), "labels.jsonl", "wanted true, false", line=1)
    refused(check(tmp_path, [{"id": "a", "passed": True}], policy), "labels.jsonl", line=1)


def test_rows_that_were_graded_elsewhere_rest_on_a_judge_that_nobody_calibrated(tmp_path: Path) -> None:
    write_lines(tmp_path / "labels.jsonl", labels_of(ROWS, RIGHT))
    rows = [*ROWS, {"id": "x", "passed": True, "judge": JUDGE}]
    judge = {"labels": "labels.jsonl", "correct": True, "uncalibrated": "inconclusive"}
    done = check(tmp_path, rows, {**RATE, "judge": judge})
    judged(done, "inconclusive")
    assert done.json["judge"]["elsewhere"] == 1
    assert done.rule("thresholds.blocking.pass_rate")["outcome"] == "inconclusive"
