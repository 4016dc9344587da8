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


def differing(found: dict[str, Any]) -> list[str]:
    return [one["what"] for one in found["against"]["weakened"]]


@pytest.mark.parametrize("change", [{"min_labels": 41}, {"min_sensitivity": "99%"}])
def test_what_the_ref_asks_of_the_judge_is_asked(tmp_path: Path, change: dict[str, Any]) -> None:
    labels = lines(labels_of(ROWS, RIGHT))
    found = held_against(tmp_path, {**JUDGE, **change}, JUDGE, labels, labels)
    assert differing(found) == ["highbar.json"]
    assert (found["verdict"], found["against"]["verdict"]) == ("inconclusive", "inconclusive")


def test_without_the_block_the_judge_is_corrected_as_before(tmp_path: Path) -> None:
    found = held_against(tmp_path, JUDGE, None, lines(labels_of(ROWS, WRONG)), "")
    assert differing(found) == ["highbar.json", "labels.jsonl"]
    assert found["verdict"] == "fail"  # by the corrected share, as it was


def test_labels_that_were_changed_are_shown_and_the_earlier_ones_still_judge(tmp_path: Path) -> None:
    wrong, right = (lines(labels_of(ROWS, said)) for said in (WRONG, RIGHT))
    found = held_against(tmp_path, JUDGE, JUDGE, wrong, right)
    assert differing(found) == ["labels.jsonl"]
    by_rule = {rule["rule"]: rule for rule in found["rules"]}
    assert by_rule["thresholds.blocking.pass_rate"]["value"] == 0.8
    assert by_rule["HEAD:thresholds.blocking.pass_rate"]["value"] == 0.4
    assert (found["verdict"], found["against"]["verdict"]) == ("fail", "fail")


def test_labels_that_are_gone_leave_nothing_to_judge_by(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {"thresholds": {"pass_rate": "60%"}, "judge": JUDGE}, "labels.jsonl": ""})
    put(tmp_path, {"labels.jsonl": None})
    write_lines(tmp_path / "results.jsonl", ROWS)
    done = run(tmp_path, "check", "results.jsonl", "--against-ref", "HEAD")
    assert done.exit == EXIT[None]
    assert "labels.jsonl does not exist" in done.err
