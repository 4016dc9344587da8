"""JUnit XML: what the attributes, tags and properties of a test case say about its outcome, a file for each table."""

from __future__ import annotations

from pathlib import Path

import pytest

from highbar.errors import InputError
from tests.importers.imported import imported, written

DENIALS = ("", "0", "00", "0.0", "0,0", "-0", "０", "0%", "0x0", "false", "False", "no", "n", "N", "none", "null")
DENIALS += ("N/A", "n/a", "-", "undefined")
BAD = ("failed", "failures", "Failing", "error", "errors", "skipped", "blocked", "killed", "rejected", "timedout")
BAD += ("timeouts", "cancelled", "canceled", "unsuccessful", "notok", "not-ok", "inconclusive", "aborted", "is_failed")
BAD += ("hasError", "wasSkipped", "test-failed", "not_passed", "isNotOk")
GOOD = ("pass", "Pass", "passed", "passing", "ok", "is_ok", "isOK", "success", "isSuccess", "successful")
GOOD += ("was_successful", "hasPassed", "test-passed", "executed", "no_errors", "notFailed")
SETTINGS = (
    'skippable="true"', 'failfast="true"', 'fail_fast="true"', 'fail-fast="true"', 'max_failures="3"',
    'maxErrors="3"', 'errorlevel="info"', 'errorLevel="error"', 'mode="disabled"', 'timeout="30"', 'timeout_ms="3000"',
    'stopOnFailure="true"', 'line="undefined"', 'hostname="undefined"', 'expected="fail" actual="pass"',
    'summary="0 failed"', 'ok="1"', 'passed="yes"', 'success="TRUE"', 'pass="3"', 'run="0"', 'executed="2"',
    'duration="0"', 'status="run" result="completed"', 'assertions="3 total, 0 failed, 3 succeeded"', 'cached="false"',
)  # fmt: skip
ENDINGS = (
    'pass="false"', 'isSuccess="no"', 'passing="failed"', 'failed="true"', 'errors="2"', 'skipped="yes"',
    'test-result="FAIL"', 'test-result="❌"', 'error="boom"', 'executed="no"', 'timeout="true"', 'status="undefined"',
)  # fmt: skip
DOUBTS = (
    'executed="0"', 'passed=""', 'ok="-"', 'successful="0"', 'failed="0/3"', 'error="no error"',
    'failure="passed"', 'error_message="boom"', 'skip_reason="slow"', 'failed_assertions="2"', 'final_status="failed"',
    'actual="fail"', 'colour="failed"', 'enabled="false"', 'timeout="1"', 'ok="mauve"', 'flaky="true"',
    'status="0 failed"', 'all_passed="false"', 'overall-ok="no"', 'success_rate="0.0"', 'final_status="killed"',
)  # fmt: skip


def outcomes(folder: Path, cases: dict[str, str]) -> dict[str, bool | None]:
    """Whether each of these test cases passed, by its key; None if it is undecided."""
    text = "".join(cases.values())
    rows, _ = imported("junit", written(folder, "r.xml", f'<testsuite name="s">{text}</testsuite>'))
    assert len(rows) == len(cases)
    return dict(zip(cases, (row.get("passed") for row in rows), strict=True))


def by_attribute(folder: Path, attributes: tuple[str, ...]) -> dict[str, bool | None]:
    return outcomes(folder, {said: f'<testcase name="{n}" {said}/>' for n, said in enumerate(attributes)})


def by_content(folder: Path, contents: tuple[str, ...]) -> dict[str, bool | None]:
    return outcomes(folder, {said: f'<testcase name="{n}">{said}</testcase>' for n, said in enumerate(contents)})


def only(found: dict[str, bool | None], *wanted: bool | None) -> None:
    assert {said: passed for said, passed in found.items() if passed not in wanted} == {}


def test_a_name_of_a_bad_ending_with_any_value_but_a_denial_never_passes(tmp_path):
    values = ("true", "True", "1", "yes", "2", "boom", "x" * 40)
    only(by_attribute(tmp_path, tuple(f'{name}="{value}"' for name in BAD for value in values)), False, None)


def test_a_name_of_a_bad_ending_with_a_denial_says_nothing(tmp_path):
    only(by_attribute(tmp_path, tuple(f'{name}="{value}"' for name in BAD for value in DENIALS)), True)


def test_a_name_of_a_good_ending_with_a_denial_never_passes(tmp_path):
    only(by_attribute(tmp_path, tuple(f'{name}="{value}"' for name in GOOD for value in DENIALS)), False, None)


def test_a_name_of_a_good_ending_that_is_affirmed_passes(tmp_path):
    values = ("true", "True", "1", "yes", "y")
    only(by_attribute(tmp_path, tuple(f'{name}="{value}"' for name in GOOD for value in values)), True)


def test_settings_and_missing_values_are_no_endings(tmp_path):
    only(by_attribute(tmp_path, SETTINGS), True)


def test_what_clearly_says_that_a_test_failed_fails_it(tmp_path):
    only(by_attribute(tmp_path, ENDINGS), False)


def test_what_may_say_that_a_test_failed_leaves_it_undecided(tmp_path):
    only(by_attribute(tmp_path, DOUBTS), None)


def test_tags_that_say_that_a_test_did_not_pass(tmp_path):
    ended = ("<notok/>", "<unsuccessful/>", "<cancelled/>", "<failed>true</failed>", "<exception>at x.py</exception>")
    only(
        by_content(
            tmp_path, (*ended, "<skip/>", "<failed><fatal>false</fatal></failed>", '<failed message="m">no</failed>')
        ),
        False,
    )
    doubts = ("<blocked/>", "<killed/>", "<inconclusive/>", '<system-out status="failed"/>', "<failureDetails/>")
    doubts += (
        "<pass>false</pass>",
        "<is_ok>0</is_ok>",
        "<error-message>boom</error-message>",
        "<x>failed</x>",
        '<pass value="false"/>',
    )
    doubts += ('<system-err failed="1"/>', '<step name="s" status="failed"/>', '<step name="s" status="pending"/>')
    doubts += ('<properties><property name="p" value="v" status="failed"/></properties>', '<x isSuccess="false"/>')
    only(by_content(tmp_path, doubts), None)


def test_tags_that_deny_it_and_tags_of_settings(tmp_path):
    said = (
        "<failed>false</failed>",
        "<failures>0</failures>",
        "<blocked>no</blocked>",
        "<timeout>30</timeout>",
        '<failed value="false"/>',
    )
    said += ("<browser>undefined</browser>", "<failfast>true</failfast>", "<failfast/>", "<pass/>", "<pass>yes</pass>")
    said += (
        '<param name="mode" value="disabled"/>',
        '<step name="login" status="skipped"/>',
        "<system-out>failed</system-out>",
    )
    only(by_content(tmp_path, said), True)


def as_property(name: str, value: str) -> str:
    return f'<properties><property name="{name}" value="{value}"/></properties>'


def test_properties_that_are_named_like_an_outcome(tmp_path):
    bad = (("status", "failed"), ("Result", "FAIL"), ("outcome", "error"), ("VERDICT", "skipped"), ("failed", "true"))
    bad += (("passed", "false"), ("is_ok", "0"), ("test_status", "failed"), ("status", "❌"), ("status", "killed"))
    said = tuple(as_property(*pair) for pair in bad)
    said += ("<property name='status'>failed</property>", '<param name="status" value="failed"/>')
    only(by_content(tmp_path, said), None)


def test_other_properties_are_data_of_the_user(tmp_path):
    data = (
        ("state", "California"),
        ("status", "passed"),
        ("failed", "0"),
        ("expected", "failed"),
        ("mode", "disabled"),
    )
    data += (
        ("error_message", "x"),
        ("flaky", "true"),
        ("run", "0"),
        ("enabled", "false"),
        ("passed", ""),
        ("x", "failed"),
    )
    only(by_content(tmp_path, tuple(as_property(*pair) for pair in data)), True)


PASSED = '<testcase name="a"/><testcase name="b"/>'
FAILED_SUITES = (
    'status="failed"', 'result="FAILED"', 'success="false"', 'outcome="error"', 'aborted="true"', 'crashed="yes"',
    'verdict="❌"', 'status="unstable"', 'executed="no"', 'state="interrupted"', 'timeout="true"',
)  # fmt: skip
OTHER_SUITES = (
    'status="passed"', 'status="complete"', 'success="true"', 'result="ok"', 'timeout="30"', 'failfast="true"',
    'hostname="broken"', 'name="failed"', 'failures="0"', 'passed="2"', 'success="2"', 'aborted="false"', 'run="1"',
)  # fmt: skip


def contradicts(folder: Path, suite: str) -> None:
    """Its file is refused, since its tests say something else than the suite."""
    with pytest.raises(InputError) as caught:
        with_suite(folder, suite)
    assert [(problem.code, problem.file) for problem in caught.value.problems] == [("import.contradiction", "r.xml")]


def with_suite(folder: Path, suite: str, tests: str = PASSED) -> list[bool | None]:
    rows, _ = imported("junit", written(folder, "r.xml", suite.format(tests)))
    return [row.get("passed") for row in rows]


@pytest.mark.parametrize(
    "form", ["<testsuite {}>{{}}</testsuite>", "<testsuites {}><testsuite>{{}}</testsuite></testsuites>"]
)
def test_a_suite_that_says_that_it_failed_must_show_what_did(tmp_path, form):
    failed = '<testcase name="c"><failure/></testcase>'
    for said in FAILED_SUITES:
        contradicts(tmp_path, form.format(said))
        assert with_suite(tmp_path, form.format(said), PASSED + failed) == [True, True, False]
    for said in OTHER_SUITES:
        assert with_suite(tmp_path, form.format(said)) == [True, True]


def test_a_suite_that_says_in_a_property_that_it_failed_must_show_what_did(tmp_path):
    form = '<testsuite><properties><property name="{}" value="{}"/></properties>{{}}</testsuite>'
    for name, value in (("status", "failed"), ("test.result", "aborted"), ("success", "false")):
        contradicts(tmp_path, form.format(name, value))
        contradicts(tmp_path, f'<testsuite><property name="{name}">{value}</property>{{}}</testsuite>')
    for name, value in (("status", "green"), ("build", "failed"), ("python", "3.12"), ("failfast", "true")):
        assert with_suite(tmp_path, form.format(name, value)) == [True, True]


def test_an_undecided_test_and_an_error_outside_of_tests_explain_a_failed_suite(tmp_path):
    form = '<testsuite status="failed">{}</testsuite>'
    assert with_suite(tmp_path, form, '<testcase name="a" status="mauve"/>') == [None]
    assert with_suite(tmp_path, form, PASSED + '<error message="teardown"/>') == [True, True, False]
    outer = '<testsuites status="failed"><testsuite>{}</testsuite></testsuites>'
    assert with_suite(tmp_path, outer, PASSED + '<error message="teardown"/>') == [True, True, False]


def test_a_skipped_suite_without_tests_says_nothing(tmp_path):
    form = '<testsuites><testsuite status="skipped" tests="0"/><testsuite>{}</testsuite></testsuites>'
    assert with_suite(tmp_path, form) == [True, True]
    contradicts(tmp_path, '<testsuites><testsuite status="failed"/><testsuite>{}</testsuite></testsuites>')
