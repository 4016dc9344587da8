from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.statistics.new_failures import SHARE, fit, is_too_short, newly_failing

STEADY = [(15, 15)] * 95
FLAKY = [(3, 5), (4, 5), (2, 5)]


def test_a_scenario_that_always_passed_and_now_fails_every_trial_newly_fails():
    found = newly_failing([*STEADY, (14, 15)], [(0, 3), *[None] * 95])
    assert found[0][0]
    assert found[0][1] < 1e-5
    assert not any(fails for fails, _ in found[1:])


def test_a_scenario_that_often_failed_before_does_not():
    assert not newly_failing([*STEADY, (9, 15)], [*[None] * 95, (1, 3)])[-1][0]


@given(st.integers(0, 200), st.integers(1, 5), st.integers(1, 60))
def test_a_history_without_any_failure_excuses_none_however_long_it_is(before, trials, scenarios):
    found = newly_failing([(before, before)] * scenarios, [(trials - 1, trials), *[None] * (scenarios - 1)])
    assert found[0][0]


@given(st.integers(1, 3), st.integers(0, 3), st.integers(0, 60))
def test_a_history_that_is_too_short_to_tell_excuses_nothing_however_flaky_the_others_are(trials, before, flaky):
    found = newly_failing([(before, before)], [(trials - 1, trials)], [*FLAKY] * flaky)
    assert found[0][0] or not is_too_short(before, trials)


@pytest.mark.parametrize(("now", "needed"), [(1, 4), (2, 2), (3, 2), (4, 1), (20, 1)])
def test_how_many_trials_are_needed_is_what_an_exact_calculation_gives(now, needed):
    def largest(before):
        """By hand: the largest chance, over all failure rates, that all before pass and all now fail."""
        rates = (place / 10_000 for place in range(10_001))
        return max((1 - rate) ** before * rate**now for rate in rates)

    assert largest(needed) <= SHARE < largest(needed - 1)
    assert not is_too_short(needed, now)
    assert is_too_short(needed - 1, now)


def test_a_scenario_that_failed_before_is_tested_however_short_its_history_is():
    assert not newly_failing([(1, 2)], [(0, 1)])[0][0]


def test_scenarios_that_always_fail_do_not_make_others_flaky():
    assert newly_failing([(1, 1)], [(0, 1)], [(0, 1)] * 20)[0][0]
    assert newly_failing([(5, 5)], [(0, 1)], [(0, 5)] * 20)[0][0]


def test_flaky_scenarios_excuse_one_that_never_failed_and_those_that_are_not_asked_about_count():
    assert not newly_failing([(5, 5)], [(0, 1)], FLAKY)[0][0]
    assert not newly_failing([(5, 5), *FLAKY], [(0, 1), None, None, None])[0][0]


def test_many_failures_at_once_are_found_where_one_is_not():
    history = [(5, 5)] * 98
    others = [(4, 5)] * 2
    assert not newly_failing(history, [(0, 1), *[None] * 97], others)[0][0]
    assert all(fails for fails, _ in newly_failing(history, [*[(0, 1)] * 8, *[None] * 90], others)[:8])


@pytest.mark.parametrize("once", [1, 3, 8])
@pytest.mark.parametrize("trials", [5, 20, 100])
def test_of_those_that_never_failed_as_many_are_expected_to_fail_as_good_and_turing_say(once, trials):
    clean = (trials, trials)
    mixture = fit([clean] * 400 + [(trials - 1, trials)] * once)
    assert 400 * mixture.p_value(clean, (0, 1)) == pytest.approx(once / trials, rel=0.15)


def test_flaky_scenarios_in_the_suite_make_a_clean_history_less_sure():
    among_steady = fit([(5, 5)] * 100).p_value((5, 5), (0, 1))
    among_flaky = fit([(5, 5)] * 60 + [(4, 5)] * 30 + [(3, 5)] * 10).p_value((5, 5), (0, 1))
    assert among_steady < 1e-6
    assert among_flaky > 0.03


def test_shares_of_a_mixture_are_all_and_its_rates_never_nothing():
    found = fit([(1, 2), (2, 2), (0, 2)])
    assert sum(found.shares) == pytest.approx(1)
    assert 0 < min(found.rates) < max(found.rates) < 1


@pytest.mark.parametrize("passed", [0, 1, 2])
def test_a_p_value_grows_with_the_passes(passed):
    mixture = fit([(8, 10)] * 20)
    assert mixture.p_value((8, 10), (passed, 3)) < mixture.p_value((8, 10), (passed + 1, 3))


def test_a_long_history_does_not_underflow():
    assert 0 < fit([(100_000, 100_000)] * 5).p_value((100_000, 100_000), (0, 1)) < 1e-5
