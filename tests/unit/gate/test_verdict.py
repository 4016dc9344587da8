"""The verdict of the whole is built from the outcomes of the rules, and a pass only from passes."""

from __future__ import annotations

from itertools import product

import pytest

from highbar.errors import InputError
from highbar.gate import decide
from highbar.model import RuleResult

OUTCOMES = ("pass", "fail", "undefined", "inconclusive")


def result(outcome, level="blocking"):
    return RuleResult("thresholds.blocking.accuracy", level, outcome, "because")


def test_one_rule_decides_by_itself():
    assert [decide([result(outcome)]) for outcome in OUTCOMES] == ["pass", "fail", "fail", "inconclusive"]


def test_a_fail_or_an_undefined_beats_an_inconclusive_and_that_beats_a_pass():
    for outcomes in product(OUTCOMES, repeat=3):
        failed = {"fail", "undefined"} & set(outcomes)
        expected = "fail" if failed else "inconclusive" if "inconclusive" in outcomes else "pass"
        assert decide([result(outcome) for outcome in outcomes]) == expected


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_warning_never_changes_the_verdict(outcome):
    for blocking in OUTCOMES:
        assert decide([result(blocking), result(outcome, "warning")]) == decide([result(blocking)])


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_with_warnings_alone_nothing_blocks(outcome):
    assert decide([result(outcome, "warning")]) == "pass"


def test_without_a_rule_there_is_nothing_to_judge_by():
    with pytest.raises(InputError) as caught:
        decide([])
    (problem,) = caught.value.problems
    assert problem.code == "policy.no-rule"
