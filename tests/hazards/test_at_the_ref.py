"""Group F, at a git ref: whatever a change can choose, the answers are judged as the ref, as it stands, would do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import Run, judged, refused, run
from tests.recorded_runs import Answers, record
from tests.repository import commit, git, put, rows

pytestmark = pytest.mark.process

STRICT = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
LOOSE = {"thresholds": {"blocking": {"pass_rate": "10%"}}}
HIGH = {"thresholds": {"blocking": {"pass_rate": "90%"}}}


def asks(id_: str, wanted: str, **more: Any) -> dict[str, Any]:
    """A scenario whose answer must contain a text."""
    return {"id": id_, "input": "?", "answer": {"contains": wanted}, **more}


HARD = {"suite": "library", "scenarios": [asks("A", "yes"), asks("B", "yes")]}
EASY = {"suite": "library", "scenarios": [asks("A", "no"), asks("B", "no")]}


def against(folder: Path, *arguments: str, results: str = "results.jsonl") -> Run:
    return run(folder, "check", results, "--against-ref", "main", "--format", "json", *arguments)


def ran(folder: Path, suite: str, answers: Answers = lambda *_: "no", **how: Any) -> Path:
    """A run of the suite at that path, each answer of which is `no`."""
    return record(folder / "runs" / "one", folder / suite, answers, in_repository=suite, **how)


def held(folder: Path, *arguments: str, results: str = "runs/one", verdict: str = "fail") -> dict[str, Any]:
    """The verdict of answers that pass by the change, and by the ref come to this."""
    assert run(folder, "check", results, *arguments).exit == 0
    found = judged(against(folder, *arguments, results=results), verdict)
    assert found["against"]["verdict"] == verdict
    return found


# --- H147: links ------------------------------------------------------------------------------


def linked(folder: Path, name: str, to: str) -> None:
    shutil.rmtree(folder / name)
    (folder / name).symlink_to(to)


@pytest.mark.parametrize("committed", [False, True])
def test_h147_the_folder_of_the_policy_became_a_link_to_another_one_of_main(tmp_path: Path, committed: bool) -> None:
    commit(tmp_path, {"release/highbar.json": STRICT, "demo/highbar.json": LOOSE})
    git(tmp_path, "checkout", "--quiet", "-b", "change")
    linked(tmp_path, "release", "demo")
    put(tmp_path, {"results.jsonl": rows(True, False)})
    if committed:
        commit(tmp_path, {})
    held(tmp_path, "--policy", "release/highbar.json", results="results.jsonl")


@pytest.mark.parametrize("named", [True, False], ids=["by-the-policy", "by-the-run"])
def test_h147_the_folder_of_the_suite_became_a_link_to_another_one_of_main(tmp_path: Path, named: bool) -> None:
    policy = {**STRICT, "suite": "evals/suite.json"} if named else STRICT
    commit(tmp_path, {"highbar.json": policy, "evals/suite.json": HARD, "demo/suite.json": EASY})
    linked(tmp_path, "evals", "demo")
    ran(tmp_path, "evals/suite.json")
    held(tmp_path)


def test_h147_the_working_folder_became_a_link_to_another_one_of_main(tmp_path: Path) -> None:
    commit(tmp_path, {"agents/a/highbar.json": STRICT, "agents/b/highbar.json": LOOSE})
    linked(tmp_path, "agents/a", "b")
    put(tmp_path, {"agents/b/results.jsonl": rows(True, False)})
    # Not by `run`, which makes its folder the root of a repository.
    command = [sys.executable, "-m", "highbar", "check", "results.jsonl", "--against-ref", "main", "--format", "json"]
    done = subprocess.run(command, cwd=tmp_path / "agents" / "a", capture_output=True, check=False, text=True)
    assert done.returncode == 3, done.stderr
    reason = json.loads(done.stdout)["rules"][-1]["reason"]
    assert reason == "agents/a is a link, which leads to the working folder"


def test_h147_a_link_of_main_itself_is_not_followed_either(tmp_path: Path) -> None:
    commit(tmp_path, {"demo/highbar.json": LOOSE})
    (tmp_path / "release").symlink_to("demo")
    commit(tmp_path, {"results.jsonl": rows(True, True)})
    refused(against(tmp_path, "--policy", "release/highbar.json"), "behind release, which is a link at main")
    judged(against(tmp_path, "--policy", "demo/highbar.json"), "pass")


# --- H149: scenarios that a change adds -------------------------------------------------------

TRIVIAL = [asks(f"NEW-{n}", "no") for n in range(100)]
HALVES = {"scenarios": [asks("A", "yes"), asks("B", "no")]}


@pytest.mark.parametrize("named", [True, False], ids=["by-the-policy", "by-the-run"])
@pytest.mark.parametrize("copied", [False, True], ids=["folder", "copy"])
def test_h149_a_hundred_trivial_scenarios_raise_no_rate(tmp_path: Path, named: bool, copied: bool) -> None:
    policy = {**HIGH, "suite": "suite.json"} if named else HIGH
    commit(tmp_path, {"highbar.json": policy, "suite.json": HALVES})
    put(tmp_path, {"suite.json": {"scenarios": [*HALVES["scenarios"], *TRIVIAL]}})
    folder = ran(tmp_path, "suite.json")
    if not copied:
        found = held(tmp_path)
        assert found["counts"]["scenarios"] == 102
        assert any("not in main:suite.json, so judged by this change alone: NEW-0" in one for one in found["warnings"])
        return
    shutil.copy(folder / "results.jsonl", tmp_path / "results.jsonl")
    # Where the suite of the run was is not in its rows.
    held(tmp_path, results="results.jsonl", verdict="fail" if named else "inconclusive")


def test_h149_nor_in_the_rows_of_another_tool(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {**HIGH, "suite": "suite.json"}, "suite.json": ["S0", "S1"]})
    put(tmp_path, {"suite.json": [f"S{n}" for n in range(100)], "results.jsonl": rows(False, *[True] * 99)})
    found = held(tmp_path, results="results.jsonl")
    assert [one["scenarios"] for one in found["rules"] if one["rule"].endswith("pass_rate")] == [100, 2]


def test_h149_a_harmless_change_passes(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {**HIGH, "suite": "suite.json"}, "suite.json": EASY})
    put(tmp_path, {"suite.json": {**EASY, "scenarios": [*EASY["scenarios"], asks("C", "no")]}})
    folder = ran(tmp_path, "suite.json")
    judged(against(tmp_path, results="runs/one"), "pass")
    shutil.copy(folder / "results.jsonl", tmp_path / "results.jsonl")
    judged(against(tmp_path), "pass")


def test_h149_what_main_asks_and_the_run_did_not_is_undecided(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": HIGH, "suite.json": {"scenarios": [asks("A", "yes"), asks("B", "no", trials=3)]}})
    put(tmp_path, {"suite.json": {"scenarios": [asks("B", "no")]}})
    ran(tmp_path, "suite.json")
    held(tmp_path, verdict="inconclusive")


@pytest.mark.parametrize("copied", [False, True], ids=["folder", "copy"])
def test_h149_another_question_has_no_answer_there(tmp_path: Path, copied: bool) -> None:
    commit(tmp_path, {"highbar.json": {**HIGH, "suite": "suite.json"}, "suite.json": EASY})
    put(tmp_path, {"suite.json": {"scenarios": [asks("A", "no") | {"input": "Easier?"}, asks("B", "no")]}})
    folder = ran(tmp_path, "suite.json")
    shutil.copy(folder / "results.jsonl", tmp_path / "results.jsonl")
    held(tmp_path, results="results.jsonl" if copied else "runs/one", verdict="inconclusive")


# --- H150, H152: which suite grades -----------------------------------------------------------


def test_h150_the_policy_names_another_suite_that_main_has(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {**STRICT, "suite": "hard.json"}, "hard.json": HARD, "easy.json": EASY})
    put(tmp_path, {"highbar.json": {**STRICT, "suite": "easy.json"}})
    ran(tmp_path, "easy.json")
    held(tmp_path)


def test_h152_a_renamed_suite_grades_nothing(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": STRICT, "suite.json": HARD})
    git(tmp_path, "mv", "suite.json", "renamed.json")
    put(tmp_path, {"renamed.json": EASY})
    ran(tmp_path, "renamed.json")
    found = held(tmp_path, verdict="inconclusive")
    assert "main has no renamed.json, by which the run was graded" in found["rules"][-1]["reason"]
    # If the policy of main names it, it grades wherever it lies now.
    (tmp_path / "other").mkdir()
    commit(tmp_path / "other", {"highbar.json": {**STRICT, "suite": "suite.json"}, "suite.json": HARD})
    put(tmp_path / "other", {"highbar.json": {**STRICT, "suite": "renamed.json"}, "renamed.json": EASY})
    ran(tmp_path / "other", "renamed.json")
    held(tmp_path / "other")


def test_h152_the_tail_of_a_path_is_no_place_in_the_repository(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    commit(tmp_path / "here", {"highbar.json": STRICT, "evals/suite.json": EASY})
    put(tmp_path / "there", {"evals/suite.json": EASY})
    record(tmp_path / "here" / "runs" / "one", tmp_path / "there" / "evals" / "suite.json", lambda *_: "no")
    held(tmp_path / "here", verdict="inconclusive")


# --- H153, H154: the version that selects a step ----------------------------------------------

STEPS = {"progressive": {"pass_rate": {"v1.0": "≥ 50%", "v2.0": "≥ 90%"}}}
HALF_RIGHT = [{"id": f"S{n}", "passed": n < 6} for n in range(10)]


def of_version(version: str) -> str:
    return "".join(json.dumps({**row, "agent_version": version}) + "\n" for row in HALF_RIGHT)


def test_h154_a_reply_that_names_an_older_version_takes_no_lower_step(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": STEPS})
    put(tmp_path, {"results.jsonl": of_version("1.0")})
    held(tmp_path, results="results.jsonl")
    held(tmp_path, "--agent-version", "1.0", results="results.jsonl")


@pytest.mark.parametrize("before", ["policy", "suite"])
def test_h153_a_change_that_names_an_older_version_takes_no_lower_step(tmp_path: Path, before: str) -> None:
    suite = {**HALVES, "agent": {"python": "agent:answer", "version": "2.0"}}
    policy = {**STEPS, "suite": "suite.json"}
    older = {**policy, "agent_version": "1.0"}
    commit(
        tmp_path,
        {"highbar.json": {**policy, "agent_version": "2.0"} if before == "policy" else policy, "suite.json": suite},
    )
    put(tmp_path, {"suite.json": {**suite, "agent": {**suite["agent"], "version": "1.0"}}, "highbar.json": older})
    ran(tmp_path, "suite.json")
    held(tmp_path)


def test_h153_the_version_that_main_selects_takes_its_step(tmp_path: Path) -> None:
    commit(tmp_path, {"highbar.json": {**STEPS, "agent_version": "1.0"}})
    put(tmp_path, {"results.jsonl": of_version("1.0")})
    judged(against(tmp_path), "pass")
    # A higher one raises the bar.
    put(tmp_path, {"results.jsonl": of_version("1.0")})
    assert judged(against(tmp_path, "--agent-version", "2.0"), "fail")["against"]["verdict"] == "fail"
