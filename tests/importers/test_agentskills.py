"""Gradings of Agent Skills, in files written after the schemas that the skill creator and agentskills.io publish."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from highbar.suite import read
from tests.commandline import judged, refused, run
from tests.importers.imported import FIXTURES, imported, problems_of, recognized

BENCHMARK = FIXTURES / "agentskills" / "benchmark.json"
GRADING = {
    "expectations": [
        {"text": "The report names every month", "passed": True, "evidence": "12 months in outputs/report.txt"},
        {"text": "The chart has both axes labeled", "passed": False, "evidence": "the x axis has no label"},
    ],
    "summary": {"passed": 1, "failed": 1, "total": 2, "pass_rate": 0.5},
    "timing": {"executor_duration_seconds": 1.5, "grader_duration_seconds": 26.0, "total_duration_seconds": 27.5},
    "claims": [{"claim": "x", "type": "factual", "verified": True, "evidence": "y"}],
}
PASSED = {"assertion_results": [{"text": "It works", "passed": True, "evidence": "it ran"}]}
RULE = {"thresholds": {"blocking": {"pass_rate": "100%"}}}


def graded(folder: Path, place: str, grading: Any, **beside: Any) -> Path:
    """A grading in this folder, with other files beside it by the names of their stems."""
    target = folder / place
    target.mkdir(parents=True)
    for name, value in {"grading": grading, **beside}.items():
        (target / f"{name}.json").write_text(json.dumps(value), "utf-8")
    return target / "grading.json"


def test_a_grading_is_a_trial_of_the_eval_that_its_folder_is_of(tmp_path: Path) -> None:
    path = graded(tmp_path, "w/iteration-1/eval-7/with_skill/run-2", GRADING, timing={"total_tokens": 84852})
    assert recognized(path) == "agentskills"
    (row,), report = imported("agentskills", path)
    assert row == {
        "id": "7",
        "trial": 2,
        "tags": {"configuration": "with_skill"},
        "passed": False,
        "expected_behaviors": ["The report names every month", "The chart has both axes labeled"],
        "behaviors": ["The report names every month"],
        "latency_ms": 1500.0,
        "tokens_used": 84852,
    }
    assert report.judges == ("grader",)
    assert report.unread == {"claims": 1}


def test_the_spelling_and_the_folders_of_agentskills_io_are_read(tmp_path: Path) -> None:
    about = {"eval_id": 3, "eval_name": "top-months-chart", "prompt": "Chart the top three months", "assertions": []}
    timing = {"total_tokens": 7, "duration_ms": 45200}
    path = graded(tmp_path, "eval-top-months-chart/old_skill", PASSED, timing=timing)
    (row,), _ = imported("agentskills", path)
    assert (row["id"], row["trial"], row["tags"]) == ("top-months-chart", 1, {"configuration": "old_skill"})
    assert (row["passed"], row["latency_ms"], row["tokens_used"]) == (True, 45200, 7)
    (tmp_path / "eval-top-months-chart" / "eval_metadata.json").write_text(json.dumps(about))
    (row,), _ = imported("agentskills", path)
    assert (row["id"], row["input"]) == ("3", "Chart the top three months")


@pytest.mark.parametrize("place", [".", "with_skill", "with_skill/run-1", "eval-1/with_skill/again/run-1", "eval-1"])
def test_a_grading_that_is_moved_has_no_identity(tmp_path: Path, place: str) -> None:
    path = graded(tmp_path / "x", place, PASSED)
    assert [problem.code for problem in problems_of("agentskills", path)] == ["import.missing-value"]


def test_a_run_that_nobody_graded_is_not_left_out_unseen(tmp_path: Path) -> None:
    path = graded(tmp_path, "eval-1/with_skill/run-1", PASSED)
    (tmp_path / "eval-1" / "with_skill" / "run-2" / "outputs").mkdir(parents=True)
    (problem,) = problems_of("agentskills", path)
    assert problem.code == "import.incomplete"
    assert "eval-1/with_skill/run-2" in problem.message


@pytest.mark.parametrize("run_folder", ["", "run-1"])
def test_an_eval_that_nobody_graded_is_not_left_out_unseen(tmp_path: Path, run_folder: str) -> None:
    path = graded(tmp_path, f"eval-1/with_skill/{run_folder}", PASSED)
    (tmp_path / "eval-2" / "with_skill" / run_folder / "outputs").mkdir(parents=True)
    (tmp_path / "eval-3" / "without_skill").mkdir(parents=True)
    (problem,) = problems_of("agentskills", path)
    assert problem.code == "import.incomplete"
    assert "eval-2/with_skill" in problem.message


def expectations(*given: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"expectations": [{"text": f"e{n}", "evidence": "", **one} for n, one in enumerate(given)], **more}


@pytest.mark.parametrize(
    ("grading", "why"),
    [
        (expectations(), "there are none"),
        (expectations({}), "e0: the grader gave no verdict"),
        (expectations({"passed": True}, {"passed": None}), "e1: the grader gave no verdict"),
        (expectations({"passed": True}, summary={"total": 2}), "total is 2, and 1 are listed"),
        (expectations({"passed": True}, summary={"failed": 1, "total": 1}), "failed is 1, and 0 are listed"),
        (expectations({"passed": True}, summary={"passed": 0, "total": 1}), "passed is 0, and 1 are listed"),
    ],
)
def test_what_is_not_known_is_undecided(tmp_path: Path, grading: Any, why: str) -> None:
    (row,), report = imported("agentskills", graded(tmp_path, "eval-1/with_skill", grading))
    assert "passed" not in row
    assert why in row["unjudged"]
    assert report.unscored == 1


@pytest.mark.parametrize(
    ("grading", "code", "place"),
    [
        (expectations({"passed": "true"}), "import.wrong-value", "expectations[0]: passed: "),
        ({"expectations": [{"passed": True}]}, "import.wrong-value", "expectations[0]: text: "),
        ({"expectations": ["It works"]}, "import.wrong-value", "expectations[0]: "),
        ({**PASSED, "expectations": []}, "import.contradiction", "expectations and assertion_results"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path: Path, grading: Any, code: str, place: str) -> None:
    (problem,) = problems_of("agentskills", graded(tmp_path, "eval-1/with_skill", grading))
    assert problem.code == code
    assert place in problem.message


def test_a_benchmark_has_a_row_for_each_run() -> None:
    assert recognized(BENCHMARK) == "agentskills"
    rows, report = imported("agentskills", BENCHMARK)
    assert [(row["id"], row["trial"], row["passed"]) for row in rows] == [
        ("1", 1, True), ("1", 2, True), ("1", 3, False),
        ("2", 1, True), ("2", 2, True), ("2", 3, True),
        ("3", 1, False), ("3", 2, True), ("3", 3, True),
    ]  # fmt: skip
    assert {row["suite"] for row in rows} == {"report"}
    assert (report.records, report.missing) == (9, 0)


def test_a_run_or_an_eval_that_is_gone_from_a_benchmark_is_an_error(tmp_path: Path) -> None:
    whole = json.loads(BENCHMARK.read_text("utf-8"))
    path = tmp_path / "benchmark.json"
    for gone, missing in (([2], [("1", 3)]), ([6, 7, 8], [("3", 1), ("3", 2), ("3", 3)])):
        left = [one for number, one in enumerate(whole["runs"]) if number not in gone]
        path.write_text(json.dumps({**whole, "runs": left}))
        rows, report = imported("agentskills", path)
        found = [(row["id"], row["trial"]) for row in rows if "error" in row]
        assert found == missing
        assert report.missing == len(found)
    path.write_text(json.dumps({**whole, "runs": []}))
    assert [problem.code for problem in problems_of("agentskills", path)] == ["import.other-file"]


def test_fewer_runs_than_a_benchmark_planned_are_errors(tmp_path: Path) -> None:
    document = json.loads((FIXTURES / "agentskills" / "benchmark.json").read_text("utf-8"))
    rows, _ = imported("agentskills", FIXTURES / "agentskills" / "benchmark.json")
    planned = 1 + max(row["trial"] for row in rows)
    document["metadata"]["runs_per_configuration"] = planned
    (tmp_path / "benchmark.json").write_text(json.dumps(document), "utf-8")
    found, _ = imported("agentskills", tmp_path / "benchmark.json")
    assert len(found) > len(rows)
    assert all("missing" in row["error"] for row in found[len(rows) :])


def test_gradings_are_judged_by_the_suite_of_the_skill(tmp_path: Path) -> None:
    long = "The report names every month of the year, in the order of the calendar, each with its own total " * 3
    evals = {"skill_name": "report", "evals": [{"id": 1, "prompt": "Go", "assertions": ["It works", long]}]}
    (tmp_path / "evals.json").write_text(json.dumps(evals))
    (tmp_path / "highbar.json").write_text(json.dumps({**RULE, "suite": "evals.json"}))
    held = [{"text": text, "passed": True, "evidence": ""} for text in ("It works", long)]
    for name, configuration in (("with_skill", held), ("without_skill", [{**held[0], "passed": False}, held[1]])):
        for number in (1, 2):
            graded(tmp_path, f"eval-1/{name}/run-{number}", {"expectations": configuration})
    judged(run(tmp_path, "check", "eval-*/with_skill/run-*/grading.json", "--format", "json"), "pass")
    judged(run(tmp_path, "check", "eval-*/without_skill/run-*/grading.json", "--format", "json"), "fail")
    both = run(tmp_path, "check", "eval-*/*/run-*/grading.json", "--format", "json")
    refused(both, "tags.configuration")
    (scenario,) = read(tmp_path / "evals.json").scenarios.values()
    (row,), _ = imported("agentskills", tmp_path / "eval-1" / "with_skill" / "run-1" / "grading.json")
    assert row["expected_behaviors"] == list(scenario.expected_behaviors)
