"""A fault of a row has one code, in whatever form the row is."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar

SOUND = {"id": "B", "passed": True}
POLICY = {"thresholds": {"pass_rate": "50%"}}
Row = dict[str, Any]


def codes(results: object) -> list[str]:
    with pytest.raises(highbar.InputError) as refused:
        highbar.check(results, POLICY)
    return [problem.code for problem in refused.value.problems]


def forms(rows: list[Row], folder: Path) -> dict[str, object]:
    """The rows as files and in memory; as columns only if each has one type."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    (folder / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "r.json").write_text(json.dumps(rows))
    with (folder / "r.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, keys)
        table.writeheader()
        table.writerows(
            {name: str(value).lower() if value is True else value for name, value in row.items()} for row in rows
        )
    found: dict[str, object] = {name: str(folder / name) for name in ("r.jsonl", "r.json", "r.csv")} | {"rows": rows}
    try:
        columns = pa.Table.from_pylist([{key: row.get(key) for key in keys} for row in rows])
    except pa.ArrowException:
        return found
    parquet.write_table(columns, folder / "r.parquet")
    return found | {"r.parquet": str(folder / "r.parquet"), "arrow": columns, "frame": pd.DataFrame(rows)}


@pytest.mark.parametrize(
    ("code", "rows"),
    [
        ("row.wrong-type", [{"id": "A", "passed": "yes"}]),
        ("row.wrong-type", [{"id": "A", "passed": True, "trial": 1.5}]),
        ("row.wrong-value", [{"id": "A", "passed": True, "latency_ms": -1.0}]),
        ("row.wrong-value", [{"id": "A", "passed": True, "quality_score": 85.0}]),
        ("row.wrong-value", [{"id": "A", "passed": True, "outcome": "no"}]),
        ("row.not-finite", [{"id": "A", "passed": True, "latency_ms": float("inf")}]),
        ("row.missing-id", [{"id": None, "passed": True}]),
        ("results.duplicate-trial", [{"id": "A", "passed": True}, {"id": "A", "passed": True}]),
        ("results.disagree", [{"id": "A", "trial": trial, "category": f"own-{trial}"} for trial in (1, 2)]),
        ("results.unknown-name", [{"id": "A", "pased": True}]),
        ("agent.several-versions", [{"id": f"A{version}", "agent_version": version} for version in "12"]),
    ],
)
def test_a_fault_has_one_code_in_every_form(tmp_path: Path, code: str, rows: list[Row]) -> None:
    for name, results in forms([*rows, SOUND], tmp_path).items():
        assert set(codes(results)) == {code}, name
