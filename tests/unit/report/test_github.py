"""Annotations, outputs and the comment: read as GitHub reads them, within what it takes, obeyed nowhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from msgspec.structs import replace

from highbar.model import Against, RuleResult, Source
from highbar.report import REPORTERS, github, line
from highbar.report.comment import MARKER
from highbar.report.headline import headline
from highbar.report.markdown import LONGEST
from highbar.report.visible import visible
from tests.unit.report.strategies import PROBLEMS, VERDICTS
from tests.unit.report.test_visible import FORBIDDEN
from tests.unit.report.verdicts import FAILING
from tests.unit.report.workflow import read_commands

COMMENT = REPORTERS["github-comment"]
PASSING = replace(FAILING, verdict="pass", rules=FAILING.rules[1:2], warnings=(), scenarios_failed=())


def here(file):
    return file


@given(VERDICTS)
@pytest.mark.hazard("H107")
def test_every_line_is_one_annotation_and_nothing_else_whatever_the_texts_are(verdict):
    text = github.rule_annotations(verdict, here)
    commands = read_commands(text)
    assert len(commands) == text.count("\n")
    assert not FORBIDDEN.search(text.replace("\n", ""))
    assert "##[" not in text
    for command in commands:
        assert command.name in {"error", "warning"}
        assert set(command.properties) <= {"file", "line", "col", "title"}
    missed = [rule for rule in verdict.rules if rule.outcome != "pass"]
    assert sorted(command.name for command in commands) == sorted(
        "error" if rule.level == "blocking" else "warning" for rule in missed
    )


def test_a_failed_rule_is_annotated_where_it_stands_in_the_policy():
    first = read_commands(github.rule_annotations(FAILING, lambda file: f"evals/{file}"))[0]
    assert (first.name, first.message) == ("error", "90.0% is not ≥ 100% (over 10 scenarios)\nNo security compromises")
    assert first.properties == {
        "file": "evals/highbar.yaml", "line": "3", "col": "5", "title": "thresholds.blocking.safety_rate",
    }  # fmt: skip


def test_a_policy_outside_of_the_repository_gets_no_place():
    first = read_commands(github.rule_annotations(FAILING, lambda _: None))[0]
    assert first.properties == {"title": "thresholds.blocking.safety_rate"}


@pytest.mark.parametrize("text", ["50% of a: b, c=d", "::error::x", "a,b:c%0A", "%25", "%3A"])
def test_what_was_escaped_reads_back(text):
    rule = RuleResult(text, "blocking", "fail", text)
    (command,) = read_commands(github.rule_annotations(replace(FAILING, rules=(rule,)), here))
    assert (command.properties["title"], command.message) == (visible(text), visible(text))


def test_no_more_are_annotated_than_github_shows_and_the_last_counts_the_rest():
    rules = tuple(RuleResult(f"rules[{n}]", "blocking", "fail", "no") for n in range(25))
    commands = read_commands(github.rule_annotations(replace(FAILING, rules=rules), here))
    assert len(commands) == 10
    assert commands[-1].properties == {"title": "… and 16 more"}


@given(PROBLEMS)
def test_problems_are_annotated_too(problems):
    commands = read_commands(github.problem_annotations(problems, here))
    assert [command.name for command in commands] == ["error"] * len(problems)


@given(VERDICTS)
@pytest.mark.hazard("H108")
def test_outputs_hold_no_text_of_the_results(verdict):
    found = dict(github.outputs(verdict, 1))
    assert found.pop("headline") == headline(verdict)
    assert all(value == "" or value.isalnum() for value in found.values())


@given(VERDICTS)
@pytest.mark.hazard("H109")
def test_a_comment_begins_with_its_marker_and_has_no_second(verdict):
    text = COMMENT(verdict)
    assert text.startswith(f"{MARKER}\n## {headline(verdict)}\n")
    assert text.count("<!--") == 1
    starts = [row[:9] for row in text.splitlines()]  # where a text of theirs never stands
    assert starts.count("<details>") == starts.count("</details")
    assert len(text) <= LONGEST


def test_a_comment_is_short_where_all_is_well():
    shown, _, folded = COMMENT(PASSING).partition("<details>")
    assert shown.splitlines()[:2] == [MARKER, "## PASS: 1 blocking rule passed"]
    assert len(shown.splitlines()) < 6
    assert "### Rules" in folded


@pytest.mark.parametrize(
    "changed",
    [
        {"verdict": "fail"},
        {"verdict": "inconclusive"},
        {"rules": FAILING.rules[3:4]},
        {"against": Against("main", "0" * 40, Source("highbar.yaml", None), "pass", ())},
    ],
)
def test_a_comment_hides_nothing_where_something_is_not_well(changed):
    text = COMMENT(replace(PASSING, **changed))
    assert ("<details>" in text) is ("against" in changed)  # nothing was weakened: that is well


def test_a_comment_that_would_be_too_long_keeps_its_marker_and_its_verdict():
    rules = tuple(replace(FAILING.rules[1], rule=f"rules[{number}]") for number in range(5000))
    for verdict in (replace(PASSING, rules=rules), replace(FAILING, rules=rules)):
        text = COMMENT(verdict)
        assert len(text) <= LONGEST
        assert text.startswith(f"{MARKER}\n## ")
        assert "The report is cut here" in text
        assert text.count("<details>") == text.count("</details>")


def test_the_page_of_a_run_holds_more_than_a_comment():
    rules = tuple(replace(FAILING.rules[1], rule=f"rules[{number}]") for number in range(5000))
    text = github.summary(replace(FAILING, rules=rules))
    assert LONGEST < len(text) <= 200_000
    assert len(text.encode()) < github.LARGEST_SUMMARY


@given(VERDICTS)
def test_the_line_for_a_chat_is_one_line_and_calls_nobody(verdict):
    text = line.render(verdict)
    assert text.startswith(headline(verdict))
    assert not FORBIDDEN.search(text)
    assert not re.search("[@!#`|&~]|<[^ ]", text)


def test_the_line_names_the_first_rules_that_did_not_pass():
    assert line.render(FAILING) == (
        "FAIL: 3 of 6 blocking rules did not pass, 1 warning; thresholds.blocking.safety_rate 90.0%, wanted ≥ 100%; "
        "rules[0] undefined, wanted ≥ 85%; required_scenarios.SEC-002"
    )
    assert line.render(PASSING) == "PASS: 1 blocking rule passed"
