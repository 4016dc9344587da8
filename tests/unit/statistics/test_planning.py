from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from bench.by_scenario import count_bounds
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from highbar.statistics.bounds import Sums
from highbar.statistics.planning import (
    gate_chances,
    gate_limits,
    more_by_width,
    more_scenarios,
    observed_design,
    pairs_needed,
    rate_to_fail,
    rate_to_pass,
    scenarios_by_formula,
    scenarios_to_fail,
    scenarios_to_pass,
    smallest_difference,
)


@pytest.mark.parametrize(
    ("rate", "at_80", "at_90"),
    [(0.88, 814, 1120), (0.90, 281, 379), (0.92, 134, 182), (0.95, 59, 76), (0.97, 40, 50), (0.99, 19, 30)],
)
def test_scenarios_to_pass_85_percent(rate, at_80, at_90):
    assert scenarios_to_pass(0.85, rate, 0.80) == at_80
    assert scenarios_to_pass(0.85, rate, 0.90) == at_90


@pytest.mark.parametrize(
    ("rate", "at_80", "at_90"), [(0.80, 360, 500), (0.75, 101, 136), (0.70, 48, 64), (0.60, 22, 27)]
)
def test_scenarios_to_fail_85_percent(rate, at_80, at_90):
    assert scenarios_to_fail(0.85, rate, 0.80) == at_80
    assert scenarios_to_fail(0.85, rate, 0.90) == at_90


@pytest.mark.parametrize(("rate", "printed"), [(0.88, 823), (0.90, 282), (0.95, 59)])
def test_the_formula_is_close_to_the_exact_number(rate, printed):
    # The notes print the whole part; a fraction of a scenario is one more.
    assert scenarios_by_formula(0.85, rate) == printed + 1
    assert scenarios_by_formula(0.85, 0.85) is None


rates = st.integers(50, 99).map(lambda percent: Fraction(percent, 100))


@example(Fraction(1, 2), Fraction(11, 20))
@settings(max_examples=40)
@given(rates, rates)
def test_the_fewest_scenarios_are_found_as_by_trying_every_number(threshold, rate):
    if rate - threshold < Fraction(6, 100):
        return
    found = scenarios_to_pass(threshold, rate)
    assert found is not None
    for total in range(1, found + 1):
        limit, _ = gate_limits(total, threshold)
        power = 0.0 if limit is None else float(stats.binom.sf(limit - 1, total, float(rate)))
        assert (power >= 0.8) == (total == found)


def test_what_cannot_be_shown_needs_no_number():
    assert scenarios_to_pass(0.85, 0.85) is None
    assert scenarios_to_pass(0.85, 0.80) is None
    assert scenarios_to_fail(0.85, 0.90) is None
    assert scenarios_to_pass(1, 1) is None
    assert scenarios_to_pass(Fraction(85, 100), Fraction(850_000_1, 10_000_000)) is None
    assert scenarios_to_fail(1, 0.9) is None


def test_an_agent_that_never_fails_needs_the_rule_of_three():
    assert scenarios_to_pass(0.95, 1) == 59
    assert scenarios_to_pass(0.85, 1) == 19


@given(st.integers(1, 400), rates)
def test_the_limits_of_the_gate_are_where_the_bounds_cross_the_threshold(total, threshold):
    to_pass, to_fail = gate_limits(total, threshold)
    near = {0, total, *(limit + step for limit in (to_pass, to_fail) if limit is not None for step in (-1, 0, 1))}
    for passed in near & set(range(total + 1)):
        low, high = count_bounds(passed, total, 0.05)
        assert (low >= threshold) == (to_pass is not None and passed >= to_pass)
        assert (high < threshold) == (to_fail is not None and passed <= to_fail)


def test_an_indifference_margin_lets_a_good_agent_pass():
    assert round(gate_chances(100, 0.85, 0.90).passes, 2) == 0.32
    assert round(gate_chances(100, 0.80, 0.90).passes, 2) == 0.88
    assert gate_chances(100, 0.80, 0.80).passes <= 0.05


def test_a_gate_that_cannot_pass_says_so():
    chance = gate_chances(10, 0.85, 1)
    assert (chance.passes, chance.fails, chance.inconclusive) == (0, 0, 1)


def test_many_metrics_at_their_threshold_fail_together_often_and_pass_together_rarely():
    at_threshold, good = gate_chances(100, 0.85, 0.85), gate_chances(100, 0.85, 0.95)
    assert round(1 - (1 - at_threshold.fails) ** 8, 2) == 0.27
    assert round(good.passes, 2) == 0.94
    assert round(good.passes**8, 2) == 0.59
    assert round(gate_chances(200, 0.85, 0.95).passes ** 8, 3) == pytest.approx(0.996, abs=0.003)


@given(st.integers(20, 2000), rates)
def test_the_rate_that_a_suite_can_show_has_the_power_that_was_asked_for(total, threshold):
    good, bad = rate_to_pass(total, threshold), rate_to_fail(total, threshold)
    if good is not None:
        assert good > threshold
        assert gate_chances(total, threshold, good).passes == pytest.approx(0.8, abs=1e-6)
    if bad is not None:
        assert bad < threshold
        assert gate_chances(total, threshold, bad).fails == pytest.approx(0.8, abs=1e-6)


def test_a_suite_too_small_can_show_nothing():
    assert rate_to_pass(10, 0.85) is None
    assert rate_to_fail(1, 0.01) is None


def test_how_many_more_scenarios_settle_a_rate():
    assert more_scenarios(0.85, 0.90, 50, 0.05) == 283 - 50
    assert abs(more_scenarios(0.85, 0.80, 50, 0.05) - (360 - 50)) < 20
    assert more_scenarios(0.85, 1, 10, 0.05) == 19 - 10
    assert more_scenarios(0.85, 0.85, 50, 0.05) is None
    assert more_scenarios(0.85, 0.90, 50, 0.05, design=2.0) == 2 * 283 - 50
    assert more_scenarios(0.85, 0.90, 1000, 0.05) == 1


def test_how_many_more_scenarios_narrow_any_interval_enough():
    assert more_by_width(0.85, 0.90, 0.80, 0.95, 100, power=0.5) == 300
    assert more_by_width(0.85, 0.80, 0.70, 0.90, 100, power=0.5) == 300
    assert more_by_width(0.85, 0.90, 0.80, 0.95, 100) == 815  # with a chance of 80 %, as for a share
    assert more_by_width(0.85, 0.85, 0.80, 0.90, 100) is None
    assert more_by_width(5000, 4000, 3000, math.inf, 100) is None
    assert more_by_width(0.85, 0.90, 0.89, 0.95, 100) == 1


def test_a_confidence_that_a_float_cannot_tell_from_1_needs_a_finite_number():
    assert more_scenarios(0.5, 0.667, 12, 1e-22) > more_scenarios(0.5, 0.667, 12, 1e-12)
    assert more_by_width(5, 0.08, 0.004, 6037.0, 12, 1e-22) > 1_000_000


def test_the_observed_design_compares_with_independent_passes_and_fails():
    assert observed_design(Sums.of([(1, 1)] * 90 + [(0, 1)] * 10)) == 1
    assert observed_design(Sums.of([(Fraction(1, 2), 1)] * 10)) == 1
    assert observed_design(Sums.of([(1, 1)] * 10)) == 1
    assert observed_design(Sums.of([(Fraction(9, 10), 1), (Fraction(8, 10), 1)] * 50)) < 0.05
    assert observed_design(Sums.of([(10, 10), (0, 10)] + [(1, 1), (0, 1)] * 10)) > 1


@pytest.mark.parametrize(("discordance", "printed"), [(0.10, 248), (0.04, 99), (0.20, 495)])
def test_pairs_for_non_inferiority(discordance, printed):
    assert pairs_needed(0.05, discordance) == printed


def test_the_smallest_difference_that_pairs_show():
    assert round(smallest_difference(100, 0.1), 3) == 0.079
    assert smallest_difference(1, 1) == pytest.approx(2.49, abs=0.005)


def test_the_best_of_ten_baselines_is_luck():
    # A ratchet on point estimates records .903 for an agent that is at .85.
    below = stats.binom.cdf(np.arange(101), 100, 0.85) ** 10
    assert round(float((1 - below).sum() / 100), 3) == 0.903


@pytest.mark.parametrize("total", [100, 1000])
@pytest.mark.parametrize("step", [1, 2])
def test_a_threshold_slightly_above_the_baseline_fails_an_unchanged_agent_most_of_the_time(total, step):
    counts = np.arange(total + 1)
    chance = stats.binom.pmf(counts, total, 0.85)
    short = counts[None, :] < counts[:, None] + step * total // 100
    assert 0.53 < float((chance[:, None] * chance[None, :] * short).sum()) < 0.90
