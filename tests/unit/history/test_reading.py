from __future__ import annotations

import duckdb
import msgspec
import pytest
from msgspec.structs import replace

import highbar
from highbar import history
from highbar.errors import InputError
from highbar.history.order import by_ancestry
from highbar.store import history as store
from highbar.store.history import COLUMNS
from tests.history_runs import add, add_unchecked, counts, new_run


def test_runs_are_in_the_order_of_time_whatever_their_files_are_called(tmp_path):
    add(tmp_path, *(new_run(number) for number in (3, 1, 2, 0)))
    assert [run.commit for run in history.read_history(tmp_path).runs] == [f"{number:040x}" for number in range(4)]


def test_a_damaged_record_is_named_and_left_out(tmp_path):
    files = add(tmp_path, new_run(1), new_run(2))
    files[0].write_bytes(b"damaged")
    found = history.read_history(tmp_path)
    assert [run.record for run in found.runs] == [new_run(2).run.record]
    assert [one.file for one in found.damaged] == [files[0].name]


def test_a_folder_that_is_not_there_is_refused_with_what_to_do(tmp_path):
    with pytest.raises(InputError) as refused:
        history.read_history(tmp_path / "nowhere")
    (problem,) = refused.value.problems
    assert problem.code == "history.missing"
    assert "--history" in problem.hint


def test_python_reads_a_history_too(tmp_path):
    add(tmp_path, new_run(1))
    assert highbar.read_history(tmp_path).runs == history.read_history(tmp_path).runs


# --- pooled scenarios ------------------------------------------------------------------------


def test_scenarios_of_the_same_text_are_pooled(tmp_path):
    add(tmp_path, new_run(1, counts({"A": 2, "B": 0}, trials=2)), new_run(2, counts({"A": 1, "B": 2}, trials=2)))
    found = history.read_history(tmp_path).scenarios()
    first, second = found.scenarios
    assert (first.id, first.runs, first.trials, first.passed, first.failed) == ("A", 2, 4, 3, 1)
    assert (first.passed_runs, first.failed_runs) == (1, 1)
    assert (second.passed, second.failed, second.passed_runs, second.failed_runs) == (2, 2, 1, 1)


def test_a_scenario_with_another_text_is_another_one(tmp_path):
    add(tmp_path, new_run(1, counts({"A": 1}, digest="1" * 64)), new_run(2, counts({"A": 1}, digest="2" * 64)))
    assert [(one.id, one.runs) for one in history.read_history(tmp_path).scenarios().scenarios] == [("A", 1), ("A", 1)]


def test_without_a_known_text_only_runs_of_the_same_suite_are_pooled(tmp_path):
    rows = counts({"A": 1}, digest=None)
    add(tmp_path, new_run(1, rows), new_run(2, rows), new_run(3, rows, suite="another"))
    found = {one.suite: one.runs for one in history.read_history(tmp_path).scenarios().scenarios}
    assert found == {"suite": 2, "another": 1}


def test_results_that_were_judged_twice_count_once(tmp_path):
    again = new_run(2, counts({"A": 1, "B": 0}), results=new_run(1).run.results)
    add(tmp_path, new_run(1, counts({"A": 1, "B": 1})), again)
    found = history.read_history(tmp_path).scenarios()
    assert [one.record for one in found.runs] == [again.run.record]
    assert [(one.trials, one.passed) for one in found.scenarios] == [(1, 1), (1, 0)]


def test_a_part_that_was_judged_alone_before_does_not_count_twice(tmp_path):
    part = new_run(1, results=("a",))
    whole = new_run(2, results=("a", "b"))
    add(tmp_path, part, whole)
    assert [one.record for one in history.read_history(tmp_path).scenarios().runs] == [whole.run.record]


def test_a_part_that_is_judged_alone_later_does_not_count_twice(tmp_path):
    whole, part = new_run(1, results=("a", "b")), new_run(2, results=("a",))
    add(tmp_path, whole, part)
    assert [one.record for one in history.read_history(tmp_path).scenarios().runs] == [whole.run.record]


def test_a_file_that_all_runs_share_makes_them_no_repetitions(tmp_path):
    add(tmp_path, *(new_run(number, results=(f"{number}", "shared")) for number in range(3)))
    assert len(history.read_history(tmp_path).scenarios().runs) == 3


def test_results_without_a_digest_are_never_taken_for_the_same(tmp_path):
    add(tmp_path, new_run(1, results=(None,)), new_run(2, results=(None,)), new_run(3, results=()))
    assert len(history.read_history(tmp_path).scenarios().runs) == 3


def test_a_record_of_a_verdict_alone_adds_no_scenarios(tmp_path):
    bare = new_run(1)
    add(tmp_path, replace(bare, run=replace(bare.run, listed=None), scenarios=None), new_run(2))
    found = history.read_history(tmp_path).scenarios()
    assert [run.record for run in found.runs] == [new_run(2).run.record]


def test_a_record_with_damaged_rows_is_named_and_the_others_are_pooled(tmp_path):
    files = add(tmp_path, *(new_run(number, counts({f"S-{i}": 1 for i in range(500)})) for number in range(3)))
    data = bytearray(files[1].read_bytes())
    data[4:2000] = bytes(1996)
    files[1].write_bytes(data)
    read = history.read_history(tmp_path)
    assert len(read.runs) == 3  # its footer is whole
    found = read.scenarios()
    assert [one.file for one in found.damaged] == [files[1].name]
    assert {one.runs for one in found.scenarios} == {2}


@pytest.mark.parametrize(
    "rows",
    [
        counts({"A": 2}),  # more passed than there were trials
        counts({"A": -1}),
        counts({"A": 0}, trials=0),
        (*counts({"A": 1}), *counts({"A": 1})),
        counts({"A": 1}, id=None),
    ],
)
def test_counts_that_no_run_has_are_left_out(tmp_path, rows):
    add(tmp_path, new_run(1))
    file = add_unchecked(tmp_path, new_run(2, rows))
    found = history.read_history(tmp_path).scenarios()
    assert [one.file for one in found.damaged] == [file.name]
    assert {one.runs for one in found.scenarios} == {1}


def rewritten(file, run, select):
    """The record of a run, with other rows."""
    footer = msgspec.json.encode(replace(run, rows="d" * 64)).decode()
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({select}) TO '{file}' (FORMAT parquet, KV_METADATA {{highbar: '{footer}'}})")


def test_a_record_with_other_columns_is_left_out(tmp_path):
    files = add(tmp_path, new_run(1), new_run(2))
    rewritten(files[1], new_run(2).run, "SELECT 'A' AS id, 'x' AS trials FROM range(2)")
    found = history.read_history(tmp_path).scenarios()
    (damaged,) = found.damaged
    assert damaged.file == files[1].name
    assert "columns" in damaged.reason
    assert {one.runs for one in found.scenarios} == {1}


def test_a_million_rows_in_a_few_bytes_are_not_read(tmp_path):
    (file,) = add(tmp_path, new_run(1))
    columns = ", ".join(f"CAST(NULL AS {type_}) AS {name}" for name, type_ in COLUMNS.items())
    rewritten(file, new_run(1).run, f"SELECT {columns} FROM range(1000000)")  # noqa: S608 - names of ours
    (left_out,) = history.read_history(tmp_path).scenarios().damaged
    assert left_out.reason == "1000000 rows, but 2 scenarios by its footer"


def test_the_scenarios_of_single_runs_come_run_by_run(tmp_path):
    add(tmp_path, new_run(1), new_run(2))
    found = [(run.commit[-1], one.id, one.passed) for run, one in history.read_history(tmp_path).counts()]
    assert found == [("1", "A", 1), ("1", "B", 0), ("2", "A", 1), ("2", "B", 1)]


@pytest.mark.parametrize("type_", ["VARCHAR", "INTEGER", "DOUBLE"])
def test_a_record_with_a_column_of_another_type_is_damaged_in_every_company(tmp_path, monkeypatch, type_):
    add(tmp_path, new_run(1), new_run(3))
    with monkeypatch.context() as changed:
        changed.setattr(store, "COLUMNS", {**store.COLUMNS, "passed": type_})
        file = add_unchecked(tmp_path, new_run(2))
    first, other, last = history.read_history(tmp_path).runs
    for runs in ([other], [first, other], [other, last], [first, other, last]):
        assert [one.file for one in history.read_history(tmp_path).scenarios(runs).damaged] == [file.name]
    assert history.read_history(tmp_path).scenarios([first, last]).damaged == ()


def test_rows_that_one_record_has_too_many_and_another_lacks_are_not_offset(tmp_path):
    for number, ids in ((1, "A"), (2, "ABC")):
        new = new_run(number)
        add_unchecked(tmp_path, replace(new, scenarios=counts(dict.fromkeys(ids, 1))))
    assert len(history.read_history(tmp_path).scenarios().damaged) == 2


# --- names and order -------------------------------------------------------------------------


def test_a_run_is_found_by_the_beginning_of_its_record_or_commit(tmp_path):
    add(tmp_path, new_run(1), new_run(2, commit="abcdef0123456789"))
    read = history.read_history(tmp_path)
    assert history.find_run(read, new_run(1).run.record[:6]).record == new_run(1).run.record
    assert history.find_run(read, "abcdef0").record == new_run(2).run.record
    with pytest.raises(InputError, match="2 records begin with"):
        history.find_run(read, "")
    with pytest.raises(InputError, match="no record or commit"):
        history.find_run(read, "zz")


def test_a_beginning_of_several_commits_names_none_of_them(tmp_path):
    one, two = "abcdef0" + "1" * 33, "abcdef0" + "2" * 33
    add(tmp_path, new_run(1, commit=one), new_run(2, commit=one), new_run(3, commit=two), new_run(4, commit="abcdef01"))
    read = history.read_history(tmp_path)
    with pytest.raises(InputError, match="3 commits begin with 'abcdef0'"):
        history.find_run(read, "abcdef0")
    assert history.find_run(read, "abcdef011").record == new_run(2).run.record
    assert history.find_run(read, "abcdef01").record == new_run(4).run.record


def test_a_run_that_is_damaged_is_named_as_such(tmp_path):
    (file,) = add(tmp_path, new_run(1))
    file.write_bytes(b"x")
    with pytest.raises(InputError, match="a damaged record"):
        history.find_run(history.read_history(tmp_path), file.name[:8])


def run(number, commit, *parents):
    return replace(new_run(number).run, commit=commit, parents=parents)


def test_a_commit_never_comes_before_its_parents():
    late_parent = run(5, "a")
    child, other = run(1, "b", "a"), run(0, "x")
    assert [one.commit for one in by_ancestry([other, child, late_parent])] == ["x", "a", "b"]


def test_commits_in_a_circle_do_not_get_lost():
    found = by_ancestry([run(0, "a", "b"), run(1, "b", "a"), run(2, "c", "c")])
    assert sorted(one.commit for one in found) == ["a", "b", "c"]


def test_runs_without_a_commit_keep_their_time():
    runs = [replace(new_run(number).run, commit=None, parents=None) for number in range(5)]
    assert by_ancestry(runs) == tuple(runs)
