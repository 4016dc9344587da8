from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from highbar import history
from tests.commandline import run
from tests.history_runs import add, counts, new_run

HOSTILE = "\x1b[2J\u202e\n::error::x"


# --- list and show ---------------------------------------------------------------------------


def test_runs_are_listed_in_the_order_of_time(tmp_path):
    add(tmp_path / "history", new_run(2), new_run(1, branch="topic"))
    done = run(tmp_path, "history", "list")
    assert done.exit == 0
    header, first, second = done.out.splitlines()
    assert header.split() == ["time", "verdict", "failed", "commit", "branch", "version", "record"]
    assert first.split()[:6] == ["2026-01-01", "01:00", "fail", "1", "of", "2"]
    assert second.split()[-1] == new_run(2).run.record[:8]
    assert run(tmp_path, "history", "list", "--branch", "topic").out.splitlines()[1:] == [first]
    assert run(tmp_path, "history", "list", "--last", "1").out.splitlines()[1].split() == second.split()


def test_a_list_as_json_is_what_the_footers_say(tmp_path):
    import msgspec

    from highbar.model.history import RunRecord

    add(tmp_path / "history", new_run(1), new_run(2))
    found = run(tmp_path, "history", "list", "--format", "json").json
    assert msgspec.convert(found["runs"], tuple[RunRecord, ...]) == history.read_history(tmp_path / "history").runs
    assert found["damaged"] == []


def test_damaged_records_are_named_on_standard_error_and_in_json(tmp_path):
    file, _ = add(tmp_path / "history", new_run(1), new_run(2))
    file.write_bytes(b"damaged")
    for command in ("list", "trend"):
        done = run(tmp_path, "history", command, "--format", "json")
        assert done.exit == 0
        assert f"warning: history/{file.name} is left out: " in done.err
        assert [one["file"] for one in done.json["damaged"]] == [file.name]


def test_an_empty_history_and_none_at_all(tmp_path):
    assert run(tmp_path, "history", "list").exit == 2
    (tmp_path / "history").mkdir()
    for words in (["list"], ["trend"], ["trend", "--fail-on", "drift"], ["flaky"], ["show", "abc"]):
        done = run(tmp_path, "history", *words)
        assert (done.exit, done.codes) == (2, ["history.empty"])
        assert "--history DIR" in done.err
    assert run(tmp_path, "history").exit == 2
    assert run(tmp_path, "history", "prune", "--keep", "1").exit == 0


@pytest.mark.parametrize(
    "words", [["list"], ["trend"], ["trend", "--fail-on", "drift"], ["flaky"], ["page", "--output", "site"]]
)
def test_a_branch_that_has_no_runs_is_refused_with_those_that_have(tmp_path, words):
    add(tmp_path / "history", new_run(1), new_run(2))
    done = run(tmp_path, "history", *words, "--branch", "mian")
    assert done.exit == 2
    assert "no runs of branch 'mian'" in done.err
    assert "main" in done.err.replace("mian", "")
    assert "there is main" in run(tmp_path, "history", *words, "--branch", "elsewhere").err


def test_a_record_is_shown_by_the_path_that_adding_prints(tmp_path):
    (file,) = add(tmp_path / "elsewhere", new_run(1))
    done = run(tmp_path, "history", "show", f"elsewhere/{file.name}")
    assert done.exit == 0
    assert run(tmp_path, "history", "show", file.name, "--history", "elsewhere").out == done.out


def test_runs_of_the_same_second_are_in_the_order_of_adding(tmp_path):
    same = "2026-01-01T00:00:00Z"
    add(tmp_path / "history", *(new_run(number, time=same, added=9 - number, parents=None) for number in range(5)))
    shown = [one["record"] for one in run(tmp_path, "history", "list", "--format", "json").json["runs"]]
    assert shown == [new_run(number).run.record for number in reversed(range(5))]


def test_nothing_in_a_record_reaches_the_terminal_raw(tmp_path):
    hostile = new_run(1, branch=HOSTILE, commit=HOSTILE, agent_version=HOSTILE, judges=(HOSTILE,), parents=(HOSTILE,))
    metrics = {HOSTILE: hostile.run.metrics["pass_rate"]}
    rule = replace(hostile.run.rules[0], metric=HOSTILE, threshold=HOSTILE, rule=HOSTILE)
    add(tmp_path / "history", replace(hostile, run=replace(hostile.run, metrics=metrics, rules=(rule,))))
    (tmp_path / "history" / f"{HOSTILE.replace('/', '')}.parquet").write_text("x")
    record = hostile.run.record
    for arguments in (("list",), ("show", record), ("trend",), ("trend", HOSTILE), ("prune", "--older-than", "1d")):
        for form in ((), ("--format", "json")) if arguments[0] != "prune" else ((),):
            done = run(tmp_path, "history", *arguments, *form)
            assert done.exit == 0, done.err
            for text in (done.out, done.err):
                assert "\x1b" not in text
                assert "\u202e" not in text
                assert not any(line.startswith("::") for line in text.splitlines())


# --- trend -----------------------------------------------------------------------------------


def rates(tmp_path, *shares, **facts):
    """A history of runs that passed so many of 10 scenarios."""
    for number, passed in enumerate(shares):
        found = counts({f"S-{place}": int(place < passed) for place in range(10)})
        changed = {name: values[number] for name, values in facts.items()}
        add(tmp_path / "history", new_run(number, found, **changed))


def test_a_trend_is_a_sparkline_with_the_threshold_and_the_interval_of_the_last_run(tmp_path):
    rates(tmp_path, 6, 8, 10, 9)
    first, line, missed, *_ = run(tmp_path, "history", "trend").out.splitlines()
    assert first == "4 runs, 2026-01-01"
    assert line == "pass_rate  ▁▅█▆  90.0% (85.0–100), ≥ 80%: pass"
    assert missed == "           ✗"


@pytest.mark.process
def test_a_terminal_without_our_characters_gets_digits(tmp_path):
    rates(tmp_path, 6, 10, suite=["a", "b"])
    done = run(tmp_path, "history", "trend", environment={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert b"1|8" in done.stdout


def test_a_sparkline_is_cut_where_the_suite_changed(tmp_path):
    rates(tmp_path, 8, 9, 10, suite=["a", "a", "b"])
    _, line, *others = run(tmp_path, "history", "trend").out.splitlines()
    assert "▁▅│█" in line
    assert "│ other scenarios: not comparable across it" in others


def test_one_metric_is_a_chart_with_its_threshold(tmp_path):
    rates(tmp_path, 6, 8, 10, 9, suite=["a", "a", "a", "b"])
    done = run(tmp_path, "history", "trend", "pass_rate")
    lines = done.out.splitlines()
    assert lines[0] == "pass_rate: 4 runs, 2026-01-01"
    assert lines[2] == " 100%    o│"
    assert lines[11] == "60.0%  ✗  │"
    assert any(line.endswith("-o-│-") for line in lines)
    assert "last run: 90.0% (85.0–100), ≥ 80%: pass" in lines
    assert "│ 2026-01-01, 0000000: other scenarios" in lines


def test_a_trend_as_json_has_its_segments(tmp_path):
    rates(tmp_path, 8, 9, 10, judge=["a", "b", "b"])
    (found,) = run(tmp_path, "history", "trend", "--format", "json").json["metrics"]
    assert [(part["because"], [point["value"] for point in part["points"]]) for part in found["segments"]] == [
        (None, [0.8]),
        ("judge", [0.9, 1.0]),
    ]
    assert found["segments"][0]["points"][0]["rules"][0]["bound"] == 0.8


def test_an_undefined_value_is_a_gap_and_no_number(tmp_path):
    rates(tmp_path, 8, 9)
    new = new_run(2)
    undefined = replace(new.run.metrics["pass_rate"], value=None, low=None, high=None)
    add(tmp_path / "history", replace(new, run=replace(new.run, metrics={"pass_rate": undefined})))
    line = run(tmp_path, "history", "trend").out.splitlines()[1]
    assert line.startswith("pass_rate  ▁█·  undefined")
    assert run(tmp_path, "history", "trend", "pass_rate").exit == 0


@pytest.mark.slow
def test_many_runs_fit_on_the_line(tmp_path):
    rates(tmp_path, *[8, 9] * 36)
    for arguments in ((), ("pass_rate",)):
        assert max(len(line) for line in run(tmp_path, "history", "trend", *arguments).out.splitlines()) <= 80


def test_a_metric_that_no_run_has_is_refused_with_the_one_that_was_meant(tmp_path):
    rates(tmp_path, 8)
    done = run(tmp_path, "history", "trend", "pas_rate")
    assert done.exit == 2
    assert "did you mean 'pass_rate'?" in done.err


# --- prune -----------------------------------------------------------------------------------


def test_prune_says_first_what_it_would_remove(tmp_path):
    files = add(tmp_path / "history", *(new_run(number) for number in range(4)))
    done = run(tmp_path, "history", "prune", "--keep", "1")
    assert done.exit == 0
    assert [line.split()[-1] for line in done.out.splitlines()] == [f"history/{file.name}" for file in files[:3]]
    assert "3 of 4 runs would be removed; --yes removes them" in done.err
    assert all(file.exists() for file in files)
    assert "3 of 4 runs removed" in run(tmp_path, "history", "prune", "--keep", "1", "--yes").err
    assert [file.exists() for file in files] == [False, False, False, True]


def test_prune_by_age_and_by_number_removes_only_what_both_allow(tmp_path):
    recent = (datetime.now(UTC) - timedelta(days=10)).strftime("%Y-%m-%dT%H:%M:%SZ")
    files = add(tmp_path / "history", new_run(0), new_run(1), new_run(2, time=recent))
    assert run(tmp_path, "history", "prune", "--older-than", "9d").err.startswith("3 of 3")
    assert run(tmp_path, "history", "prune", "--older-than", "11d").err.startswith("2 of 3")
    run(tmp_path, "history", "prune", "--older-than", "2w", "--keep", "2", "--yes")
    assert [file.exists() for file in files] == [False, True, True]


@pytest.mark.parametrize("age", ["375000d", "500000d", "739000d", "999999d", "54000w", "999999w"])
def test_no_run_is_older_than_centuries(tmp_path, age):
    """Years with three digits, which sort as text after those with four."""
    files = add(tmp_path / "history", new_run(0))
    assert run(tmp_path, "history", "prune", "--older-than", age, "--yes").err.startswith("0 of 1 run")
    assert files[0].exists()


def test_prune_leaves_other_branches_and_damaged_records_alone(tmp_path):
    files = add(tmp_path / "history", new_run(0), new_run(1, branch="topic"), new_run(2))
    files[0].write_bytes(b"x")
    run(tmp_path, "history", "prune", "--older-than", "1d", "--branch", "topic", "--yes")
    assert [file.exists() for file in files] == [True, False, True]


@pytest.mark.parametrize("arguments", [(), ("--keep", "0"), ("--older-than", "soon"), ("--older-than", "90")])
def test_prune_wants_to_know_what_to_keep(tmp_path, arguments):
    add(tmp_path / "history", new_run(0))
    assert run(tmp_path, "history", "prune", *arguments, "--yes").exit == 2
    assert len(list((tmp_path / "history").iterdir())) == 1
