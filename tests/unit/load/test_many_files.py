"""Many Parquet files at once: asked together for their columns, read each by its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from highbar.errors import InputError

POLICY = {"thresholds": {"blocking": {"pass_rate": 50}}}


def written(folder: Path, count: int = 8) -> None:
    """The files have four forms: another order of the columns, one more column, or another type of it."""
    for place in range(count):
        row: dict[str, Any] = {"id": f"s{place}", "passed": place > 1, "note": "ü'\n"}
        forms = (row, dict(reversed(row.items())), row | {"latency_ms": 5.5}, row | {"latency_ms": 5})
        parquet.write_table(pa.Table.from_pylist([forms[place % 4]]), folder / f"{place}.parquet")


def test_files_of_several_forms_are_read_each_by_its_own(tmp_path: Path) -> None:
    written(tmp_path)
    verdict = highbar.check(str(tmp_path), POLICY | {"metrics": [{"name": "slow", "formula": "mean(latency_ms)"}]})
    assert verdict.counts.scenarios == 8
    assert verdict.metrics["pass_rate"].value == pytest.approx(6 / 8)
    assert verdict.metrics["slow"].scenarios == 4


def test_the_file_among_many_that_is_not_sound_is_named(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "5.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"5\.parquet: .*not a sound Parquet file"):
        highbar.check(str(tmp_path), POLICY)


@pytest.mark.slow
def test_a_thousand_files_have_the_verdict_of_one(tmp_path: Path) -> None:
    rows = [{"id": f"s{i}", "passed": i % 9 > 0, "latency_ms": float(i)} for i in range(3000)]
    (tmp_path / "many").mkdir()
    for place in range(1000):
        parquet.write_table(pa.Table.from_pylist(rows[3 * place : 3 * place + 3]), tmp_path / f"many/{place}.parquet")
    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "one.parquet")
    many, one = highbar.check(str(tmp_path / "many"), POLICY), highbar.check(str(tmp_path / "one.parquet"), POLICY)
    assert many.metrics == one.metrics
    assert many.scenarios_failed == one.scenarios_failed
