"""Two statements about one thing: columns (R02) and keys (R03) that stand twice are never judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from highbar.engine import duckdb as engine
from highbar.engine.limits import LARGE_BYTES
from tests.commandline import check, judged, refused, run

ALL = {"thresholds": {"blocking": {"pass_rate": "100%"}}}


def table(second: str) -> pa.Table:
    return pa.Table.from_arrays(
        [pa.array(["a", "b"]), pa.array([True, True]), pa.array([False, False])], names=["id", "passed", second]
    )


def write(folder: Path, rows: pa.Table) -> None:
    parquet.write_table(rows, folder / "results.parquet")
    (folder / "policy.yaml").write_text("thresholds: { blocking: { pass_rate: 100% } }\n", "utf-8")


@pytest.mark.parametrize("second", ["passed", "Passed", "PASSED"])
def test_r02_a_column_twice_in_a_parquet_file_is_refused(tmp_path: Path, second: str) -> None:
    write(tmp_path, table(second))
    done = run(tmp_path, "check", "results.parquet", "--policy", "policy.yaml", "--format", "json")
    refused(done, "results.parquet", repr(second), code="row.duplicate-key")


def test_r02_a_parquet_file_with_numbered_columns_is_judged(tmp_path: Path) -> None:
    write(tmp_path, table("passed_1"))
    policy = {**ALL, "allow_columns": ["passed_1"]}
    assert highbar.check(tmp_path / "results.parquet", policy).verdict == "pass"


def test_r02_a_field_twice_inside_of_a_parquet_column_is_refused(tmp_path: Path) -> None:
    tags = pa.StructArray.from_arrays([pa.array(["de"]), pa.array(["fr"])], names=["locale", "LOCALE"])
    write(tmp_path, pa.Table.from_arrays([pa.array(["a"]), pa.array([True]), tags], names=["id", "passed", "tags"]))
    done = run(tmp_path, "check", "results.parquet", "--policy", "policy.yaml", "--format", "json")
    refused(done, "'locale'", "'LOCALE'", code="row.duplicate-key")


def frame(second: str) -> pd.DataFrame:
    return pd.DataFrame([["a", True, False]], columns=["id", "passed", second])


@pytest.mark.parametrize(
    "make",
    [
        lambda: table("passed"),
        lambda: table("PASSED"),
        lambda: table("PASSED").to_batches()[0],
        lambda: table("passed").to_reader(),
        lambda: frame("passed"),
        lambda: frame("Passed"),
        lambda: pl.DataFrame({"id": ["a"], "passed": [True], "PASSED": [False]}),
        lambda: pl.LazyFrame({"id": ["a"], "passed": [True], "PASSED": [False]}),
        lambda: [{"id": "a", "passed": True, "PASSED": False}],
    ],
)
def test_r02_a_column_twice_in_an_object_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(highbar.InputError, match="passed") as caught:
        highbar.check(make(), ALL)
    assert caught.value.problems[0].code == "row.duplicate-key"


ITEMS = {
    "must_not": '[{"name": "leaks", "violated": false, "violated": true}]',
    "behaviors": '[{"name": "greets", "observed": false, "observed": true}]',
}
KEYS = {
    "must_not": '{"leaks": false, "leaks": true}',
    "behaviors": '{"greets": true, "GREETS": false}',
    "tags": '{"locale": "de", "Locale": "fr"}',
}
TWICE = [*ITEMS.items(), *KEYS.items(), ("must_not", '[{"name": "a", "Name": "b", "violated": false}]')]


@pytest.mark.parametrize(("column", "value"), TWICE)
def test_r03_a_key_twice_inside_of_a_column_is_refused(tmp_path: Path, column: str, value: str) -> None:
    rows = ['{"id": "A", "passed": true}', f'{{"id": "B", "passed": true, "{column}": {value}}}']
    refused(check(tmp_path, rows, ALL), code="row.duplicate-key", line=2)


@pytest.mark.parametrize(("column", "value"), TWICE)
def test_r03_a_key_twice_inside_of_a_csv_cell_is_refused(tmp_path: Path, column: str, value: str) -> None:
    cell = value.replace('"', '""')
    content = f'id,passed,{column}\nA,true,\nB,true,"{cell}"\n'.encode()
    refused(check(tmp_path, content, ALL, name="results.csv"), code="row.duplicate-key", line=3)


def refused_at_its_end(folder: Path, size: int, column: str, value: str) -> None:
    """A file of more than so many bytes, whose last row but one has this value in this column."""
    plain = f'"passed": true, "output": "{"x" * 2000}"'
    rows = [f'{{"id": "S{i}", {plain}, "{column}": null}}' for i in range(size // 2000)]
    rows[-2] = f'{{"id": "B", {plain}, "{column}": {value}}}'
    refused(check(folder, rows, ALL), code="row.duplicate-key", line=len(rows) - 1)


def test_r03_a_key_twice_in_a_large_file_is_refused(tmp_path: Path) -> None:
    refused_at_its_end(tmp_path, LARGE_BYTES, "must_not", ITEMS["must_not"])


@pytest.mark.parametrize(("column", "value"), [*TWICE, ("own", '{"a": [{"b": 1, "b": 2}]}')])
def test_r03_a_key_twice_in_any_column_of_a_large_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, column: str, value: str
) -> None:
    for name, size in (("SMALL_BYTES", 20_000), ("LARGE_BYTES", 100_000)):
        monkeypatch.setattr(engine, name, size)  # how a file is read depends on nothing else
    refused_at_its_end(tmp_path, 100_000, column, value)


def test_r03_a_key_twice_in_a_row_too_large_for_the_engine_is_refused(tmp_path: Path) -> None:
    steps = ", ".join('{"tool": "x", "arguments": {"a": 1}}' for _ in range(3000))
    sound = f'{{"id": "A", "passed": true, "own": [{steps}]}}'
    twice = f'{{"id": "B", "passed": true, "own": [{steps}, {{"b": 1, "B": 2}}]}}'
    judged(check(tmp_path, [sound], ALL), "pass")
    refused(check(tmp_path, [sound, twice], ALL), "'b'", "'B'", line=2, code="row.duplicate-key")


def test_r03_a_deep_row_does_not_exhaust_the_machine(tmp_path: Path) -> None:
    deep = '{"id": "A", "passed": true, "own": ' + '{"a": ' * 30_000 + "1" + "}" * 30_001
    refused(check(tmp_path, [deep], ALL), "nested deeper", line=1)


@pytest.mark.parametrize("flat", ["tags.locale", "tags.Locale", "Tags.locale"])
def test_a_tag_beside_its_own_column_is_refused(tmp_path: Path, flat: str) -> None:
    row = {"id": "A", "passed": True, "tags": {"locale": "de"}, flat: "de"}
    refused(check(tmp_path, [row], ALL), flat, line=1)


def test_a_tag_in_some_rows_and_its_column_in_others_are_one(tmp_path: Path) -> None:
    rows = [
        {"id": "A", "passed": True, "tags": {"locale": "de"}},
        {"id": "B", "passed": True, "tags.locale": "de", "tags": {"tier": "1", "locale": None}},
    ]
    judged(check(tmp_path, rows, ALL), "pass")
    verdict = judged(check(tmp_path, rows, {**ALL, "slices": ["tags.locale"]}), "pass")
    assert [(part["by"], part["scenarios"]) for part in verdict["slices"]] == [({"tags.locale": "de"}, 2)]


# --- tags in another case ---------------------------------------------------------------------

GERMAN = {"rules": [{"metric": "pass_rate", "threshold": "≥ 90%", "where": {"tags.locale": "de"}}]}
SLICED = {"thresholds": {"blocking": {"pass_rate": "≥ 40%"}}, "slices": ["tags.locale"]}


@pytest.mark.parametrize("policy", [GERMAN, SLICED], ids=["where", "slices"])
@pytest.mark.parametrize("other", [{"tags": {"Locale": "de"}}, {"tags.Locale": "de"}], ids=["nested", "flat"])
def test_a_tag_that_the_policy_names_in_another_case_is_refused(tmp_path, policy, other):
    """The failing row would be outside of what the rule looks at."""
    good, bad = {"id": "a", "passed": True, "tags": {"locale": "de"}}, {"id": "b", "passed": False}
    judged(check(tmp_path, [good, bad | {"tags": {"locale": "fr"}}], policy), "pass")
    refused(check(tmp_path, [good, bad | other], policy), "Locale", "locale'", code="row.other-case")


def test_a_tag_in_two_cases_that_no_rule_names_is_no_matter(tmp_path):
    rows = [
        {"id": "a", "passed": True, "tags": {"locale": "de"}},
        {"id": "b", "passed": True, "tags": {"Locale": "de"}},
    ]
    judged(check(tmp_path, rows, {"thresholds": {"blocking": {"pass_rate": "≥ 40%"}}}), "pass")
