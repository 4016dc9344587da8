"""MLflow evaluation tables: against the metrics that MLflow logs, on real files, and where the two differ."""

from __future__ import annotations

import copy
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import highbar
from highbar.model.judging import ScorerDemand
from tests.commandline import check, judged, refused
from tests.importers.imported import FIXTURES, imported, problems_of, recognized, samples, totals, written

TABLE = FIXTURES / "mlflow" / "eval_results.json"
SHEET = FIXTURES / "mlflow" / "sheet.json"
CLASSIC = FIXTURES / "mlflow" / "eval_results_table.json"
POLICY = {
    "thresholds": {"blocking": {"pass_rate": "≥ 10%"}},
    "metrics": [{"name": "mean_relevance", "formula": "mean(relevance)"}],
}


def table() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(TABLE.read_text("utf-8"))
    return found


def test_accuracy_and_the_share_of_a_verdict_are_what_mlflow_logs() -> None:
    logged = totals("mlflow")["genai"]["metrics"]
    rows, _ = imported("mlflow", TABLE)
    verdict = highbar.check(TABLE, POLICY)
    assert verdict.metrics["accuracy"].value == Fraction(3, 5)
    assert logged["correctness/mean"] == 0.6
    assert sum("polite" in row["behaviors"] for row in rows) / len(rows) == logged["polite/mean"]


def test_the_mean_of_a_score_is_what_mlflow_logs_and_says_that_a_scorer_broke() -> None:
    """MLflow drops the row whose scorer broke and says nothing; here the same rows count, and so does the gap."""
    verdict = highbar.check(TABLE, POLICY)
    assert "undecided" in (verdict.metrics["mean_relevance"].reason or "")
    ranged = {**POLICY, "metrics": [{**one, "range": "0-1"} for one in POLICY["metrics"]]}
    value = highbar.check(TABLE, ranged).metrics["mean_relevance"]
    logged = Fraction(totals("mlflow")["genai"]["metrics"]["relevance/mean"])
    assert (value.value, value.scenarios, value.undecided) == (logged * 4 / 5, 5, 1)  # at worst the gap is a 0
    assert imported("mlflow", TABLE)[1].unscored == 1


def test_a_crash_is_an_error_where_mlflow_scores_the_empty_answer() -> None:
    rows, report = imported("mlflow", TABLE)
    (crash,) = (row for row in rows if row["id"] == "crash")
    assert crash["error"] == "RuntimeError: the agent crashed"
    assert report.errors == 1
    assert highbar.check(TABLE, POLICY).metrics["error_rate"].value == Fraction(1, 5)


def test_an_expectation_is_no_verdict() -> None:
    """MLflow's own `passed` fails here for `expected_response`, and would count `is_urgent` as one more success."""
    rows, report = imported("mlflow", TABLE)
    assert "expected_response: returned" in totals("mlflow")["genai"]["reason"]
    assert all(set(row["expected_behaviors"]) <= {"correctness", "polite", "relevance"} for row in rows)
    assert report.unread["expectations"] == 10


def test_every_form_that_pandas_writes_gives_the_same_rows(tmp_path: Path) -> None:
    rows, _ = imported("mlflow", TABLE)
    lines = FIXTURES / "mlflow" / "eval_results.jsonl"
    records = [json.loads(line) for line in lines.read_text("utf-8").splitlines()]
    array = written(tmp_path, "records.json", records)
    assert imported("mlflow", lines)[0] == imported("mlflow", array)[0] == rows
    assert recognized(lines) == recognized(array) == recognized(TABLE) == "mlflow"


def test_scenarios_are_called_by_a_tag_or_by_what_was_asked(tmp_path: Path) -> None:
    content = table()
    place = {name: content["columns"].index(name) for name in ("tags", "request", "client_request_id")}
    content["data"][0][place["tags"]]["id"] = "T-1"
    content["data"][1][place["client_request_id"]] = "C-1"
    content["data"][2][place["request"]] = {"question": "why " * 40}
    content["data"][3][place["request"]] = {"question": "a", "context": "b"}
    rows, _ = imported("mlflow", written(tmp_path, "table.json", content))
    assert [row["id"] for row in rows[:2]] == ["T-1", "C-1"]
    assert len(rows[2]["id"]) == 80
    assert rows[3]["id"] == '{"question": "a", "context": "b"}'


def test_the_same_question_twice_is_two_trials(tmp_path: Path) -> None:
    content = table()
    content["data"].append(copy.deepcopy(content["data"][0]))
    content["index"].append(len(content["index"]))
    rows, _ = imported("mlflow", written(tmp_path, "table.json", content))
    assert [(row["id"], row["trial"]) for row in rows if row["id"] == "plain"] == [("plain", 0), ("plain", 1)]


def test_feedback_that_was_replaced_does_not_count(tmp_path: Path) -> None:
    content = table()
    assessments = content["data"][0][content["columns"].index("assessments")]
    (polite,) = (found for found in assessments if found["assessment_name"] == "polite")
    polite["valid"] = False
    human = {"source_type": "HUMAN", "source_id": "ann"}
    assessments.append({"assessment_name": "polite", "source": human, "feedback": {"value": "no"}, "valid": True})
    rows, report = imported("mlflow", written(tmp_path, "table.json", content))
    assert rows[0]["passed"] is False
    assert rows[0]["judge"] == "ann"
    assert report.unread["feedback that a later one replaced"] == 1


def test_feedback_that_nothing_replaced_is_missing(tmp_path: Path) -> None:
    content = table()
    for assessment in content["data"][0][content["columns"].index("assessments")]:
        if assessment["assessment_name"] == "polite":
            assessment["valid"] = False
    rows, report = imported("mlflow", written(tmp_path, "table.json", content))
    assert rows[0]["unjudged"] == "judge: polite: its feedback is no longer valid, and nothing replaced it"
    assert report.unscored == 2


def test_the_older_table_has_scores_that_judge_nothing_unless_the_policy_says_so() -> None:
    (problem,) = problems_of("mlflow", CLASSIC)
    assert problem.code == "judge.undeclared"
    assert "'exact', 'length'" in problem.message
    demand = ScorerDemand("exact", Fraction(1))
    rows, report = imported("mlflow", CLASSIC, judged_by=(demand,))
    logged = totals("mlflow")["classic"]["metrics"]
    assert sum(row["exact"] for row in rows) / len(rows) == logged["exact/v1/mean"]
    assert [row["passed"] for row in rows] == [True, False, False]
    assert report.judges == ("exact",)
    assert report.scorers["length"].startswith("a column, does not judge")


def test_exact_match_is_the_one_score_that_is_a_verdict(tmp_path: Path) -> None:
    columns = ["inputs", "outputs", "exact_match/v1/score", "answer_correctness/v1/score"]
    content = {"columns": columns, "data": [["a", "A", 1, 1], ["b", "B", 0, 5]]}
    rows, report = imported("mlflow", written(tmp_path, "table.json", content))
    assert [(row["correct"], row["answer_correctness"]) for row in rows] == [(True, 1), (False, 5)]
    assert report.unscored == 0


@pytest.mark.parametrize("path", samples("mlflow"), ids=lambda path: path.name[:45])
def test_real_files_have_a_row_for_every_record_or_are_refused(path: Path) -> None:
    document = json.loads(path.read_text("utf-8"))
    assert recognized(path) == "mlflow"
    if not any(column.endswith(("/value", "/score")) for column in document["columns"]):
        assert [problem.code for problem in problems_of("mlflow", path)] == ["import.other-file"]
        return
    rows, report = imported("mlflow", path)
    assert len(rows) == report.records == len(document["data"])
    state = document["columns"].index("state")
    assert report.errors == sum(row[state] != "OK" for row in document["data"])


@pytest.mark.parametrize(
    ("content", "code", "place"),
    [
        ({"columns": ["a/value", "a/value"], "data": [[1, 2]]}, "import.duplicate", "columns: 'a/value'"),
        ({"columns": ["a/value"], "data": [[1, 2]]}, "import.wrong-value", "data[0]: found a list of 2"),
        ({"columns": ["a/value"], "data": [{"a/value": 1}]}, "import.wrong-value", "data[0]: found an object"),
        ({"columns": [1], "data": [[1]]}, "import.wrong-value", "columns: found a list of 1"),
        ({"columns": ["a/value"], "data": [[1]]}, "import.lossy-form", "assessments"),
        ({"columns": ["x", "pass"], "data": [[1, True]]}, "import.other-file", ""),
        ({"columns": ["exact_match/v1/score"], "data": [[1]]}, "import.missing-value", "data[0]"),
        ({"columns": ["m/v1/score"], "data": [[1]]}, "judge.undeclared", "'m'"),
    ],
)
def test_what_is_no_such_table_is_refused_with_its_place(
    tmp_path: Path, content: object, code: str, place: str
) -> None:
    (problem,) = problems_of("mlflow", written(tmp_path, "table.json", content))
    assert problem.code == code
    assert place in problem.message


@pytest.mark.parametrize("feedback", [{"value": "no"}, {"value": False}, {"value": None, "error": {"error_code": "X"}}])
def test_breaking_a_verdict_never_makes_a_row_pass(tmp_path: Path, feedback: dict[str, Any]) -> None:
    before = [row.get("passed") for row in imported("mlflow", TABLE)[0]]
    columns = table()["columns"]
    for number in range(5):
        content = table()
        for assessment in content["data"][number][columns.index("assessments")]:
            if assessment["assessment_name"] == "correctness":
                assessment["feedback"] = feedback
        content["data"][number][columns.index("correctness/value")] = feedback["value"]
        rows, _ = imported("mlflow", written(tmp_path, "table.json", content))
        assert rows[number].get("passed") is not True
        assert rows[number].get("correct") is not True
        assert [bool(row.get("passed")) and not was for row, was in zip(rows, before, strict=True)] == [False] * 5


def test_a_judge_that_gives_no_verdict_on_a_row_leaves_it_undecided(tmp_path: Path) -> None:
    """MLflow's own mean of `odd` is over three of five rows."""
    rows, report = imported("mlflow", SHEET)
    assert [row.get("passed") for row in rows] == [True, None, None, None, False]
    said = [row["unjudged"] for row in rows[1:4]]
    assert said == [
        "judge: odd: gave no value",
        "judge: odd: said 'No.', which is not a verdict",
        "judge: odd: said 0.0, which is not a verdict",
    ]
    assert report.judges == ("polite", "odd")
    policy = {"thresholds": {"blocking": {"pass_rate": "≥ 60%"}}}
    judged(check(tmp_path, SHEET.read_bytes(), policy, name="sheet.json"), "inconclusive")


def test_an_answer_sheet_has_no_latency_and_an_agent_that_took_less_than_a_millisecond_has() -> None:
    assert all("latency_ms" not in row for row in imported("mlflow", SHEET)[0])
    columns = table()["columns"]
    assert 0 in [row[columns.index("execution_duration")] for row in table()["data"]]
    assert all(row["latency_ms"] > 0 for row in imported("mlflow", TABLE)[0])


@pytest.mark.parametrize("form", ["sheet.index.json", "sheet.table.json"])
def test_the_other_forms_of_pandas_give_the_same_rows(form: str) -> None:
    other = FIXTURES / "mlflow" / form
    assert recognized(other) == recognized(SHEET) == "mlflow"
    assert imported("mlflow", other)[0] == imported("mlflow", SHEET)[0]


def test_a_table_in_columns_must_have_as_many_rows_in_all_of_them(tmp_path: Path) -> None:
    content = json.loads(SHEET.read_text("utf-8"))
    del content["state"]["3"]
    (problem,) = problems_of("mlflow", written(tmp_path, "s.json", content))
    assert problem.code == "import.contradiction"
    assert problem.message.startswith("state: found 4 rows")


def test_csv_is_refused_with_a_word_about_json(tmp_path: Path) -> None:
    csv = FIXTURES / "mlflow" / "sheet.csv"
    assert recognized(csv) == "mlflow"
    refused(check(tmp_path, csv.read_bytes(), POLICY, name="sheet.csv"), "to_json", code="import.lossy-form")


@pytest.mark.parametrize("taken", ["column", "assessment"])
def test_a_verdict_that_the_table_says_once_only_is_refused(tmp_path: Path, taken: str) -> None:
    content = table()
    columns = content["columns"]
    if taken == "column":
        content["data"][1][columns.index("polite/value")] = None
    else:
        assessments = content["data"][1][columns.index("assessments")]
        assessments[:] = [one for one in assessments if one["assessment_name"] != "polite"]
    done = check(tmp_path, json.dumps(content).encode(), POLICY, name="t.json")
    refused(done, "polite/value", code="import.contradiction")


def test_a_crash_shows_in_the_spans_if_the_state_was_taken_away(tmp_path: Path) -> None:
    content = table()
    for row in content["data"]:
        row[content["columns"].index("state")] = None
    rows, _ = imported("mlflow", written(tmp_path, "t.json", content))
    assert [row["id"] for row in rows if "error" in row] == ["crash"]


def test_the_policy_says_who_judges() -> None:
    rows, report = imported("mlflow", TABLE, judged_by=(ScorerDemand("relevance", Fraction(1, 2)),))
    assert [row.get("passed") for row in rows] == [True, False, False, None, True]
    assert report.judges == ("relevance",)
    assert {row["polite"] for row in rows} == {"yes", "no"}


@pytest.mark.parametrize("first", ["index", "data"])
def test_rows_that_the_index_of_the_table_names_must_be_there(tmp_path: Path, first: str) -> None:
    content = table()
    content["data"].pop()
    ordered = {"columns": content["columns"], first: content[first], **content}
    done = check(tmp_path, json.dumps(ordered).encode(), POLICY | {"metrics": []}, name="t.json")
    refused(done, "index names 5", "data has 4", code="import.contradiction")
    content["index"] = "01234"
    done = check(tmp_path, json.dumps(content).encode(), POLICY | {"metrics": []}, name="t.json")
    refused(done, "index: found '01234'", code="import.wrong-value")


def with_status(code: object, state: str = "OK") -> bytes:
    """A table of one row that passed, whose first span ended so."""
    content = table()
    (row,) = (row for row in content["data"] if row[content["columns"].index("request")] == {"question": "plain"})
    content |= {"index": [0], "data": [row]}
    row[content["columns"].index("state")] = state
    for span in row[content["columns"].index("spans")]:
        span["status"] = {"code": code}
    return json.dumps(content).encode()


@pytest.mark.parametrize("code", [2, "2", "error", "Error", "STATUS_CODE_ERROR", "status_code_error"])
def test_a_span_ended_with_an_error_by_the_number_or_the_name_of_its_status(tmp_path: Path, code: object) -> None:
    done = check(tmp_path, with_status(code), POLICY | {"metrics": []}, name="t.json")
    assert judged(done, "fail")["counts"]["errors"] == 1


@pytest.mark.parametrize("code", [0, 1, 1.0, "1", "ok", "Unset", "STATUS_CODE_OK", None])
def test_a_span_ended_well_by_the_number_or_the_name_of_its_status(tmp_path: Path, code: object) -> None:
    # A single value does not show that `tone` and `relevance` give no verdicts.
    policy = POLICY | {"metrics": [], "judged_by": {"mlflow": ["correctness", "polite"]}}
    done = check(tmp_path, with_status(code, "ok"), policy, name="t.json")
    assert judged(done, "pass")["counts"]["errors"] == 0


@pytest.mark.parametrize(
    ("code", "found"), [(True, "true"), (3, "3"), (0.5, "0.5"), ("errored", "'errored'"), ([2], "a list of 1")]
)
def test_a_status_that_no_span_has_is_refused(tmp_path: Path, code: object, found: str) -> None:
    done = check(tmp_path, with_status(code), POLICY | {"metrics": []}, name="t.json")
    refused(done, f"code: found {found}", code="import.wrong-value")


def test_a_state_that_no_trace_has_is_refused(tmp_path: Path) -> None:
    done = check(tmp_path, with_status(1, "DONE"), POLICY | {"metrics": []}, name="t.json")
    refused(done, "state: found 'DONE'", code="import.wrong-value")
