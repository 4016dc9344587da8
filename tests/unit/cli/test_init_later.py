"""`highbar init --from` and what a clean or short look does not show: later rows, and failures of the next run."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from highbar.load import sample
from tests.commandline import check, judged, run


def written(folder: Path, rows: list[dict[str, object]], name: str = "own.jsonl") -> str:
    """`init --from` of these rows: the text of the mapping."""
    path = folder / name
    if name.endswith(".parquet"):
        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif name.endswith(".csv"):
        header = list(rows[0])
        cells = [",".join("" if row[name] is None else str(row[name]) for name in header) for row in rows]
        path.write_text("\n".join([",".join(header), *cells, ""]), "utf-8")
    else:
        text = json.dumps(rows) if name.endswith(".json") else "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(text, "utf-8")
    done = run(folder, "init", "--from", name)
    assert done.exit == 0, done.err
    return (folder / "map.yaml").read_text("utf-8") + done.err


def verdict(folder: Path, rows: list[dict[str, object]]) -> str | None:
    """The verdict on the rows of the next run, by the mapping that was written."""
    (folder / "next.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    done = run(folder, "check", "next.jsonl", "--map", "map.yaml", "--format", "json")
    assert done.exit != 4, done.err
    found = done.json["verdict"]
    assert found is None or isinstance(found, str)
    return found


# --- later rows --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["own.jsonl", "own.json", "own.csv", "own.parquet"])
def test_only_the_first_rows_are_looked_at_and_an_error_of_a_later_one_is_a_note(tmp_path: Path, name):
    early = {"error": None} if name in ("own.csv", "own.parquet") else {}
    rows = [{"test_id": f"T-{n}", "status": "PASS", **(early if n < 1000 else {"error": "boom"})} for n in range(2000)]
    text = written(tmp_path, rows, name)
    assert text.count("Only the first 1,000 rows were looked at.") == 2
    done = run(tmp_path, "check", name, "--map", "map.yaml", "--format", "json")
    assert done.exit == 1 or "1000 records have error, which the mapping does not read" in str(done.json["warnings"])


def test_a_file_that_is_larger_than_the_look_at_it_says_so(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(sample, "LARGEST", 3000)
    text = written(tmp_path, [{"test_id": f"T-{number:05}", "status": "PASS"} for number in range(2000)])
    assert "rows were looked at." in text


def test_a_document_that_is_too_large_to_guess_from_says_so(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("highbar.load.sample.LARGEST", 100)
    monkeypatch.setattr("highbar.cli.init_from.LARGEST", 100)
    (tmp_path / "own.json").write_text(json.dumps([{"test_id": "a", "status": "PASS"}] * 10), "utf-8")
    done = run(tmp_path, "init", "--from", "own.json")
    assert (done.exit, done.codes) == (2, ["file.too-large"])


def test_no_mapping_is_guessed_for_columns_that_occur_twice(tmp_path: Path):
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array([True]), pa.array([False])], names=["tid", "ok", "ok"])
    parquet.write_table(table, tmp_path / "own.parquet")
    done = run(tmp_path, "init", "--from", "own.parquet")
    assert done.exit == 2
    assert "own.parquet: duplicate column 'ok'" in done.err


def test_a_small_file_is_looked_at_as_a_whole(tmp_path: Path):
    assert "looked at" not in written(tmp_path, [{"test_id": "a", "status": "PASS"}])


@pytest.mark.parametrize("value", ["boom", True, {"kind": "timeout"}])
def test_a_judging_field_that_the_mapping_does_not_read_is_a_note(tmp_path: Path, value):
    policy = "pass_criteria: 100%\nmap: { columns: { id: tid, passed: ok } }\n"
    rows = [{"tid": "a", "ok": True}, {"tid": "b", "ok": True, "error": value}]
    found = judged(check(tmp_path, rows, policy), "pass")
    assert any("1 record has error, which the mapping does not read" in note for note in found["warnings"])


@pytest.mark.parametrize("row", [{"error": None}, {"error": ""}, {"violations": []}, {"expected": "x"}])
def test_no_note_if_such_a_field_says_nothing(tmp_path: Path, row):
    policy = "pass_criteria: 100%\nmap: { columns: { id: tid, passed: ok } }\n"
    found = judged(check(tmp_path, [{"tid": "a", "ok": True, **row}], policy), "pass")
    assert not any("does not read" in note for note in found["warnings"])


def test_a_field_in_a_condition_is_read(tmp_path: Path):
    error = "{ value: crashed, when: { error: { is: true } } }"
    policy = f"pass_criteria: 0%\nmap: {{ columns: {{ id: tid, passed: ok, error: {error} }} }}\n"
    found = judged(check(tmp_path, [{"tid": "a", "ok": True, "error": True}], policy), "pass")
    assert not any("does not read" in note for note in found["warnings"])


# --- the next run ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, "boom", "true", 1, {"kind": "timeout"}, ["boom"]])
def test_any_error_of_the_next_run_counts(tmp_path: Path, value):
    written(tmp_path, [{"test_id": "a", "passed": True, "error": False}])
    assert verdict(tmp_path, [{"test_id": "a", "passed": True, "error": value}]) in ("fail", None)


@pytest.mark.parametrize("value", [False, None, ""])
def test_no_error_in_the_next_run_passes(tmp_path: Path, value):
    written(tmp_path, [{"test_id": "a", "passed": True, "error": False}])
    assert verdict(tmp_path, [{"test_id": "a", "passed": True, "error": value}]) == "pass"


def test_the_cells_of_a_csv_may_say_false(tmp_path: Path):
    written(tmp_path, [{"test_id": "a", "passed": True, "error": False}], "own.csv")
    assert run(tmp_path, "check", "own.csv", "--map", "map.yaml").exit == 0
    (tmp_path / "next.csv").write_text("test_id,passed,error\na,true,boom\n", "utf-8")
    assert run(tmp_path, "check", "next.csv", "--map", "map.yaml").exit == 1


@pytest.mark.parametrize("failed", [{"error": True}, {"timed_out": True}, {"timed_out": "after 30 s"}])
def test_every_field_that_tells_an_error_counts(tmp_path: Path, failed):
    clean = {"test_id": "a", "passed": True, "error": False, "timed_out": False}
    written(tmp_path, [clean])
    assert verdict(tmp_path, [clean]) == "pass"
    assert verdict(tmp_path, [clean | failed]) == "fail"


def test_an_empty_error_does_not_hide_another(tmp_path: Path):
    clean = {"test_id": "a", "passed": True, "error": "", "timed_out": False}
    written(tmp_path, [clean])
    assert verdict(tmp_path, [clean]) == "pass"
    assert verdict(tmp_path, [clean | {"timed_out": True}]) == "fail"
    policy = "pass_criteria: 100%\nmap: { columns: { id: test_id, passed: passed, error: [error, message] } }\n"
    judged(check(tmp_path, [{**clean, "message": "boom"}], policy), "fail")


# --- words in several cases ---------------------------------------------------------------------


@pytest.mark.parametrize("words", [("no", "No", "NO", "YES"), ("Pass", "FAIL", "fail "), ("PASS", "Pass", "pass")])
def test_words_in_several_cases_are_read(tmp_path: Path, words):
    rows = [{"test_id": str(number), "status": word} for number, word in enumerate(words)]
    written(tmp_path, rows)
    good = all(word.lower().strip() in ("pass", "yes") for word in words)
    assert verdict(tmp_path, rows) == ("pass" if good else "fail")
