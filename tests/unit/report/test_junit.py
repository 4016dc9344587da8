"""JUnit XML by the rules of those who read it: Jenkins' schema and parser, GitLab's parser, and junitparser."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import pytest
from defusedxml.ElementTree import fromstring as read
from junitparser import xunit2
from msgspec.structs import replace

from highbar.errors import Problem
from highbar.model import Counts, RuleResult, ScenarioResult
from highbar.report import REPORTERS, junit
from highbar.report.visible import visible
from tests.examples import shared
from tests.unit.report.strategies import PROBLEMS, VERDICTS
from tests.unit.report.verdicts import FAILING

RENDER = REPORTERS["junit"]

# The schema of Jenkins' xUnit plugin (junit-10.xsd): for each element the attributes that it must have, those that it
# may have, and its children. What it does not know, and other readers do, stands in KNOWN_BY_OTHERS.
SCHEMA = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": ({"name"}, {"time", "classname", "group"}, {"skipped", "error", "failure", "system-out", "system-err"}),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "skipped": (set(), {"type", "message"}, set()),
}
# Jenkins' own `junit` step, pytest and junitparser have properties of a test case; GitLab reads its file.
KNOWN_BY_OTHERS = {"properties", "file", "line"}
# What Rails, by which GitLab reads XML, makes something else than text of where it stands in `type`.
RAILS_TYPES = {
    "symbol", "date", "datetime", "duration", "integer", "float", "decimal", "boolean", "string", "yaml",
    "base64Binary", "hexBinary", "file", "array", "hash",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shown:
    """What GitLab keeps of a test case."""

    status: str
    output: str | None
    seconds: float


def read_as_gitlab_does(text):
    """By suite, class and name joined with `_`, the last of each; the body of the first element that is not a pass."""
    shown: dict[str, Shown] = {}
    for suite in read(text).iter("testsuite"):
        for case in suite.findall("testcase"):
            found = next(
                (one for kind in ("failure", "error", "skipped") if (one := case.find(kind)) is not None), None
            )
            key = f"{suite.get('name')}_{case.get('classname')}_{case.get('name')}"
            status = "success" if found is None else {"failure": "failed"}.get(found.tag, found.tag)
            shown[key] = Shown(status, None if found is None else found.text, float(case.get("time") or 0))
    return shown


def faults(element):
    """Where an element, or one inside it, is not as the schema says."""
    must, may, children = SCHEMA[element.tag]
    own = KNOWN_BY_OTHERS if element.tag == "testcase" else set()
    found = [f"{element.tag} lacks {name}" for name in must - set(element.attrib)]
    found += [f"{element.tag} has {name}" for name in set(element.attrib) - must - may - own]
    found += [f"{element.tag} holds {child.tag}" for child in element if child.tag not in children | own]
    if element.tag not in {"failure", "error", "skipped"} and (element.text or "").strip():
        found.append(f"{element.tag} holds text")
    return found + [fault for child in element for fault in faults(child)]


def outcome(case):
    """What a test case is by its elements."""
    return next((kind for kind in ("failure", "error", "skipped") if case.find(kind) is not None), "passed")


def wanted_outcome(rule):
    return "passed" if rule.outcome == "pass" else "skipped" if rule.level == "warning" else "failure"


def cases(text, suite):
    (found,) = [one for one in read(text).iter("testsuite") if one.get("name") == suite]
    return found.findall("testcase")


@shared(VERDICTS)
@pytest.mark.hazard("H111")
@pytest.mark.hazard("H118")
def test_every_reader_finds_every_rule_and_scenario_whatever_the_texts_are(verdict):
    text = RENDER(verdict)
    root = read(text)
    assert text.isascii()
    assert faults(root) == []
    assert miscounted(root) == []
    assert [outcome(case) for case in cases(text, "rules")] == [wanted_outcome(rule) for rule in verdict.rules]
    listed = cases(text, "scenarios")[: len(verdict.scenarios)]
    assert [outcome(case) == "passed" for case in listed] == [one.passed for one in verdict.scenarios]
    shown = read_as_gitlab_does(text)
    assert len(shown) == int(root.get("tests"))
    assert all(one.output.strip() for one in shown.values() if one.status != "success")
    assert not {found.get("type") for found in root.iter()} & RAILS_TYPES
    assert all(case.get("classname").startswith("highbar.") for case in root.iter("testcase"))
    assert all(case.get("name").strip() for case in root.iter("testcase"))
    for suite in root.iter("testsuite"):
        names = [case.get("name") for case in suite.findall("testcase")]
        assert len(set(names)) == len(names)
    timed = [root, *root.iter("testsuite"), *root.iter("testcase")]
    assert all(re.fullmatch(r"\d+(\.\d+)?", one.get("time")) for one in timed)


def miscounted(root):
    """The suites whose stated counts are not those of their test cases."""
    found = []
    for suite in root.iter("testsuite"):
        kinds = Counter(outcome(case) for case in suite.findall("testcase"))
        counted = [kinds.total(), kinds["failure"], kinds["error"], kinds["skipped"]]
        if [int(suite.get(name)) for name in ("tests", "failures", "errors", "skipped")] != counted:
            found.append(suite.get("name"))
    sums = {name: sum(int(suite.get(name)) for suite in root) for name in ("tests", "failures", "errors")}
    return found + [name for name, total in sums.items() if int(root.get(name)) != total]


def test_the_reason_stands_in_the_message_and_in_the_body():
    name = "Safety rate is 100% (thresholds.blocking.safety_rate)"
    (case,) = [case for case in cases(RENDER(FAILING), "rules") if case.get("name") == name]
    assert case.find("properties/property").attrib == {"name": "rule", "value": "thresholds.blocking.safety_rate"}
    failure = case.find("failure")
    assert failure.get("message") == "90.0% is not ≥ 100% (over 10 scenarios)"
    assert failure.text == "90.0% is not ≥ 100% (over 10 scenarios)\nNo security compromises"
    assert (case.get("file"), case.get("line")) == ("highbar.yaml", "3")


def test_a_warning_is_seen_and_marks_nothing_as_failed():
    (case,) = [case for case in cases(RENDER(FAILING), "rules") if "warning" in case.get("classname")]
    assert outcome(case) == "skipped"
    assert case.find("skipped").get("message") == "warning: 6200 ms is not ≤ 5000 ms (over 50 scenarios)"


@pytest.mark.parametrize("unsettled", ["undefined", "inconclusive"])
def test_a_blocking_rule_that_could_not_be_judged_is_a_failure(unsettled):
    rule = RuleResult("rules[0]", "blocking", unsettled, "nobody knows")
    (case,) = cases(RENDER(replace(FAILING, rules=(rule,))), "rules")
    assert case.find("failure").get("type") == unsettled


def test_intervals_and_trials_are_properties_that_junitparser_reads():
    listed = (ScenarioResult("A", "happy_path", 3, 1, 0, 0, "missing: x", duration_ms=Fraction(2500)),)
    suites = xunit2.JUnitXml.fromstring(RENDER(replace(FAILING, scenarios=listed)).encode())
    rules, scenarios = list(suites)
    whole = {one.name: one.value for one in rules.properties()}
    assert (whole["verdict"], whole["agent_version"], whole["scenarios"]) == ("fail", "2.1.0", "50")
    assert (whole["metric.accuracy"], whole["metric.accuracy.low"], whole["metric.accuracy.high"]) == (
        "0.92", "0.826", "0.972",
    )  # fmt: skip
    assert "metric.precision" not in whole
    assert whole["metric.precision.scenarios"] == "0"
    (case, _) = list(scenarios)
    own = {one.name: one.value for one in case.properties()}
    assert own == {"category": "happy_path", "trials": "3", "passed_trials": "1"}
    assert (case.time, scenarios.time, suites.time, rules.time) == (2.5, 2.5, 2.5, 0)
    assert case.result[0].message == "1 of 3 trials passed; missing: x"


def test_junitparser_counts_what_the_verdict_counts():
    listed = (
        ScenarioResult("A", None, 1, 0, 1, 0, "error: boom"),
        ScenarioResult("B", None, 1, 0, 1, 1, "violated: leaks; error: boom"),
        ScenarioResult("C", None, 2, 1, 0, 0, "wrong answer"),
        ScenarioResult("D", None, 1, 1),
    )
    verdict = replace(FAILING, scenarios=listed, counts=Counts(4, 5, 2, 0, 3))
    suites = xunit2.JUnitXml.fromstring(RENDER(verdict).encode())
    suites.update_statistics()
    assert (suites.tests, suites.errors, suites.failures) == (7 + 4, 1, 3 + 2)
    assert sum(suite.skipped for suite in suites) == 1


@pytest.mark.parametrize(
    "ids",
    [
        (("cat", "x_y"), ("cat_x", "y")),  # GitLab joins class and name by `_`
        ((None, "a\u200b"), (None, r"a\u200b")),  # alike once they are visible
        ((None, "long" * 200), (None, "long" * 300)),  # alike once they are cut
        (("a.b", "x"), ("a_b", "x")),
        ((None, "x"), (None, "x"), (None, "x (2)")),
    ],
)
def test_no_two_scenarios_are_taken_for_one(ids):
    listed = tuple(ScenarioResult(identity, category, 1, 1) for category, identity in ids)
    verdict = replace(FAILING, scenarios=listed, counts=Counts(len(ids), len(ids), 0, 0, 0))
    shown = [key for key in read_as_gitlab_does(RENDER(verdict)) if key.startswith("scenarios_")]
    assert len(shown) == len(ids)


@pytest.mark.hazard("H111")
def test_characters_that_xml_forbids_are_written_out():
    hostile = 'a\x00b\bc\x1b[31m\ufffe\uffff\ud800]]>&<b>"'
    listed = (ScenarioResult(hostile, hostile, 1, 0, 0, 0, hostile),)
    (case, _) = cases(RENDER(replace(FAILING, scenarios=listed)), "scenarios")
    assert case.get("name") == visible(hostile)
    assert case.find("failure").text == visible(hostile)
    assert case.find("properties/property").get("value") == visible(hostile)


def test_what_is_not_listed_is_counted():
    text = RENDER(replace(FAILING, scenarios=(ScenarioResult("A", None, 1, 1),)))
    last = cases(text, "scenarios")[-1]
    assert last.get("name") == "... and 49 more"
    assert last.find("skipped").get("message") == (
        "1 of 50 scenarios are listed here, the failed first; 4 failed in all"
    )


def test_a_file_never_grows_beyond_what_gitlab_reads(monkeypatch):
    monkeypatch.setattr(junit, "LARGEST", 20_000)
    listed = tuple(ScenarioResult(f"S{n:04}", "category", 1, 0, 0, 0, "reason " * 50) for n in range(1000))
    verdict = replace(FAILING, scenarios=listed, counts=Counts(1000, 1000, 0, 0, 1000))
    text = RENDER(verdict)
    assert len(text) < 30_000
    shown = cases(text, "scenarios")
    assert shown[-1].get("name") == f"... and {1001 - len(shown)} more"
    assert "1000 failed in all" in shown[-1].find("skipped").text


def test_a_verdict_without_the_list_still_shows_what_failed():
    shown = cases(RENDER(FAILING), "scenarios")
    assert [case.get("name") for case in shown] == ["HP-007", "SEC-002", "... and 48 more"]
    assert outcome(shown[0]) == "failure"


@shared(PROBLEMS)
def test_where_nothing_could_be_judged_every_problem_is_an_error(problems):
    text = RENDER.refusal(problems)
    assert faults(read(text)) == []
    assert [outcome(case) for case in cases(text, "problems")] == ["error"] * len(problems)
    assert len(read_as_gitlab_does(text)) == len(problems)


def test_a_problem_says_its_place_and_its_hint():
    text = RENDER.refusal([Problem("policy.unknown-key", "no key x", "highbar.yaml", 3, 1, "try y")])
    (case,) = cases(text, "problems")
    assert case.get("name") == "highbar.yaml:3:1"
    assert case.find("error").text.splitlines()[1:] == [
        "no key x [policy.unknown-key]",
        "hint: try y",
    ]
