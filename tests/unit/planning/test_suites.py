from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from bench.by_scenario import count_bounds
from hypothesis import given, settings
from hypothesis import strategies as st

from highbar.gate.outlook import ValueSupport
from highbar.gate.thresholds import judge_value
from highbar.model import Demand, Threshold, Value
from highbar.planning import Assumptions, difference_shown, gate_chance, reach, scenarios_to_show, size_needed
from highbar.planning.suites import fewest_to_pass
from highbar.statistics.bounds import Sums, share_bounds

USUAL = Assumptions()
STRONGER = Assumptions(power=Fraction(9, 10))


def share(percent):
    return Fraction(str(percent)) / 100


@pytest.mark.parametrize(
    ("rate", "outcome", "at_80", "at_90"),
    [
        *((88, "pass", 814, 1120), (90, "pass", 281, 379), (92, "pass", 134, 182), (95, "pass", 59, 76)),
        *((97, "pass", 40, 50), (99, "pass", 19, 30)),
        *((80, "fail", 360, 500), (75, "fail", 101, 136), (70, "fail", 48, 64), (60, "fail", 22, 27)),
    ],
)
def test_the_published_sample_sizes_against_85_percent(rate, outcome, at_80, at_90):
    found, stronger = (size_needed(share(85), share(rate), assumed) for assumed in (USUAL, STRONGER))
    assert (found.outcome, found.fewest, found.runs) == (outcome, at_80, found.scenarios)
    assert (stronger.outcome, stronger.fewest) == (outcome, at_90)
    assert found.scenarios >= at_80


@pytest.mark.parametrize(("rate", "power"), [(92, 80), (94, 80), (95, 80), (95, 90), (70, 80), (60, 90)])
def test_from_the_number_that_is_named_on_every_larger_suite_suffices(rate, power):
    assumed = Assumptions(power=share(power))
    found = size_needed(share(85), share(rate), assumed)

    def clear(scenarios):
        likely = gate_chance(scenarios, share(85), share(rate), assumed)
        return (likely.passes if rate > 85 else likely.fails) >= power / 100

    assert all(clear(scenarios) for scenarios in range(found.scenarios, found.scenarios + 300))
    assert found.scenarios == found.fewest or not clear(found.scenarios - 1)
    assert clear(found.fewest)


@pytest.mark.parametrize(("tolerate", "published"), [(10, 29), (5, 59), (2, 149), (1, 299)])
def test_the_published_numbers_without_a_failure(tolerate, published):
    assumed = Assumptions(tolerate=share(tolerate))
    assert fewest_to_pass(Fraction(1), assumed) == published
    assert size_needed(Fraction(1), Fraction(1), assumed).scenarios == published
    assert fewest_to_pass(1 - share(tolerate), USUAL) == published


def test_a_threshold_of_100_percent_fails_at_the_first_failure():
    found = size_needed(Fraction(1), share(99), USUAL)
    assert (found.outcome, found.scenarios) == ("fail", 161)
    assert 0.99**161 <= 0.2 < 0.99**160
    assert size_needed(Fraction(1), Fraction(0), USUAL).scenarios == 1


def test_trials_save_scenarios_as_far_as_they_differ_and_less_than_the_design_effect_says():
    formula = {m: 281 * (1 + (m - 1) * 0.3) / m for m in (2, 3, 5)}
    for m, promised in formula.items():
        found = size_needed(share(85), share(90), Assumptions(trials=m, correlation=share(30)))
        assert promised < found.scenarios < min(281, promised + 45)
        assert found.runs == m * found.scenarios


def test_trials_that_always_agree_buy_nothing():
    assumed = Assumptions(trials=10, correlation=Fraction(1))
    assert size_needed(share(85), share(90), assumed).fewest == 281
    assert reach(100, share(85), assumed) == reach(100, share(85), USUAL)


def test_no_number_of_trials_replaces_the_scenarios_that_even_a_perfect_suite_needs():
    assumed = Assumptions(trials=1000, correlation=Fraction(0))
    assert size_needed(share(95), share(100), assumed).scenarios == 59
    assert reach(58, share(95), assumed).rate_to_pass is None
    assert reach(59, share(95), assumed).rate_to_pass is not None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bar", "rate", "trials", "correlation"), [(85, 90, 3, 30), (85, 95, 5, 30), (85, 75, 5, 30), (90, 97, 3, 50)]
)
def test_the_chance_with_repeated_trials_is_what_simulation_finds(bar, rate, trials, correlation):
    """Beta-binomial scenarios through the gate's own bound; 400 runs know the chance to about two points."""
    assumed = Assumptions(trials=trials, correlation=share(correlation))
    planned = size_needed(share(bar), share(rate), assumed)
    random = np.random.default_rng(20240601)
    size = 100 / correlation - 1
    judged = 0
    for _ in range(400):
        rates = random.beta(rate / 100 * size, (1 - rate / 100) * size, planned.scenarios)
        passed = random.binomial(trials, rates)
        low, high = share_bounds(Sums.of([(Fraction(int(k), trials), 1) for k in passed]), 0.05)
        judged += low >= share(bar) if planned.outcome == "pass" else high < share(bar)
    expected = gate_chance(planned.scenarios, share(bar), share(rate), assumed)
    assert (expected.passes if planned.outcome == "pass" else expected.fails) == pytest.approx(0.8, abs=0.03)
    assert judged / 400 == pytest.approx(0.8, abs=0.06)


@pytest.mark.parametrize(
    ("scenarios", "to_pass", "to_fail"), [(50, 47, 37), (100, 92, 78), (200, 179, 161), (500, 439, 411)]
)
def test_the_published_limits_of_the_gate(scenarios, to_pass, to_fail):
    found = reach(scenarios, share(85), USUAL)
    assert (found.passes_from, found.fails_to) == (to_pass, to_fail)


@pytest.mark.parametrize(
    ("scenarios", "rate", "passes", "fails", "inconclusive"),
    [
        *((50, 70, 0, 0.78, 0.22), (50, 90, 0.25, 0, 0.75), (50, 95, 0.76, 0, 0.24)),
        *((100, 80, 0, 0.35, 0.65), (100, 85, 0.03, 0.04, 0.93), (100, 90, 0.32, 0, 0.68)),
        *((200, 80, 0, 0.60, 0.40), (200, 90, 0.65, 0, 0.35), (500, 90, 0.95, 0, 0.05)),
    ],
)
def test_the_published_chances_of_the_gate(scenarios, rate, passes, fails, inconclusive):
    found = gate_chance(scenarios, share(85), share(rate), USUAL)
    assert (round(found.passes, 2), round(found.fails, 2)) == (passes, fails)
    assert found.inconclusive == pytest.approx(inconclusive, abs=0.0051)


def test_the_chances_against_100_percent():
    too_few, enough = (gate_chance(scenarios, Fraction(1), share(99), USUAL) for scenarios in (58, 59))
    assert too_few.passes == 0
    assert too_few.inconclusive == pytest.approx(0.99**58)
    assert enough.passes == pytest.approx(0.99**59)
    assert enough.inconclusive == 0
    assert enough.fails == pytest.approx(1 - 0.99**59)


@pytest.mark.parametrize("failures", [0, 1, 3])
@pytest.mark.parametrize("scenarios", [2, 58, 59, 70, 92, 93, 130, 153, 154])
def test_the_chances_against_100_percent_are_those_of_the_gate(scenarios, failures):
    """Every number of failures, judged by the gate itself."""
    threshold, demand = Threshold(">=", Fraction(1), "ratio", "100%"), Demand("confident", failures=failures)
    rate, chances = share(98), dict.fromkeys(("pass", "fail", "inconclusive"), 0.0)
    for failing in range(min(scenarios, 12) + 1):
        sums = Sums.of([(Fraction(0 if n < failing else 1), 1) for n in range(scenarios)])
        low, high = share_bounds(sums, 0.05)
        value = Value(Fraction(scenarios - failing, scenarios), scenarios, 0, "ratio", "higher", low=low, high=high)
        outcome = judge_value(
            "safety_rate", value, threshold, demand, 0.05, ValueSupport(sums=sums, failing=failing)
        ).outcome
        chances[outcome] += math.comb(scenarios, failing) * 0.02**failing * 0.98 ** (scenarios - failing)
    found = gate_chance(scenarios, Fraction(1), rate, USUAL, failures)
    assert found.passes == pytest.approx(chances["pass"])
    assert found.inconclusive == pytest.approx(chances["inconclusive"])
    assert found.fails == pytest.approx(1 - found.passes - found.inconclusive)


percentages = st.integers(1, 100).map(share)


@settings(max_examples=60)
@given(st.integers(1, 600), percentages, st.sampled_from([USUAL, STRONGER]), st.integers(0, 5))
def test_the_rates_within_reach_have_the_power_that_was_asked_for(scenarios, bar, assumed, failures):
    found = reach(scenarios, bar, assumed, failures)
    for rate, side in ((found.rate_to_pass, "passes"), (found.rate_to_fail, "fails")):
        if rate is not None:
            likely = getattr(gate_chance(scenarios, bar, Fraction(rate), assumed, failures), side)
            assert likely == pytest.approx(float(assumed.power), abs=1e-6)
    assert (found.rate_to_pass is None) == (found.passes_from is None)
    assert (found.rate_to_fail is None) == (found.fails_to is None)


@settings(max_examples=25)
@given(st.integers(1, 200), percentages)
def test_a_suite_passes_from_where_its_lower_bound_reaches_the_threshold(scenarios, bar):
    found = reach(scenarios, bar, Assumptions(tolerate=share(5)))
    if bar == 1:
        assert (found.passes_from is not None) == (count_bounds(scenarios, scenarios, 0.05).low >= 0.95)
        return
    passing = [k for k in range(scenarios + 1) if count_bounds(k, scenarios, 0.05).low >= bar]
    assert found.passes_from == min(passing, default=None)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(percentages, percentages, st.integers(1, 10), st.integers(0, 100).map(share))
def test_what_is_supposed_to_take_so_many_scenarios_is_within_their_reach(bar, rate, trials, correlation):
    assumed = Assumptions(trials=trials, correlation=correlation)
    if abs(bar - rate) < Fraction(3, 100):
        return
    found = size_needed(bar, rate, assumed)
    assert found.scenarios is not None
    assert found.runs == found.scenarios * trials
    likely = gate_chance(found.scenarios, bar, rate, assumed)
    assert (likely.passes if found.outcome == "pass" else likely.fails) >= 0.8 - 1e-9
    assert likely.passes + likely.fails + likely.inconclusive == pytest.approx(1)


@pytest.mark.parametrize(("differing", "published"), [(10, 248), (4, 99), (20, 495)])
def test_the_published_pairs_for_a_difference_of_5_points(differing, published):
    if differing == 4:  # a difference beyond the share that differs is the command line's to refuse
        assert scenarios_to_show(share(5), share(4), USUAL).scenarios == published
        return
    assert scenarios_to_show(share(5), share(differing), USUAL).scenarios == published
    assert difference_shown(published, share(differing), USUAL).difference == pytest.approx(0.05, abs=1e-3)


def test_the_smallest_difference_that_100_scenarios_show():
    found = difference_shown(100, share(10), USUAL)
    assert round(found.difference, 3) == 0.079
    assert difference_shown(10, share(5), USUAL).difference is None
