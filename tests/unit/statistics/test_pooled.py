from __future__ import annotations

import math
from fractions import Fraction

import pytest

from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.pooled import pooled_end, pooled_share


def test_the_bar_is_the_pooled_bound_less_the_noise_of_one_run():
    units = [(Fraction(4, 5), 1)] * 50 + [(1, 1)] * 50
    value, bar, _ = pooled_share(units, 0.05)
    low = share_bounds(Sums.of(units), 0.05).low
    assert value == pytest.approx(0.9)
    assert bar == pytest.approx(low - 1.6448536 * math.sqrt(0.9 * 0.1 / 100), abs=1e-7)


def test_a_cluster_counts_as_one_and_not_as_its_scenarios():
    value, apart, _ = pooled_share([(Fraction(4, 5), 1)] * 40, 0.05)
    clustered, together, _ = pooled_share([(Fraction(16, 5), 4)] * 10, 0.05)
    assert clustered == value
    assert together < apart


def test_the_bar_is_never_below_nothing():
    assert pooled_share([(0, 1), (Fraction(1, 5), 1)], 0.05)[1] == 0.0


def test_without_scenarios_there_is_no_bar():
    assert pooled_share([], 0.05) is None
    assert pooled_end([]) is None


@pytest.mark.parametrize(("worse", "bar", "confident"), [(0.8, 0.7, 0.6), (1.0, 1.1, 1.2)])
def test_a_metric_of_runs_goes_twice_as_far_as_their_bounds_and_thrice_for_the_bound_of_a_run(worse, bar, confident):
    assert pooled_end([(0.9, worse), (0.9, worse)]) == pytest.approx((0.9, bar, confident))


def test_a_run_that_only_just_reaches_the_bar_proves_the_confident_one():
    _, bar, confident = pooled_share([(Fraction(4, 5), 1)] * 50 + [(1, 1)] * 50, 0.05)
    passed = int(bar * 100)
    just, less = (share_bounds(Sums.of([(1, 1)] * k + [(0, 1)] * (100 - k)), 0.05).low for k in (passed + 1, passed))
    assert less <= confident <= just
