"""JUnit reports that list other tests than they count: reruns, repetitions, todos, subtests, nameless attempts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commandline import Run, judged, refused, run
from tests.importers.imported import FIXTURES, Row

ALL = {"thresholds": {"blocking": {"pass_rate": "100%"}}}
JEST = 'errors="0" failures="0" skipped="0" timestamp="2026-11-19T02:15:59" time="1"'


def gate(folder: Path, report: Path | str, policy: dict[str, object] | None = None) -> Run:
    """The check of a report, by default with the bar that every test passes."""
    data = report.read_bytes() if isinstance(report, Path) else report.encode()
    (folder / "report.xml").write_bytes(data)
    (folder / "policy.json").write_text(json.dumps(policy or ALL), "utf-8")
    return run(folder, "check", "report.xml", "--format", "json", "--policy", "policy.json")


def rows(folder: Path, report: Path | str) -> list[Row]:
    """The rows of a report, in order."""
    data = report.read_bytes() if isinstance(report, Path) else report.encode()
    (folder / "report.xml").write_bytes(data)
    done = run(folder, "import", "junit", "report.xml")
    assert done.exit == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def trials(folder: Path, report: Path | str) -> list[tuple[str, int, bool | None]]:
    """The scenario, the trial and the outcome of each row."""
    return [(row["id"], row["trial"], row.get("passed")) for row in rows(folder, report)]


def jest(*cases: tuple[str, str], tests: int, root: str = "jest tests") -> str:
    """A report of jest-junit, of cases by name and time, of which so many are counted."""
    inside = "".join(f'<testcase classname="s" name="{name}" time="{time}"></testcase>' for name, time in cases)
    suite = f'<testsuite name="s" {JEST} tests="{tests}">{inside}</testsuite>'
    return f'<testsuites name="{root}" tests="{tests}" failures="0" errors="0" time="1">{suite}</testsuites>'


# --- a surplus of cases --------------------------------------------------------------------------


@pytest.mark.hazard("H159")
@pytest.mark.parametrize("root", ["jest tests", "of our own"])
@pytest.mark.parametrize("required", [False, True])
def test_h159_a_todo_beside_equal_names_never_passes(tmp_path: Path, root: str, required: bool) -> None:
    report = jest(("a", "0.1"), ("a", "0.2"), ("later", "0"), tests=2, root=root)
    policy: dict[str, object] = {"thresholds": {"blocking": {"pass_rate": "50%"}}}
    told = judged(gate(tmp_path, report, policy | ({"required_scenarios": ["s::later"]} if required else {})),
                  "fail" if required else "pass")  # fmt: skip
    assert [one["id"] for one in told["scenarios_failed"]] == ["s::later"]
    assert trials(tmp_path, report) == [("s::a", 0, True), ("s::a", 1, True), ("s::later", 0, False)]
    assert rows(tmp_path, report)[2]["tags"] == {"status": "todo"}
    judged(gate(tmp_path, report), "fail")


@pytest.mark.hazard("H159")
def test_h159_a_report_of_jest_with_a_todo_is_read_as_jest_counts_it(tmp_path: Path) -> None:
    report = FIXTURES / "junit_js" / "jest_todo.xml"
    counted = json.loads((FIXTURES / "junit_js" / "totals.json").read_text("utf-8"))["jest_todo.xml"]
    found = [passed for _, _, passed in trials(tmp_path, report)]
    assert (found.count(True), found.count(False)) == (counted["Passed"], counted["Todo"])


@pytest.mark.hazard("H159")
def test_h159_of_tests_that_took_no_time_it_is_not_known_which_is_the_todo(tmp_path: Path) -> None:
    report = jest(("a", "0"), ("later", "0"), ("b", "0.5"), tests=2)
    assert trials(tmp_path, report) == [("s::a", 0, None), ("s::later", 0, None), ("s::b", 0, True)]
    done = gate(tmp_path, report)
    judged(done, "inconclusive")
    assert any("test.skip instead of test.todo" in warning for warning in done.json["warnings"])


@pytest.mark.hazard("H159")
@pytest.mark.parametrize(
    ("report", "code", "told"),
    [
        (jest(("a", "0.1"), ("b", "0.2"), tests=1), "import.contradiction", ("1 more",)),  # both took time
        (jest(("a", "0.1"), tests=2), "import.contradiction", ("counts 2 ", "lists 1")),
        (jest(("a", "0.1"), tests=1).replace(' tests="1">', ">", 2), "import.missing-value", ("jest", "tests")),
        (
            jest(("a", "0.1"), tests=1).replace('failures="0" skipped="0"', 'failures="1" skipped="0"'),
            "import.contradiction",
            ("1 failures",),
        ),
    ],
)
def test_h159_counts_of_jest_that_no_todo_explains_are_refused(
    tmp_path: Path, report: str, code: str, told: tuple[str, ...]
) -> None:
    refused(gate(tmp_path, report), *told, code=code)


@pytest.mark.hazard("H159")
@pytest.mark.parametrize("name", ["s", "surefire", "vitest tests"])
def test_h159_a_surplus_of_a_runner_that_is_not_known_to_rerun_is_refused(tmp_path: Path, name: str) -> None:
    cases = '<testcase name="a" time="1"/><testcase name="a" time="1"/><testcase name="todo" time="0"/>'
    refused(gate(tmp_path, f'<testsuite name="{name}" tests="2" failures="0">{cases}</testsuite>'),
            "counts 2 tests and lists 3", "is not known of this runner")  # fmt: skip


@pytest.mark.hazard("H159")
def test_h159_a_file_and_a_hook_of_jest_that_broke_are_failures(tmp_path: Path) -> None:
    found = rows(tmp_path, FIXTURES / "junit_js" / "jest_broken.xml")
    assert [row["passed"] for row in found] == [True, False, False, False]
    assert sum("error" in row for row in found) == 1


@pytest.mark.hazard("H159")
def test_h159_reruns_of_pytest_are_read_as_before(tmp_path: Path) -> None:
    judged(gate(tmp_path, FIXTURES / "junit" / "reruns.xml"), "fail")
    found = trials(tmp_path, FIXTURES / "junit" / "reruns.xml")
    assert [(n, ok) for name, n, ok in found if "third" in name] == [(0, False), (1, False), (2, True)]


# --- repetitions ---------------------------------------------------------------------------------


def repeated(*names: str) -> str:
    """A report of pytest with these tests, which passed."""
    inside = "".join(f'<testcase classname="m" name="{name}" time="1"/>' for name in names)
    counts = f'errors="0" failures="0" skipped="0" tests="{len(names)}"'
    return f'<testsuites name="pytest tests"><testsuite name="pytest" {counts}>{inside}</testsuite></testsuites>'


@pytest.mark.hazard("H160")
def test_h160_repetitions_of_pytest_repeat_are_trials(tmp_path: Path) -> None:
    done = gate(tmp_path, FIXTURES / "junit" / "repeat.xml")
    told = judged(done, "fail")
    assert (told["counts"]["scenarios"], told["counts"]["trials"]) == (5, 13)
    assert any("13 repetitions of 5 tests" in warning for warning in told["warnings"])
    found = trials(tmp_path, FIXTURES / "junit" / "repeat.xml")
    assert [ok for name, _, ok in found if name == "test_suite::test_words[b-c]"] == [False] * 3
    assert [n for name, n, _ in found if name == "test_suite::test_passes"] == [0, 1, 2]
    assert {name for name, _, _ in found if "numbers" in name} == {
        "test_suite::test_numbers[1-2]", "test_suite::test_numbers[2-2]",
    }  # fmt: skip


@pytest.mark.hazard("H160")
def test_h160_three_trials_of_one_test_are_no_three_scenarios_that_pass_a_bar(tmp_path: Path) -> None:
    """As scenarios of their own, repetitions make certain what was seen of one test alone."""
    many = [f"t[{number}-90]" for number in range(1, 91)]
    policy = {"rules": [{"metric": "pass_rate", "threshold": "90%", "evidence": "confident"}]}
    judged(gate(tmp_path, repeated(*many), policy), "inconclusive")
    judged(gate(tmp_path, repeated(*(f"t{number}" for number in range(90))), policy), "pass")


@pytest.mark.hazard("H160")
@pytest.mark.parametrize(
    "names",
    [
        ["t[1-3]", "t[2-3]"],  # of three there are two
        ["t[1-3]", "t[2-3]", "t[3-3]", "t[a]"],  # a parameter that looks like a repetition
        ["t[a-1-2]", "t[a-2-2]", "t[b-1-2]"],
        ["t[1-2]", "t[2-2]", "t[1-3]", "t[2-3]", "t[3-3]"],
        ["t[0-1]", "t[1-1]"],
        ["t[1-1]"],
        ["t[01-2]", "t[02-2]"],
        ["t", "t[1-2]", "t[2-2]"],
        ["t[１-2]", "t[2-2]"],
    ],
)
def test_h160_names_that_only_resemble_repetitions_stay_scenarios(tmp_path: Path, names: list[str]) -> None:
    assert [name for name, _, _ in trials(tmp_path, repeated(*names))] == [f"m::{name}" for name in names]


@pytest.mark.hazard("H160")
def test_h160_other_runners_may_call_their_tests_so(tmp_path: Path) -> None:
    report = repeated("t[1-2]", "t[2-2]").replace("pytest", "other")
    assert [name for name, _, _ in trials(tmp_path, report)] == ["m::t[1-2]", "m::t[2-2]"]


@pytest.mark.hazard("H160")
def test_h160_a_repetition_that_was_made_again_is_one_more_trial(tmp_path: Path) -> None:
    report = repeated("t[1-2]", "t[1-2]", "t[2-2]").replace('tests="3"', 'tests="2"')
    assert trials(tmp_path, report) == [("m::t", 0, False), ("m::t", 1, True), ("m::t", 2, True)]


# --- what is nested, to do, or has no name --------------------------------------------------------


@pytest.mark.hazard("H165")
@pytest.mark.parametrize("name", ["node20.xml", "node24.xml"])
def test_h165_nested_suites_and_todos_of_node_are_read_as_node_counts_them(tmp_path: Path, name: str) -> None:
    counted = json.loads((FIXTURES / "junit_js" / "totals.json").read_text("utf-8"))[name]
    found = trials(tmp_path, FIXTURES / "junit_js" / name)
    assert len(found) == counted["tests"]
    assert sum(ok is True for _, _, ok in found) == counted["pass"]
    assert ("test::todo that fails", 0, False) in found
    assert ("test::todo that passes", 0, False) in found
    passes = [key for key, _, ok in found if key.endswith("::passes") and ok]
    assert passes == [f"{way}::passes" for way in ("outer", "outer.inner", "outer.inner.innermost", "outer.other")]
    judged(gate(tmp_path, FIXTURES / "junit_js" / name), "fail")


@pytest.mark.hazard("H165")
@pytest.mark.parametrize("version", ["20", "24"])
def test_h165_a_test_of_node_that_failed_beside_its_subtests_is_a_failure(tmp_path: Path, version: str) -> None:
    """Its report lists only the subtest, which passed."""
    found = trials(tmp_path, FIXTURES / "junit_js" / f"node{version}_alone.xml")
    assert ("(a test with subtests)", 0, False) in found
    judged(gate(tmp_path, FIXTURES / "junit_js" / f"node{version}_alone.xml"), "fail")
    assert len(trials(tmp_path, FIXTURES / "junit_js" / f"node{version}_subtests.xml")) == 4


def node(*inside: str, **counts: int) -> str:
    """A report of node with these parts and the counts at its end."""
    summary = {**dict.fromkeys(("tests", "suites", "pass", "fail", "cancelled", "skipped", "todo"), 0), **counts}
    told = "".join(f"<!-- {name} {number} -->" for name, number in summary.items())
    return f"<testsuites>{''.join(inside)}{told}</testsuites>"


PASSED = '<testcase name="a" time="0.1" classname="test"/>'
FAILED = '<testcase name="b" time="0.1" classname="test" failure="no"><failure message="no"/></testcase>'
LATER = '<testcase name="c" time="0.1" classname="test"><skipped type="todo" message="true"/></testcase>'


def node_suite(*inside: str, failures: int = 0, skipped: int = 0) -> str:
    counts = f'disabled="0" errors="0" tests="{len(inside)}" failures="{failures}" skipped="{skipped}"'
    return f'<testsuite name="s" time="0.1" {counts} hostname="h">{"".join(inside)}</testsuite>'


@pytest.mark.hazard("H165")
@pytest.mark.parametrize(
    ("report", "code", "told"),
    [
        (node(PASSED, tests=2, **{"pass": 2}), "import.contradiction", ("counts 2 tests", "lists 1 ")),
        (node(PASSED, PASSED, tests=2, todo=1, **{"pass": 1}), "import.contradiction", ("counts 1 ", "lists 0")),
        (
            node(PASSED, FAILED, tests=2, **{"pass": 2}),
            "import.contradiction",
            ("counts 0 ", "failed", "lists 1"),
        ),
        (node(PASSED, PASSED, tests=1, suites=1, **{"pass": 1}), "import.contradiction", ("counts 1 ", "lists 2")),
        (node(PASSED, tests=1, **{"pass": 1}).replace("<!-- cancelled 0 -->", ""), "import.missing-value", ("node",)),
        (
            node(node_suite(PASSED), tests=2, **{"pass": 2}).replace('tests="1"', 'tests="2"'),
            "import.contradiction",
            ("counts 2 ", "lists 1"),
        ),
        (
            node(node_suite(PASSED), tests=2, **{"pass": 2}).replace('failures="0"', 'failures="1"'),
            "import.contradiction",
            ("counts 1 failures",),
        ),
        (
            node(node_suite(PASSED, LATER), tests=3, todo=1, **{"pass": 2}),
            "import.contradiction",
            ("counts 0 skipped", "lists 1"),
        ),
    ],
)
def test_h165_counts_of_node_that_are_not_those_of_its_tests_are_refused(
    tmp_path: Path, report: str, code: str, told: tuple[str, ...]
) -> None:
    refused(gate(tmp_path, report), *told, code=code)


@pytest.mark.hazard("H165")
def test_h165_where_a_failure_of_node_may_be_hidden_nothing_passes(tmp_path: Path) -> None:
    """One describe and one test with subtests: of which the second failure is, the report does not say."""
    policy: dict[str, object] = {"thresholds": {"blocking": {"pass_rate": "60%"}}}
    parts = (node_suite(FAILED, failures=1), node_suite(PASSED), *[PASSED] * 2)
    clear = node(*parts, tests=5, suites=1, fail=1, **{"pass": 4})
    hidden = node(*parts, tests=5, suites=1, fail=2, **{"pass": 3})
    assert [ok for _, _, ok in trials(tmp_path, clear)] == [False, True, True, True]
    assert [ok for _, _, ok in trials(tmp_path, hidden)] == [False, True, True, True, None]
    judged(gate(tmp_path, clear, policy), "pass")
    judged(gate(tmp_path, hidden, policy), "inconclusive")


@pytest.mark.hazard("H165")
def test_h165_what_a_test_of_node_says_about_itself_is_no_count(tmp_path: Path) -> None:
    report = node(node_suite("<!-- tests 99 -->", PASSED), tests=2, **{"pass": 2}).replace('tests="2"', 'tests="1"')
    assert trials(tmp_path, report.replace("<testsuites>", "<testsuites><!-- fail 7 -->")) == [("s::a", 0, True)]


@pytest.mark.hazard("H165")
def test_h165_a_pending_test_of_mocha_is_listed_or_the_message_says_how(tmp_path: Path) -> None:
    refused(gate(tmp_path, FIXTURES / "junit_js" / "mocha.xml"), "counts 5 tests and lists 3", "includePending: true")
    found = [ok for _, _, ok in trials(tmp_path, FIXTURES / "junit_js" / "mocha_pending.xml")]
    counted = json.loads((FIXTURES / "junit_js" / "totals.json").read_text("utf-8"))["mocha_pending.xml"]
    assert (found.count(True), found.count(False)) == (counted["passes"], counted["pending"] + counted["failures"])


@pytest.mark.hazard("H165")
def test_h165_an_attempt_without_a_name_whose_worker_crashed_never_passes(tmp_path: Path) -> None:
    found = rows(tmp_path, FIXTURES / "junit" / "crashes.xml")
    nameless = [row for row in found if row["id"] == "pytest::(no name)"]
    assert len(nameless) == 3
    assert all(not row["passed"] and "worker crashed" in row["error"] for row in nameless)
    assert sum(row["passed"] for row in found) == 2
    once = repeated("t").replace("<testcase", '<testcase time="0.000"/><testcase', 1)
    assert [ok for _, _, ok in trials(tmp_path, once)] == [False, True]
    judged(gate(tmp_path, once), "fail")


@pytest.mark.hazard("H165")
def test_h165_a_lost_test_does_not_hide_behind_attempts_without_a_name(tmp_path: Path) -> None:
    lost = repeated("t", "u").replace('<testcase classname="m" name="u" time="1"/>', '<testcase time="0.000"/>')
    refused(gate(tmp_path, lost), "counts 2 tests and lists 2, 1 of them without a name")
