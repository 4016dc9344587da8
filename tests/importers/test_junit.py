"""JUnit XML: against pytest's own counts, on the reports of many runners, and what is not passed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import highbar
from tests.importers.imported import FIXTURES, Row, imported, recognized, refusal, samples, totals, written

REPORT = FIXTURES / "junit" / "pytest.xml"
AGAIN = ("flakyFailure", "flakyError", "rerunFailure", "rerunError")


def rows_of(tmp_path: Path, inside: str, attributes: str = 'name="s"') -> list[Row]:
    text = f"<testsuite {attributes}>{inside}</testsuite>"
    return imported("junit", written(tmp_path, "report.xml", text))[0]


# --- against the tool's own arithmetic ---------------------------------------------------------


def test_every_kind_of_outcome_is_as_frequent_as_pytest_counts():
    rows, report = imported("junit", REPORT)
    counted = totals("junit")
    assert sum(row["passed"] for row in rows) == counted["passed"]
    assert report.errors == counted["error"]
    assert report.skipped == counted["skipped"] + counted["xfailed"]
    assert len(rows) - counted["passed"] - report.errors - report.skipped == counted["failed"]


@pytest.mark.hazard("H08")
def test_the_pass_rate_has_the_skipped_in_its_denominator():
    verdict = highbar.check(REPORT, {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}})
    counted = totals("junit")
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


def test_failures_that_a_suite_counts_and_does_not_show_are_an_error(tmp_path):
    rows = rows_of(tmp_path, '<testcase name="a"/>', 'name="s" tests="1" errors="1" failures="2"')
    assert rows[1]["error"] == "the suite counts 3 failures or errors that no test case shows"
    rows = rows_of(tmp_path, '<testcase name="a"><failure/></testcase>', 'name="s" tests="1" errors="1"')
    assert len(rows) == 1  # a runner that calls its failures errors


def test_suites_of_suites_are_not_counted_again(tmp_path):
    inner = '<testsuite name="i" failures="1"><testcase name="a"><failure/></testcase></testsuite>'
    assert len(rows_of(tmp_path, inner, 'name="o" failures="1"')) == 1


def test_tests_that_a_suite_speaks_of_and_does_not_list_are_told(tmp_path):
    path = written(tmp_path, "r.xml", '<testsuite name="s" tests="3"><testcase name="a"/></testsuite>')
    assert imported("junit", path)[1].warnings == ["s speaks of 3 tests and lists 1"]


@pytest.mark.parametrize(
    ("time", "milliseconds"),
    [("1.5", 1500.0), ("0", 0.0), (".25", 250.0), ("1,234.5", 1_234_500.0), ("2E-3", 2.0)],
)
def test_times_are_seconds(tmp_path, time, milliseconds):
    assert rows_of(tmp_path, f'<testcase name="a" time="{time}"/>')[0]["latency_ms"] == milliseconds


@pytest.mark.parametrize("time", ["-1", "NaN", "inf", "1,234", "0,5", "00:01", "1e99", "fast"])
def test_a_time_that_is_no_number_of_seconds_is_left_out_and_counted(tmp_path, time):
    path = written(tmp_path, "r.xml", f'<testsuite><testcase name="a" time="{time}"/></testsuite>')
    rows, report = imported("junit", path)
    assert "latency_ms" not in rows[0]
    assert report.unread["times that are no number of seconds"] == 1


def test_names_that_are_missing_or_odd_are_still_ids(tmp_path):
    rows = rows_of(tmp_path, '<testcase/><testcase name="two&#10;lines" class="k"/>', "")
    assert [row["id"] for row in rows] == ["(no name)", "k::two\\nlines"]


def test_properties_are_tags_and_categories(tmp_path):
    inside = "".join(f'<property name="{name}" value="v"/>' for name in ("category", "locale", "agent_version"))
    (row,) = rows_of(tmp_path, f'<testcase name="a"><properties>{inside}</properties></testcase>')
    assert (row["category"], row["agent_version"], row["tags"]) == ("v", "v", {"locale": "v"})


def test_what_the_test_printed_is_its_output_and_long_texts_are_not_kept(tmp_path):
    printed = "<system-out>" + "x" * 100_000 + "</system-out>"
    (row,) = rows_of(tmp_path, f'<testcase name="a">{printed}</testcase>')
    assert 20_000 <= len(row["output"]) <= 20_001


@pytest.mark.hazard("H111")
def test_characters_that_xml_forbids_make_the_file_unreadable_not_empty(tmp_path):
    for character in ("\x00", "\x08", "\x1b", "￾"):
        text = f'<testsuite><testcase name="a"/><testcase name="{character}"><failure/></testcase></testsuite>'
        assert "not sound XML" in refusal("junit", written(tmp_path, "r.xml", text))


@pytest.mark.hazard("H58")
def test_a_report_that_is_cut_off_is_refused_wherever_it_is_cut(tmp_path):
    data = REPORT.read_bytes()
    for cut in range(0, len(data) - 1, 61):
        assert refusal("junit", written(tmp_path, "r.xml", data[:cut]))


def test_a_report_without_a_test_is_nothing_to_judge(tmp_path):
    path = written(tmp_path, "r.xml", "<testsuites/>")
    with pytest.raises(highbar.InputError, match="nothing to judge"):
        highbar.check(path, {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}})


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


@pytest.mark.parametrize("path", samples("junit"), ids=lambda path: path.name[-60:])
def test_every_real_file_is_read_whole_or_refused(path):
    expected = expected_rows(path)
    if expected is None:
        assert refusal("junit", path)
        return
    assert recognized(path) == "junit"
    rows, report = imported("junit", path)
    unshown = sum("no test case shows" in row.get("error", "") for row in rows)
    assert len(rows) == report.records == expected + unshown
