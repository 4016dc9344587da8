"""DeepEval test runs: against DeepEval's own counts, on its real files, and where the two differ."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path

import pytest

import highbar
from tests.importers.imported import FIXTURES, imported, recognized, refusal, samples, totals, written

RUN = FIXTURES / "deepeval" / "test_run.json"
JUDGED = {"metricsData": [{"name": "Bias", "success": True}]}
POLICY = {
    "thresholds": {"blocking": {"pass_rate": "≥ 10%"}},
    "metrics": [{"name": "mean_bias", "formula": "mean(bias)"}],
}


def test_as_many_test_cases_pass_as_deepeval_counts() -> None:
    for name, counted in totals("deepeval").items():
        rows, _ = imported("deepeval", FIXTURES / "deepeval" / f"{name}.json")
        assert sum(row.get("passed") is True for row in rows) == counted["testPassed"]
        undecided = sum("unjudged" in row for row in rows)  # in DeepEval a judge that broke fails the case
        assert sum(row.get("passed") is False for row in rows) == counted["testFailed"] - undecided


def test_every_score_of_a_metric_is_deepevals() -> None:
    rows, _ = imported("deepeval", RUN)
    counted = {metric["metric"]: metric for metric in totals("deepeval")["test_run"]["metricsScores"]}
    for metric, column in (("Correctness", "correctness"), ("Bias", "bias"), ("Tone", "tone")):
        assert [row[column] for row in rows if column in row] == counted[metric]["scores"]
    for metric in ("Correctness", "Bias"):
        assert sum(metric in row["behaviors"] for row in rows) == counted[metric]["passes"]
        missed = sum(metric in row["expected_behaviors"] and metric not in row["behaviors"] for row in rows)
        assert missed == counted[metric]["fails"] + counted[metric]["errors"]


def test_a_metric_without_a_threshold_keeps_its_score_where_deepeval_counts_an_error() -> None:
    rows, _ = imported("deepeval", RUN)
    counted = totals("deepeval")["test_run"]["metricsScores"]
    assert next(m for m in counted if m["metric"] == "Length")["errors"] == len(rows)
    assert [row["length"] for row in rows] == [1.0] * len(rows)
    assert all("Length" not in row["expected_behaviors"] for row in rows)


def test_a_scenario_counts_once_so_the_pass_rate_is_not_the_share_of_test_cases() -> None:
    verdict = highbar.check(RUN, POLICY)
    refund = Fraction(2, 3)  # three trials of one scenario, two of which passed
    assert verdict.metrics["pass_rate"].value == (refund + 1 + 1) / 6
    assert totals("deepeval")["test_run"]["testPassed"] / 8 == 0.5
    assert verdict.counts.scenarios == 6
    assert verdict.counts.trials == 8


def test_cases_of_one_name_are_trials_where_they_ask_the_same_and_scenarios_where_they_do_not() -> None:
    rows, _ = imported("deepeval", RUN)
    assert [(row["id"], row["trial"]) for row in rows[:3]] == [("refund", 0), ("refund", 1), ("refund", 2)]
    parametrized = [row["id"] for row in rows if row["id"].startswith("parametrized")]
    assert len(set(parametrized)) == 2
    assert all("#" in name for name in parametrized)


def test_a_judge_that_broke_leaves_the_case_undecided_and_is_no_error_of_the_agent() -> None:
    rows, report = imported("deepeval", RUN)
    (row,) = (row for row in rows if row["id"] == "judge-down")
    assert not {"passed", "correct", "error"} & set(row)
    assert row["unjudged"] == "judge: Correctness: TimeoutError: the judge timed out"
    assert report.unscored == 1


def test_a_flaky_metric_decides_nothing() -> None:
    rows, report = imported("deepeval", RUN)
    (row,) = (row for row in rows if row["id"] == "flaky-only")
    assert row["passed"] is True
    assert row["tone"] == 0.0
    assert report.unread["verdicts of flaky metrics, which decide nothing"] == 8


def test_expectations_are_behaviors_and_must_nots() -> None:
    rows, report = imported("deepeval", FIXTURES / "deepeval" / "expectations.json")
    by_name = {row["id"]: row for row in rows}
    assert by_name["both"]["must_not"] == {"password is asked for": False}
    assert by_name["leaks"]["must_not"] == {"password is asked for": True}
    assert by_name["one"]["behaviors"] == ["Length", "sorry is said"]
    assert "passed" not in by_name["cannot-tell"]
    assert by_name["cannot-tell"]["must_not"] == ["password is asked for"]  # and nothing says whether it happened
    assert report.unscored == 1
    verdict = highbar.check(FIXTURES / "deepeval" / "expectations.json", POLICY | {"metrics": []})
    rate = verdict.metrics["violation_rate"]
    assert (rate.value, rate.best) == (Fraction(2, 4), Fraction(1, 4))


def test_a_success_that_no_metric_gave_is_not_believed(tmp_path: Path) -> None:
    """DeepEval starts every test case as a success, before any metric ran."""
    run = _run(
        {"success": True, "metricsData": []}, {"name": "two", "metricsData": [{"name": "Bias", "success": True}]}
    )
    rows, report = imported("deepeval", written(tmp_path, "run.json", run))
    assert "passed" not in rows[0]
    assert report.unscored == 1


def test_a_failure_that_no_metric_shows_is_believed(tmp_path: Path) -> None:
    metric = {"name": "Bias", "success": True, "score": 0.0}
    rows, _ = imported("deepeval", written(tmp_path, "run.json", _run({"success": False, "metricsData": [metric]})))
    assert rows[0]["passed"] is False


def test_metrics_of_spans_judge_the_case(tmp_path: Path) -> None:
    span = {"name": "planner", "metricsData": [{"name": "Plan", "success": False, "score": 0.1}]}
    run = _run({"success": True, "metricsData": [], "trace": {"agentSpans": [span]}})
    rows, _ = imported("deepeval", written(tmp_path, "run.json", run))
    assert rows[0]["passed"] is False
    assert rows[0]["expected_behaviors"] == ["planner: Plan"]


def test_scores_of_one_name_that_differ_are_not_kept_and_that_is_counted(tmp_path: Path) -> None:
    spans = [
        {"name": "tool", "metricsData": [{"name": "Plan", "success": True, "score": score}]} for score in (0.2, 0.9)
    ]
    own = {"metricsData": [{"name": "Whole", "success": True, "score": 1.0}]}
    run = {**_run({"success": True, "trace": {"toolSpans": spans, **own}}), "datasetAlias": "nightly"}
    rows, report = imported("deepeval", written(tmp_path, "run.json", run))
    assert "tool_plan" not in rows[0]
    assert (rows[0]["whole"], rows[0]["suite"], rows[0]["passed"]) == (1.0, "nightly", True)
    assert report.unread["scores of one name given several times in one record"] == 1


def test_a_trace_that_ended_with_an_error_is_an_error(tmp_path: Path) -> None:
    spans = [{"name": "tool", "error": "no connection"}]
    judged = {"metricsData": [{"name": "Bias", "success": True}]}
    run = _run({"success": True, **judged, "trace": {"status": "ERRORED", "toolSpans": spans}})
    rows, _ = imported("deepeval", written(tmp_path, "run.json", run))
    assert rows[0]["error"] == "no connection"


def test_the_wrapped_file_of_the_latest_run_reads_the_same(tmp_path: Path) -> None:
    plain = json.loads(RUN.read_text("utf-8"))
    wrapped = written(tmp_path, "latest.json", {"testRunData": plain})
    assert imported("deepeval", wrapped)[0] == imported("deepeval", RUN)[0]
    assert recognized(wrapped) == recognized(RUN) == "deepeval"


@pytest.mark.parametrize("path", samples("deepeval"), ids=lambda path: path.name[-40:])
def test_real_files_have_a_row_for_every_test_case_or_are_refused(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    cases = document.get("testCases", []) + document.get("conversationalTestCases", [])
    assert recognized(path) == "deepeval"
    if not cases:
        assert "no DeepEval test run" in refusal("deepeval", path)
        return
    rows, report = imported("deepeval", path)
    assert len(rows) == report.records == len(cases)
    assert [row["passed"] for row in rows] == [case["success"] for case in cases]


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({"name": None}, "found no name"),
        ({"metricsData": [{"name": "Bias", "success": "yes"}]}, "success: found 'yes', wanted true or false"),
        (
            {"metricsData": [{"name": "Bias", "success": True, "score": "high"}]},
            "score: found 'high', wanted a finite number",
        ),
        ({"metricsData": [{"success": True}]}, "wanted the name of the metric"),
        ({"metricsData": {"Bias": True}}, "metricsData: found an object, wanted a list"),
        ({**JUDGED, "trace": {"startTime": "yesterday", "endTime": "today"}}, "found 'yesterday', wanted a time"),
        ({**JUDGED, "trace": {"startTime": "2026-01-02", "endTime": "2026-01-01"}}, "it ends before it starts"),
    ],
)
def test_what_is_not_as_deepeval_writes_it_is_refused_with_its_place(
    tmp_path: Path, case: dict[str, object], message: str
) -> None:
    assert message in refusal("deepeval", written(tmp_path, "run.json", _run(case)))


def test_breaking_a_metric_never_makes_a_case_pass(tmp_path: Path) -> None:
    run = json.loads(RUN.read_text("utf-8"))
    before = {(row["id"], row["trial"]): row.get("passed") for row in imported("deepeval", RUN)[0]}
    for total in ("testPassed", "testFailed", "metricsScores"):  # they would show it
        del run[total]
    for number, case in enumerate(run["testCases"]):
        for place in range(len(case["metricsData"])):
            for change in ({"success": False}, {"error": "down", "success": None}, {"success": None, "score": None}):
                broken = copy.deepcopy(run)
                broken["testCases"][number]["metricsData"][place] |= change
                rows, _ = imported("deepeval", written(tmp_path, "run.json", broken))
                assert all(before[row["id"], row["trial"]] or not row.get("passed") for row in rows)


def _run(*cases: dict[str, object]) -> dict[str, object]:
    return {"testCases": [{"name": "one", "input": "hello", "actualOutput": "hi", **case} for case in cases]}
