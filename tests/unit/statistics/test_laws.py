"""What holds for the bounds whatever the data."""

from __future__ import annotations

from fractions import Fraction

import pytest
from bench.by_scenario import count_bounds, ratio_bounds
from hypothesis import given
from hypothesis import strategies as st

from highbar.statistics.bounds import Sums, monotone_bounds, percentile_ranks, share_bounds, share_p_value, suite_bounds
from highbar.statistics.interval import Interval
from highbar.statistics.paired import bonett_price

DIGITS = 1e-12

weights = st.sampled_from([Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 2), Fraction(7)])
clusters = st.tuples(weights, st.integers(0, 12)).map(lambda pair: (pair[0] * Fraction(pair[1], 12), pair[0]))
suites = st.lists(clusters, min_size=1, max_size=25)
alphas = st.sampled_from([0.2, 0.1, 0.05, 0.025, 0.01, 0.001])
counts = st.integers(1, 2000).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


def bounds_of(pairs: list[tuple[Fraction, Fraction]], alpha: float) -> Interval:
    bounds = share_bounds(Sums.of(pairs), alpha)
    assert bounds is not None
    return bounds


@given(suites, alphas)
def test_the_bounds_hold_the_share_and_stay_between_0_and_1(pairs, alpha):
    low, high = bounds_of(pairs, alpha)
    assert 0 <= low <= float(Sums.of(pairs).value) <= high <= 1


@given(suites, alphas, alphas)
def test_more_confidence_never_narrows(pairs, one, other):
    sure, unsure = bounds_of(pairs, min(one, other)), bounds_of(pairs, max(one, other))
    assert sure.low <= unsure.low + DIGITS
    assert sure.high >= unsure.high - DIGITS


@given(suites, st.integers(2, 6), alphas)
def test_more_scenarios_of_the_same_kind_never_widen(pairs, times, alpha):
    few, many = bounds_of(pairs, alpha), bounds_of(pairs * times, alpha)
    assert many.low >= few.low - DIGITS
    assert many.high <= few.high + DIGITS


@given(suites, st.data(), alphas)
def test_a_broken_trial_raises_neither_end_even_of_unequal_clusters(pairs, data, alpha):
    """However much it makes them alike, which would narrow the interval."""
    broken = list(pairs)
    for at in data.draw(st.lists(st.integers(0, len(pairs) - 1), min_size=1, max_size=8)):
        z, d = broken[at]
        broken[at] = (data.draw(st.sampled_from([Fraction(0), z / 2, max(z - d / 12, Fraction(0))])), d)
    largest = max(d for _, d in pairs)
    before, after = (monotone_bounds(Sums.of(one), alpha, largest) for one in (pairs, broken))
    assert after.low <= before.low + 1e-5  # to which the search finds the minimum
    assert after.high <= before.high + 1e-5
    value = float(Sums.of(pairs).value)
    assert before.low <= value <= before.high


@given(counts, st.integers(2, 50), alphas)
def test_more_trials_at_the_same_rate_never_widen(count, times, alpha):
    passed, total = count
    few, many = count_bounds(passed, total, alpha), count_bounds(passed * times, total * times, alpha)
    assert many.low >= few.low - DIGITS
    assert many.high <= few.high + DIGITS


@given(suites, st.integers(2, 9), alphas)
def test_repeating_every_trial_changes_nothing(pairs, times, alpha):
    assert bounds_of([(z * times, d * times) for z, d in pairs], alpha) == bounds_of(pairs, alpha)


@given(suites, alphas, st.randoms(use_true_random=False))
def test_the_order_of_the_scenarios_changes_nothing(pairs, alpha, source):
    shuffled = list(pairs)
    source.shuffle(shuffled)
    assert bounds_of(shuffled, alpha) == bounds_of(pairs, alpha)


@given(suites, alphas)
def test_passing_and_failing_mirror_each_other_but_for_partial_scores_whose_lower_bound_is_lowered(pairs, alpha):
    """A trial that breaks must not lift the lower bound, so it is lowered; the upper one is as published."""
    low, high = bounds_of(pairs, alpha)
    other_low, other_high = bounds_of([(d - z, d) for z, d in pairs], alpha)
    assert low <= 1 - other_high + 1e-9
    assert other_low <= 1 - high + 1e-9
    if all(z in (0, d) for z, d in pairs):
        assert (other_low, other_high) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(suites, alphas)
def test_sums_that_were_rounded_give_nearly_the_same(pairs, alpha):
    exact = Sums.of(pairs)
    rounded = Sums(exact.clusters, *(float(x) for x in (exact.d, exact.z, exact.zz, exact.zd, exact.dd)))
    assert share_bounds(rounded, alpha) == pytest.approx(bounds_of(pairs, alpha), abs=1e-9)


@given(st.integers(1, 100_000), alphas)
def test_a_suite_that_passes_throughout_has_the_bound_of_the_rule_of_three(total, alpha):
    sums = Sums(clusters=total, d=total, z=total, zz=total, zd=total, dd=total)
    assert share_bounds(sums, alpha) == pytest.approx((alpha ** (1 / total), 1), rel=1e-12)
    assert count_bounds(total, total, alpha) == pytest.approx((alpha ** (1 / total), 1), rel=1e-12)


@given(suites, st.floats(0.01, 0.99))
def test_a_p_value_below_alpha_is_an_upper_bound_below_the_rate(pairs, rate):
    sums = Sums.of(pairs)
    high = bounds_of(pairs, 0.05).high
    if abs(high - rate) > 1e-6 and high > float(sums.value):
        assert (share_p_value(sums, rate) < 0.05) == (high < rate)


@given(counts, alphas)
def test_a_suite_as_the_population_is_never_wider_for_more_trials(count, alpha):
    passed, total = count
    rate = Fraction(passed, total)
    few, many = suite_bounds(rate, total, alpha), suite_bounds(rate, total * 3, alpha)
    assert few.low - DIGITS <= many.low <= float(rate) <= many.high <= few.high + DIGITS


@given(st.integers(1, 3000), st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(95, 100)]), alphas, alphas)
def test_more_confidence_never_moves_the_ranks_of_a_percentile_inward(total, share, one, other):
    sure, unsure = (percentile_ranks(total, share, alpha) for alpha in sorted((one, other)))
    assert (sure.low or 0) <= (unsure.low or 0)
    assert (sure.high or total + 1) >= (unsure.high or total + 1)


@given(st.integers(1, 200), st.integers(-200, 200), st.integers(0, 200), alphas, alphas)
def test_more_confidence_never_narrows_a_difference(total, difference, extra, one, other):
    difference = max(-total, min(total, difference))
    squares = min(total, abs(difference) + extra)
    sure, unsure = (bonett_price(total, difference, squares, alpha) for alpha in sorted((one, other)))
    assert sure.low <= unsure.low <= difference / total <= unsure.high <= sure.high


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 1000)), min_size=2, max_size=20), alphas, alphas)
def test_more_confidence_never_narrows_a_ratio(pairs, one, other):
    sure, unsure = (ratio_bounds(pairs, alpha) for alpha in sorted((one, other)))
    assert sure is not None
    assert unsure is not None
    assert sure.low <= unsure.low <= unsure.high <= sure.high
