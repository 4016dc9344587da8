"""Group C: one scenario must not stand in for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commandline import check, judged, refused, run

SAFETY = {"thresholds": {"blocking": {"safety_rate": "100%"}}}
PASSES = {"thresholds": {"blocking": {"pass_rate": "≥ 50%"}}}


@pytest.mark.parametrize("trial", [{}, {"trial": 1}], ids=["without a trial", "the same trial"])
def test_h45_the_same_id_twice_is_refused(tmp_path: Path, trial: dict[str, int]) -> None:
    rows = [{"id": "SEC-7", "category": "adversarial", "passed": passed, **trial} for passed in (False, True)]
    refused(check(tmp_path, rows, SAFETY), "SEC-7")


def test_h45_the_same_id_in_two_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "second.jsonl").write_text('{"id": "SEC-7", "category": "adversarial", "passed": true}\n')
    done = check(tmp_path, [{"id": "SEC-7", "category": "adversarial", "passed": False}], SAFETY, "second.jsonl")
    refused(done, "SEC-7")


def test_h45_trials_that_disagree_on_their_category_are_refused(tmp_path: Path) -> None:
    rows = [
        {"id": "SEC-7", "trial": n, "category": category, "passed": n == 1}
        for n, category in [(1, "adversarial"), (2, "edge_case")]
    ]
    refused(check(tmp_path, rows, SAFETY), "SEC-7", "category")


def test_h46_the_same_id_twice_in_a_suite_is_refused(tmp_path: Path) -> None:
    (tmp_path / "scenarios.yaml").write_text(
        "- { id: SEC-7, category: adversarial }\n- { id: SEC-7, category: happy_path }\n"
    )
    done = check(
        tmp_path, [{"id": "SEC-7", "category": "adversarial", "passed": True}], {**SAFETY, "suite": "scenarios.yaml"}
    )
    refused(done, "scenarios.yaml", "SEC-7")


@pytest.mark.parametrize("name", ["results.jsonl", "results.csv", "results.json"])
def test_h47_ids_are_never_read_as_numbers(tmp_path: Path, name: str) -> None:
    ids = ["001", "1", "1.0", "1e3", "1000", "true", "2024-01-01", "0x10", "null"]
    rows = {
        "results.csv": "id,passed\n" + "".join(f"{text},{str(text != '001').lower()}\n" for text in ids),
        "results.jsonl": "".join(f'{{"id": "{text}", "passed": {str(text != "001").lower()}}}\n' for text in ids),
        "results.json": "["
        + ",".join(f'{{"id": "{text}", "passed": {str(text != "001").lower()}}}' for text in ids)
        + "]",
    }
    verdict = judged(
        check(tmp_path, rows[name].encode(), {"thresholds": {"blocking": {"pass_rate": "100%"}}}, name=name), "fail"
    )
    assert verdict["counts"]["scenarios"] == len(ids)
    assert [scenario["id"] for scenario in verdict["scenarios_failed"]] == ["001"]


def test_h48_a_look_alike_is_not_the_required_scenario(tmp_path: Path) -> None:
    ids = ["SEC\u2011001", "\u0405EC-001", "SEC-001\u200b", "sec-001", "SEC-001 "]
    rows = [{"id": text, "passed": True} for text in ids]
    done = check(tmp_path, rows, {**PASSES, "required_scenarios": {"ids": ["SEC-001"]}})
    verdict = judged(done, "fail")
    assert done.rule("required_scenarios.SEC-001")["outcome"] != "pass"
    assert verdict["counts"]["scenarios"] == 5
    assert verdict["warnings"]


def test_h48_ids_that_look_the_same_are_warned_of(tmp_path: Path) -> None:
    ids = ["CASE-1", "case-1", "SPACE-1", "SPACE-1 ", "UNSEEN-1", "UNSEEN-\u200b1"]
    verdict = judged(check(tmp_path, [{"id": text, "passed": True} for text in ids], PASSES), "pass")
    warnings = "\n".join(verdict["warnings"])
    assert all(name in warnings for name in ("CASE-1", "SPACE-1", "UNSEEN-1")), warnings


@pytest.mark.parametrize("identity", ["SEC\n001", "SEC\u009b001"])
def test_h48_control_characters_in_an_id_are_refused(tmp_path: Path, identity: str) -> None:
    refused(check(tmp_path, [{"id": identity, "passed": True}], PASSES), "id", line=1)


def test_h50_two_agent_versions_in_one_check_are_refused(tmp_path: Path) -> None:
    rows = [{"id": "A", "passed": True, "agent_version": "1.0"}, {"id": "B", "passed": True, "agent_version": "2.0"}]
    refused(check(tmp_path, rows, PASSES), "agent version", "1.0", "2.0")


@pytest.mark.parametrize("path", ["results/*.jsnol", "absent.jsonl", "empty"])
def test_h52_a_path_that_matches_nothing_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "empty").mkdir()
    refused(check(tmp_path, [{"id": "A", "passed": True}], PASSES, path), path)


def test_h52_a_policy_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results.jsonl").write_text('{"id": "A", "passed": true}\n')
    done = run(tmp_path, "check", "results.jsonl", "--policy", "absent.yaml", "--format", "json")
    assert done.exit == 2, done.out + done.err
    assert "absent.yaml" in done.out + done.err


@pytest.mark.parametrize(
    "evidence",
    [
        {"violations": ["leaked key"]},
        {"violations": 1},
        {"must_not": {"leaks_key": True}},
        {"must_not": [{"name": "leaks_key", "violated": True}]},
        {"must_not": ["leaks_key"], "behaviors": {"leaks_key": True}},
    ],
    ids=str,
)
def test_h54_a_violation_overrules_a_recorded_pass(tmp_path: Path, evidence: dict[str, object]) -> None:
    row = {"id": "A", "category": "adversarial", "passed": True, **evidence}
    verdict = judged(check(tmp_path, [row], SAFETY), "fail")
    assert verdict["metrics"]["violation_rate"]["value"] == 1
    assert verdict["scenarios_failed"][0]["id"] == "A"
