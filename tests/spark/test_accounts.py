"""What Spark judges is what the files hold, counted here without it, or by a second query if they are elsewhere."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from highbar.engine.opening import choose_engine
from highbar.engine.spark import SparkEngine
from highbar.load import accounts, spark_files
from highbar.model.job import Job
from highbar.pipeline import check

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.spark
POLICY = {"thresholds": {"blocking": {"pass_rate": "10%"}}}
ROW = '{"id": "%s", "passed": true, "output": "%s"}\n'


def judged(path: Path) -> int:
    """The trials of a verdict on Spark, in the session of these tests."""
    return check(Job((str(path),), policy=POLICY, engine=choose_engine("spark"))).counts.trials


@pytest.fixture
def folder(tmp_path: Path, spark: Any) -> Path:
    assert spark
    return tmp_path


def test_l1_files_of_every_form_are_counted(folder: Path) -> None:
    (folder / "r.jsonl").write_text("\n" + ROW % ("a", "x") + "\n \n" + ROW % ("b", "x"), "utf-8")
    (folder / "r.csv").write_text('id,passed,output\na,true,"two\n\nlines"\n\nb,true,x\n', "utf-8")
    parquet.write_table(pa.table({"id": ["a", "b"], "passed": [True, True]}), folder / "r.parquet")
    assert [judged(folder / name) for name in ("r.jsonl", "r.csv", "r.parquet")] == [2, 2, 2]


def test_l1_r05_what_spark_leaves_out_is_refused(folder: Path) -> None:
    (folder / "out" / "inner").mkdir(parents=True)
    (folder / "out" / "a.jsonl").write_text(ROW % ("a", "x"), "utf-8")
    (folder / "out" / "inner" / "gone.jsonl").symlink_to(folder / "nowhere.jsonl")
    with pytest.raises(highbar.InputError, match=r"gone\.jsonl") as refused:
        check(Job((str(folder / "out"),), policy=POLICY, engine=choose_engine("spark"), input_format="jsonl"))
    assert [problem.code for problem in refused.value.problems] == ["file.broken-link"]


def test_l1_r26_an_empty_shard_is_refused(folder: Path) -> None:
    (folder / "out.parquet").mkdir()
    table = pa.table({"id": ["a"], "passed": [True]})
    parquet.write_table(table, folder / "out.parquet" / "0.parquet")
    assert judged(folder / "out.parquet") == 1
    parquet.write_table(table.slice(0, 0), folder / "out.parquet" / "1.parquet")
    with pytest.raises(highbar.InputError) as refused:
        judged(folder / "out.parquet")
    (problem,) = refused.value.problems
    assert problem.code == "results.empty"
    assert str(problem.file).endswith("1.parquet")


def test_l1_another_number_of_results_than_the_files_hold_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "r.jsonl"
    path.write_text(ROW % ("a", "x") + ROW % ("b", "x"), "utf-8")
    monkeypatch.setattr(accounts.counting, "COUNT_BY_FORMAT", {"jsonl": lambda blocks: 1 + len(list(blocks)) * 2})
    with pytest.raises(highbar.InputError, match="3 results, and 2 ") as refused:
        judged(path)
    assert [problem.code for problem in refused.value.problems] == ["results.other-count"]


def test_l1_files_that_are_elsewhere_are_counted_by_a_second_query(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "r.jsonl"
    path.write_text("\n" + "".join(json.dumps({"id": name, "passed": True}) + "\n" for name in "abc"), "utf-8")
    monkeypatch.setattr(spark_files.os.path, "isfile", lambda _: False)
    assert judged(path) == 3
    monkeypatch.setattr(SparkEngine, "count", lambda _: 4)
    with pytest.raises(highbar.InputError, match="4 results, and 3 ") as refused:
        judged(path)
    assert [problem.code for problem in refused.value.problems] == ["results.other-count"]
