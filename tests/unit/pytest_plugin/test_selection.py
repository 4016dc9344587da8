"""A session that did not run everything never looks complete: what was not run is undecided, or the file is refused."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

import highbar
from tests.unit.pytest_plugin.sessions import FILE, HALF, run, write

TESTS = """
import os
def test_one(): pass
def test_two():
    mode = os.environ.get("MODE")
    assert mode != "fail"
    if mode == "interrupt": raise KeyboardInterrupt
    if mode == "exit": pytest.exit("enough", returncode=0)
@pytest.mark.slow
def test_three(): pass
class TestMore:
    def test_four(self): pass
    @pytest.mark.parametrize("n", [1, 2])
    def test_five(self, n): pass
"""
MARKERS = ("-o", "markers=slow")
NAMES = ("one", "two", "three", "four", "five[1]", "five[2]")


def not_run(session) -> dict[str, str]:
    """The tests that were not run, each with the reason."""
    return {
        row["id"].rpartition("::test_")[2]: row["unjudged"]
        for row in session.rows
        if row.get("unjudged", "").startswith("not run: ")
    }


CHOICES = {
    ("-k", "one"): ("one",),
    ("-m", "not slow"): tuple(name for name in NAMES if name != "three"),
    ("--deselect", "test_it.py::TestMore"): ("one", "two", "three"),
    ("test_it.py::test_two",): ("two",),
    ("test_it.py::TestMore::test_five",): ("five[1]", "five[2]"),
    ("test_it.py::TestMore::test_five[2]",): ("five[2]",),
    ("test_it.py::TestMore",): ("four", "five[1]", "five[2]"),
    ("-k", "nothing"): (),
}


@pytest.mark.hazard("H14")
@pytest.mark.parametrize("options", CHOICES, ids=" ".join)
def test_tests_that_were_not_chosen_are_undecided(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run(tmp_path, TESTS, *MARKERS, *options)
    left_out = [name for name in NAMES if name not in CHOICES[options]]
    assert not_run(done) == dict.fromkeys(left_out, "not run: deselected")
    assert len(done.rows) == len(NAMES)
    assert f"{len(left_out)} test{'s' * (len(left_out) > 1)} not run: deselected" in done.out
    assert highbar.check(done.file, {"thresholds": {"pass_rate": "100%"}}).verdict == "inconclusive"


@pytest.mark.hazard("H14")
def test_tests_that_a_plugin_drops_silently_are_undecided(tmp_path: Path) -> None:
    conftest = "def pytest_collection_modifyitems(items): del items[1:]\n"
    done = run(tmp_path, {"test_it.py": TESTS, "conftest.py": conftest}, *MARKERS)
    assert list(not_run(done)) == list(NAMES[1:])


@pytest.mark.hazard("H14")
def test_running_what_failed_last_is_not_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "test_it.py": TESTS,
        "test_other.py": "def test_other(): pass\nclass TestMore:\n    def test_inner(self): pass",
    }
    cache = ("-p", "cacheprovider")
    monkeypatch.setenv("MODE", "fail")
    run(tmp_path, files, *MARKERS, *cache)
    monkeypatch.delenv("MODE")
    done = run(tmp_path, files, *MARKERS, *cache, "--lf")
    assert sorted(not_run(done)) == sorted([*(name for name in NAMES if name != "two"), "other", "inner"])


def test_the_paths_that_are_named_are_the_whole(tmp_path: Path) -> None:
    done = run(tmp_path, {"a/test_a.py": "def test_a(): pass", "b/test_b.py": "def test_b(): pass"}, "a")
    assert done.passed() == {"a/test_a.py::test_a": [True]}


def test_choosing_the_scenarios_leaves_out_the_tests_that_are_none(tmp_path: Path) -> None:
    tests = """
@pytest.mark.scenario
def test_one(): pass
def test_with_behaviors(behaviors): pass
def test_unit(): assert False
"""
    done = run(tmp_path, tests, "-m", "scenario")
    assert done.passed() == {"test_it.py::test_one": [True], "test_it.py::test_with_behaviors": [None]}
    assert not_run(done) == {"with_behaviors": "not run: deselected"}
    assert len(run(tmp_path, tests).rows) == 3


def test_stopping_at_the_first_failure_leaves_the_rest_undecided(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("MODE", "fail")
    done = run(tmp_path, TESTS, *MARKERS, "-x")
    assert not_run(done) == dict.fromkeys(NAMES[2:], "not run: stopping after 1 failures")
    assert [row.get("passed") for row in done.rows[:2]] == [True, False]


@pytest.mark.parametrize(("mode", "code"), [("interrupt", 2), ("exit", 0)])
def test_an_interrupted_session_leaves_the_rest_undecided(tmp_path: Path, monkeypatch, mode: str, code: int) -> None:
    monkeypatch.setenv("MODE", mode)
    done = run(tmp_path, TESTS, *MARKERS)
    assert done.exit == code
    assert not_run(done) == dict.fromkeys(NAMES[1:], "not run: the session was interrupted")


def test_tests_that_were_set_up_and_not_called_are_undecided(tmp_path: Path) -> None:
    assert list(not_run(run(tmp_path, TESTS, *MARKERS, "--setup-only"))) == list(NAMES)


def test_an_error_during_collection_makes_a_file_that_no_check_accepts(tmp_path: Path) -> None:
    files = {"test_it.py": "def test_one(): pass", "test_broken.py": "import nowhere"}
    for options, row in (
        ((), {"unjudged": "not run: errors during collection"}),
        (("--continue-on-collection-errors",), {"passed": True}),
    ):
        done = run(tmp_path, files, *options)
        assert done.incomplete == "incomplete: 1 error during collection"
        assert done.lines[0] == {"id": "test_it.py::test_one", "trial": 1, **row}
        with pytest.raises(highbar.InputError, match="found 'incomplete: 1 error during collection'"):
            highbar.check(done.file, {"thresholds": {"pass_rate": "1%"}})


def test_an_interrupted_collection_makes_a_file_that_no_check_accepts(tmp_path: Path) -> None:
    conftest = "def pytest_collection_modifyitems(items): raise KeyboardInterrupt\n"
    done = run(tmp_path, {"test_it.py": "def test_one(): pass", "conftest.py": conftest})
    assert done.exit == pytest.ExitCode.INTERRUPTED
    assert done.incomplete == "incomplete: the collection did not end"


def test_a_file_that_is_skipped_as_a_whole_has_not_passed(tmp_path: Path) -> None:
    files = {
        "test_it.py": "def test_one(): pass",
        "test_other.py": "pytest.skip('no key', allow_module_level=True)\ndef test_two(): pass",
    }
    done = run(tmp_path, files)
    assert done.row("test_other.py") == {
        "id": "test_other.py",
        "trial": 1,
        "passed": False,
        "tags": {"status": "skipped"},
        "output": "Skipped: no key",
    }


def test_a_session_without_tests_has_no_results(tmp_path: Path) -> None:
    done = run(tmp_path, {"test_it.py": ""})
    assert done.exit == pytest.ExitCode.NO_TESTS_COLLECTED
    assert done.incomplete == "incomplete: there is no test"


@pytest.mark.parametrize("hook", ["pytest_runtest_logstart(nodeid)", "pytest_collection_modifyitems(items)"])
def test_an_internal_error_makes_a_file_that_no_check_accepts(tmp_path: Path, hook: str) -> None:
    conftest = f"def {hook}: raise RuntimeError('boom')\n"
    done = run(tmp_path, {"test_it.py": "def test_one(): pass", "conftest.py": conftest})
    assert done.exit == pytest.ExitCode.INTERNAL_ERROR
    assert done.incomplete == "incomplete: pytest had an internal error"


BREAKS = {
    "a conftest.py that breaks": {"conftest.py": "raise RuntimeError('broken')"},
    "a plugin that breaks the collection": {"conftest.py": "def pytest_collection(): raise SystemExit(1)"},
}


@pytest.mark.parametrize("how", BREAKS)
def test_the_results_of_an_earlier_session_do_not_survive_one_that_breaks(tmp_path: Path, how: str) -> None:
    assert run(tmp_path, "def test_one(): pass").exit == 0
    with suppress(SystemExit):
        run(tmp_path, BREAKS[how])
    with pytest.raises(highbar.InputError, match="found 'incomplete: "):
        highbar.check(tmp_path / FILE, {"thresholds": {"pass_rate": "1%"}})


def test_during_the_session_the_file_is_one_that_no_check_accepts(tmp_path: Path) -> None:
    run(tmp_path, "def test_one(): pass")
    done = run(tmp_path, f"import pathlib\ndef test_one(): print('now', pathlib.Path({FILE!r}).read_text())", "-s")
    assert 'now "incomplete: the pytest session has not ended"' in done.out


@pytest.mark.parametrize("option", ["--collect-only", "--fixtures", "--markers", "--help"])
def test_what_runs_no_tests_leaves_the_results_alone(tmp_path: Path, option: str) -> None:
    before = run(tmp_path, "def test_one(): pass").rows
    assert run(tmp_path, {}, option).rows == before


def test_a_policy_may_tolerate_tests_that_were_not_run(tmp_path: Path) -> None:
    """Even if all of them had failed."""
    write(tmp_path, {"highbar.yaml": HALF})
    assert run(tmp_path, TESTS, *MARKERS, "-m", "not slow", "--highbar-check").exit == 0
    assert run(tmp_path, TESTS, *MARKERS, "-m", "slow", "--highbar-check").exit == 3
