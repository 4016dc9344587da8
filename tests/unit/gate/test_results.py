"""All that a rule's result carries beside its outcome: nothing that was found out is lost on the way."""

from __future__ import annotations

from fractions import Fraction

import pytest
from msgspec.structs import replace

from highbar.gate import judge
from highbar.gate.outlook import ValueSupport, certain_outlooks, outlooks_of_value
from highbar.gate.rules import combine_ends, progress
from highbar.gate.thresholds import judge_value, slack
from highbar.model import Demand, Goal, Outlook, RuleResult, Stage, Step, SuiteRule, Threshold, ThresholdRule
from highbar.statistics.planning import clusters_to_exclude, more_scenarios, observed_design
from tests.unit.gate.table import Difference, evidence, share, value

HALF = Threshold(">=", Fraction(1, 2), "ratio", ">= 0.5")
ALL = Threshold(">=", Fraction(1), "ratio", ">= 1")
STAGE = Stage(Step("v2.0", HALF), Step("v3.0", ALL), ALL)
RULE = ThresholdRule("r", "blocking", "m", HALF, stage=STAGE)


def test_a_threshold_rule_carries_its_outlooks_its_stage_and_its_slack():
    found, sums = share(95, 100)
    result = judge(RULE, evidence({"m": found}, shares={"m": sums}))
    assert result.outlooks == outlooks_of_value(found, HALF, Demand(), 0.05, ValueSupport(sums), at_end=False)
    assert result.progressive == progress(STAGE, found)
    assert result.slack == slack(HALF, found)
    assert result.slack > Fraction(1, 10)
    assert judge(replace(RULE, stage=None), evidence({"m": found})).progressive is None
    assert judge(RULE, evidence({"m": value("2/10", low=0.1, high=0.3)})).slack is None


def test_an_undefined_value_says_what_the_next_step_asks_for_and_a_last_step_has_none_after_it():
    undefined = value(None, reason="no data")
    following = Goal(">= 1", met=False, distance=None, version="v3.0")
    assert progress(STAGE, undefined).next == following
    assert progress(replace(STAGE, next=None), undefined).next is None


def test_a_value_that_no_scenario_records_stays_undefined_and_one_that_a_crash_took_may_not():
    nothing = judge_value("m", value(None, scenarios=0, reason="no data"), HALF, Demand(), 0.05)
    assert nothing.outlooks == certain_outlooks("undefined") == (Outlook(0.0, 0.0, 1.0),) * 4
    assert judge_value("m", value(None, scenarios=3, reason="crash"), HALF, Demand(), 0.05).outlooks == ()


def test_a_rule_that_hangs_on_undecided_trials_says_nothing_of_a_second_run():
    numbers = {"second_run": 0.4, "second_run_low": 0.1, "more_scenarios": 7, "outlooks": certain_outlooks("fail")}
    worst = RuleResult("r", "blocking", "fail", "low", **numbers)
    open_ = combine_ends(worst, replace(worst, outcome="pass", reason="high"), (("A", None),))
    assert (open_.second_run, open_.second_run_low, open_.more_scenarios, open_.outlooks) == (None, None, None, ())
    assert combine_ends(worst, worst, (("A", None),)).outlooks == certain_outlooks("fail")


@pytest.mark.parametrize(
    ("difference", "reason"),
    [
        (Difference(unlooked=("A: x", "B: y")), "not everything that the suite demands was looked at: A: x; B: y"),
        (Difference(unlooked=("A: x",), unlooked_more=2), "was looked at: A: x and 2 more"),
        (Difference(unjudged_ids=("A", "B")), "unjudged trials, so that not every scenario was judged: A, B"),
    ],
)
def test_the_suite_names_what_nobody_looked_at(difference, reason):
    result = judge(SuiteRule("suite", "blocking"), evidence(suite=difference))
    assert result.outcome == "fail"
    assert result.reason.endswith(reason)
    assert result.outlooks == certain_outlooks("fail")


def test_at_their_best_unjudged_trials_leave_the_suite_complete():
    at_best = replace(evidence(suite=Difference(unjudged_ids=("A",))), at_best=True)
    assert judge(SuiteRule("suite", "blocking"), at_best).outcome == "pass"


def judged(found, bar, demand, **support):
    return judge_value("m", found, bar, demand, 0.05, ValueSupport(**support))


@pytest.mark.parametrize(
    ("failing", "failures", "reason"),
    [
        (None, 1, "; failures cannot be counted, 1 is accepted"),
        (2, 1, "; 2 scenarios failed, 1 is accepted"),
        (3, 2, "; 3 scenarios failed, 2 are accepted"),
    ],
)
def test_a_demand_for_perfection_says_how_many_failed_and_how_many_may(failing, failures, reason):
    found, sums = share(57, 60)
    result = judged(found, ALL, Demand("confident", failures=failures), sums=sums, failing=failing)
    assert result.outcome == "fail"
    assert result.reason.endswith(reason)


def test_how_many_scenarios_perfection_still_needs_depends_on_the_failures_that_were_seen():
    tolerated, demand = Fraction(1, 20), Demand("confident", failures=1)
    clean, sums = share(40, 40)
    assert (
        judged(clean, ALL, demand, sums=sums, failing=0).more_scenarios == clusters_to_exclude(tolerated, 0.05, 0) - 40
    )
    flawed, sums = share(39, 40)
    assert (
        judged(flawed, ALL, demand, sums=sums, failing=1).more_scenarios == clusters_to_exclude(tolerated, 0.05, 1) - 40
    )
    few = Demand("estimate", min_scenarios=50)
    assert judged(flawed, ALL, few, sums=sums, failing=None).more_scenarios == 10
    assert judged(flawed, ALL, few, sums=sums, failing=1).more_scenarios == 10


def test_with_undecided_trials_at_their_best_perfection_looks_at_the_interval_of_that_world_alone():
    found, _ = share(60, 60)
    wide = replace(found, low=0.1, own_low=found.low, own_high=found.high)
    demand = Demand("confident")
    assert judged(wide, ALL, demand).outcome == "pass"
    assert judged(replace(wide, own_low=None, own_high=None), ALL, demand).outcome == "inconclusive"


def test_where_lower_is_better_more_scenarios_are_those_of_the_share_that_is_left():
    found, sums = share(2, 50, better="lower")
    bar = Threshold("<=", Fraction(1, 10), "ratio", "<= 0.1")
    expected = more_scenarios(Fraction(9, 10), Fraction(48, 50), 50, 0.05, design=observed_design(sums))
    assert judged(found, bar, Demand("confident"), sums=sums).more_scenarios == expected
    assert expected is not None
    higher, sums = share(48, 50)
    bar = Threshold(">=", Fraction(9, 10), "ratio", ">= 0.9")
    assert judged(higher, bar, Demand("confident"), sums=sums).more_scenarios == expected
