"""Ids that are whole numbers: a number is its digits, 1.0 is none, and `1` beside `"1"` is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from highbar.engine.limits import LARGE_BYTES
from tests.commandline import check, judged, refused, run

ALL = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
ONE = {**ALL, "required_scenarios": {"ids": [1, "2*"]}}


def result(id_: Any, **more: Any) -> dict[str, Any]:
    return {"id": id_, "passed": True, **more}


@pytest.mark.parametrize("kind", ["jsonl", "json", "csv", "parquet"])
def test_a_whole_number_is_its_digits(tmp_path: Path, kind: str) -> None:
    rows = [result(1), result(22, passed=False), result(-3)]
    contents = {
        "jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode(),
        "json": json.dumps(rows).encode(),
        "csv": b"id,passed\n1,true\n22,false\n-3,true\n",
    }
    if kind == "parquet":
        parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "results.parquet")
    else:
        (tmp_path / f"results.{kind}").write_bytes(contents[kind])
    (tmp_path / "policy.json").write_text(json.dumps(ONE), "utf-8")
    done = run(tmp_path, "check", f"results.{kind}", "--policy", "policy.json", "--format", "json")
    verdict = judged(done, "fail")
    assert [failed["id"] for failed in verdict["scenarios_failed"]] == ["22"]
    assert done.rule("required_scenarios.1")["outcome"] == "pass"
    assert done.rule("required_scenarios.2*")["outcome"] == "fail"


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.Table.from_pylist, list])
def test_a_whole_number_is_its_digits_in_every_object(make: Any) -> None:
    verdict = highbar.check(make([result(1), result(2)]), ONE)
    assert (verdict.verdict, verdict.counts.scenarios) == ("pass", 2)


@pytest.mark.parametrize("text", ["1.0", "1e2", "true", "[1]", '{"a": 1}', "1.5"])
def test_an_id_that_is_neither_text_nor_a_whole_number_is_refused(tmp_path: Path, text: str) -> None:
    refused(check(tmp_path, [result("A"), f'{{"id": {text}, "passed": true}}'], ALL), "whole number", line=2)


def test_an_id_that_is_a_number_with_a_fraction_is_refused_in_a_frame() -> None:
    for frame in (pd.DataFrame([result(1.0)]), pl.DataFrame([result(1.0)])):
        with pytest.raises(highbar.InputError, match=r"1\.0") as caught:
            highbar.check(frame, ALL)
        assert [problem.code for problem in caught.value.problems] == ["row.wrong-type"]


def test_a_number_and_its_digits_in_quotes_are_refused_together(tmp_path: Path) -> None:
    rows = [result(1, trial=1), result("1", trial=2), result("a", trial=1)]
    refused(check(tmp_path, rows, ALL), "the id 1 is a number in some results and the text '1' in others")


def test_numbers_beside_other_texts_are_judged(tmp_path: Path) -> None:
    judged(check(tmp_path, [result(1), result("2"), result("A-1")], ALL), "pass")


def test_a_number_and_its_digits_are_refused_together_across_files_and_objects(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(result(1, trial=1)), "utf-8")
    (tmp_path / "b.csv").write_text("id,passed,trial\n1,true,2\n", "utf-8")
    (tmp_path / "policy.json").write_text(json.dumps(ALL), "utf-8")
    refused(run(tmp_path, "check", "a.jsonl", "b.csv", "--policy", "policy.json", "--format", "json"), "the id 1 is")
    with pytest.raises(highbar.InputError, match="the id 1 is a number in some"):
        highbar.check(pd.DataFrame([result(1, trial=1), result("1", trial=2)]), ALL)


def test_a_number_and_its_digits_are_refused_together_in_a_large_file(tmp_path: Path) -> None:
    rows = [result(f"S{i}", trial=1, output="x" * 2000) for i in range(LARGE_BYTES // 2000)]
    rows += [result(1, trial=1, output="x"), result("1", trial=2, output="x")]
    refused(check(tmp_path, rows, ALL), "the id 1 is a number in some results")


def test_a_number_twice_is_named_with_its_lines(tmp_path: Path) -> None:
    refused(
        check(tmp_path, [result(7), result(8), result(7)], ALL), "scenario '7' has 2 results", "lines 1 and 3", line=3
    )


@pytest.mark.parametrize("suite", ['[1, {"id": 2, "category": "edge_case"}]', '["1", "2"]'])
def test_a_suite_names_whole_numbers(tmp_path: Path, suite: str) -> None:
    (tmp_path / "suite.json").write_text(suite, "utf-8")
    (tmp_path / "suite.yaml").write_text(suite, "utf-8")
    for name in ("suite.json", "suite.yaml"):
        done = check(tmp_path, [result(1), result(2)], {**ALL, "suite": name})
        judged(done, "pass")
        judged(check(tmp_path, [result(1), result(3)], {**ALL, "suite": name}), "fail")


def test_a_suite_takes_digits_that_are_no_number_as_text(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("[007]", "utf-8")
    judged(check(tmp_path, [result("007")], {**ALL, "suite": "suite.yaml"}), "pass")
    judged(check(tmp_path, [result(7)], {**ALL, "suite": "suite.yaml"}), "fail")


@pytest.mark.parametrize(("suite", "told"), [("[1.0]", "whole number"), ('[1, "1"]', "twice")])
def test_a_suite_refuses_numbers_that_are_not_whole_or_stand_twice(tmp_path: Path, suite: str, told: str) -> None:
    (tmp_path / "suite.yaml").write_text(suite, "utf-8")
    refused(check(tmp_path, [result(1)], {**ALL, "suite": "suite.yaml"}), told)


def test_a_baseline_of_numbers_is_compared_with_numbers(tmp_path: Path) -> None:
    (tmp_path / "base.jsonl").write_text("".join(json.dumps(result(i)) + "\n" for i in range(9)), "utf-8")
    (tmp_path / "policy.json").write_text(
        json.dumps({**ALL, "baseline": {"file": "b.json", "margin": {"pass_rate": "1%"}}}), "utf-8"
    )
    done = run(tmp_path, "baseline", "record", "base.jsonl", "--policy", "policy.json", "--output", "b.json")
    assert done.exit == 0, done.err
    compared = run(tmp_path, "compare", "b.json", "base.jsonl", "--format", "json")
    assert compared.exit == 0, compared.err
