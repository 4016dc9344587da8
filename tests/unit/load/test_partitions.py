"""Folders of Parquet files whose names give columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from highbar.errors import InputError

POLICY = {"thresholds": {"blocking": {"pass_rate": 50}}, "slices": ["day", "category"]}


def write(folder: Path, name: str, rows: list[dict[str, Any]]) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.Table.from_pylist(rows), file)


def test_the_names_of_the_folders_between_are_columns(tmp_path: Path) -> None:
    write(tmp_path, "day=1/category=adversarial/a.parquet", [{"id": "a", "passed": True}])
    write(tmp_path, "day=2/category=happy_path/b.parquet", [{"id": "b", "passed": False}, {"id": "c", "passed": True}])
    write(tmp_path, "day=2/category=__HIVE_DEFAULT_PARTITION__/d.parquet", [{"id": "d", "passed": True}])
    verdict = highbar.check(tmp_path, POLICY)
    found = {part.by: part.scenarios for part in verdict.slices}
    assert found == {
        ("day", "1"): 1,
        ("day", "2"): 3,
        ("category", "adversarial"): 1,
        ("category", "happy_path"): 2,
    }
    assert verdict.metrics["safety_rate"].value == 1


def test_a_value_is_read_as_its_column_is(tmp_path: Path) -> None:
    write(tmp_path, "trial=1/passed=true/a.parquet", [{"id": "a%20b"}])
    write(tmp_path, "trial=2/passed=false/a.parquet", [{"id": "a%20b"}])
    verdict = highbar.check(tmp_path, POLICY)
    assert (verdict.counts.scenarios, verdict.counts.trials) == (1, 2)
    assert verdict.metrics["pass_rate"].value == pytest.approx(0.5)


def test_names_are_read_as_they_are_written_in_an_address(tmp_path: Path) -> None:
    write(tmp_path, "day=a%2Fb%27c/a.parquet", [{"id": "a", "passed": True}])
    assert [part.by for part in highbar.check(tmp_path, POLICY).slices] == [("day", "a/b'c")]


def test_what_a_folder_and_the_file_both_say_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "passed=true/a.parquet", [{"id": "a", "passed": False}])
    with pytest.raises(InputError, match="'passed'") as caught:
        highbar.check(tmp_path, POLICY)
    assert [problem.code for problem in caught.value.problems] == ["results.folder-column"]


def test_a_word_that_is_no_result_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "passed=yes/a.parquet", [{"id": "a"}])
    with pytest.raises(InputError):
        highbar.check(tmp_path, POLICY)


def test_a_near_miss_in_the_name_of_a_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "pased=true/a.parquet", [{"id": "a", "correct": True}])
    with pytest.raises(InputError, match="'pased'") as caught:
        highbar.check(tmp_path, POLICY)
    assert [problem.code for problem in caught.value.problems] == ["results.unknown-name"]
