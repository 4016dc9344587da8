"""Each run of a test is a row: how the test ended, what its marks say, and how often it was run."""

from __future__ import annotations

from pathlib import Path

import pytest

import highbar
from highbar.pytest_plugin.collecting import CollectedTest
from highbar.pytest_plugin.gathering import result_rows
from highbar.pytest_plugin.trials import RecordedTrial
from tests.importers.imported import imported
from tests.unit.pytest_plugin.sessions import run

ENDINGS = """
@pytest.fixture
def broken(): raise AssertionError("no agent")
@pytest.fixture
def breaks_late():
    yield
    raise OSError("no disk")
def test_passes(): pass
def test_fails(): assert 1 == 2, "wrong answer"
def test_is_failed(): pytest.fail("not good enough")
def test_crashes(): raise RuntimeError("boom")
def test_leaves(): raise SystemExit(0)
def test_groups(): raise ExceptionGroup("both", [AssertionError("a"), AssertionError("b")])
def test_groups_a_crash(): raise ExceptionGroup("both", [AssertionError("a"), OSError("b")])
def test_setup(broken): pass
def test_teardown(breaks_late): pass
@pytest.mark.skip(reason="later")
def test_is_skipped(): pass
def test_skips(): pytest.skip("no network")
@pytest.mark.xfail(reason="known")
def test_is_expected_to_fail(): assert False
@pytest.mark.xfail(run=False)
def test_is_not_run(): assert False
@pytest.mark.xfail
def test_passes_unexpectedly(): pass
@pytest.mark.xfail(strict=True)
def test_passes_though_it_must_fail(): pass
@pytest.mark.xfail(raises=KeyError)
def test_fails_otherwise(): assert False
def test_has_a_bad_part(subtests):
    with subtests.test("one"): assert False
"""


@pytest.fixture(scope="module")
def endings(tmp_path_factory: pytest.TempPathFactory):
    return run(tmp_path_factory.mktemp("endings"), ENDINGS, "--junitxml=report.xml")


def statuses(session) -> dict[str, str]:
    """How each test ended: passed, failed, error or skipped."""
    return {row["id"].partition("::test_")[2]: status(row) for row in session.rows}


def status(row) -> str:
    skipped = row.get("tags", {}).get("status")
    return "error" if row.get("error") else skipped or ("passed" if row["passed"] else "failed")


def test_a_failed_assertion_is_a_failed_trial_and_any_other_exception_an_error(endings) -> None:
    assert statuses(endings) == {
        "passes": "passed",
        "fails": "failed",
        "is_failed": "failed",
        "crashes": "error",
        "leaves": "error",
        "groups": "failed",
        "groups_a_crash": "error",
        "setup": "error",
        "teardown": "error",
        "is_skipped": "skipped",
        "skips": "skipped",
        "is_expected_to_fail": "skipped",
        "is_not_run": "skipped",
        "passes_unexpectedly": "passed",
        "passes_though_it_must_fail": "failed",
        "fails_otherwise": "failed",
        "has_a_bad_part": "failed",
    }


def test_a_row_says_what_went_wrong(endings) -> None:
    assert endings.row("test_it.py::test_fails")["output"] == "AssertionError: wrong answer\nassert 1 == 2"
    assert endings.row("test_it.py::test_crashes")["error"] == "RuntimeError: boom"
    assert endings.row("test_it.py::test_setup")["error"] == "setup: AssertionError: no agent"
    assert endings.row("test_it.py::test_teardown")["error"] == "teardown: OSError: no disk"
    assert endings.row("test_it.py::test_is_skipped")["output"] == "Skipped: later"
    assert endings.row("test_it.py::test_is_expected_to_fail")["output"] == "expected to fail: known"


def test_the_rows_agree_with_the_junit_report_of_the_same_session(endings) -> None:
    """Except that the report calls an exception in the test itself a failure, and two endings of a test two cases."""
    reported = {
        row["id"].partition("::test_")[2]: row for row in imported("junit", endings.file.with_name("report.xml"))[0]
    }
    differing = {name for name, found in statuses(endings).items() if found != status(reported[name])}
    assert differing == {"crashes", "leaves", "groups_a_crash"}
    assert {name for name, found in statuses(endings).items() if found == "passed"} == {
        name for name, row in reported.items() if row["passed"]
    }


def test_a_mark_gives_the_columns_that_describe_a_scenario(tmp_path: Path) -> None:
    tests = """
pytestmark = pytest.mark.scenario(capability="search", agent_version="2.1")
@pytest.mark.scenario(category="edge_case", weight=2)
class TestOfOneKind:
    @pytest.mark.scenario(id="FIND-1", category="adversarial", tags={"locale": "de"}, team="blue")
    def test_one(self): pass
    @pytest.mark.parametrize("word", [pytest.param("a", marks=pytest.mark.scenario(id="A", weight=3)), "b"])
    @pytest.mark.scenario(weight=1, input="find it")
    def test_two(self, word): pass
"""
    one, two, three = run(tmp_path, tests).rows
    described = {"capability": "search", "agent_version": "2.1", "trial": 1, "passed": True}
    where = "test_it.py::TestOfOneKind::test_"
    assert one == described | {
        "id": "FIND-1",
        "category": "adversarial",
        "weight": 2,
        "tags": {"locale": "de"},
        "team": "blue",
        "test": f"{where}one",
    }
    parts = {"category": "edge_case", "input": "find it"}
    assert two == described | parts | {"id": "A", "weight": 3, "test": f"{where}two[a]"}
    assert three == described | parts | {"id": f"{where}two[b]", "weight": 1}


MISUSED = {
    "scenario('A')": "found 'A' without a keyword; wanted scenario(id=…, category=…)",
    "scenario(catgory='adversarial')": "catgory is no column; did you mean 'category'?",
    "scenario(passed=True)": "passed is recorded by the test, not by its mark",
    "scenario(latency_ms=3)": "latency_ms is recorded by the test",
    "scenario(trial=2)": "trial is recorded by the test",
    "scenario(expected_behaviors='greets')": "expected_behaviors: found 'greets', ",
    "scenario(must_not={'swears': False})": "must_not: found an object, ",
    "scenario(must_not=[''])": "must_not: found a list of 1, ",
    "scenario(expected_behaviors=['a'], must_not=['A'])": "'a' and 'A' in expected_behaviors and must_not",
    "scenario(must_not=['b', 'B'])": "'b' and 'B' in expected_behaviors and must_not: wanted each name once",
    "scenario(weight=0)": "weight: found 0, ",
    "scenario(id='')": "id: found '', ",
    "scenario(team=[1])": "team: found a list of 1, wanted text, a number, or True or False",
    "scenario(team=float('nan'))": "team: found nan, wanted text, a number, or True or False",
    "scenario(id='A')\n@pytest.mark.scenario(id='B')": "id is said twice: 'B' and 'A'",
}


@pytest.mark.parametrize("mark", MISUSED)
def test_a_mark_that_no_row_can_be_made_of_stops_the_session(tmp_path: Path, mark: str) -> None:
    done = run(tmp_path, f"@pytest.mark.{mark}\ndef test_one(): print('it ran')\ndef test_two(): print('it ran')", "-s")
    assert done.exit == pytest.ExitCode.INTERRUPTED
    assert f"@pytest.mark.scenario: {MISUSED[mark]}" in done.out
    assert "it ran" not in done.out
    assert done.incomplete == "incomplete: 1 error during collection"


def test_an_id_belongs_to_one_test(tmp_path: Path) -> None:
    done = run(tmp_path, "@pytest.mark.scenario(id='A')\nclass TestAll:\n    def test_one(self): pass")
    assert "id='A' is in a mark of TestAll; wanted it in a mark of one test" in done.out


def test_without_the_option_marks_are_nobodys_business(tmp_path: Path) -> None:
    done = run(
        tmp_path, "@pytest.mark.scenario('of another tool')\ndef test_one(): pass", "--strict-markers", rows=False
    )
    assert done.exit == 0
    assert not done.file.exists()


def test_tests_with_the_same_id_are_trials_of_one_scenario(tmp_path: Path) -> None:
    tests = """
@pytest.mark.scenario(id="A")
@pytest.mark.parametrize("number", [1, 2, 3])
def test_one(number): assert number != 2
@pytest.mark.scenario(id="A")
def test_two(): pass
"""
    done = run(tmp_path, tests)
    assert done.passed() == {"A": [True, False, True, True]}
    assert [row["trial"] for row in done.rows] == [1, 2, 3, 4]
    assert float(highbar.check(done.file, {"thresholds": {"pass_rate": "75%"}}).metrics["pass_rate"].value) == 0.75


FLAKY = """
calls = []
@pytest.mark.scenario(id="FLAKY")
def test_flaky(behaviors):
    calls.append(1)
    behaviors.latency_ms(len(calls))
    assert len(calls) == 3
def test_steady(): pass
"""
RERUN = """
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):  # as pytest-rerunfailures does it
    for again in (True, True, False):
        for report in runtestprotocol(item, nextitem=nextitem, log=False):
            if report.failed and again:
                report.outcome = "rerun"
                item.ihook.pytest_runtest_logreport(report=report)
                break
            item.ihook.pytest_runtest_logreport(report=report)
        else:
            return True
    return True
"""
UNSEEN = """
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):  # as pytest-retry does it: pytest never reports the first calls
    report = yield
    for _ in range(2 if call.when == "call" and report.failed else 0):
        pytest.CallInfo.from_call(lambda: item.ihook.pytest_runtest_teardown(item=item, nextitem=None), "teardown")
        item._initrequest()
        pytest.CallInfo.from_call(lambda: item.ihook.pytest_runtest_setup(item=item), "setup")
        again = pytest.CallInfo.from_call(lambda: item.ihook.pytest_runtest_call(item=item), "call")
        report = pytest.TestReport.from_item_and_call(item, again)
    return report
"""
UNLOGGED = """
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):  # as flaky does it: only the last run is logged
    for _ in range(3):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if all(report.passed for report in reports):
            break
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""


@pytest.mark.parametrize("conftest", [RERUN, UNSEEN, UNLOGGED], ids=["rerun", "unseen", "unlogged"])
def test_running_a_test_again_hides_no_failure(tmp_path: Path, conftest: str) -> None:
    done = run(tmp_path, {"test_it.py": FLAKY, "conftest.py": conftest})
    assert done.exit == 0
    assert done.passed() == {"FLAKY": [False, False, True], "test_it.py::test_steady": [True]}
    assert [row["latency_ms"] for row in done.rows[:3]] == [1, 2, 3]


def test_repetitions_of_pytest_repeat_are_trials(tmp_path: Path) -> None:
    conftest = """
@pytest.fixture
def __pytest_repeat_step_number(request): return request.param
@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc):
    metafunc.fixturenames.append("__pytest_repeat_step_number")
    metafunc.parametrize("__pytest_repeat_step_number", range(3), indirect=True, ids=lambda i: f"{i + 1}-3")
"""
    tests = """
@pytest.mark.parametrize("word", ["3-5", "b"])
def test_one(word): pass
def test_two(): pass
"""
    done = run(tmp_path, {"test_it.py": tests, "conftest.py": conftest})
    names = ("one[3-5]", "one[b]", "two")
    assert done.passed() == {f"test_it.py::test_{name}": [True, True, True] for name in names}


def test_a_plugin_that_fails_a_test_in_its_report_alone_is_believed(tmp_path: Path) -> None:
    conftest = """
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    if report.when == "call":
        report.outcome, report.longrepr = "failed", "too slow"
"""
    done = run(tmp_path, {"test_it.py": "def test_one(): pass", "conftest.py": conftest})
    assert done.row("test_it.py::test_one")["error"] == "too slow"


def test_rows_are_in_the_order_of_the_tests_however_they_are_run(tmp_path: Path) -> None:
    conftest = "def pytest_collection_modifyitems(items): items.reverse()\n"
    tests = "def test_a(): pass\ndef test_b(): pass\nclass TestC:\n    def test_d(self): pass\n"
    done = run(tmp_path, {"test_it.py": tests, "conftest.py": conftest})
    assert [row["id"].rpartition("::")[2] for row in done.rows] == ["test_a", "test_b", "test_d"]


def test_trials_of_several_workers_are_in_the_order_of_the_workers() -> None:
    """With `--dist each` every worker runs every test, and they end in any order."""
    test = CollectedTest("test_it.py::test_one", "test_it.py::test_one", {"id": "A"})
    trials = [
        RecordedTrial(f"{worker}{time}", test.name, worker, "passed", {"id": "A", "worker": worker, "time": time})
        for worker, time in (("gw1", 1), ("gw0", 2), ("gw1", 3), ("gw0", 4))
    ]
    rows = result_rows([test], trials, {}, "")
    assert [(row["worker"], row["time"]) for row in rows] == [("gw0", 2), ("gw0", 4), ("gw1", 1), ("gw1", 3)]


def test_hostile_text_is_written_so_that_every_reader_takes_it(tmp_path: Path) -> None:
    tests = r"""
HOSTILE = "\ud800 \u2028 \x00 \x1b[31m </script> " + "x" * 9_000_000
def test_one(behaviors):
    behaviors.output(HOSTILE)
    assert False, "\ud800 \x1b[31m"
class Hostile(Exception):
    def __str__(self): raise RuntimeError
def test_two(): raise Hostile
"""
    done = run(tmp_path, tests)
    assert highbar.check(done.file, {"thresholds": {"pass_rate": "100%"}}).verdict == "fail"
    assert len(done.rows) == 2


def test_a_rows_file_says_nothing_of_an_earlier_session(tmp_path: Path) -> None:
    run(tmp_path, "def test_one(): pass\ndef test_two(): pass")
    assert list(run(tmp_path, "def test_one(): pass").passed()) == ["test_it.py::test_one"]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("test_it.py", ".jsonl"),
        ("nowhere/results.jsonl", "there is no folder"),
        ("folder.jsonl", "is no file"),
    ],
)
def test_a_file_that_cannot_hold_results_is_refused_before_any_test(tmp_path: Path, file: str, message: str) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    tests = "def test_one(): print('it ran')"
    done = run(tmp_path, tests, "-s", "--highbar", file, rows=False)
    assert done.exit == pytest.ExitCode.USAGE_ERROR
    assert message in done.out
    assert "it ran" not in done.out
    assert (tmp_path / "test_it.py").read_text("utf-8") == f"import pytest\n{tests}"
