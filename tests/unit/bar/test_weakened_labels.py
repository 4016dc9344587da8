"""A change may not make its judge look better by its labels, nor ask less of the judge, without being seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import EXIT, run
from tests.judged_results import judged_row, labels_of, write_lines
from tests.repository import commit, put

pytestmark = pytest.mark.process

ROWS = [judged_row(f"s{n}", n % 5 != 0) for n in range(40)]
RIGHT = {f"s{n}": n % 5 != 0 for n in range(40)}
WRONG = {**RIGHT, **{f"s{n}": False for n in range(0, 40, 2)}}
JUDGE: dict[str, Any] = {
    "labels": "labels.jsonl",
    "min_labels": 30,
    "min_sensitivity": "50%",
    "min_specificity": "50%",
    "correct": True,
    "uncalibrated": "inconclusive",
}


def lines(labels: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(label) + "\n" for label in labels)


def held_against(
    folder: Path, before: dict[str, Any] | None, now: dict[str, Any] | None, labels: str, later: str
) -> dict[str, Any]:
    """The verdict by the policy now and by the one before, each with its own labels."""

    def policy(judge: dict[str, Any] | None) -> dict[str, Any]:
        return {"thresholds": {"pass_rate": "60%"}, **({} if judge is None else {"judge": judge})}

    commit(folder, {"highbar.json": policy(before), "labels.jsonl": labels})
    put(folder, {"highbar.json": policy(now), "labels.jsonl": later})
    write_lines(folder / "results.jsonl", ROWS)
    done = run(folder, "check", "results.jsonl", "--against-ref", "HEAD", "--format", "json")
    assert done.exit in (EXIT["pass"], EXIT["fail"], EXIT["inconclusive"]), done.err
    return done.json


def weakened(found: dict[str, Any]) -> dict[str, tuple[str, str | None]]:
    return {one["what"]: (one["before"], one["now"]) for one in found["against"]["weakened"]}


@pytest.mark.parametrize(
    ("change", "listed"),
    [
        (
            {"min_labels": 10, "min_sensitivity": "40%", "min_specificity": "49%", "correct": False},
            {
                "judge.min_labels": ("30", "10"),
                "judge.min_sensitivity": ("≥ 50.0%", "≥ 40.0%"),
                "judge.min_specificity": ("≥ 50.0%", "≥ 49.0%"),
                "judge.correct": ("true", "false"),
            },
        ),
        ({"min_labels": 31, "min_sensitivity": "60%"}, {}),
    ],
)
def test_what_asks_less_of_the_judge_is_listed(
    tmp_path: Path, change: dict[str, Any], listed: dict[str, tuple[str, str]]
) -> None:
    labels = lines(labels_of(ROWS, RIGHT))
    assert weakened(held_against(tmp_path, JUDGE, {**JUDGE, **change}, labels, labels)) == listed


def test_a_judge_that_need_not_be_calibrated_any_more_is_listed(tmp_path: Path) -> None:
    found = held_against(tmp_path, JUDGE, {**JUDGE, "uncalibrated": "warn"}, "", "")
    (before, now) = weakened(found)["judge.uncalibrated"]
    assert (before.split()[0], (now or "").split()[0]) == ("blocking", "warning")
    assert found["verdict"] == "inconclusive"


def test_without_the_block_every_demand_and_the_labels_are_listed(tmp_path: Path) -> None:
    found = held_against(tmp_path, JUDGE, None, lines(labels_of(ROWS, WRONG)), "")
    assert {"judge.labels", "judge.correct", "judge.min_labels", "judge.uncalibrated"} <= set(weakened(found))
    assert found["verdict"] == "fail"  # by the corrected share, as it was


def test_labels_that_were_changed_are_listed_and_the_earlier_ones_still_judge(tmp_path: Path) -> None:
    wrong, right = (lines(labels_of(ROWS, said)) for said in (WRONG, RIGHT))
    found = held_against(tmp_path, JUDGE, JUDGE, wrong, right)
    assert weakened(found) == {"judge.labels: labels.jsonl": ("40 labels", "16 of them changed or removed")}
    by_rule = {rule["rule"]: rule for rule in found["rules"]}
    assert by_rule["thresholds.blocking.pass_rate"]["value"] == 0.8
    assert by_rule["HEAD:thresholds.blocking.pass_rate"]["value"] == 0.4
    assert (found["verdict"], found["against"]["verdict"]) == ("fail", "fail")


def test_more_labels_are_no_weakening(tmp_path: Path) -> None:
    labels = labels_of(ROWS, RIGHT)
    found = held_against(tmp_path, JUDGE, JUDGE, lines(labels[:35]), lines([*labels[35:], *labels[:35]]))
    assert weakened(found) == {}
    assert found["verdict"] == "pass"


def test_labels_that_are_gone_leave_nothing_to_judge_by(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {"thresholds": {"pass_rate": "60%"}, "judge": JUDGE}, "labels.jsonl": ""})
    put(tmp_path, {"labels.jsonl": None})
    write_lines(tmp_path / "results.jsonl", ROWS)
    done = run(tmp_path, "check", "results.jsonl", "--against-ref", "HEAD")
    assert done.exit == EXIT[None]
    assert "labels.jsonl does not exist" in done.err
