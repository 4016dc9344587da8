from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.statistics.new_failures import SHARE, BeforeAndNow, chance_of_as_many, fit, is_too_short, newly_failing

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


# --- the number of failures -------------------------------------------------------------------


def steady(failing, scenarios=200):
    """Scenarios that passed four earlier runs, 10 of them not always; so many of the others fail now."""
    before = [(3, 4)] * 10 + [(4, 4)] * (scenarios - 10)
    return [BeforeAndNow(one, (0 if place >= scenarios - failing else 1, 1)) for place, one in enumerate(before)]


def test_a_few_failures_may_be_chance_and_many_are_not():
    assert chance_of_as_many(steady(2)) > 0.5
    assert chance_of_as_many(steady(12)) < 0.01


def test_failures_of_scenarios_that_always_fail_count_for_nothing():
    assert chance_of_as_many([BeforeAndNow((0, 4), (0, 1))] * 50) == 1


def test_without_earlier_trials_no_number_is_too_large():
    assert chance_of_as_many([BeforeAndNow((0, 0), (0, 3))] * 50) == 1
    assert chance_of_as_many([]) == 1


@pytest.mark.parametrize("now", [1, 2])
@pytest.mark.parametrize("passed_before", [0, 1])
@pytest.mark.parametrize("level", [0.03, 0.05, 0.2, 0.5])
def test_whatever_the_scenarios_do_as_many_failures_are_as_rare_as_their_chance_says(now, passed_before, level):
    """Every outcome of three scenarios, weighted as often as it occurs at their rates."""
    earlier, rates = 3, (0.15, 0.3, 0.6)
    cells = list(itertools.product(range(earlier + 1), range(now + 1)))
    alarms = everything = 0.0
    for found in itertools.product(cells, repeat=len(rates)):
        if any(before < passed_before for before, _ in found):
            continue
        share = math.prod(
            math.comb(earlier, b) * math.comb(now, k) * (1 - rate) ** (b + k) * rate ** (earlier + now - b - k)
            for (b, k), rate in zip(found, rates, strict=True)
        )
        everything += share
        seen = [BeforeAndNow((before, earlier), (passed, now), passed_before) for before, passed in found]
        alarms += share * (chance_of_as_many(seen) <= level)
    assert alarms <= level * everything


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=12),
    st.integers(1, 3),
    st.integers(0, 1),
)
def test_one_more_failure_never_makes_the_number_look_more_like_chance(scenarios, now, passed_before):
    seen = [
        BeforeAndNow((max(before, passed_before), 5), (min(passed, now), now), passed_before)
        for before, passed in scenarios
    ]
    chance = chance_of_as_many(seen)
    for place, one in enumerate(seen):
        if one.now[0]:
            worse = [*seen[:place], BeforeAndNow(one.before, (one.now[0] - 1, now), passed_before), *seen[place + 1 :]]
            assert chance_of_as_many(worse) <= chance + 1e-12
