"""DeepEval test runs: against DeepEval's own counts, on its real files, and where the two differ."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path

import pytest

import highbar
from highbar.model.judging import ScorerDemand
from tests.commandline import check, judged, refused
from tests.importers.imported import FIXTURES, imported, problems_of, recognized, refusal, samples, totals, written

REPEATED = FIXTURES / "deepeval" / "repeated.json"
RUN = FIXTURES / "deepeval" / "test_run.json"
JUDGED = {"metricsData": [{"name": "Bias", "success": True}]}
POLICY = {
    "thresholds": {"blocking": {"pass_rate": "≥ 10%"}},
    "metrics": [{"name": "mean_bias", "formula": "mean(bias)"}],
}


def test_as_many_test_cases_pass_as_deepeval_counts() -> None:
    for name in ("test_run", "conversations", "expectations"):
        counted = totals("deepeval")[name]
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


@pytest.mark.parametrize("change", [lambda case: case.pop("input"), lambda case: case.update(input=None)])
def test_a_case_that_lost_its_input_is_refused_instead_of_counted_as_a_scenario_of_its_own(tmp_path, change) -> None:
    run = json.loads(REPEATED.read_text("utf-8"))
    change(run["testCases"][7])
    assert "testCases[7]: found no input, which other test cases have" in refusal(
        "deepeval", written(tmp_path, "r.json", json.dumps(run))
    )


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
        assert [problem.code for problem in problems_of("deepeval", path)] == ["import.other-file"]
        return
    rows, report = imported("deepeval", path)
    assert len(rows) == report.records == len(cases)
    assert [row["passed"] for row in rows] == [case["success"] for case in cases]


@pytest.mark.parametrize(
    ("case", "code", "place"),
    [
        ({"name": None}, "import.missing-value", "name"),
        ({"metricsData": [{"name": "Bias", "success": "yes"}]}, "import.wrong-value", "success: found 'yes'"),
        (
            {"metricsData": [{"name": "Bias", "success": True, "score": "high"}]},
            "import.wrong-value",
            "score: found 'high'",
        ),
        ({"metricsData": [{"success": True}]}, "import.missing-value", "metricsData[0]"),
        ({"metricsData": {"Bias": True}}, "import.wrong-value", "metricsData: found an object"),
        ({**JUDGED, "trace": {"startTime": "yesterday", "endTime": "today"}}, "import.wrong-value", "'yesterday'"),
        ({**JUDGED, "trace": {"startTime": "2026-01-02", "endTime": "2026-01-01"}}, "import.contradiction", "trace"),
    ],
)
def test_what_is_not_as_deepeval_writes_it_is_refused_with_its_place(
    tmp_path: Path, case: dict[str, object], code: str, place: str
) -> None:
    (problem,) = problems_of("deepeval", written(tmp_path, "run.json", _run(case)))
    assert problem.code == code
    assert place in problem.message


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


def test_repeats_are_trials_of_one_scenario_and_a_run_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    done = check(tmp_path, REPEATED.read_bytes(), POLICY | {"metrics": []}, name="run.json")
    assert done.json["counts"] | {"unjudged": 3} == done.json["counts"]
    assert (done.json["counts"]["scenarios"], done.json["counts"]["trials"], done.json["counts"]["errors"]) == (
        7,
        21,
        4,
    )
    rows, report = imported("deepeval", REPEATED)
    assert [row["trial"] for row in rows if row["id"] == "test_asked[waver]"] == [0, 1, 2]
    (missing,) = (row for row in rows if row["id"] == "test_crash" and "error" in row)
    assert missing["error"] == "run 3 of 3 is not in the file: it crashed before its assertion"
    assert (report.records, report.missing, report.rows) == (20, 1, 21)


def test_deepeval_counts_crashes_and_metrics_without_a_verdict_as_passed() -> None:
    rows, report = imported("deepeval", REPEATED)
    assert totals("deepeval")["repeated"]["testPassed"] == 19
    assert sum(row.get("passed") is True for row in rows) == 13
    assert (report.unscored, report.errors) == (3, 3 + 1)


def test_parameters_that_look_like_repeats_are_scenarios_of_their_own(tmp_path: Path) -> None:
    cases = [{**JUDGED, "name": f"test_a[{one}-{two}]", "input": f"{one}"} for one in (1, 2) for two in (2, 3)]
    rows, _ = imported("deepeval", written(tmp_path, "run.json", _run(*cases)))
    assert [row["id"] for row in rows] == ["test_a[1-2]", "test_a[1-3]", "test_a[2-2]", "test_a[2-3]"]


def test_an_agent_that_crashed_is_an_error_whatever_the_trace_says_and_a_tool_that_did_is_none(tmp_path: Path) -> None:
    text = REPEATED.read_text("utf-8")
    assert '"status": "ERRORED", "type": "agent"' in text
    run = json.loads(text)
    for case in run["testCases"]:
        if "trace" in case:
            case["trace"]["status"] = "SUCCESS"
    done = check(tmp_path, json.dumps(run).encode(), POLICY | {"metrics": []}, name="run.json")
    assert done.json["counts"]["errors"] == 4
    rows, _ = imported("deepeval", written(tmp_path, "run.json", run))
    assert {row["id"] for row in rows if row.get("error") == "the agent crashed"} == {"test_traced[agent crashes]"}


def test_a_metric_that_gave_no_verdict_leaves_the_case_undecided(tmp_path: Path) -> None:
    rows, _ = imported("deepeval", REPEATED)
    silent = [row for row in rows if row["id"] == "test_silent"]
    assert [row.get("passed") for row in silent] == [None] * 3
    assert {row["unjudged"] for row in silent} == {"judge: Polite: gave no verdict"}
    run = _run({**JUDGED, "success": True}, {"name": "two", "metricsData": [{"name": "Bias", "threshold": 0.5}]})
    policy = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
    judged(check(tmp_path, json.dumps(run).encode(), policy, name="run.json"), "inconclusive")


def test_a_check_says_that_tests_which_crashed_are_not_in_the_file(tmp_path: Path) -> None:
    done = check(tmp_path, RUN.read_bytes(), POLICY, name="run.json")
    assert any("crashed before their assertion" in warning for warning in done.json["warnings"])


@pytest.mark.parametrize("taken", ["case", "metric"])
def test_what_was_taken_out_of_the_file_is_missed_in_its_totals(tmp_path: Path, taken: str) -> None:
    run = json.loads(RUN.read_text("utf-8"))
    if taken == "case":
        del run["testCases"][3]
    else:
        del run["testCases"][3]["metricsData"][1]
    done = check(tmp_path, json.dumps(run).encode(), POLICY, name="run.json")
    refused(done, "they disagree")


def test_a_metric_that_judged_another_trial_of_the_scenario_is_missed(tmp_path: Path) -> None:
    both = [{"name": "Bias", "success": True}, {"name": "Tone", "success": True}]
    run = _run({"metricsData": both}, {"metricsData": both[:1]})
    rows, _ = imported("deepeval", written(tmp_path, "run.json", run))
    assert [row.get("passed") for row in rows] == [True, None]
    assert rows[1]["unjudged"] == "judge: Tone: says nothing of this trial"


def test_a_file_in_which_nothing_judges_is_refused_with_its_metrics(tmp_path: Path) -> None:
    run = _run({"success": True, "metricsData": [{"name": "Length", "score": 0.5}]})
    refused(check(tmp_path, json.dumps(run).encode(), POLICY | {"metrics": []}, name="run.json"), "Length", "judged_by")


def test_a_bound_of_the_policy_stands_above_the_threshold_of_the_metric() -> None:
    own, _ = imported("deepeval", RUN, judged_by=(ScorerDemand("Correctness"),))
    bound, _ = imported("deepeval", RUN, judged_by=(ScorerDemand("Correctness", Fraction(1)),))
    assert [(rows[2]["correctness"], rows[2]["passed"]) for rows in (own, bound)] == [(0.75, True), (0.75, False)]


def test_the_policy_says_who_judges() -> None:
    rows, report = imported("deepeval", RUN, judged_by=(ScorerDemand("Correctness", Fraction(4, 5)),))
    assert [row.get("passed") for row in rows[:3]] == [True, False, False]
    assert report.judges == ("Correctness",)
    assert report.scorers["Bias"].startswith("a column, does not judge")
    (down,) = (row for row in rows if row["id"] == "judge-down")
    assert "passed" not in down
    with pytest.raises(highbar.errors.InputError, match="Correctness, Length, Tone"):
        imported("deepeval", RUN, judged_by=(ScorerDemand("Grace"),))


@pytest.mark.parametrize("status", ["ERRORED", "errored", "ERROR", "Error"])
@pytest.mark.parametrize("holder", ["trace", "span"])
def test_a_run_crashed_in_whatever_case_its_status_is_written(tmp_path: Path, holder: str, status: str) -> None:
    done = check(tmp_path, with_status(holder, status), POLICY | {"metrics": []}, name="run.json")
    assert judged(done, "fail")["counts"]["errors"] == 1


@pytest.mark.parametrize("status", ["SUCCESS", "success", None])
@pytest.mark.parametrize("holder", ["trace", "span"])
def test_a_run_ended_well_in_whatever_case_its_status_is_written(
    tmp_path: Path, holder: str, status: str | None
) -> None:
    judged(check(tmp_path, with_status(holder, status), POLICY | {"metrics": []}, name="run.json"), "pass")


@pytest.mark.parametrize(("status", "found"), [("CRASHED", "'CRASHED'"), ("", "''"), (True, "true"), (2, "2")])
@pytest.mark.parametrize("holder", ["trace", "span"])
def test_a_status_that_deepeval_does_not_have_is_refused(
    tmp_path: Path, holder: str, status: object, found: str
) -> None:
    done = check(tmp_path, with_status(holder, status), POLICY | {"metrics": []}, name="run.json")
    refused(done, f"status: found {found}, wanted SUCCESS or ERRORED")


def with_status(holder: str, status: object) -> bytes:
    """A run of one case that passed, with this status of its trace or of the span that began it."""
    trace = {"status": status} if holder == "trace" else {"agentSpans": [{"uuid": "u", "status": status}]}
    return json.dumps(_run({"success": True, **JUDGED, "trace": trace})).encode()
