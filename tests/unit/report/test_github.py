"""Annotations, outputs and the comment: read as GitHub reads them, within what it takes, obeyed nowhere."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from msgspec.structs import replace

from highbar.errors import Problem
from highbar.model import Against, DifferingFile, FailedScenario, RuleResult, Source
from highbar.report import REPORTERS, github, line
from highbar.report.headline import headline
from highbar.report.markdown import LONGEST, MARKER
from highbar.report.titles import demands
from highbar.report.visible import visible
from tests.examples import shared
from tests.unit.report.strategies import PROBLEMS, VERDICTS
from tests.unit.report.test_visible import FORBIDDEN
from tests.unit.report.verdicts import FAILING
from tests.unit.report.workflow import read_commands

COMMENT = REPORTERS["github-comment"]
DIFFERS = DifferingFile("highbar.yaml", "changed", "sha256 a", "sha256 b")
PASSING = replace(FAILING, verdict="pass", rules=FAILING.rules[1:2], warnings=(), scenarios_failed=())


def here(file):
    return file


@pytest.mark.slow
@shared(VERDICTS)
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
    missed = [demand.rule for demand in demands(verdict) if demand.rule.outcome != "pass"]
    assert sorted(command.name for command in commands) == sorted(
        "error" if rule.level == "blocking" else "warning" for rule in missed
    )


def test_a_failed_rule_is_annotated_where_it_stands_in_the_policy():
    first = read_commands(github.rule_annotations(FAILING, lambda file: f"evals/{file}"))[0]
    assert (first.name, first.message) == (
        "error",
        "90.0% is not ≥ 100% (over 10 scenarios)\nNo security compromises\nthresholds.blocking.safety_rate",
    )
    assert first.properties == {
        "file": "evals/highbar.yaml", "line": "3", "col": "5", "title": "Safety rate is 100%",
    }  # fmt: skip


def test_a_policy_outside_of_the_repository_gets_no_place():
    first = read_commands(github.rule_annotations(FAILING, lambda _: None))[0]
    assert first.properties == {"title": "Safety rate is 100%"}


@pytest.mark.parametrize("text", ["50% of a: b, c=d", "::error::x", "a,b:c%0A", "%25", "%3A"])
def test_what_was_escaped_reads_back(text):
    rule = RuleResult(text, "blocking", "fail", text)
    (command,) = read_commands(github.rule_annotations(replace(FAILING, rules=(rule,)), here))
    assert (command.properties["title"], command.message) == (visible(text), f"{visible(text)}\n{visible(text)}")


def test_no_more_are_annotated_than_github_shows_and_the_last_counts_the_rest():
    rules = tuple(RuleResult(f"rules[{n}]", "blocking", "fail", "no") for n in range(25))
    commands = read_commands(github.rule_annotations(replace(FAILING, rules=rules), here))
    assert len(commands) == 10
    assert commands[-1].properties == {"title": "… and 16 more"}


def test_problems_and_missed_demands_share_what_github_shows():
    rules = tuple(RuleResult(f"rules[{n}]", "blocking", "fail", "no") for n in range(8))
    problems = tuple(Problem("file.missing", f"problem {n}") for n in range(8))
    commands = read_commands(github.rule_annotations(replace(FAILING, rules=rules, problems=problems), here))
    assert len(commands) == 10
    assert commands[-1].properties == {"title": "… and 7 more"}


@shared(PROBLEMS)
def test_problems_are_annotated_too(problems):
    commands = read_commands(github.problem_annotations(problems, here))
    assert [command.name for command in commands] == ["error"] * len(problems)


@shared(VERDICTS)
@pytest.mark.hazard("H108")
def test_outputs_hold_no_text_of_the_results(verdict):
    found = dict(github.outputs(verdict, 1))
    assert found.pop("headline") == headline(verdict)
    assert all(value == "" or value.isalnum() for value in found.values())


@shared(VERDICTS)
@pytest.mark.hazard("H109")
def test_a_comment_begins_with_its_marker_and_has_no_second(verdict):
    text = COMMENT(verdict)
    assert text.startswith(f"{MARKER}\n## {headline(verdict)}\n")
    assert text.count("<!--") == 1
    starts = [row[:9] for row in text.splitlines()]  # where a text of theirs never stands
    assert starts.count("<details>") == starts.count("</details")
    assert len(text) <= LONGEST


@pytest.mark.parametrize("rules", [PASSING.rules, (*PASSING.rules, FAILING.rules[3])], ids=["well", "with a warning"])
def test_a_comment_on_a_pass_is_one_line_and_the_rest_is_folded(rules):
    shown, _, folded = COMMENT(replace(PASSING, rules=rules)).partition("<details>")
    assert len(shown.splitlines()) == 3  # the marker, the verdict, a blank line
    assert shown.splitlines()[1].startswith("## PASS: the only demand is met")
    assert "### Demands" in folded


@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({"verdict": "fail", "rules": FAILING.rules}, "| Safety rate is 100% | 90.0%, 10 scenarios |"),
        ({"verdict": "inconclusive"}, "50 scenarios, 50 trials"),
        (
            {"against": Against("main", "0" * 40, "pass", Source("highbar.yaml", None), (DIFFERS,), "+x", "d" * 32)},
            "### Differs from",
        ),
    ],
)
def test_a_comment_shows_what_is_not_well(changed, shown):
    assert shown in COMMENT(replace(PASSING, **changed)).partition("<details>")[0]


@given(VERDICTS)
def test_a_comment_shows_at_most_2500_bytes(verdict):
    shown = COMMENT(verdict).partition("<details>")[0]
    assert len(shown.encode()) <= 2500 or len(verdict.judged_by) > 5


def test_a_comment_lists_ten_demands_and_ten_scenarios_and_counts_the_others():
    rules = tuple(RuleResult(f"required_scenarios.{n}", "blocking", "fail", "no " * 200) for n in range(25))
    failed = tuple(FailedScenario(f"S-{n}", "edge_case", "missing: " + "behavior " * 50, 1, 0) for n in range(30))
    verdict = replace(FAILING, rules=rules, scenarios_failed=failed, counts=replace(FAILING.counts, failed=30))
    shown, _, folded = COMMENT(verdict).partition("<details>")
    assert len(shown.encode()) <= 2500
    assert shown.count("must pass") == 10
    assert shown.count("`S-") == 10
    assert "… and 15 more" in shown
    assert "… and 20 more" in shown
    assert folded.count("must pass") == 25
    assert folded.count("`S-") == 30


def many(number):
    return tuple(RuleResult(f"required_scenarios.S-{n}", "blocking", "pass", "it passed") for n in range(number))


def test_a_comment_that_would_be_too_long_keeps_its_marker_and_its_verdict():
    for verdict in (replace(PASSING, rules=many(5000)), replace(FAILING, rules=many(5000))):
        text = COMMENT(verdict)
        assert len(text) <= LONGEST
        assert text.startswith(f"{MARKER}\n## ")
        assert "The report is cut here" in text
        assert text.count("<details>") == text.count("</details>")


def test_the_page_of_a_run_holds_more_than_a_comment():
    text = github.summary(replace(FAILING, rules=many(5000)))
    assert LONGEST < len(text) <= 200_000
    assert len(text.encode()) < github.LARGEST_SUMMARY


@shared(VERDICTS)
def test_the_line_for_a_chat_is_one_line_and_calls_nobody(verdict):
    text = line.render(verdict)
    assert text.startswith(headline(verdict))
    assert not FORBIDDEN.search(text)
    assert not re.search("[@!#`|&~]|<[^ ]", text)


def test_the_line_names_the_first_rules_that_did_not_pass():
    assert line.render(FAILING) == (
        "FAIL: 3 of 6 demands are not met, 1 warning; Safety rate is 100%: 90.0%; "
        "Recall for tags.locale de or fr is at least 85%: undefined; SEC-002 must pass"
    )
    assert line.render(PASSING) == "PASS: the only demand is met"
    repeated = replace(FAILING.rules[0], metric="pass_at_3")
    assert "; Pass at 3 is 100%: 90.0%" in line.render(replace(FAILING, rules=(repeated,)))
