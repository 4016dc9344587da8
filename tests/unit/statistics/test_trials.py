from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from bench.by_scenario import pass_at, pass_hat, variance_split
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from highbar.statistics.trials import never_failed_bound
from tests.unit.statistics.test_published import AIME_II


@given(st.integers(1, 8), st.data())
def test_pass_at_and_pass_hat_are_shares_of_the_ways_to_choose(trials, data):
    passed, k = data.draw(st.integers(0, trials)), data.draw(st.integers(1, trials))
    outcomes = [True] * passed + [False] * (trials - passed)
    chosen = list(itertools.combinations(outcomes, k))
    assert pass_at(k, trials, passed) == Fraction(sum(any(ways) for ways in chosen), len(chosen))
    assert pass_hat(k, trials, passed) == Fraction(sum(all(ways) for ways in chosen), len(chosen))


def test_fewer_than_k_trials_cannot_tell():
    assert pass_at(3, 2, 2) is None
    assert pass_hat(3, 2, 2) is None


@pytest.mark.parametrize(("k", "true", "plugged_in", "pooled"), [(3, 0.783, 0.802, 0.731), (5, 0.712, 0.750, 0.592)])
def test_pass_hat_is_unbiased_where_the_usual_shortcuts_are_not(k, true, plugged_in, pooled):
    law = stats.betabinom(8, 2.7, 0.3)
    expected = float(special.beta(2.7 + k, 0.3) / special.beta(2.7, 0.3))
    mean = sum(float(law.pmf(c)) * float(pass_hat(k, 8, c) or 0) for c in range(9))
    assert round(expected, 3) == true
    assert mean == pytest.approx(expected, abs=1e-9)
    # The notes have these two from a simulation.
    assert sum(float(law.pmf(c)) * (c / 8) ** k for c in range(9)) == pytest.approx(plugged_in, abs=0.002)
    assert pytest.approx(pooled, abs=0.003) == 0.9**k


def test_what_never_failed_may_still_fail():
    assert never_failed_bound(1, 0.05) == pytest.approx(0.05)
    assert never_failed_bound(10, 0.05) == pytest.approx(0.741, abs=0.001)


def test_the_split_of_variance_is_unbiased():
    # Over all outcomes of two scenarios with three trials, at rates .9 and .5: the expectations are exact.
    between = within = 0.0
    rates = (0.9, 0.5)
    for counts in itertools.product(range(4), repeat=2):
        chance = 1.0
        for passed, rate in zip(counts, rates, strict=True):
            chance *= float(stats.binom.pmf(passed, 3, rate))
        split = variance_split([(passed, 3) for passed in counts])
        assert split is not None
        between += chance * split.between
        within += chance * split.within
    assert within == pytest.approx((0.9 * 0.1 + 0.5 * 0.5) / 2)
    assert between == pytest.approx((0.9 - 0.5) ** 2 / 2)


def test_scenarios_that_always_agree_with_themselves_have_all_the_variance_between_them():
    split = variance_split([(3, 3), (0, 3), (3, 3), (0, 3)])
    assert split is not None
    assert (split.within, split.correlation) == (0, 1)


def test_trials_that_differ_only_by_chance_have_no_correlation():
    split = variance_split([(1, 2)] * 10)
    assert split is not None
    assert split.between < 0
    assert split.correlation == 0


def test_where_nothing_varies_there_is_no_correlation():
    split = variance_split([(2, 2)] * 5)
    assert split is not None
    assert split.correlation is None


def test_one_trial_each_or_one_scenario_cannot_be_split():
    assert variance_split([(1, 1), (0, 1)]) is None
    assert variance_split([(1, 2)]) is None


def test_the_mathematics_olympiad_has_the_correlations_that_were_printed():
    for counts in AIME_II.values():
        split = variance_split([(passed, 4) for passed in counts])
        assert split is not None
        assert split.correlation is not None
        assert 0.13 - 0.005 <= split.correlation <= 0.88 + 0.005
        assert 1 <= sum(0 < passed < 4 for passed in counts) <= 9
