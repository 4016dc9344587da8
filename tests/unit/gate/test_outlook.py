"""What a second run would make of a rule: four cases, each of which says how likely it passes, stays open and fails."""

from __future__ import annotations

from fractions import Fraction

import pytest
from msgspec.structs import replace

from highbar.gate import judge
from highbar.gate.outlook import (
    ValueSupport,
    certain_outlooks,
    outlooks_of_difference,
    outlooks_of_value,
    second_run,
    without_passes,
)
from highbar.language import formula
from highbar.model import ConditionRule, Demand, Outlook, RuleResult, ScenarioRule, Threshold
from highbar.statistics.bounds import Sums
from highbar.statistics.second_run import NOT_REPEATED, Noise, few_failures_again, share_again
from highbar.statistics.second_run import Share as Bounded
from tests.unit.gate.table import Ids, evidence, share, value

ALPHA = 0.05
CONFIDENT, ESTIMATE = Demand("confident"), Demand("estimate")
ALL = Threshold(">=", Fraction(1), "ratio", ">= 1")
MOST = Threshold(">=", Fraction(8, 10), "ratio", ">= 0.8")
KNOWN = Noise(0.3, 0.3, 2.0)


def outlooks(found, bar, demand, support, *, at_end=False):
    """The four cases, after what holds of any: they are chances of three outcomes of which one comes."""
    four = outlooks_of_value(found, bar, demand, ALPHA, support, at_end=at_end)
    assert len(four) == 4
    for case in four:
        assert all(0.0 <= chance <= 1.0 for chance in (case.passes, case.inconclusive, case.fails))
        assert case.passes + case.inconclusive + case.fails == pytest.approx(1.0)
    assert four[0] == four[1]
    assert four[2] == four[3]
    return four


@pytest.mark.parametrize("noise", [NOT_REPEATED, KNOWN])
@pytest.mark.parametrize("demand", [ESTIMATE, CONFIDENT, replace(CONFIDENT, failures=1)])
def test_nothing_is_stated_of_a_demand_of_perfection(demand, noise):
    """How often a rare failure comes back is not known: measured, .27 was stated of what happened in .45."""
    found, sums = share(60, 60)
    assert outlooks_of_value(found, ALL, demand, ALPHA, ValueSupport(sums, 0, noise), at_end=True) == ()


def test_nothing_is_stated_of_trials_that_always_agree():
    found, sums = share(16, 20)
    assert (
        outlooks_of_value(found, MOST, ESTIMATE, ALPHA, ValueSupport(sums, 4, Noise(0.0, 0.0, 3.0)), at_end=False) == ()
    )


def test_a_share_is_counted_in_its_trials():
    found, sums = share(16, 20)
    for noise, parts in ((Noise(0.3, 0.3, 1.0), 20), (Noise(0.3, 0.3, 2.0), 40)):
        (case, *_) = outlooks(found, MOST, ESTIMATE, ValueSupport(sums, 4, noise))
        bounded = Bounded(found.value, found.low, found.high, parts)
        assert case == share_again(bounded, MOST.value, 0.3, ALPHA, confident=False)


@pytest.mark.parametrize(
    ("number", "sums"),
    [
        (Fraction(16, 20), None),  # not a share of scenarios
        (Fraction(33, 40), share(16, 20)[1]),  # no whole number of trials
        (Fraction(16, 20), Sums.of([(1, 2)] * 8 + [(0, 2)] * 2)),  # clusters
    ],
)
def test_a_share_that_is_no_whole_number_of_scenarios_is_not_counted(number, sums):
    found = replace(share(16, 20)[0], value=number)
    (case, *_) = outlooks(found, MOST, ESTIMATE, ValueSupport(sums, 4, Noise(0.0001, 0.0001)))
    bounded = Bounded(number, found.low, found.high, None)
    assert case.passes == pytest.approx(share_again(bounded, MOST.value, 0.0001, ALPHA, confident=False).passes)


def test_clusters_vary_for_reasons_of_their_own_so_that_less_of_it_is_trial_noise():
    found, alone = share(70, 100)
    clustered = Sums.of([(10, 10)] * 7 + [(0, 10)] * 3)
    plain = outlooks(found, MOST, ESTIMATE, ValueSupport(alone, 30, KNOWN))
    # As many clusters as scenarios, none, or more than there are: nothing to correct.
    assert outlooks(found, MOST, ESTIMATE, ValueSupport(replace(clustered, clusters=100), 30, KNOWN))[0].passes > 0
    fewer = outlooks(found, MOST, ESTIMATE, ValueSupport(clustered, 30, KNOWN))
    assert 0 < fewer[0].passes < plain[0].passes
    one = outlooks(found, MOST, ESTIMATE, ValueSupport(replace(clustered, clusters=1), 30, KNOWN))
    assert one[0].passes == fewer[0].passes


def test_clusters_of_a_share_of_nothing_are_corrected_by_its_other_end():
    found, _ = share(0, 100)
    few = Threshold(">=", Fraction(1, 100), "ratio", ">= 0.01")
    clustered = Sums.of([(0, 10)] * 10)
    plain = outlooks(found, few, ESTIMATE, ValueSupport(None, None, KNOWN))
    assert outlooks(found, few, ESTIMATE, ValueSupport(clustered, 100, KNOWN))[0].passes < plain[0].passes


def test_a_percentile_without_an_upper_bound_has_none_or_as_many_trials_beyond_it_as_it_leaves():
    found = value(900, scenarios=20, unit="ms", better="lower", low=500)
    below = Threshold("<", Fraction(1000), "ms", "< 1000ms")
    support = ValueSupport(None, None, Noise(0.1, 0.9, 2.0), Fraction(95, 100))
    least, _, most, _ = outlooks(found, below, ESTIMATE, support)
    assert least.passes == pytest.approx(few_failures_again(0, 40, 20, 2, 0.1))
    assert most.passes == pytest.approx(few_failures_again(2, 40, 20, 2, 0.9))
    assert (least.inconclusive, most.inconclusive) == (0.0, 0.0)
    one = replace(found, scenarios=1)
    least, *_ = outlooks(one, below, ESTIMATE, replace(support, noise=Noise(0.1, 0.9)))
    assert least.passes == pytest.approx(few_failures_again(0, 1, 1, 0, 0.1))


@pytest.mark.parametrize(
    ("outcome", "case"),
    [
        ("pass", Outlook(1.0, 0.0, 0.0)),
        ("inconclusive", Outlook(0.0, 1.0, 0.0)),
        ("fail", Outlook(0.0, 0.0, 1.0)),
        ("undefined", Outlook(0.0, 0.0, 1.0)),
    ],
)
def test_what_no_noise_touches_stays_what_it_is(outcome, case):
    assert certain_outlooks(outcome) == (case,) * 4


def test_what_cannot_pass_yet_stays_open_where_it_would_have_passed():
    assert without_passes((Outlook(0.5, 0.3, 0.2),)) == (Outlook(0.0, 0.8, 0.2),)


def test_a_difference_by_the_estimate_fails_only_where_its_interval_does():
    noise = Noise(0.4, 0.4)
    sure = outlooks_of_difference(Fraction(1, 100), -0.05, 0.07, CONFIDENT, ALPHA, noise)
    bare = outlooks_of_difference(Fraction(1, 100), -0.05, 0.07, ESTIMATE, ALPHA, noise)
    assert bare[0].passes > sure[0].passes > 0
    assert bare[0].fails == pytest.approx(sure[0].fails)
    assert bare[0].inconclusive == pytest.approx(1 - bare[0].passes - bare[0].fails)
    # Without a bound toward the margin the estimate says nothing, and the interval never passes.
    unbounded = float("-inf"), 0.07
    assert outlooks_of_difference(Fraction(1, 100), *unbounded, CONFIDENT, ALPHA, noise)[0].passes == 0.0
    assert outlooks_of_difference(Fraction(1, 100), *unbounded, ESTIMATE, ALPHA, noise)[0].passes == 0.0


# --- what rules make of it --------------------------------------------------------------------


def named(found, **more):
    values = {"pass_rate": value("9/10")}
    rule = ScenarioRule("required_scenarios.SEC-*", "blocking", "SEC-*")
    return judge(rule, replace(evidence(values, patterns={"SEC-*": found}), noise=Noise(0.2, 0.2, 2.0), **more))


def test_of_named_scenarios_no_chance_is_stated():
    """After one violation .35 was stated of what happened in up to .82."""
    for found, outcome in ((Ids(3), "pass"), (Ids(3, 1, ("SEC-1",)), "fail")):
        result = named(found)
        assert (result.outcome, result.second_run, result.outlooks) == (outcome, None, ())


def test_a_named_scenario_that_is_missing_or_undecided_stays_so():
    for found in (Ids(0), Ids(3, undecided=1, undecided_examples=("SEC-1",))):
        result = named(found)
        assert (result.outcome, result.second_run, result.second_run_low) == ("fail", 0.0, 0.0)
        assert result.outlooks == certain_outlooks("fail")


@pytest.mark.parametrize(("text", "operation"), [("a >= 0.8 AND b >= 0.8", "all"), ("a >= 0.8 OR b >= 0.8", "any")])
def test_the_parts_of_a_condition_pass_together_or_one_of_them_does(text, operation):
    (a, of_a), (b, of_b) = share(17, 20), share(18, 20)
    rule = ConditionRule("composite.pass", "blocking", formula.parse_condition(text), text)
    found = replace(evidence({"a": a, "b": b}, shares={"a": of_a, "b": of_b}), noise=Noise(0.3, 0.3))
    supports = (ValueSupport(sums, None, Noise(0.3, 0.3)) for sums in (of_a, of_b))
    alone = [outlooks_of_value(each, MOST, ESTIMATE, ALPHA, support, at_end=False)[0].passes
             for each, support in zip((a, b), supports, strict=True)]  # fmt: skip
    result = judge(rule, found)
    apart, together = result.outlooks[0].passes, result.outlooks[1].passes
    if operation == "all":
        assert (apart, together) == (pytest.approx(alone[0] * alone[1]), pytest.approx(min(alone)))
    else:
        assert (apart, together) == (pytest.approx(1 - (1 - alone[0]) * (1 - alone[1])), pytest.approx(max(alone)))
    assert result.evidence == "estimate"


def test_the_noise_of_the_run_reaches_a_difference_of_two_metrics():
    text = "a >= b"
    rule = ConditionRule("composite.pass", "blocking", formula.parse_condition(text), text)
    found = evidence(
        {"a": value("51/100"), "b": value("50/100")},
        differences={("a", "b"): value("1/100", unit="number", low=-0.1, high=0.12)},
    )
    quiet, loud = (judge(rule, replace(found, noise=Noise(of, of))).second_run for of in (0.01, 1.0))
    assert quiet < loud


def test_the_whole_verdict_needs_every_blocking_rule():
    def rule(level, outcome, *chances):
        return RuleResult("r", level, outcome, "", outlooks=(Outlook(*chances),) * 4)

    good, bad = rule("blocking", "pass", 0.9, 0.0, 0.1), rule("warning", "fail", 0.0, 0.0, 1.0)
    assert second_run([good, bad]) == pytest.approx((0.1, 0.1))
    assert second_run([good, good]) == pytest.approx((0.1, 0.19))
    assert second_run([good, replace(good, outcome="fail")]) == pytest.approx((0.81, 0.9))
    still = rule("blocking", "inconclusive", 0.2, 0.7, 0.1)
    assert second_run([still]) == pytest.approx((0.3, 0.3))
    assert second_run([replace(good, outlooks=())]) is None
    assert second_run([bad]) is None
