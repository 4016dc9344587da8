"""How the same agent would be judged by a second run on the same scenarios."""

from __future__ import annotations

from fractions import Fraction

import pytest
from bench.by_scenario import count_bounds
from scipy import stats

from highbar.model import Outlook
from highbar.statistics.planning import gate_limits
from highbar.statistics.second_run import (
    NOT_REPEATED,
    Noise,
    Share,
    all_of,
    any_of,
    effective_size,
    few_failures_again,
    number_again,
    passing_share,
    share_again,
    trial_noise,
)
from highbar.statistics.trials import VarianceSplit

ALPHA = 0.05
BAR = Fraction(85, 100)


def counted(passed, total):
    return Share(Fraction(passed, total), *count_bounds(passed, total, ALPHA), total)


def differs(passed, total, noise=1.0, *, confident=False):
    found = share_again(counted(passed, total), BAR, noise, ALPHA, confident=confident)
    return 1 - found.passes if passed >= BAR * total else 1 - found.fails


@pytest.mark.parametrize(("passed", "total"), [(17, 20), (18, 20), (20, 20), (43, 50), (80, 100), (860, 1000)])
def test_if_all_that_varies_is_noise_it_is_nearly_the_beta_binomial_law(passed, total):
    needed = -(-85 * total // 100)
    below = stats.betabinom.cdf(needed - 1, total, passed + 0.5, total - passed + 0.5)
    assert differs(passed, total) == pytest.approx(below if passed >= needed else 1 - below, abs=0.03)


def test_the_less_is_noise_the_less_it_differs():
    chances = [differs(45, 50, noise) for noise in (0.0, 0.1, 0.5, 1.0)]
    assert chances == sorted(chances)
    assert chances[0] == 0


def test_far_from_the_threshold_it_is_settled():
    assert differs(500, 1000) < 1e-9
    assert differs(999, 1000) < 1e-9


@pytest.mark.parametrize(("passed", "total"), [(5, 8), (20, 20), (93, 100), (999, 1000), (0, 9)])
def test_a_bound_says_how_many_passes_and_fails_it_is_worth(passed, total):
    share = counted(passed, total)
    for one in (share, share.complement()):
        assert effective_size(one, ALPHA) in (None, pytest.approx(total, rel=1e-4))


@pytest.mark.parametrize("total", [20, 50, 100, 500])
def test_the_share_that_passes_is_the_one_of_the_gate(total):
    passes, fails = gate_limits(total, BAR)
    assert passes - 1 < passing_share(float(BAR), total, ALPHA) * total <= passes + 1e-3
    assert total - fails - 1 < passing_share(float(1 - BAR), total, ALPHA) * total <= total - fails + 1e-3


def test_no_share_of_too_few_passes():
    assert passing_share(0.85, 18, ALPHA) is None
    assert share_again(counted(18, 18), BAR, 1.0, ALPHA, confident=True).passes == 0


def test_no_failure_again_follows_from_jeffreys_law():
    for noise in (0.1, 0.5, 1.0):
        assert few_failures_again(0, 1000, 1000, 0, noise) == pytest.approx((1 + noise) ** -0.5, abs=0.015)


def test_more_failures_may_be_accepted():
    chances = [few_failures_again(2, 100, 100, accepted, 0.5) for accepted in range(6)]
    assert chances == sorted(chances)
    assert chances[0] < 0.25
    assert chances[5] > 0.9


def test_a_difference_may_be_all_noise_however_alike_trials_are():
    assert Noise(0.1, 0.1).for_difference() == Noise(0.05, 0.5)


def test_an_unbounded_end_says_nothing_by_the_estimate_and_never_passes_with_confidence():
    assert number_again(0.9, -float("inf"), 1.0, 0.85, 0.5, ALPHA, confident=False) is None
    assert number_again(0.9, -float("inf"), 1.0, 0.85, 0.5, ALPHA, confident=True).passes == 0
    assert number_again(0.85, 0.8, 0.9, 0.85, 0.5, ALPHA, confident=False).passes == pytest.approx(0.5)
    assert number_again(0.9, 0.9, 0.9, 0.85, 0.5, ALPHA, confident=False) == Outlook(1.0, 0.0, 0.0)


def test_several_rules_pass_between_the_product_and_the_minimum():
    parts = [Outlook(0.9, 0.0, 0.1), Outlook(0.8, 0.1, 0.1)]
    apart, together = all_of(parts, together=False), all_of(parts, together=True)
    assert (apart.passes, together.passes) == (pytest.approx(0.72), 0.8)
    assert (apart.fails, together.fails) == (pytest.approx(0.19), pytest.approx(0.1))
    assert any_of(parts, together=False).fails == pytest.approx(0.01)
    assert any_of(parts, together=True).passes == pytest.approx(0.9)


def test_the_noise_of_repeated_trials_is_what_does_not_lie_between_scenarios():
    split = VarianceSplit(0.06, 0.04, 0.6)
    found = trial_noise(split, 10_000, 3.0)
    assert found.least == found.most == pytest.approx((1 - 0.6) / (1 + 2 * 0.6), abs=0.001)
    # The interval of a whole suite is that of the noise alone, and of four pairs that disagree.
    assert trial_noise(split, 10_000, 3.0, pooled=True).most == pytest.approx(0.04 / (0.04 + 2 / 10_000), abs=0.001)
    assert trial_noise(None, 0, 1.0) == NOT_REPEATED


def test_too_few_repeated_scenarios_leave_the_range_as_wide_as_none():
    found = trial_noise(VarianceSplit(0.06, 0.04, 0.6), 1, 1.02, enough=False)
    nothing = trial_noise(None, 0, 1.02)
    assert (found.least, found.most) == (nothing.least, nothing.most)


def test_trials_that_always_agreed_show_no_noise():
    sure = VarianceSplit(0.1, 0.0, 1.0)
    assert trial_noise(sure, 1000, 2.0) == Noise(0.0, 0.0, 2.0)
    assert trial_noise(sure, 2, 2.0, enough=False).most > 0.1
    assert trial_noise(VarianceSplit(0.0, 0.0, None), 10, 2.0).least < trial_noise(None, 10, 2.0).most


def test_what_a_cluster_shares_is_no_trial_noise():
    assert Noise(0.5, 1.0).for_clusters(10, 40) == Noise(0.125, 0.25)
    assert Noise(0.5, 1.0).for_clusters(80, 40) == Noise(0.5, 1.0)
