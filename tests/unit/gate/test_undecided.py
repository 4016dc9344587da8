"""Rules over undecided trials: judged at their worst and at their best, and only a pass in both is one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from msgspec.structs import replace

from highbar.gate import judge
from highbar.gate.rules import combine_ends, name_of
from highbar.model import RuleResult, ScenarioRule, SuiteRule, Threshold, ThresholdRule
from tests.unit.gate.table import Difference, Ids, evidence, value

RATE = ThresholdRule("r", "blocking", "accuracy", Threshold(">=", Fraction(9, 10), "ratio", ">= 0.9"))
TRIALS = (("A", 2), ("B", None))


def both(worst, best, rule=RATE, trials=TRIALS):
    at_best = replace(evidence({"accuracy": best}), at_best=True)
    return judge(rule, replace(evidence({"accuracy": worst}), best=at_best, undecided={rule.name: trials}))


@pytest.mark.parametrize(
    ("worst", "best", "outcome"),
    [
        ("95/100", "1", "pass"),
        ("5/10", "1", "inconclusive"),
        ("5/10", "6/10", "fail"),
        (None, "1", "inconclusive"),
        (None, "5/10", "undefined"),
        (None, None, "undefined"),
    ],
)
def test_a_pass_needs_both_and_a_miss_in_both_is_what_it_is_at_the_worst(worst, best, outcome):
    result = both(value(worst, reason="no data"), value(best, reason="no data"))
    assert result.outcome == outcome
    assert result.best == (None if best is None else Fraction(best))
    assert result.undecided == TRIALS
    assert result.value.value == (None if worst is None else Fraction(worst))


def test_the_reason_names_the_trials_and_what_they_would_decide():
    reason = both(value("5/10"), value("1")).reason
    assert reason == (
        "50.0% is not ≥ 90% (over 20 scenarios); it depends on undecided trials (A trial 2, B):"
        " at best, 100% is ≥ 90% (over 20 scenarios)"
    )
    many = both(value("5/10"), value("1"), trials=tuple((f"S{place}", None) for place in range(10))).reason
    assert "S8, S9, …)" in many


def test_without_undecided_trials_of_its_own_a_rule_says_nothing_of_any():
    result = both(value("5/10"), value("5/10"), trials=())
    assert (result.outcome, result.best, result.undecided) == ("fail", None, ())
    assert judge(RATE, evidence({"accuracy": value("1")})).best is None


def test_a_trial_is_named_by_its_number_if_it_has_one():
    assert (name_of(("A", 0)), name_of(("A", None))) == ("A trial 0", "A")


def test_an_inconclusive_rule_keeps_everything_else():
    worst = RuleResult("r", "warning", "fail", "low", metric="m", fragile=True)
    result = combine_ends(worst, replace(worst, outcome="pass", reason="high"), (("A", None),))
    assert (result.level, result.metric, result.fragile, result.outcome) == ("warning", "m", True, "inconclusive")


def test_a_named_scenario_with_an_undecided_trial_is_inconclusive_and_a_failed_one_fails():
    rule = ScenarioRule("required_scenarios.SEC-*", "blocking", "SEC-*")

    def found(**ids):
        patterns = {"SEC-*": Ids(3, **ids)}
        at_best = replace(evidence(patterns=patterns), at_best=True)
        return judge(rule, replace(evidence(patterns=patterns), best=at_best, undecided={rule.name: TRIALS}))

    undecided = found(undecided=2, undecided_examples=("SEC-1", "SEC-2"))
    assert undecided.outcome == "inconclusive"
    assert undecided.reason.startswith("2 of 3 scenarios have an undecided trial: SEC-1, SEC-2;")
    failed = found(failed=1, examples=("SEC-3",), undecided=1, undecided_examples=("SEC-1",))
    assert (failed.outcome, failed.reason) == ("fail", "1 of 3 scenarios did not pass: SEC-3")


@pytest.mark.parametrize(
    ("difference", "outcome", "reason"),
    [
        (
            Difference(unlooked=("A: answer, by `correct`",)),
            "fail",
            "not everything that the suite demands was looked at: A: answer, by `correct`",
        ),
        (Difference(unlooked=("A: x",), unlooked_more=4), "fail", "looked at: A: x and 4 more"),
        (
            Difference(unjudged_ids=("A", "B")),
            "inconclusive",
            "unjudged trials, so that not every scenario was judged: A, B",
        ),
    ],
)
def test_what_the_suite_demands_fails_if_nobody_looked_and_is_inconclusive_if_nobody_could(difference, outcome, reason):
    rule = SuiteRule("suite", "blocking")
    at_best = replace(evidence(suite=difference), at_best=True)
    result = judge(rule, replace(evidence(suite=difference), best=at_best, undecided={"suite": TRIALS}))
    assert result.outcome == outcome
    assert reason in result.reason
