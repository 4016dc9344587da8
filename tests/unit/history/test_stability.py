from __future__ import annotations

from highbar.history import read_history
from highbar.history.stability import MOST_RUNS, stability
from tests.history_runs import add, add_unchecked, counts, new_run


def found_in(folder, *runs):
    add(folder, *runs)
    return stability(str(folder), read_history(folder).runs)


def of(pattern, **facts):
    """One run for each column: by scenario whether it passed in that run."""
    length = len(next(iter(pattern.values())))
    return [
        new_run(
            number, counts({name: int(row[number]) for name, row in pattern.items() if row[number] != "."}), **facts
        )
        for number in range(length)
    ]


def test_a_flaky_scenario_comes_before_one_that_changed_once(tmp_path):
    found = found_in(
        tmp_path, *of({"steady": "11111111", "broke": "11110000", "flaky": "10101010", "never": "00000000"})
    )
    assert [(row.id, round(row.instability, 3), row.failed_runs) for row in found.rows] == [
        ("flaky", 1.0, 4),
        ("broke", 0.143, 4),
        ("never", 0.0, 8),
        ("steady", 0.0, 0),
    ]


def test_trials_within_a_run_count(tmp_path):
    found = found_in(tmp_path, *(new_run(number, counts({"A": 2, "B": 4}, 4)) for number in range(2)))
    assert [(row.id, row.instability) for row in found.rows] == [("A", 0.5), ("B", 0.0)]
    (tmp_path / "one").mkdir()
    found = found_in(tmp_path / "one", new_run(9, counts({"A": 2, "B": 4}, 4)))
    assert [(row.id, round(row.instability, 3)) for row in found.rows] == [("A", 0.667), ("B", 0.0)]


def test_another_branch_that_fails_makes_nothing_unstable(tmp_path):
    records = [new_run(number, counts({"A": 1 - number % 2}), branch=f"b{number % 2}") for number in range(6)]
    assert found_in(tmp_path, *records).rows[0].instability == 0


def test_another_text_of_a_scenario_is_a_row_of_its_own(tmp_path):
    found = found_in(
        tmp_path,
        new_run(0, counts({"A": 1})),
        new_run(1, counts({"A": 0}, digest="e" * 64)),
        new_run(2, counts({"B": 1})),
    )
    assert [(row.id, row.is_earlier, row.runs, row.instability) for row in found.rows] == [
        ("A", False, 1, 0.0),
        ("A", True, 1, 0.0),
        ("B", False, 1, 0.0),
    ]


def test_runs_without_scenarios_and_beyond_the_limit_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("highbar.history.stability.MOST_RUNS", 3)
    assert MOST_RUNS == 120
    runs = of({"A": "010101"})
    found = found_in(tmp_path, *runs, new_run(7, listed=None))
    assert (len(found.columns), found.runs, found.without, found.scenarios) == (3, 6, 1, 1)
    assert found.columns == read_history(tmp_path).runs[3:6]


def test_a_record_whose_rows_are_damaged_is_named(tmp_path):
    first, second = of({"A": "01"})
    wrong = new_run(5, counts({"B": 3}, trials=2))
    add_unchecked(tmp_path, wrong)
    found = found_in(tmp_path, first, second)
    assert [row.id for row in found.rows] == ["A"]
    assert [one.file for one in found.damaged] == [f"{wrong.run.record}.parquet"]
    assert len(found.columns) == 2
