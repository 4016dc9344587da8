"""JUnit XML: against pytest's own counts, on the reports of many runners, and what is not passed."""

from __future__ import annotations

import io
import re
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import highbar
from highbar import importers
from highbar.importers.report import Report
from highbar.importers.writing import convert
from highbar.model.judging import ScorerDemand
from tests.importers.imported import FIXTURES, Row, imported, problems_of, recognized, samples, totals, written

REPORT = FIXTURES / "junit" / "pytest.xml"
RERUNS = FIXTURES / "junit" / "reruns.xml"
HOPELESS = FIXTURES / "junit" / "hopeless.xml"
SUBTESTS = FIXTURES / "junit" / "subtests.xml"
PASSED_SUBTESTS = FIXTURES / "junit" / "passed_subtests.xml"
ANY = {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}}
AGAIN = ("flakyFailure", "flakyError", "rerunFailure", "rerunError")


def rows_of(tmp_path: Path, inside: str, attributes: str = 'name="s"') -> list[Row]:
    text = f"<testsuite {attributes}>{inside}</testsuite>"
    return imported("junit", written(tmp_path, "report.xml", text))[0]


def refused(path: Path) -> tuple[str, str]:
    """The code of the one problem of a report, and its message."""
    (problem,) = problems_of("junit", path)
    return problem.code, problem.message


def counted_and_found(message: str) -> str:
    """What a message names: the suite `s`, the attributes that count, and all numbers, in their order."""
    return " ".join(re.findall(r"\b(?:s|tests|failures|errors|skipped|flakes|aborted|\d+)\b", message))


def contradicted(path: Path) -> str:
    """The names and numbers for which a report is refused that contradicts itself."""
    code, message = refused(path)
    assert code == "import.contradiction"
    return counted_and_found(message)


# --- against the tool's own arithmetic ---------------------------------------------------------


def test_every_kind_of_outcome_is_as_frequent_as_pytest_counts():
    rows, report = imported("junit", REPORT)
    counted = totals("junit")["pytest.xml"]
    assert sum(row["passed"] for row in rows) == counted["passed"]
    assert report.errors == counted["error"]
    assert report.skipped == counted["skipped"] + counted["xfailed"]
    assert len(rows) - counted["passed"] - report.errors - report.skipped == counted["failed"]


@pytest.mark.hazard("H08")
def test_the_pass_rate_has_the_skipped_in_its_denominator():
    verdict = highbar.check(REPORT, {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}})
    counted = totals("junit")["pytest.xml"]
    assert verdict.metrics["pass_rate"].value == Fraction(counted["passed"], sum(counted.values()))


# --- what becomes what -------------------------------------------------------------------------


def test_a_test_case_becomes_a_row():
    rows, _ = imported("junit", REPORT)
    assert rows[4] == {
        "id": "test_suite::test_adds[5]",
        "trial": 0,
        "passed": False,
        "category": "edge_case",
        "cluster": "template-1",
        "latency_ms": 1.0,
        "output": "assert (5 + 5) != 10",
        "suite": "pytest",
    }


def test_of_several_endings_the_worst_counts(tmp_path):
    rows = rows_of(tmp_path, '<testcase name="a"><skipped/><failure message="f"/><error message="e"/></testcase>')
    assert rows == [{"id": "s::a", "trial": 0, "passed": False, "error": "e", "output": "e", "suite": "s"}]
    rows = rows_of(tmp_path, '<testcase name="a"><skipped/><failure message="f"/></testcase>')
    assert "error" not in rows[0]


def test_a_skipped_test_is_not_passed_and_took_no_time(tmp_path):
    (row,) = rows_of(tmp_path, '<testcase name="a" time="0"><skipped message="later"/></testcase>')
    assert row["passed"] is False
    assert "latency_ms" not in row
    assert row["tags"] == {"status": "skipped"}


@pytest.mark.hazard("H21")
def test_a_test_that_passed_at_the_third_attempt_passed_one_time_in_three(tmp_path):
    again = '<testcase classname="c" name="a" time="1"><flakyFailure message="1"/><flakyError message="2"/></testcase>'
    rows = rows_of(tmp_path, again)
    assert [(row["id"], row["trial"], row["passed"], row.get("error")) for row in rows] == [
        ("c::a", 0, False, None),
        ("c::a", 1, False, "2"),
        ("c::a", 2, True, None),
    ]
    failed = '<testcase name="a"><failure message="1"/><rerunFailure message="2"/></testcase>'
    assert [row["passed"] for row in rows_of(tmp_path, failed)] == [False, False]


def test_test_cases_of_one_name_are_trials(tmp_path):
    rows = rows_of(tmp_path, '<testcase name="a"/><testcase name="b"/><testcase name="a"><failure/></testcase>')
    assert [(row["id"], row["trial"]) for row in rows] == [("s::a", 0), ("s::b", 0), ("s::a", 1)]


def test_a_suite_that_broke_outside_of_its_tests_is_an_error(tmp_path):
    rows = rows_of(tmp_path, '<testcase name="a"/><error message="no database"/>')
    assert rows[1] == {"id": "s", "trial": 0, "passed": False, "error": "no database", "suite": "s"}


@pytest.mark.parametrize(
    ("attributes", "inside", "values"),
    [
        ('tests="1" errors="1" failures="2"', '<testcase name="a"/>', "s 3 tests 2 failures 1 errors 0"),
        ('tests="1" skipped="1"', '<testcase name="a"/>', "s 1 tests 1 skipped 0"),
        ('tests="1" failures="0"', '<testcase name="a"><failure/></testcase>', "s 0 tests 0 failures 1"),
        ('tests="3"', '<testcase name="a"/>', "s 3 tests 1"),
        ('tests="1"', '<testcase name="a"/><testcase name="b"/>', "s 1 tests 2"),
    ],
)
def test_a_suite_that_counts_something_else_than_it_lists_is_refused(tmp_path, attributes, inside, values):
    text = f'<testsuite name="s" {attributes}>{inside}</testsuite>'
    assert contradicted(written(tmp_path, "r.xml", text)) == values
    around = f'<testsuites name="s" {attributes}><testsuite>{inside}</testsuite></testsuites>'
    assert contradicted(written(tmp_path, "r.xml", around)) == values


@pytest.mark.parametrize(
    ("text", "code", "values"),
    [
        (  # a <failure> was taken out, and another test has two
            (
                '<testsuite name="s" tests="2" failures="2"><testcase name="a"/>'
                '<testcase name="b"><failure message="x"/><failure message="y"/></testcase></testsuite>'
            ),
            "import.contradiction",
            "s 2 tests 2 failures 1",
        ),
        (  # a <skipped> was taken out, and another test has two endings
            (
                '<testsuite name="s" tests="2" failures="1" skipped="1"><testcase name="a"/>'
                '<testcase name="b"><skipped/><failure/></testcase></testsuite>'
            ),
            "import.contradiction",
            "s 2 tests 1 failures 1 skipped 1",
        ),
        (  # a <failure> was taken out, and no count speaks of errors
            (
                '<testsuite name="s" tests="3" failures="2"><testcase name="a"/>'
                '<testcase name="b"><failure/></testcase><testcase name="c"><skipped/></testcase></testsuite>'
            ),
            "import.contradiction",
            "s 2 tests 2 failures 1",
        ),
        (  # a test that failed was taken out, and the suite has an error of its own
            '<testsuite name="s" tests="2" failures="1" errors="0"><error/><testcase name="a"/></testsuite>',
            "import.contradiction",
            "s 1 tests 1 failures 0 errors 0",
        ),
        (
            '<testsuite name="s" tests="2" failures="0" errors="0"><error/><testcase name="a"/></testsuite>',
            "import.contradiction",
            "s 2 tests 1",
        ),
        (
            '<testsuite name="s" tests="1" failures="0" flakes="1"><testcase name="a"/></testsuite>',
            "import.contradiction",
            "s 1 flakes 0 tests",
        ),
        ('<testsuite name="s" Tests="2"><testcase name="a"/></testsuite>', "import.contradiction", "s 2 tests 1"),
        (
            '<TESTSUITE NAME="s" FAILURES="1"><TESTCASE NAME="a"/></TESTSUITE>',
            "import.contradiction",
            "s 1 tests 1 failures 0",
        ),
        ('<testsuite name="s" tests="1" Tests="2"><testcase name="a"/></testsuite>', "import.duplicate", "tests 1 2"),
        (
            '<testsuite name="s" tests="1" aborted="1"><testcase name="a"/></testsuite>',
            "import.contradiction",
            "s aborted 1",
        ),
    ],
)
def test_nothing_else_makes_up_for_what_was_taken_out_of_a_count(tmp_path, text, code, values):
    path = written(tmp_path, "r.xml", text)
    with pytest.raises(highbar.InputError) as caught:
        highbar.check(path, ANY)
    (problem,) = caught.value.problems
    assert (problem.code, counted_and_found(problem.message)) == (code, values)


@pytest.mark.parametrize(
    "inside",
    [
        '<test classname="c" name="b" status="failed"/>',
        "<test-case><name>b</name></test-case>",
        '<entry outcome="failed"/>',
        '<group><item name="b" result="failed"/></group>',
        '<testcase name="b"><end status="failed"/></testcase>',
        '<testcase name="b"><status>failed</status></testcase>',
    ],
)
def test_what_may_be_a_test_by_another_name_is_refused(tmp_path, inside):
    text = f'<testsuites><testsuite name="s"><testcase name="a"/>{inside}</testsuite></testsuites>'
    code, message = refused(written(tmp_path, "r.xml", text))
    assert code == "import.unknown-key"
    assert "<testcase>" in message


def test_what_cannot_be_a_test_is_named_as_not_read(tmp_path):
    text = '<testsuite name="s"><testcase name="a"/><metadata><item/></metadata></testsuite>'
    rows, report = imported("junit", written(tmp_path, "r.xml", text))
    assert len(rows) == 1
    assert report.warnings == ["not read: <metadata> in a suite"]


def test_a_suite_that_broke_before_its_first_test_counts_itself(tmp_path):
    assert len(rows_of(tmp_path, "<error/>", 'name="s" tests="1" errors="1" failures="0"')) == 1  # as ant does
    text = '<testsuite name="s" tests="0" errors="0"><error/></testsuite>'
    assert contradicted(written(tmp_path, "r.xml", text)) == "s 0 tests 0 errors 1"


def test_a_runner_that_calls_its_failures_errors_is_understood(tmp_path):
    assert len(rows_of(tmp_path, '<testcase name="a"><failure/></testcase>', 'name="s" tests="1" errors="1"')) == 1


@pytest.mark.parametrize("count", ["１", "٣", "one", "-1", "1.5", "1e3", "0x1"])
def test_a_count_that_is_no_whole_number_is_refused(tmp_path, count):
    text = f'<testsuite name="s" tests="{count}"><testcase name="a"/></testsuite>'
    code, message = refused(written(tmp_path, "r.xml", text))
    assert code == "import.wrong-value"
    assert f"s: tests: found '{count}'" in message


def test_suites_of_suites_are_not_counted_again(tmp_path):
    inner = '<testsuite name="i" failures="1"><testcase name="a"><failure/></testcase></testsuite>'
    assert len(rows_of(tmp_path, inner, 'name="o" failures="1"')) == 1


def test_a_suite_may_count_the_suites_inside_of_it_or_not(tmp_path):
    inner = '<testcase name="a"/><testsuite name="i" tests="1"><testcase name="b"/></testsuite>'
    for counted in (1, 2):
        assert len(rows_of(tmp_path, inner, f'name="o" tests="{counted}"')) == 2
    text = f'<testsuite name="o" tests="3">{inner}</testsuite>'
    assert contradicted(written(tmp_path, "r.xml", text)) == "3 tests 2"


def test_suites_that_broke_and_are_listed_as_tests_need_not_be_counted(tmp_path):
    assert len(rows_of(tmp_path, '<testcase name="a"><error/></testcase>', 'tests="0" errors="1"')) == 1  # as jest does


@pytest.mark.parametrize(
    ("time", "milliseconds"),
    [
        ("1.5", 1500.0),
        ("0", 0.0),
        (".25", 250.0),
        ("1,234.5", 1_234_500.0),
        ("2E-3", 2.0),
        ("0,5", 500.0),
        ("12,34", 12_340.0),
    ],
)
def test_times_are_seconds(tmp_path, time, milliseconds):
    assert rows_of(tmp_path, f'<testcase name="a" time="{time}"/>')[0]["latency_ms"] == milliseconds


@pytest.mark.parametrize("time", ["-1", "NaN", "inf", "1,234", "00:01", "1e99", "fast", "１.５", "٣"])
def test_a_time_that_cannot_be_read_is_refused_lest_a_slow_test_leaves_the_percentiles(tmp_path, time):
    path = written(tmp_path, "r.xml", f'<testsuite><testcase name="a" time="{time}"/></testsuite>')
    code, message = refused(path)
    assert code == "import.wrong-value"
    assert f"a: time: found '{time}'" in message


def test_names_that_are_missing_or_odd_are_still_ids(tmp_path):
    rows = rows_of(tmp_path, '<testcase/><testcase name="two&#10;lines" class="k"/>', "")
    assert [row["id"] for row in rows] == ["(no name)", "k::two\\nlines"]


def test_properties_are_tags_and_categories(tmp_path):
    inside = "".join(f'<property name="{name}" value="v"/>' for name in ("category", "locale", "agent_version"))
    (row,) = rows_of(tmp_path, f'<testcase name="a"><properties>{inside}</properties></testcase>')
    assert (row["category"], row["agent_version"], row["tags"]) == ("v", "v", {"locale": "v"})


@pytest.mark.parametrize("written_as", ["category", "Category", " category "])
def test_a_property_may_have_its_value_as_text(tmp_path, written_as):
    inside = f'<property name="{written_as}">\n adversarial </property><property name="locale">nb</property>'
    (row,) = rows_of(tmp_path, f'<testcase name="a"><properties>{inside}</properties><failure/></testcase>')
    assert (row["category"], row["tags"]) == ("adversarial", {"locale": "nb"})


@pytest.mark.parametrize(
    "inside",
    [
        '<property name="category" value="adversarial"/><property name="category" value="happy_path"/>',
        '<property name="category" value="adversarial"/><property name="CATEGORY">happy_path</property>',
        '<property name="category" value="adversarial">happy_path</property>',
    ],
)
def test_a_category_that_is_said_twice_and_differs_is_refused(tmp_path, inside):
    text = f'<testsuite><testcase name="a"><properties>{inside}</properties><failure/></testcase></testsuite>'
    code, message = refused(written(tmp_path, "r.xml", text))
    assert code == "import.contradiction"
    assert message.startswith("a: ")
    assert "category is 'adversarial' and 'happy_path'" in message


def test_a_category_that_is_said_twice_alike_is_read_and_other_properties_may_repeat(tmp_path):
    twice = '<property name="category" value="edge_case"/>' * 2
    more = '<property name="tag" value="x"/><property name="tag" value="y"/><property name="tag" value="x"/>'
    (row,) = rows_of(tmp_path, f'<testcase name="a"><properties>{twice}{more}</properties></testcase>')
    assert (row["category"], row["tags"]) == ("edge_case", {"tag": "x, y"})


def test_what_the_test_printed_is_its_output_and_long_texts_are_not_kept(tmp_path):
    printed = "<system-out>" + "x" * 100_000 + "</system-out>"
    (row,) = rows_of(tmp_path, f'<testcase name="a">{printed}</testcase>')
    assert 20_000 <= len(row["output"]) <= 20_001


@pytest.mark.hazard("H111")
def test_characters_that_xml_forbids_make_the_file_unreadable_not_empty(tmp_path):
    for character in ("\x00", "\x08", "\x1b", "￾"):
        text = f'<testsuite><testcase name="a"/><testcase name="{character}"><failure/></testcase></testsuite>'
        assert refused(written(tmp_path, "r.xml", text))[0] == "file.not-xml"


@pytest.mark.hazard("H58")
def test_a_report_that_is_cut_off_is_refused_wherever_it_is_cut(tmp_path):
    data = REPORT.read_bytes()
    for cut in range(0, len(data) - 1, 61):
        assert problems_of("junit", written(tmp_path, "r.xml", data[:cut]))


def test_a_report_without_a_test_is_nothing_to_judge(tmp_path):
    path = written(tmp_path, "r.xml", "<testsuites/>")
    with pytest.raises(highbar.InputError, match="nothing to judge"):
        highbar.check(path, {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}})


# --- attempts that were made again ---------------------------------------------------------------


def pass_rate(path: Path) -> Fraction:
    value = highbar.check(path, ANY).metrics["pass_rate"].value
    assert value is not None
    return value


@pytest.mark.hazard("H21")
def test_ten_tests_that_failed_all_their_attempts_pass_none():
    rows, report = imported("junit", HOPELESS)
    assert len(rows) == 100
    assert len({row["id"] for row in rows}) == 10
    assert not any(row["passed"] for row in rows)
    (warning,) = report.warnings
    assert warning.startswith("90 attempts")
    assert pass_rate(HOPELESS) == 0


def test_a_test_that_pytest_made_again_passed_as_often_as_it_did():
    rows, _ = imported("junit", RERUNS)
    again = [row["passed"] for row in rows if row["id"] == "test_suite::test_passes_at_the_third_attempt"]
    assert again == [False, False, True]
    late = [row["passed"] for row in rows if row["id"] == "test_suite::test_breaks_late"]
    assert late == [False, False, False]
    assert pass_rate(RERUNS) == Fraction(1, 6) * (1 + Fraction(1, 3))


def test_attempts_whose_calls_passed_and_whose_teardown_broke_did_not_pass(tmp_path):
    """pytest counts each of these calls, so that the numbers alone do not show that they are attempts of one test."""
    broken = '<testcase classname="c" name="a"><error message="failed on teardown with &quot;x&quot;"/></testcase>'
    text = f'<testsuite name="pytest" tests="2" failures="0" errors="1"><testcase classname="c" name="a"/>{broken}'
    rows, _ = imported("junit", written(tmp_path, "r.xml", f"{text}</testsuite>"))
    assert [row["passed"] for row in rows] == [False, False]


def test_attempts_that_a_runner_lists_as_they_ended_stay_as_they_ended(tmp_path):
    go = '<properties><property name="go.version" value="go1.22.6"/></properties>'
    failed = '<testcase name="a"><failure message="1"/></testcase>'
    inside = f'{go}{failed}<testcase name="b"/><testcase name="a"/>'
    rows = rows_of(tmp_path, inside, 'name="s" tests="2" failures="1"')
    assert [(row["id"], row["passed"]) for row in rows] == [("s::a", False), ("s::b", True), ("s::a", True)]


@pytest.mark.parametrize("count", ["tests", "failures", "errors"])
def test_a_report_of_pytest_without_one_of_its_counts_is_refused(tmp_path, count):
    text = re.sub(rf' {count}="\d+"', "", HOPELESS.read_text("utf-8"), count=1)
    assert refused(written(tmp_path, "r.xml", text))[0] == "import.missing-value"


@pytest.mark.parametrize("report", [REPORT, RERUNS, HOPELESS])
def test_a_test_case_that_did_not_pass_and_was_taken_out_of_a_report_of_pytest_is_missed(tmp_path, report):
    text = report.read_text("utf-8")
    cases = re.findall(r"<testcase [^>]*[^/]>.*?</testcase>", text, re.DOTALL)
    ended = [case for case in cases if re.search("<(failure|error|skipped)", case)]
    assert ended
    for case in ended:
        assert re.search("failures|errors|skipped", contradicted(written(tmp_path, "r.xml", text.replace(case, ""))))


def test_a_test_case_that_passed_and_was_taken_out_is_missed_too(tmp_path):
    text = re.sub(r"<testcase [^>]*[^/]>.*?</testcase>", "", REPORT.read_text("utf-8"), count=1, flags=re.DOTALL)
    assert contradicted(written(tmp_path, "r.xml", text)) == "11 tests 10"


# --- subtests ----------------------------------------------------------------------------------


def test_subtests_are_no_rows_of_their_own():
    rows, report = imported("junit", SUBTESTS)
    assert [row["passed"] for row in rows] == [False, False, True, False]
    assert report.errors == 0


def test_subtests_that_passed_are_told_from_tests_that_were_lost_by_what_the_test_says(tmp_path):
    rows, _ = imported("junit", PASSED_SUBTESTS)
    assert [row["passed"] for row in rows] == [True]
    silent = PASSED_SUBTESTS.read_text("utf-8").replace("subtests", "other")
    (problem,) = problems_of("junit", written(tmp_path, "r.xml", silent))
    assert problem.code == "import.contradiction"
    assert 'record_property("subtests", N)' in (problem.hint or "")


# --- other ways to say that a test did not pass --------------------------------------------------


@pytest.mark.parametrize(
    ("attribute", "passed"),
    [
        ('status="failed"', False),
        ('result="failed"', False),
        ('status="FAILED"', False),
        ('Status="Not Run"', False),
        ('result="suppressed"', False),
        ('success="false"', False),
        ('status="run" result="completed"', True),
        ('status="Passed"', True),
        ('status=""', True),
    ],
)
def test_what_the_attributes_say_of_the_outcome_counts(tmp_path, attribute, passed):
    (row,) = rows_of(tmp_path, f'<testcase name="a" {attribute}/>')
    assert row["passed"] is passed


def test_an_outcome_that_nobody_knows_is_undecided(tmp_path):
    (row,) = rows_of(tmp_path, '<testcase name="a" status="mauve"/>')
    assert "passed" not in row
    assert row["unjudged"] == "status is 'mauve', which says neither that it passed nor that it failed"
    (row,) = rows_of(tmp_path, '<testcase name="a" status="mauve"><failure/></testcase>')
    assert row["passed"] is False


@pytest.mark.parametrize("tag", ["Failure", "FAILURE", "Error", "failed", "testFailure", "exception"])
def test_an_ending_in_other_letters_is_an_ending(tmp_path, tag):
    (row,) = rows_of(tmp_path, f'<testcase name="a"><{tag} message="m"><b/></{tag}></testcase>')
    assert row["passed"] is False
    assert row["output"] == "m"


def test_a_report_in_other_letters_is_read(tmp_path):
    text = '<TestSuites><TestSuite name="s"><TestCase name="a"><Failure/></TestCase></TestSuite></TestSuites>'
    path = written(tmp_path, "r.xml", text)
    assert recognized(path) == "junit"
    assert [row["passed"] for row in imported("junit", path)[0]] == [False]


def test_test_cases_inside_of_test_cases_are_rows_and_so_is_the_outer_one(tmp_path):
    inner = '<testcase name="b"/><testcase name="c"><failure/></testcase>'
    rows = rows_of(tmp_path, f'<testcase name="a">{inner}<failure message="f"/></testcase>', 'name="s" tests="3"')
    assert [(row["id"], row["passed"]) for row in rows] == [("s::b", True), ("s::c", False), ("s::a", False)]


def test_an_ending_inside_of_another_does_not_hide_it(tmp_path):
    rows = rows_of(tmp_path, '<testcase name="a"><error message="e"><skipped/></error></testcase>')
    assert rows[0]["error"] == "e"


def test_promptfoos_own_report_is_refused_with_a_word_about_json(tmp_path):
    suite = '<testsuite name="[agent] prompt 1" tests="1"><testcase name="test 1: SEC-001"/></testsuite>'
    for text in (f'<testsuites name="promptfoo" tests="1">{suite}</testsuites>', f"<testsuites>{suite}</testsuites>"):
        (problem,) = problems_of("junit", written(tmp_path, "r.xml", text))
        assert problem.code == "import.lossy-form"
        assert "promptfoo" in problem.message
        assert "JSON" in (problem.hint or "")


# --- who judges --------------------------------------------------------------------------------


def test_the_outcome_of_the_test_is_the_one_judge():
    _, report = imported("junit", REPORT)
    assert (report.scorers, report.judges) == ({"outcome": "judges"}, ("outcome",))


def test_another_judge_is_refused():
    demanded = Report(judged_by=(ScorerDemand("accuracy"),))
    with pytest.raises(highbar.InputError, match="'outcome'") as caught:
        convert(importers.importer_named("junit"), str(REPORT), REPORT.name, io.BytesIO(), demanded)
    assert [problem.code for problem in caught.value.problems] == ["judge.unknown-scorer"]


# --- real files --------------------------------------------------------------------------------


def expected_rows(path: Path) -> int | None:
    """How many attempts a report tells of, counted without our reader; None where it must be refused."""
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - files that we chose
    except ET.ParseError:
        return None
    if root.tag not in ("testsuites", "testsuite"):
        return None
    cases = list(root.iter("testcase"))
    again = sum(1 for case in cases for child in case if child.tag in AGAIN)
    broken = sum(
        1 for suite in root.iter("testsuite") for child in suite if child.tag in ("error", "failure", "skipped")
    )
    return len(cases) + again + broken


CONTRADICTED = {
    "junit-report-1472.xml": ("import.contradiction", "1 tests 1 failures 0 errors 0"),
    "junit-report-bad-duration.xml": ("import.wrong-value", "345345"),
    "junit-report-errror-details.xml": ("import.contradiction", "2 tests 1"),
    "junit-report-huge.xml": ("import.wrong-value", "0 4416 244657678726"),
    "junit-report-nested-testsuites.xml": ("import.contradiction", "0 tests 0 failures 0 errors 0 skipped 1"),
    "junit-report-time-aggregation.xml": ("import.contradiction", "2 tests 3"),
    "junit-report-time-aggregation2.xml": ("import.contradiction", "2 tests 3"),
    "junit-report-1.xml": ("import.contradiction", "2 tests 3"),
    "junit-report-2.xml": ("import.contradiction", "2 tests 3"),
}
"""Files that count something else than they list, or have times below zero: made by hand, for another program."""


@pytest.mark.parametrize("path", samples("junit"), ids=lambda path: path.name[-60:])
def test_every_real_file_is_read_whole_or_refused(path):
    expected = expected_rows(path)
    contradiction = CONTRADICTED.get(path.name.rpartition("__")[2])
    if expected is None or contradiction:
        code, message = refused(path)
        assert contradiction in (None, (code, counted_and_found(message)))
        return
    assert recognized(path) == "junit"
    rows, report = imported("junit", path)
    assert len(rows) == report.records == expected
