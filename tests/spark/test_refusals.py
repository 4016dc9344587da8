"""What Spark refuses, and what it reads, as DuckDB does."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from highbar import pipeline
from highbar.engine.opening import choose_engine
from highbar.errors import InputError
from highbar.model import Verdict
from highbar.model.job import DUCKDB, EngineChoice, Job
from tests.hazards.test_blank_lists import BLANK, ROWS

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.filterwarnings("ignore")]

SPARK = choose_engine("spark")
PASS_RATE = {"thresholds": {"blocking": {"pass_rate": "100%"}}}


def check(path: Path, engine: EngineChoice, **more: Any) -> Verdict:
    return pipeline.check(Job((str(path),), policy=PASS_RATE, engine=engine, **more))


@pytest.mark.usefixtures("spark")
def test_a_bad_row_is_named_when_rows_are_selected(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"id": "a", "passed": true, "model": "x"}\n{"id": "b", "passed": 1, "model": "x"}\n', "utf-8")
    with pytest.raises(InputError, match=r"1 of 2 .* 'b'") as refused:
        check(path, SPARK, where=("model=x",))
    assert [problem.code for problem in refused.value.problems] == ["results.unreadable"]


@pytest.mark.usefixtures("spark")
def test_a_blank_field_of_a_list_is_absent_and_compressed_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    for engine in (SPARK, DUCKDB):
        assert {one.id for one in check(tmp_path / "r.csv.gz", engine).scenarios_undecided} == BLANK
    (tmp_path / "r.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a", "passed": false}\n'))
    assert check(tmp_path / "r.jsonl.gz", SPARK).verdict == "fail"
