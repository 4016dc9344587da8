"""R27: whatever a program hands to `highbar.check` is judged by the rules of a file, or refused in our words."""

from __future__ import annotations

import decimal
import functools
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from tests.commandline import refused, run

HALF = {"thresholds": {"blocking": {"pass_rate": "50%"}}}
ROWS = [{"id": "a", "passed": True}, {"id": "b", "passed": False}]
BROKEN_TEXT = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])


def deep() -> list[Any]:
    return functools.reduce(lambda inner, _: [inner], range(100_000), [])


def with_column(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": ["a", "b"], "passed": [True, True], **columns})


HOSTILE: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "a number": lambda: 5,
    "a dict": lambda: {"id": "a", "passed": True},
    "a dict of lists": lambda: {"id": ["a"], "passed": [True]},
    "a dict of arrays": lambda: {"id": np.array(["a"]), "passed": np.array([True])},
    "a generator of numbers": lambda: (number for number in range(2)),
    "an iterator over nothing": lambda: iter(()),
    "a set": lambda: {"a"},
    "bytes": lambda: b'{"id": "a", "passed": true}',
    "a file": lambda: io.BytesIO(b"{}"),
    "a module": lambda: sys,
    "a class": lambda: dict,
    "an array": lambda: np.array([1, 2]),
    "a pandas series": lambda: pd.Series([1, 2]),
    "a polars series": lambda: pl.Series([1, 2]),
    "no rows": list,
    "rows that are none": lambda: [None],
    "rows that are pairs": lambda: [("id", "a")],
    "paths beside rows": lambda: ["a.jsonl", {"id": "a"}],
    "an empty path": lambda: "",
    "a path with half of a character": lambda: "\ud800",
    "a row with keys that become one": lambda: [{"id": "a", "passed": True, 1: 2, "1": 3}],
    "a row that is too deep": lambda: [{"id": "a", "passed": True, "x": deep()}],
    "a row with an object": lambda: [{"id": "a", "passed": True, "x": object()}],
    "a nameless column": lambda: pd.DataFrame([["a", True, 1]], columns=["id", "passed", None]),
    "columns of tuples": lambda: pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("id", "x"), ("b", "y")])),
    "mixed truth values": lambda: pd.DataFrame({"id": ["a", "b"], "passed": [True, "true"]}),
    "an object as a truth value": lambda: pd.DataFrame({"id": ["a", "b"], "passed": [True, object()]}),
    "text beside lists": lambda: with_column(behaviors=[["a"], "a"]),
    "numbers in a list of text": lambda: with_column(behaviors=[["a", 1], ["a"]]),
    "a set as a list": lambda: with_column(behaviors=[{"a"}, {"b"}]),
    "a decimal that is no number": lambda: with_column(latency_ms=[decimal.Decimal("1.5"), decimal.Decimal("NaN")]),
    "complex numbers": lambda: with_column(x=[1j, 2j]),
    "intervals": lambda: with_column(x=pd.interval_range(0, 2)),
    "periods": lambda: with_column(x=pd.period_range("2020", periods=2)),
    "polars objects": lambda: pl.DataFrame({"id": ["a"], "passed": [True], "o": [object()]}),
    "text in another encoding": lambda: pa.table({"id": BROKEN_TEXT, "passed": [True]}),
    "a map with a key twice": lambda: pa.table({"id": ["a"], "passed": [True], "tags": TWICE}),
    "an own map with a key twice": lambda: pa.table({"id": ["a"], "passed": [True], "own": TWICE}),
    "no columns": lambda: pa.table({}),
    "columns without rows": lambda: pa.table({"id": pa.array([], pa.string()), "passed": pa.array([], pa.bool_())}),
}
TWICE = pa.array([[("l", "de"), ("l", "fr")]], type=pa.map_(pa.string(), pa.string()))


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_r27_what_is_no_table_of_results_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(make(), HALF)
    assert caught.value.problems
    with pytest.raises(highbar.InputError):
        highbar.compare(make(), ROWS)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ROWS,
        lambda: tuple(ROWS),
        lambda: pd.DataFrame(ROWS),
        lambda: pd.DataFrame({"id": pd.Categorical(["a", "b"]), "passed": np.array([True, False], dtype=object)}),
        lambda: pl.DataFrame(ROWS),
        lambda: pl.LazyFrame(ROWS),
        lambda: pa.Table.from_pylist(ROWS),
        lambda: pa.Table.from_pylist(ROWS).to_batches()[0],
        lambda: pa.Table.from_pylist(ROWS).to_reader(),
        lambda: duckdb.sql("SELECT * FROM (VALUES ('a', true), ('b', false)) AS t(id, passed)"),
        lambda: pd.DataFrame(ROWS).assign(behaviors=[["x"], None], tags=[{"l": "de"}, {"l": "fr"}]),
        lambda: pd.DataFrame(ROWS).assign(behaviors=[np.array(["x"]), np.array([], dtype=object)], note=[1, object()]),
        lambda: pd.DataFrame(ROWS).assign(latency_ms=[decimal.Decimal("1.5"), None]),
    ],
)
def test_r27_every_table_of_the_same_rows_is_judged_alike(make: Callable[[], Any]) -> None:
    verdict = highbar.check(make(), HALF)
    assert (verdict.verdict, verdict.counts.scenarios, verdict.counts.failed) == ("pass", 2, 1)


def test_r27_a_truth_value_and_its_name_are_two_labels_in_a_frame() -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "expected": [True, "x"], "predicted": ["true", "x"]})
    assert highbar.check(frame, {"thresholds": {"blocking": {"accuracy": "50%"}}}).metrics["accuracy"].value == 0.5


@pytest.mark.parametrize("policy", [5, ["a"], object()])
def test_r27_a_policy_that_is_none_is_refused(policy: Any) -> None:
    with pytest.raises(highbar.InputError, match="the policy is of type"):
        highbar.check(ROWS, policy)


@pytest.mark.parametrize("column", ["tags", "own"])
def test_r27_a_parquet_map_with_a_key_twice_is_refused(tmp_path: Path, column: str) -> None:
    parquet.write_table(pa.table({"id": ["a"], "passed": [True], column: TWICE}), tmp_path / "results.parquet")
    (tmp_path / "policy.json").write_text(json.dumps(HALF), "utf-8")
    done = run(tmp_path, "check", "results.parquet", "--policy", "policy.json", "--format", "json")
    refused(done, "results.parquet", code="row.duplicate-key")
    assert "Error:" not in done.err


@pytest.mark.parametrize("name", ["results.jsonl.zst", "results.csv.zst"])
def test_r27_junk_behind_a_zstd_frame_is_refused(tmp_path: Path, name: str) -> None:
    lines = ["id,passed", "a,true"] if "csv" in name else ['{"id": "a", "passed": true}']
    target = tmp_path / name
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE packed AS SELECT unnest(?) AS line", [lines])
        connection.table("packed").write_csv(str(target), header=False, quotechar="", sep="\x01", compression="zstd")
    (tmp_path / "policy.json").write_text(json.dumps(HALF), "utf-8")
    with target.open("ab") as stream:
        stream.write(b"junkjunkjunk")
    refused(run(tmp_path, "check", name, "--policy", "policy.json", "--format", "json"), name, "is the file complete")
