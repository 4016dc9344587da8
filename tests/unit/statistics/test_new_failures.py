from __future__ import annotations

import pytest

from highbar.statistics.new_failures import fit, newly_failing

STEADY = [(15, 15)] * 95


def test_a_scenario_that_always_passed_and_now_fails_every_trial_newly_fails():
    found = newly_failing([*STEADY, (14, 15)], [(0, 3), *[None] * 95])
    assert found[0][0]
    assert found[0][1] < 1e-5
    assert not any(fails for fails, _ in found[1:])


def test_a_scenario_that_often_failed_before_does_not():
    assert not newly_failing([*STEADY, (9, 15)], [*[None] * 95, (1, 3)])[-1][0]


def test_one_failure_after_a_short_history_is_no_alarm():
    assert not newly_failing([(3, 3)] * 10, [(0, 1), *[None] * 9])[0][0]


def test_many_failures_at_once_are_found_where_one_is_not():
    history = [(10, 10)] * 100
    assert not newly_failing(history, [(0, 1), *[None] * 99])[0][0]
    assert all(fails for fails, _ in newly_failing(history, [*[(0, 1)] * 5, *[None] * 95])[:5])


def test_without_any_history_nothing_is_known_and_nothing_is_sure():
    found = newly_failing([(0, 0)] * 3, [(0, 1), None, None])
    assert not found[0][0]
    assert found[0][1] > 0.1


def test_flaky_scenarios_in_the_suite_make_a_clean_history_less_sure():
    among_steady = fit([(5, 5)] * 100).p_value((5, 5), (0, 1))
    among_flaky = fit([(5, 5)] * 60 + [(4, 5)] * 30 + [(3, 5)] * 10).p_value((5, 5), (0, 1))
    assert 1 / 502 < among_steady < 2 / 502
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
