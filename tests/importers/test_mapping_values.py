"""Values that a mapping must not misread: a name that occurs twice, NaN, decimals and very long numbers."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import io
import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

import highbar
from tests.commandline import check, judged, refused

POLICY = "pass_criteria: 100%\n"


def by(feed: object) -> str:
    """The options of a policy that maps `tid` to the id and this feed to `passed`."""
    return f"{POLICY}map: {json.dumps({'columns': {'id': 'tid', 'passed': feed}})}\n"


def mapping(feed: object) -> dict[str, Any]:
    return {"columns": {"id": "tid", "passed": feed}}


def parquet_of(table: pa.Table) -> bytes:
    target = io.BytesIO()
    parquet.write_table(table, target)
    return target.getvalue()


def arrow(*names: str) -> pa.Table:
    return pa.Table.from_arrays([pa.array(["a"]), pa.array([True]), pa.array([False])], names=["tid", *names])


def duplicate(results: object, feed: object) -> highbar.Problem:
    """The problem of results in which a name occurs twice."""
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(results, POLICY, map=mapping(feed))
    (problem,) = caught.value.problems
    assert problem.code == "row.duplicate-key"
    return problem


# --- one name twice ----------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("ok", "ok"), ("ok", "OK")])
@pytest.mark.parametrize("feed", ["ok", "ok_1"])
def test_a_column_twice_in_parquet_is_refused(tmp_path: Path, names, feed):
    refused(check(tmp_path, parquet_of(arrow(*names)), by(feed), name="own.parquet"), "'ok'", code="row.duplicate-key")


@pytest.mark.parametrize("names", [("ok", "ok"), ("ok", "OK")])
def test_a_column_twice_in_an_arrow_table_is_refused(names):
    assert "'ok'" in duplicate(arrow(*names), "ok").message


def test_columns_of_polars_that_differ_in_case_are_refused():
    found = duplicate(pl.DataFrame({"tid": ["a"], "ok": [True], "OK": [False]}), "ok")
    assert "'ok' and 'OK'" in found.message


STRUCT = pa.table({"tid": ["a"], "s": pa.array([[{"ok": True, "OK": False}]])})


def test_a_name_twice_inside_of_a_struct_is_refused(tmp_path: Path):
    done = check(tmp_path, parquet_of(STRUCT), by("s[0].ok"), name="own.parquet")
    refused(done, "'ok' and 'OK'", code="row.duplicate-key")
    for frame in (STRUCT, pl.from_arrow(STRUCT)):
        assert "'ok' and 'OK'" in duplicate(frame, "s[0].ok").message


@pytest.mark.parametrize(
    ("name", "text", "feed"),
    [
        ("own.jsonl", '{"tid": "a", "ok": true, "OK": false}\n', "ok"),
        ("own.json", '[{"tid": "a", "ok": true, "OK": false}]\n', "ok"),
        ("own.jsonl", '{"tid": "a", "r": {"ok": true, "Ok": false}}\n', "r.ok"),
        ("own.jsonl", '{"tid": "a", "r": [{"ok": true, "Ok": false}]}\n', "r[0].ok"),
        ("own.csv", "tid,ok,OK\na,true,false\n", "ok"),
        ("own.tsv.gz", "tid\tok\tOK\na\ttrue\tfalse\n", "ok"),
    ],
)
def test_names_that_differ_only_in_case_are_refused(tmp_path: Path, name, text, feed):
    data = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    done = check(tmp_path, data, by(feed), *(["--input-format", "map"] if ".tsv" in name else []), name=name)
    refused(done, "'ok' and 'OK'", code="import.duplicate")


def test_names_that_differ_in_case_where_no_path_leads_do_no_harm(tmp_path: Path):
    row = {"tid": "a", "ok": True, "headers": {"Accept": "x", "accept": "y"}}
    judged(check(tmp_path, [row], by("ok")), "pass")


# --- NaN ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400"])
@pytest.mark.parametrize("feed", [{"path": "s", "exists": True}, {"path": "s", "is_not": 0}, {"path": "s", "is": 0}])
def test_what_is_no_finite_number_is_refused(tmp_path: Path, number, feed):
    done = check(tmp_path, f'{{"tid": "a", "s": {number}}}\n'.encode(), by(feed))
    refused(done, "line 1: s: found", "null", code="import.wrong-value")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("feed", [{"path": "s", "exists": True}, {"path": "s", "is_not": 0}])
def test_what_is_no_finite_number_in_parquet_is_refused(tmp_path: Path, number, feed):
    table = pa.table({"tid": ["a"], "s": [number]})
    done = check(tmp_path, parquet_of(table), by(feed), name="own.parquet")
    refused(done, "line 1: s: found", code="import.wrong-value")


def test_nan_in_a_condition_or_a_list_is_refused(tmp_path: Path):
    text = b'{"tid": "a", "s": [1, NaN]}\n'
    feeds = {
        "s": {"path": "s", "is_not": 0},
        "s[]": {"path": "s[]", "is_not": 0},
        "s[1]": {"value": True, "when": {"s[1]": {"exists": True}}},
    }
    for place, feed in feeds.items():
        refused(check(tmp_path, text, by(feed)), f"line 1: {place}: found nan", code="import.wrong-value")


def test_nan_where_no_path_leads_does_no_harm(tmp_path: Path):
    judged(check(tmp_path, b'{"tid": "a", "ok": true, "other": NaN}\n', by("ok")), "pass")


# --- decimals and long numbers -----------------------------------------------------------------

EXACT = [("2.5", "fail"), ("0.1", "fail"), ("3", "pass"), ("3.000000000000000000", "pass"), ("-7.25", "fail")]
INEXACT = ["2.999999999999999999", "3.000000000000000001", "0.1234567890123456789"]


def decimals(*texts: str) -> pa.Table:
    numbers = pa.array([decimal.Decimal(text) for text in texts], pa.decimal128(38, 19))
    return pa.table({"tid": list(texts), "s": numbers})


def test_a_decimal_is_compared_as_it_is(tmp_path: Path):
    feed = {"path": "s", "at_least": 3}
    table = decimals(*(text for text, _ in EXACT))
    failing = [text for text, verdict in EXACT if verdict == "fail"]
    told = judged(check(tmp_path, parquet_of(table), by(feed), name="own.parquet"), "fail")
    assert [one["id"] for one in told["scenarios_failed"]] == sorted(failing)
    rows = [{"tid": text, "s": decimal.Decimal(text)} for text, _ in EXACT]
    for results in (table, pl.from_arrow(table), table.to_pandas(), rows):
        verdict = highbar.check(results, POLICY, map=mapping(feed))
        assert [one.id for one in verdict.scenarios_failed] == sorted(failing), type(results)
        assert (verdict.counts.scenarios, verdict.counts.undecided) == (len(EXACT), 0)


@pytest.mark.parametrize("text", INEXACT)
def test_a_decimal_that_would_be_rounded_is_refused(tmp_path: Path, text):
    feed = {"path": "s", "at_least": 3}
    refused(
        check(tmp_path, parquet_of(decimals(text)), by(feed), name="own.parquet"), text, code="file.too-many-digits"
    )
    rows = [{"tid": "a", "s": decimal.Decimal(text)}]
    for results in (decimals(text), pl.from_arrow(decimals(text)), decimals(text).to_pandas(), rows):
        with pytest.raises(highbar.InputError) as caught:
            highbar.check(results, POLICY, map=mapping(feed))
        assert [problem.code for problem in caught.value.problems] == ["file.too-many-digits"]


@pytest.mark.parametrize("name", ["own.jsonl", "own.json"])
def test_a_number_of_very_many_digits_is_refused(tmp_path: Path, name):
    text = f'{{"tid": "a", "s": {"1" * 5000}}}'
    data = f"[{text}]" if name == "own.json" else text
    refused(check(tmp_path, data.encode(), by({"path": "s", "at_least": 3}), name=name), code="file.too-many-digits")


# --- times, streams, and the name of rows in messages -------------------------------------------


def test_times_with_a_zone_in_parquet_are_text(tmp_path: Path):
    when = pa.array([dt.datetime(2026, 11, 14, 12, tzinfo=dt.UTC)], pa.timestamp("us", "Europe/Paris"))
    table = pa.table({"tid": ["a"], "ok": [True], "at": when, "in": pa.array([[{"at": when[0].as_py()}]])})
    policy = f"{POLICY}map: {{ columns: {{ id: tid, passed: ok, tags.at: at, tags.first: 'in[0].at' }} }}\n"
    done = check(tmp_path, parquet_of(table), policy, "--slice", "tags.at", name="own.parquet")
    judged(done, "pass")
    assert "2026-11-14 12:00:00+00" in done.out


@pytest.mark.parametrize(
    "results",
    [
        lambda: pl.DataFrame({"tid": ["a"], "ok": [True]}).lazy(),
        lambda: pa.table({"tid": ["a"], "ok": [True]}).to_reader(),
        lambda: pa.table({"tid": ["a"], "ok": [True]}).to_batches()[0],
    ],
)
def test_a_map_applies_to_what_is_read_only_once(results):
    assert highbar.check(results(), POLICY, map=mapping("ok")).verdict == "pass"


def test_problems_and_notes_about_rows_name_no_temporary_file():
    with pytest.raises(highbar.InputError) as caught:
        highbar.check([{"tid": "a", "ok": "maybe"}], POLICY, map=mapping("ok"))
    assert [problem.file for problem in caught.value.problems] == ["<rows>"]
    left = {**mapping("ok"), "where": {"ok": {"is": True}}}
    found = highbar.check([{"tid": "a", "ok": True}, {"tid": "b", "ok": False}], POLICY, map=left)
    assert next(note for note in found.warnings if "left out" in note).startswith("<rows>: ")
