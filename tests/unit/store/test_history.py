from __future__ import annotations

import json
import os
import subprocess
import sys

import duckdb
import pytest
from msgspec.structs import replace

import highbar
from highbar import history
from highbar.errors import InputError, ReportError
from highbar.store import history as store
from highbar.store.history_footer import DamagedRecordError, list_records, read_footer
from tests.history_runs import add, add_unchecked, counts, new_run
from tests.patience import PATIENCE


def test_a_record_gives_back_what_was_written(tmp_path):
    new = new_run(1, counts({"A": 1, "B\u202e'\x1b": 0}, trials=3, latency_ms=12.5, cost_usd=0.25, cluster="c"))
    (file,) = add(tmp_path, new)
    found = store.read(file)
    assert found.run == replace(new.run, rows=store.rows_digest(file))
    assert found.scenarios == new.scenarios
    assert found.document == new.document


def test_the_verdict_comes_back_byte_for_byte_and_is_what_read_verdict_reads(tmp_path):
    new = new_run(1)
    (file,) = add(tmp_path, new)
    (tmp_path / "verdict.json").write_text(new.document)
    found = store.read(file)
    assert found.verdict == highbar.read_verdict(tmp_path / "verdict.json")
    found.verdict.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == new.document


@pytest.mark.parametrize("name", ["plain", "with 'quotes'", "a[b]*?", "ü\u202e"])
def test_a_folder_may_have_any_name(tmp_path, name):
    (file,) = add(tmp_path / name, new_run(1))
    assert store.read(file).scenarios == new_run(1).scenarios


def test_the_same_run_twice_is_one_file_and_the_first_record_stays(tmp_path):
    new = new_run(1)
    (file,) = add(tmp_path, new)
    before = file.read_bytes()
    again = store.write(tmp_path, replace(new, run=replace(new.run, commit="f" * 40, time="2027-01-01T00:00:00Z")))
    assert (again.is_new, again.run.commit) == (False, new.run.commit)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_record_without_scenarios_is_completed_and_not_the_other_way_round(tmp_path):
    whole = new_run(1)
    bare = replace(whole, run=replace(whole.run, listed=None), scenarios=None)
    (file,) = add(tmp_path, bare)
    assert store.read(file).scenarios is None
    add(tmp_path, whole)
    assert store.read(file).scenarios == whole.scenarios
    add(tmp_path, bare)
    assert store.read(file).scenarios == whole.scenarios


def damages(file):
    """Ways to damage a record: cut off, a changed row, a changed verdict document."""
    whole = file.read_bytes()
    with duckdb.connect() as connection:
        found = connection.execute("SELECT key, value FROM parquet_kv_metadata(?)", [str(file)]).fetchall()
    verdict = dict(found)[b"highbar.verdict"]
    yield whole[:100]
    yield whole[:10] + bytes([whole[10] ^ 1]) + whole[11:]
    yield whole.replace(verdict, verdict[:20] + b"AAAA" + verdict[24:])


def test_a_record_that_is_damaged_in_any_part_is_written_anew(tmp_path):
    (file,) = add(tmp_path, new_run(1))
    for damaged in damages(file):
        file.write_bytes(damaged)
        with pytest.raises(InputError, match="damaged"):
            store.read(file)
        assert store.write(tmp_path, new_run(1)).is_new
        assert store.read(file).scenarios == new_run(1).scenarios


@pytest.mark.parametrize("change", [{"listed": 7}, {"time": "2999-01-01T00:00:00Z"}, {"record": "x"}])
def test_what_a_list_would_leave_out_is_not_written(tmp_path, change):
    new = new_run(1)
    with pytest.raises(ReportError, match="could not be written"):
        store.write(tmp_path, replace(new, run=replace(new.run, **change)))
    assert list(tmp_path.iterdir()) == []


def test_scenarios_that_no_run_can_have_counted_are_not_written(tmp_path):
    new = new_run(1)
    first, *others = new.scenarios
    with pytest.raises(ReportError, match="its counts do not fit"):
        store.write(tmp_path, replace(new, scenarios=(replace(first, trials=first.trials + 1), *others)))
    assert list(tmp_path.iterdir()) == []


def test_the_name_does_not_depend_on_paths_reasons_or_slices():
    document = json.loads(new_run(1).document)
    other = json.loads(new_run(1).document)
    other["policy"]["file"] = "elsewhere/highbar.yaml"
    other["results"][0]["file"] = "elsewhere/x.jsonl"
    other["warnings"] = ["runs/x: a filtered run"]
    other["rules"][0] |= {"file": "elsewhere/highbar.yaml", "line": 7, "reason": "other words"}
    other["slices"] = [{"by": {"category": "x"}}]
    other |= {"added_later": None, "and_this": [], "and_that": {}}
    assert store.identity(other) == store.identity(document)


@pytest.mark.parametrize("changed", ["results", "policy", "verdict", "agent_version", "metrics"])
def test_the_name_depends_on_what_was_judged_and_what_came_of_it(changed):
    document = json.loads(new_run(1).document)
    other = json.loads(new_run(1).document)
    other[changed] = {
        "results": [{"file": "x", "sha256": "0" * 64}],
        "policy": {"file": "x", "sha256": "0" * 64},
        "verdict": "inconclusive",
        "agent_version": "9",
        "metrics": {},
    }[changed]
    assert store.identity(other) != store.identity(document)


def test_a_folder_that_cannot_be_written_is_a_report_that_could_not_be(tmp_path):
    (tmp_path / "history").write_text("a file")
    with pytest.raises(ReportError, match="could not be written"):
        store.write(tmp_path / "history", new_run(1))


def test_nothing_but_the_record_is_left_behind(tmp_path):
    (file,) = add(tmp_path / "history", new_run(1))
    assert list(file.parent.iterdir()) == [file]


def test_pyarrow_can_read_a_record(tmp_path):
    from pyarrow import parquet

    (file,) = add(tmp_path, new_run(1))
    assert parquet.read_table(file).to_pylist() == [
        {**{name: getattr(row, name) for name in store.COLUMNS}, store.MEASURES: None} for row in new_run(1).scenarios
    ]


@pytest.mark.parametrize("has_column", [True, False])
def test_a_record_without_the_values_of_measures_is_read_all_the_same(tmp_path, monkeypatch, has_column):
    """Those of an earlier version do not have the column."""
    if not has_column:
        write_file = store._write_file

        def without_column(path, new, run):
            write_file(path, new, run)
            with duckdb.connect() as connection:
                kept = connection.execute("SELECT decode(key), decode(value) FROM parquet_kv_metadata(?)", [str(path)])
                pairs = ", ".join(f"{store._literal(key)}: {store._literal(value)}" for key, value in kept.fetchall())
                rows = f"SELECT * EXCLUDE measures FROM read_parquet('{path}')"  # noqa: S608 - a path of ours
                connection.execute(f"COPY ({rows}) TO '{path}.old' (FORMAT parquet, KV_METADATA {{{pairs}}})")
            path.with_name(f"{path.name}.old").replace(path)

        monkeypatch.setattr(store, "_write_file", without_column)
    (file,) = add(tmp_path, new_run(1))
    run = read_footer(str(file))
    assert store.read_measures(file, run) is None
    assert [one.id for one in store.read_scenarios(file, run)] == [one.id for one in new_run(1).scenarios]


@pytest.mark.parametrize("text", ["{", "[]", '{"trials": 1}', '{"trials": 1, "passed": 2, "values": {}}'])
def test_values_of_measures_that_cannot_be_make_a_record_damaged(tmp_path, text):
    new = new_run(1)
    (file,) = add(tmp_path, replace(new, measures=(text,) * len(new.scenarios)))
    with pytest.raises(DamagedRecordError):
        store.read_measures(file, read_footer(str(file)))


WRITER = """
import sys
from pathlib import Path
from tests.history_runs import add, new_run
sys.stdin.readline()
for number in map(int, sys.argv[2:]):
    add(Path(sys.argv[1]), new_run(number))
"""


@pytest.mark.process
def test_writers_at_the_same_time_do_not_conflict(tmp_path):
    folder = tmp_path / "history"
    numbers = [("1", "2", "3", "4"), ("4", "3", "2", "1"), ("3", "4", "5", "6")]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), *some], stdin=subprocess.PIPE) for some in numbers
    ]
    for writer in writers:
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=PATIENCE)
        assert writer.returncode == 0
    runs, damaged = list_records(str(folder))
    assert damaged == []
    assert {run.record for run in runs} == {new_run(number).run.record for number in range(1, 7)}
    assert len(list(folder.iterdir())) == 6


# --- damaged, foreign and hostile files ------------------------------------------------------


def reason(folder):
    """Why the only file of a folder is left out."""
    runs, damaged = list_records(str(folder))
    assert (len(runs), len(damaged)) == (0, 1)
    return damaged[0].reason


def name(number=1):
    return f"{number:032x}.parquet"


@pytest.mark.parametrize("size", [0, 3, 11, 12, 100, -1, -8, -30])
def test_a_truncated_record_is_left_out(tmp_path, size):
    (file,) = add(tmp_path, new_run(1))
    file.write_bytes(file.read_bytes()[:size])
    assert "cut off" in reason(tmp_path)


def test_every_cut_of_a_record_is_noticed(tmp_path):
    (file,) = add(tmp_path, new_run(1))
    whole = file.read_bytes()
    for size in range(0, len(whole), 37):
        file.write_bytes(whole[:size])
        with pytest.raises(DamagedRecordError):
            read_footer(str(file))


def test_a_record_under_another_name_is_left_out(tmp_path):
    (file,) = add(tmp_path, new_run(1))
    file.rename(tmp_path / name())
    assert "another name" in reason(tmp_path)


def test_other_parquet_files_are_left_out(tmp_path):
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS x) TO '{tmp_path / name()}' (FORMAT parquet)")
    assert "not a record" in reason(tmp_path)
    (tmp_path / name()).rename(tmp_path / "results.parquet")
    assert "32 hexadecimal digits" in reason(tmp_path)


def write_with(path, footer):
    quoted = footer.replace("'", "''")
    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 1 AS x) TO '{path}' (FORMAT parquet, KV_METADATA {{highbar: '{quoted}'}})")


@pytest.mark.parametrize(
    ("footer", "said"),
    [
        ("", "not that of a record"),
        ("{}", "not that of a record"),
        ("[" * 100_000, "not that of a record"),
        ('{"schema": "highbar/history/2"}', "newer version"),
        ("x" * 5_000_000, "not a record"),
        ("null", "not that of a record"),
    ],
)
def test_a_hostile_footer_is_left_out(tmp_path, footer, said):
    write_with(tmp_path / name(), footer)
    assert said in reason(tmp_path)


@pytest.mark.parametrize(
    "changes",
    [
        {"time": "yesterday"},
        {"time": "2026-13-45T99:99:99Z"},
        {"time": "0000-00-00T00:00:00Z"},
        {"time": "0001-01-01T00:00:00Z"},
        {"time": "2999-01-01T00:00:00Z"},
        {"rows": None},
        {"listed": 3},
        {"listed": -1},
        {"time": "2026-01-01T00:00:00+01:00"},
    ],
)
def test_a_footer_that_contradicts_itself_is_left_out(tmp_path, changes):
    import msgspec

    run = replace(new_run(1).run, **{"record": f"{1:032x}", "rows": "d" * 64, **changes})
    write_with(tmp_path / name(), msgspec.json.encode(run).decode())
    assert "footer" in reason(tmp_path)


def test_a_long_verdict_in_the_footer_does_not_hide_the_run(tmp_path):
    new = new_run(1)
    document = json.loads(new.document)
    document["warnings"] = [os.urandom(30).hex() for _ in range(5000)]
    text = json.dumps(document, indent=2) + "\n"
    add(tmp_path, replace(new, document=text))
    runs, damaged = list_records(str(tmp_path))
    assert (len(runs), damaged) == (1, [])


def test_scenarios_cannot_pretend_to_be_the_footer(tmp_path):
    forged = '\x18\x07highbar\x18\x10{"record": "forged"}\x00'
    new = new_run(1, counts({forged: 1, "A": 1}))
    (file,) = add(tmp_path, new)
    assert read_footer(str(file)) == replace(new.run, rows=store.rows_digest(file))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_a_folder_and_a_broken_link_are_left_out(tmp_path):
    os.mkfifo(tmp_path / name(1))
    (tmp_path / name(2)).mkdir()
    (tmp_path / name(3)).symlink_to(tmp_path / "nowhere")
    runs, damaged = list_records(str(tmp_path))
    assert runs == []
    assert [one.file for one in damaged] == [name(1), name(2), name(3)]


def test_other_files_and_unfinished_ones_are_no_records(tmp_path):
    (tmp_path / "README.md").write_text("about this folder")
    (tmp_path / f".{name()}.tmp").write_bytes(b"half")
    (tmp_path / ".gitattributes").write_text("*.parquet binary")
    assert list_records(str(tmp_path)) == ([], [])


def test_a_record_whose_verdict_was_exchanged_is_refused(tmp_path):
    other = replace(new_run(1), document=new_run(2).document)
    (file,) = add(tmp_path, other)
    with pytest.raises(InputError, match="not the one that its name was made of"):
        store.read(file)


def test_a_record_with_other_rows_than_its_footer_says_is_refused(tmp_path):
    new = new_run(1)
    file = add_unchecked(tmp_path, replace(new, scenarios=(*new.scenarios, *counts({"C": 1}))))
    with pytest.raises(InputError, match="3 rows, but 2 scenarios"):
        store.read(file)


def test_a_packed_verdict_that_would_fill_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_LARGEST_DOCUMENT", 1000)
    (file,) = add(tmp_path, new_run(1))
    with pytest.raises(InputError, match="too large"):
        store.read(file)


def rewritten(file, select):
    """The record, with other rows under the same footer."""
    with duckdb.connect() as connection:
        pairs = connection.execute("SELECT key, value FROM parquet_kv_metadata(?)", [str(file)]).fetchall()
        metadata = ", ".join(f"'{key.decode()}': '{value.decode()}'" for key, value in pairs)
        connection.execute(f"CREATE TABLE rows AS SELECT * {select} FROM read_parquet('{file}')")  # noqa: S608
        connection.execute(f"COPY rows TO '{file}' (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{metadata}}})")


@pytest.mark.parametrize("select", ["REPLACE (1::BIGINT AS passed, 0::BIGINT AS failed)", "REPLACE ('x' AS category)"])
def test_rows_that_were_edited_are_noticed_by_every_reader(tmp_path, select):
    new = new_run(1)
    (file,) = add(tmp_path, new, new_run(2))[:1]
    rewritten(file, select)
    with pytest.raises(InputError, match="the rows are not those"):
        store.read(file)
    found = history.read_history(tmp_path)
    assert [one.file for one in found.scenarios().damaged] == [file.name]
    assert {run.record for run, _ in found.counts()} == {new_run(2).run.record}


@pytest.mark.parametrize(
    "changes",
    [
        {"trials": None},
        {"passed": None},
        {"weight": None},
        {"weight": float("nan")},
        {"latency_ms": float("inf")},
        {"trials": 1_000_001, "passed": 1_000_001},
        {"trials": 2},
    ],
)
def test_counts_that_no_run_can_have_make_a_record_damaged(tmp_path, changes):
    new = new_run(1, counts({"A": 1}))
    file = add_unchecked(tmp_path, replace(new, scenarios=tuple(replace(row, **changes) for row in new.scenarios)))
    with pytest.raises(InputError, match="do not fit"):
        store.read(file)
