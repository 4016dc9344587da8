"""A value with its interval, held against a threshold: by the estimate, and with confidence."""

from __future__ import annotations

from fractions import Fraction

import pytest

from highbar.gate.outlook import ValueSupport
from highbar.gate.thresholds import interval_ends, judge_value
from highbar.model import Demand, Threshold
from highbar.statistics.bounds import Sums
from highbar.statistics.planning import more_by_width, more_scenarios, observed_design
from highbar.statistics.second_run import NOT_REPEATED, Noise, Share, few_failures_again, number_again, share_again
from tests.unit.gate.table import ALPHA, share, value

ESTIMATE = Demand()
CONFIDENT = Demand(evidence="confident")
INFINITE = float("inf")


def at_least(text):
    return Threshold(">=", Fraction(text), "ratio", f">= {text}")


def at_most(text):
    return Threshold("<=", Fraction(text), "ratio", f"<= {text}")


def below(milliseconds):
    return Threshold("<", Fraction(milliseconds), "ms", f"< {milliseconds}ms")


def judged(of, threshold, demand=ESTIMATE, sums=None, metric="accuracy", failing=None, noise=NOT_REPEATED):
    return judge_value(metric, of, threshold, demand, ALPHA, ValueSupport(sums, failing, noise))


def test_an_undefined_value_never_passes():
    for demand in (ESTIMATE, CONFIDENT):
        result = judged(value(None, scenarios=0, reason="no scenario is adversarial"), at_least("0"), demand)
        assert (result.outcome, result.fragile) == ("undefined", False)
        assert result.reason == "accuracy is undefined: no scenario is adversarial"
        assert (result.second_run, result.more_scenarios) == (0.0, None)  # a second run has no data either


def test_by_the_estimate_the_value_itself_is_compared():
    exactly, _ = share(19, 20)
    assert judged(exactly, at_least("0.95")).outcome == "pass"
    assert judged(value(Fraction(949999999, 10**9)), at_least("0.95")).outcome == "fail"
    assert judged(value(5000, unit="ms", better="lower"), below(5000)).outcome == "fail"
    assert judged(value(4999, unit="ms", better="lower"), below(5000)).outcome == "pass"


def test_the_reason_has_the_value_the_demand_and_the_counts():
    assert judged(value("19/20", missing=3), at_least("0.9")).reason == "95.0% is ≥ 90% (over 20 scenarios, 3 lack it)"
    assert judged(value("17/20", scenarios=1), at_least("0.9")).reason == "85.0% is not ≥ 90% (over 1 scenario)"
    slow = value(6000, unit="ms", better="lower", low=5000.5, high=7000.0)
    assert judged(slow, below(5000)).reason == "6000 ms (5000.5–7000) is not < 5000 ms (over 20 scenarios)"
    other = Threshold(">=", Fraction(1, 3), "number", "at least a third")
    assert judged(value("1/2", unit="number"), other).reason == "0.500 is at least a third (over 20 scenarios)"


def test_a_value_next_to_its_threshold_does_not_read_as_if_it_were_on_it():
    assert judged(value(Fraction(89999, 100000)), at_least("0.9")).reason.startswith("89.999% is not ≥ 90%")
    margin = Demand(margin=Fraction(5, 100))
    assert judged(value(Fraction(84999, 100000)), at_least("0.9"), margin).reason.startswith("84.999% is not ≥ 90%")


@pytest.mark.parametrize(
    ("passed", "total", "outcome"),
    [
        (47, 50, "pass"),
        (46, 50, "inconclusive"),
        (43, 50, "inconclusive"),
        (38, 50, "inconclusive"),
        (37, 50, "fail"),
        (92, 100, "pass"),
        (91, 100, "inconclusive"),
        (79, 100, "inconclusive"),
        (78, 100, "fail"),
    ],
)
def test_with_confidence_the_interval_is_compared(passed, total, outcome):
    of, sums = share(passed, total)
    assert judged(of, at_least("0.85"), CONFIDENT, sums).outcome == outcome


def test_with_confidence_the_reason_says_what_the_interval_does():
    for passed, words in (
        (47, "is ≥ 85% (over 50 scenarios); so is the worse end of the interval"),
        (45, "is ≥ 85% (over 50 scenarios); the interval reaches across the threshold"),
        (40, "is not ≥ 85% (over 50 scenarios); the interval reaches across the threshold"),
        (30, "is not ≥ 85% (over 50 scenarios); nor is the better end of the interval"),
    ):
        of, sums = share(passed, 50)
        assert judged(of, at_least("0.85"), CONFIDENT, sums).reason.endswith(words)


def test_with_confidence_a_value_that_cannot_be_bounded_is_inconclusive():
    unbounded = value(4000, unit="ms", better="lower", low=3000.0)
    assert judged(unbounded, below(5000), CONFIDENT).outcome == "inconclusive"
    assert judged(value("9/10"), at_least("0.5"), CONFIDENT).outcome == "inconclusive"
    assert judged(unbounded, below(2000), CONFIDENT).outcome == "fail"


@pytest.mark.parametrize(
    ("passed", "total", "outcome"),
    [(58, 58, "inconclusive"), (59, 59, "pass"), (500, 500, "pass"), (499, 500, "fail"), (1, 1, "inconclusive")],
)
def test_perfection_passes_when_failures_above_the_tolerated_rate_are_excluded(passed, total, outcome):
    of, sums = share(passed, total)
    assert judged(of, at_least("1"), CONFIDENT, sums).outcome == outcome
    equal = Threshold("=", Fraction(1), "ratio", "= 1.0")
    assert judged(of, equal, CONFIDENT, sums).outcome == outcome
    none, sums = share(total - passed, total, better="lower")
    assert judged(none, at_most("0"), CONFIDENT, sums).outcome == outcome


def test_perfection_says_what_it_excludes():
    of, sums = share(58, 58)
    result = judged(of, at_least("1"), CONFIDENT, sums)
    assert result.reason.endswith("is ≥ 100% (over 58 scenarios), but too few scenarios to exclude failures above 5.0%")
    assert (result.more_scenarios, result.fragile) == (1, True)
    of, sums = share(59, 59)
    result = judged(of, at_least("1"), CONFIDENT, sums)
    assert result.reason.endswith("is ≥ 100% (over 59 scenarios); failures above 5.0% are excluded")
    assert (result.more_scenarios, result.fragile) == (None, False)
    of, sums = share(58, 59)
    result = judged(of, at_least("1"), CONFIDENT, sums)
    assert result.reason.endswith("is not ≥ 100% (over 59 scenarios)")
    assert (result.more_scenarios, result.fragile) == (None, False)
    of, sums = share(29, 29)
    lenient = Demand(evidence="confident", tolerate=Fraction(10, 100))
    assert judged(of, at_least("1"), lenient, sums).outcome == "pass"


def test_a_bound_on_the_tolerated_rate_itself_excludes_what_is_above():
    tolerant = Demand(evidence="confident", tolerate=Fraction(1, 4))
    assert judged(value(1, low=0.75, high=1.0), at_least("1"), tolerant).outcome == "pass"
    assert judged(value(1, low=0.7421875, high=1.0), at_least("1"), tolerant).outcome == "inconclusive"


def test_perfection_without_an_interval_excludes_nothing():
    for low, high in ((None, None), (None, 1.0), (1.0, None)):
        assert judged(value(1, low=low, high=high), at_least("1"), CONFIDENT).outcome == "inconclusive"


def test_perfection_of_a_value_without_sums_counts_its_scenarios():
    result = judged(value(1, scenarios=40, low=0.5, high=1.0), at_least("1"), CONFIDENT)
    assert result.more_scenarios == 19
    clustered = Sums.of([(2, 2)] * 20)
    result = judged(value(1, scenarios=40, low=0.5, high=1.0), at_least("1"), CONFIDENT, clustered)
    assert result.more_scenarios == 2 * 39  # 39 clusters of two scenarios each


def test_perfection_that_is_enough_in_number_but_not_in_evidence_needs_at_least_one_more():
    assert judged(value(1, scenarios=400, low=0.5, high=1.0), at_least("1"), CONFIDENT).more_scenarios == 1


def test_a_hundred_of_something_else_is_no_perfection():
    cost = value(1, unit="USD", better="higher", low=0.99, high=1.01)
    assert not Threshold(">=", Fraction(1), "USD", ">= 1").is_perfection("higher")
    assert judged(cost, Threshold(">=", Fraction(1), "USD", ">= 1"), CONFIDENT).outcome == "inconclusive"
    assert at_least("1").is_perfection("higher")
    assert not at_least("0").is_perfection("higher")
    assert at_most("0").is_perfection("lower")
    assert not at_most("1").is_perfection("lower")


@pytest.mark.parametrize(("scenarios", "outcome"), [(29, "inconclusive"), (30, "pass"), (31, "pass")])
def test_fewer_scenarios_than_demanded_are_inconclusive(scenarios, outcome):
    result = judged(value(1, scenarios=scenarios, low=0.97, high=1.0), at_least("0.95"), Demand(min_scenarios=30))
    assert result.outcome == outcome
    if outcome == "inconclusive":
        assert result.reason.endswith("is ≥ 95% (over 29 scenarios), but at least 30 scenarios are demanded")
        assert result.more_scenarios == 1
        assert result.second_run < 0.01  # as few scenarios run again
    else:
        assert result.more_scenarios is None


def test_one_scenario_may_be_demanded():
    result = judged(value(1, scenarios=0, low=0.97, high=1.0), at_least("0.95"), Demand(min_scenarios=1))
    assert result.reason.endswith(", but at least 1 scenario is demanded")


def test_a_miss_on_few_scenarios_is_still_a_miss_and_says_how_many_are_wanted():
    result = judged(value(0, scenarios=1, low=0.0, high=0.9), at_least("0.95"), Demand(min_scenarios=30))
    assert (result.outcome, result.more_scenarios) == ("fail", 29)


def test_of_two_needs_the_larger_is_said():
    of, sums = share(19, 20)
    settle = judged(of, at_least("0.9"), sums=sums).more_scenarios
    assert settle == more_scenarios(Fraction(9, 10), Fraction(19, 20), 20, ALPHA, design=observed_design(sums))
    assert 100 < settle < 900
    assert judged(of, at_least("0.9"), Demand(min_scenarios=21), sums).more_scenarios == settle
    assert judged(of, at_least("0.9"), Demand(min_scenarios=1000), sums).more_scenarios == 980


def test_a_margin_accepts_that_much_worse():
    margin = Demand(margin=Fraction(5, 100))
    assert judged(value("17/20"), at_least("0.9"), margin).outcome == "pass"
    assert judged(value(Fraction(849, 1000)), at_least("0.9"), margin).outcome == "fail"
    assert judged(value("17/20"), at_least("0.9"), margin).reason == (
        "85% is ≥ 90% less a margin of 5.0% (over 20 scenarios)"
    )
    assert judged(value("3/20", better="lower"), at_most("0.1"), margin).outcome == "pass"
    assert judged(value("4/25", better="lower"), at_most("0.1"), margin).outcome == "fail"
    moved = at_least("0.9").less(Fraction(5, 100), "higher")
    assert (moved.operator, moved.value, moved.unit, moved.text) == (">=", Fraction(85, 100), "ratio", ">= 0.9")


def test_without_a_margin_the_threshold_is_the_one_that_was_written():
    bar = at_least("0.9")
    assert bar.less(Fraction(0), "higher") is bar


@pytest.mark.parametrize("demand", [Demand(margin=Fraction(5, 100)), Demand("confident", Fraction(5, 100))])
def test_a_margin_below_exactly_100_accepts_all_that_is_better(demand):
    exactly = Threshold("=", Fraction(1), "ratio", "= 1.0")
    for of in ("97/100", 1):
        assert judged(value(of, low=0.96, high=1.0), exactly, demand).outcome == "pass", of
    none = Threshold("=", Fraction(0), "ratio", "= 0.0")
    assert judged(value("3/100", better="lower", low=0.0, high=0.04), none, demand).outcome == "pass"


def test_the_margin_moves_what_the_interval_is_held_against():
    of, sums = share(90, 100)
    assert judged(of, at_least("0.85"), CONFIDENT, sums).outcome == "inconclusive"
    assert judged(of, at_least("0.85"), Demand("confident", Fraction(5, 100)), sums).outcome == "pass"


def test_an_interval_has_two_ends_infinite_where_it_is_unbounded():
    assert interval_ends(value("1/2", low=0.25, high=0.75)) == (Fraction(1, 4), Fraction(3, 4))
    assert interval_ends(value("1/2")) == (-INFINITE, INFINITE)


def test_fragile_is_an_interval_on_both_sides_of_the_threshold():
    clear = value("9/10", low=0.86, high=0.95)
    assert not judged(clear, at_least("0.85")).fragile
    assert judged(clear, at_least("0.88")).fragile
    assert not judged(clear, at_least("0.96")).fragile
    assert judged(clear, at_least("0.85")).more_scenarios is None
    assert judged(value(1, low=0.9, high=1.0), at_least("1")).fragile
    assert not judged(value("9/10", low=0.8, high=0.97), at_least("1")).fragile


KNOWN = Noise(0.4, 0.4, 1.0)


@pytest.mark.parametrize("demand", [ESTIMATE, CONFIDENT])
@pytest.mark.parametrize(("passed", "better"), [(46, "higher"), (4, "lower")])
def test_how_likely_a_second_run_differs_speaks_of_the_outcome(demand, passed, better):
    of, sums = share(passed, 50, better=better)
    low, high = (of.low, of.high) if better == "higher" else (1 - of.high, 1 - of.low)
    expected = share_again(
        Share(Fraction(46, 50), low, high, 50), Fraction(85, 100), 0.4, ALPHA, confident=demand is CONFIDENT
    )
    bar = at_least("0.85") if better == "higher" else at_most("0.15")
    result = judged(of, bar, demand, sums, noise=KNOWN)
    assert result.second_run == pytest.approx(1 - expected.of(result.outcome))
    assert result.second_run_low == result.second_run


def test_without_repeated_trials_it_is_a_range():
    of, sums = share(46, 50)
    result = judged(of, at_least("0.85"), CONFIDENT, sums)
    assert 0 < result.second_run_low < result.second_run < 1
    ends = [judged(of, at_least("0.85"), CONFIDENT, sums, noise=Noise(f, f)).second_run for f in (0.1, 1.0)]
    assert [result.second_run_low, result.second_run] == ends


def test_a_confident_rule_that_cannot_pass_on_so_few_scenarios_stays_inconclusive():
    of, sums = share(10, 10)
    result = judged(of, at_least("0.85"), CONFIDENT, sums)
    assert result.outcome == "inconclusive"
    assert result.second_run < 0.03
    assert judged(of, at_least("0.85"), ESTIMATE, sums).second_run > 0.05


def test_of_perfection_no_chance_is_stated():
    of, sums = share(50, 50)
    for demand, outcome in ((ESTIMATE, "pass"), (CONFIDENT, "inconclusive")):
        result = judged(of, at_least("1"), demand, sums)
        assert (result.outcome, result.second_run, result.second_run_low) == (outcome, None, None)


def test_a_number_that_is_no_share_differs_by_the_width_of_its_interval():
    for at, sides in ((4000, (3000.0, 6000.0)), (5500, (4000.0, 9000.0))):
        slow = value(at, unit="ms", better="lower", low=sides[0], high=sides[1])
        for demand in (ESTIMATE, CONFIDENT):
            expected = number_again(-at, -sides[1], -sides[0], -5000.0, 0.4, ALPHA, confident=demand is CONFIDENT)
            result = judged(slow, below(5000), demand, noise=KNOWN)
            assert result.second_run == pytest.approx(1 - expected.of(result.outcome))


def test_a_percentile_without_an_upper_bound_differs_by_what_may_be_beyond_the_limit():
    fast = value(1000, unit="ms", better="lower", low=900.0, scenarios=20)
    support = ValueSupport(noise=Noise(1.0, 1.0), percentile=Fraction(95, 100))
    result = judge_value("latency_p95", fast, below(5000), ESTIMATE, ALPHA, support)
    assert result.second_run_low == pytest.approx(1 - few_failures_again(0, 20, 20, 1, 1.0))
    assert result.second_run == pytest.approx(1 - few_failures_again(1, 20, 20, 1, 1.0))
    assert 0.01 < result.second_run_low < result.second_run < 0.5
    assert judge_value("latency_p95", fast, below(5000), CONFIDENT, ALPHA, support).second_run is None


def test_of_what_cannot_be_bounded_nothing_is_said():
    tokens = value("1/2", unit="per token")
    assert judged(tokens, Threshold(">=", Fraction(1, 4), "per token", ">= 0.25")).second_run is None


@pytest.mark.parametrize(
    ("total", "failing", "accepted_number", "outcome"),
    [
        (92, 1, 1, "inconclusive"),
        (93, 1, 1, "pass"),
        (93, 2, 1, "fail"),
        (58, 0, 1, "inconclusive"),
        (59, 0, 1, "pass"),
        (123, 2, 2, "inconclusive"),
        (124, 2, 2, "pass"),
        (152, 3, 3, "inconclusive"),
        (153, 3, 3, "pass"),
        (10_000, 4, 3, "fail"),
        (93, 1, 0, "fail"),
    ],
)
def test_an_acceptance_number_lets_so_many_failures_through(total, failing, accepted_number, outcome):
    demand = Demand("confident", failures=accepted_number)
    of, sums = share(total - failing, total)
    assert judged(of, at_least("1"), demand, sums, failing=failing).outcome == outcome
    equal = Threshold("=", Fraction(1), "ratio", "= 1.0")
    assert judged(of, equal, demand, sums, failing=failing).outcome == outcome
    errors, sums = share(failing, total, better="lower")
    assert judged(errors, at_most("0"), demand, sums, failing=failing).outcome == outcome


def test_failures_that_were_not_counted_are_not_accepted():
    of, sums = share(299, 300)
    assert judged(of, at_least("1"), Demand("confident", failures=1), sums).outcome == "fail"


def test_an_acceptance_number_says_how_many_failed_and_how_many_more_scenarios_are_wanted():
    of, sums = share(91, 92)
    result = judged(of, at_least("1"), Demand("confident", failures=1), sums, failing=1)
    assert "; 1 scenario failed, 1 is accepted, but too few scenarios to exclude failures above 5.0%" in result.reason
    assert (result.more_scenarios, result.fragile) == (1, True)


def test_how_many_more_would_settle_it():
    of, sums = share(46, 50)
    expected = more_scenarios(Fraction(85, 100), Fraction(46, 50), 50, ALPHA, design=observed_design(sums))
    assert judged(of, at_least("0.85"), sums=sums).more_scenarios == expected
    errors, sums = share(4, 50, better="lower")
    expected = more_scenarios(Fraction(85, 100), Fraction(46, 50), 50, ALPHA, design=observed_design(sums))
    assert judged(errors, at_most("0.15"), sums=sums).more_scenarios == expected
    weighted = Sums.of([(1, 1)] * 30 + [(5, 5)] * 3 + [(0, 5)] * 1 + [(0, 1)] * 4)
    of = value(weighted.value, scenarios=38, low=0.5, high=0.95)
    expected = more_scenarios(Fraction(85, 100), weighted.value, 38, ALPHA, design=observed_design(weighted))
    assert judged(of, at_least("0.85"), sums=weighted).more_scenarios == expected
    slow = value(4000, unit="ms", better="lower", low=3000.0, high=6000.0, scenarios=31)
    expected = more_by_width(Fraction(5000), Fraction(4000), 3000.0, 6000.0, 31)
    assert judged(slow, below(5000)).more_scenarios == expected
    surer = judge_value("latency_p95", slow, below(5000), ESTIMATE, 0.01)
    assert surer.more_scenarios == more_by_width(Fraction(5000), Fraction(4000), 3000.0, 6000.0, 31, 0.01)
    assert surer.more_scenarios != expected
