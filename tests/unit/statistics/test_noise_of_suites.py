"""The noise of trials within the scenarios of a whole suite, and the bounds and boundaries that follow from it."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.statistics.bounds import suite_bounds
from highbar.statistics.noisy_spending import noisy_boundaries
from highbar.statistics.spending import binomial_boundaries, moved_boundaries
from highbar.statistics.trials import TrialNoise, disagreement, earlier_noise, noisy_suite_bounds, own_noise

ALPHA = 0.05
BAR = Fraction(85, 100)


def test_the_noise_of_equal_trials_is_the_mean_variance_and_four_pairs_that_disagree() -> None:
    # 50 scenarios of 3 trials; 10 passed two of them, 5 none.
    value, within, pair = Fraction(125, 150), 10 * (2 / 9) / 2, 1 / 6
    noise = own_noise(value, 150, 50, within, pair)
    added = 2 / 100  # a pair that disagrees adds half a square to 100 degrees of freedom
    assert noise.within == pytest.approx(within * 3 / 50 + added)
    assert noise.share == pytest.approx(noise.within / (float(value * (1 - value)) + added))


def test_earlier_runs_show_the_variance_without_bias() -> None:
    noise = earlier_noise([(5, 5)] * 90 + [(0, 5)] * 8 + [(3, 5)] * 2)
    assert noise is not None
    assert noise.within == pytest.approx(2 * (3 * 2 / 20) / 100 + 0.5 / 401)


def test_a_scenario_without_two_earlier_trials_is_as_noisy_as_can_be() -> None:
    noise = earlier_noise([(5, 5)] * 3 + [(1, 1)])
    assert noise is not None
    assert noise.within == pytest.approx(0.25 / 4 + 0.5 / 13)
    assert earlier_noise([(1, 1)] * 4) is None
    assert earlier_noise([(0, 0)] * 4) is None


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_disagreement_is_at_least_half_of_the_variance_now(before: float, now: float) -> None:
    assert disagreement(before, now) >= now * (1 - now) / 2 - 1e-12
    assert disagreement(now, now) == pytest.approx(now * (1 - now))


rates = st.fractions(0, 1, max_denominator=500)
noises = st.builds(TrialNoise, st.floats(0.0005, 0.25), st.floats(0.001, 1))


@given(rates, st.integers(1, 2000), noises)
def test_known_noise_never_makes_the_bounds_wider(value: Fraction, trials: int, noise: TrialNoise) -> None:
    plain, known = suite_bounds(value, trials, ALPHA), noisy_suite_bounds(value, trials, ALPHA, noise)
    assert plain.low <= known.low <= float(value) <= known.high <= plain.high
    assert noisy_suite_bounds(value, trials, ALPHA, None) == plain


@given(st.integers(1, 300), st.data(), noises)
def test_more_passes_never_lower_a_bound(trials: int, data: st.DataObject, noise: TrialNoise) -> None:
    passed = data.draw(st.integers(0, trials - 1))
    one, more = (noisy_suite_bounds(Fraction(n, trials), trials, ALPHA, noise) for n in (passed, passed + 1))
    assert one.low <= more.low + 1e-9
    assert one.high <= more.high + 1e-9


@given(st.integers(5, 100), st.integers(2, 6), st.data())
def test_a_trial_that_breaks_never_raises_the_lower_bound(scenarios: int, trials: int, data: st.DataObject) -> None:
    """It may make the trials of its scenario more alike, but the share falls by more."""
    passed = data.draw(st.lists(st.integers(0, trials), min_size=scenarios, max_size=scenarios))
    place = data.draw(st.integers(0, scenarios - 1))
    broken = [max(0, number - (at == place)) for at, number in enumerate(passed)]

    def low(counts: list[int]) -> float:
        total = scenarios * trials
        value, shares = Fraction(sum(counts), total), [number / trials for number in counts]
        within = sum(share * (1 - share) for share in shares) / (trials - 1)
        noise = own_noise(value, total, scenarios, within, 1 / (trials * (trials - 1)))
        return noisy_suite_bounds(value, total, ALPHA, noise).low

    assert low(broken) <= low(passed) + 1e-9


@pytest.mark.parametrize(
    ("noisy", "rate", "steady", "trials"),
    [(8, 0.5, 32, 10), (8, 0.9, 32, 10), (20, 0.5, 100, 2), (3, 0.95, 37, 10), (8, 0.97, 32, 10), (2, 0.05, 38, 10)],
)
def test_flaky_scenarios_with_one_trial_beside_steady_ones_with_many_are_not_judged_too_well(
    noisy: int, rate: float, steady: int, trials: int
) -> None:
    """Exact: the number of flaky scenarios that pass is binomial, and nothing else varies."""
    count = noisy + steady
    truth, wrong = (noisy * rate + steady) / count, [0.0, 0.0]
    for passed in range(noisy + 1):
        chance = comb(noisy, passed) * rate**passed * (1 - rate) ** (noisy - passed)
        value = Fraction(passed + steady, count)
        noise = own_noise(value, count, count, noisy / 4, 1 / (trials * (trials - 1)))
        low, high = noisy_suite_bounds(value, count, ALPHA, noise)
        wrong[0] += chance * (low > truth)
        wrong[1] += chance * (high < truth)
    assert max(wrong) <= ALPHA


def test_known_noise_moves_the_bar_by_what_it_allows_and_half_a_scenario() -> None:
    noise = TrialNoise(0.0255, 0.2)  # 200 scenarios: 1.96 √(200 × .0255) = 4.43, and half of one: 165.07 to 174.93
    found, moved = noisy_boundaries(BAR, 200, ALPHA, "linear", noise), moved_boundaries(175, 165, 200, ALPHA / 2)
    assert [found.at(n) for n in (50, 120, 200)] == [moved.at(n) for n in (50, 120, 200)]
    assert (found.at(200).to_pass, found.at(200).to_fail) == (175, 164)


def test_noise_that_helps_nothing_leaves_the_binomial_boundaries() -> None:
    found, plain = (
        noisy_boundaries(BAR, 200, ALPHA, "linear", TrialNoise(0.12, 0.95)),
        binomial_boundaries(BAR, 200, ALPHA),
    )
    assert [found.at(n) for n in range(1, 201)] == [plain.at(n) for n in range(1, 201)]


def test_noise_that_the_run_shows_only_takes_decisions_away() -> None:
    noise = TrialNoise(0.01, 0.08)
    calm = noisy_boundaries(BAR, 200, ALPHA, "linear", noise)
    shown = noisy_boundaries(BAR, 200, ALPHA, "linear", noise, [0.06] * 200)
    for looked in range(1, 201):
        one, other = calm.at(looked), shown.at(looked)
        assert other.to_pass is None or (one.to_pass is not None and other.to_pass >= one.to_pass)
        assert other.to_fail is None or (one.to_fail is not None and other.to_fail <= one.to_fail)
    assert shown.at(200) != calm.at(200)
