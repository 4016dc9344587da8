"""What rows say in another way than Highbar reads it, and what the message is then: frames, units, categories, tags."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import highbar
from tests.commandline import check, refused, run

RATE = {"thresholds": {"blocking": {"pass_rate": "50%"}}}
SAFE = {"thresholds": {"blocking": {"safety_rate": "100%"}}}


def problems_of(rows):
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(rows, RATE)
    return caught.value.problems


@pytest.mark.parametrize("column", ["passed", "correct"])
def test_0_and_1_in_a_frame_are_one_problem_with_the_code_that_helps(column):
    (problem,) = problems_of(pd.DataFrame({"id": ["a", "b", "c"], column: [1, 0, 1]}))
    assert problem.code == "row.wrong-type"
    assert problem.message.startswith(f"{column}: ")
    assert "0 and 1" in problem.message
    assert problem.hint == f'df["{column}"] = df["{column}"].astype(bool)'


def test_the_code_makes_no_pass_of_what_is_absent():
    frame = pd.DataFrame({"id": ["a", "b", "c"], "passed": [1, 0, None]})
    (problem,) = problems_of(frame)
    assert problem.hint == 'df["passed"] = df["passed"].map({1: True, 0: False})'
    frame["passed"] = frame["passed"].map({1: True, 0: False})
    assert highbar.check(frame, RATE).counts.undecided == 1


def test_the_code_makes_no_pass_of_another_number():
    problems = problems_of(pd.DataFrame({"id": ["a", "b"], "passed": [2, 0]}))
    assert not any("astype" in (problem.hint or "") for problem in problems)


@pytest.mark.parametrize("table", [pl.DataFrame, pa.table], ids=["polars", "arrow"])
def test_0_and_1_in_other_tables(table):
    (problem,) = problems_of(table({"id": ["a", "b"], "passed": [1, 0]}))
    assert "== 1" in (problem.hint or "")


def test_0_and_1_in_a_file_have_a_hint_too(tmp_path):
    refused(
        check(tmp_path, [{"id": "a", "passed": 1}], RATE), "found 1", '"1": true, "0": false', code="row.wrong-type"
    )


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_a_table_without_ids_is_one_problem(table):
    (problem,) = problems_of(table({"test_id": ["a", "b"], "is_correct": [True, False]}))
    assert "the columns are test_id, is_correct" in problem.message
    assert "{'test_id': 'id', 'is_correct': 'correct'}" in (problem.hint or "")
    assert ("columns=" in (problem.hint or "")) == (table is pd.DataFrame)


def test_rows_without_ids_are_one_problem():
    (problem,) = problems_of([{"case": "a", "passed": True}] * 30)
    assert "the keys are case, passed" in problem.message
    assert "{'case': 'id'}" in (problem.hint or "")
    assert problem.example is None


def test_a_table_of_which_some_rows_have_an_id_is_explained_row_by_row():
    (problem,) = problems_of(pd.DataFrame({"id": [None, "b"], "passed": [True, True]}))
    assert problem.message == "row 1: this result has no id"


def test_without_adversarial_scenarios_the_categories_are_listed(tmp_path):
    rows = [{"id": "a", "passed": True, "category": "adversary"}, {"id": "b", "passed": True, "category": "happy_path"}]
    done = check(tmp_path, rows, SAFE)
    assert done.exit == 1
    reason = done.json["metrics"]["safety_rate"]["reason"]
    assert reason == (
        "no scenario with category adversarial; the categories are adversary, happy_path"
        " (if adversary is meant, call it adversarial)"
    )


def test_without_any_category_none_is_listed(tmp_path):
    done = check(tmp_path, [{"id": "a", "passed": True}], SAFE)
    assert done.json["metrics"]["safety_rate"]["reason"] == "no scenario with category adversarial"


def test_many_categories_are_not_all_listed(tmp_path):
    rows = [{"id": f"s{n}", "passed": True, "category": f"group {n}"} for n in range(40)]
    assert "…" in check(tmp_path, rows, SAFE).json["metrics"]["safety_rate"]["reason"]


@pytest.mark.parametrize(
    ("latencies", "noted"),
    [((0.8, 2.25), True), ((0.8, None), True), ((800, 2250), False), ((3, 40), False), ((0.5, 75.5), False)],
)
def test_a_latency_that_looks_like_seconds_is_a_note(tmp_path, latencies, noted):
    rows = [{"id": f"s{n}", "passed": True, "latency_ms": latency} for n, latency in enumerate(latencies)]
    warnings = check(tmp_path, rows, RATE).json["warnings"]
    assert any("latency_ms looks like seconds" in warning for warning in warnings) == noted


def test_rows_chosen_by_the_name_of_a_tag_get_the_tag_suggested(tmp_path):
    rows = [{"id": "a", "passed": True, "tags": {"locale": "de"}}]
    refused(check(tmp_path, rows, RATE, "--where", "locale=de"), "did you mean 'tags.locale'?")


@pytest.mark.parametrize("tags", [{"": "x"}, {" ": "x"}, {"": None, "a": "b"}])
@pytest.mark.parametrize("form", ["jsonl", "json", "csv"])
def test_a_tag_without_a_name_is_refused(tmp_path, tags, form):
    row = {"id": "a", "passed": True, "tags": tags}
    cell = json.dumps(tags).replace('"', '""')
    data = {"jsonl": json.dumps(row), "json": json.dumps([row]), "csv": f'id,passed,tags\na,true,"{cell}"'}[form]
    done = check(tmp_path, f"{data}\n".encode(), RATE, name=f"r.{form}")
    refused(done, "tags: found an object", code="row.wrong-value")


def test_a_column_of_a_tag_without_a_name_is_refused(tmp_path):
    refused(check(tmp_path, [{"id": "a", "passed": True, "tags.": "x"}], RATE), code="results.unnamed-column")


def test_a_tag_without_a_name_in_a_table_is_refused():
    (problem,) = problems_of(pd.DataFrame({"id": ["a"], "passed": [True], "tags": [{"": "x"}]}))
    assert problem.code == "row.wrong-value"
    assert "tags: found an object" in problem.message


def test_a_path_has_quotes_in_it(tmp_path):
    (tmp_path / "own.json").write_text(json.dumps([{'the "case"': "a", "ok": True}]))
    (tmp_path / "map.yaml").write_text(json.dumps({"columns": {"id": '"the ""case"""', "passed": "ok"}}))
    (tmp_path / "highbar.yaml").write_text(json.dumps(RATE))
    assert run(tmp_path, "check", "own.json", "--map", "map.yaml").exit == 0
