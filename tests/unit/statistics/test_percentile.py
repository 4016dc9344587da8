from __future__ import annotations

import random
from fractions import Fraction

import pytest

from highbar.statistics.bounds import (
    Ranks,
    Sums,
    clustered_ranks,
    clustered_ranks_of,
    nearest_rank,
    percentile_ranks,
    share_bounds,
)
from highbar.statistics.distributions import at_least, at_most

P95 = Fraction(95, 100)


def test_fewer_than_59_trials_cannot_bound_the_95th_percentile_from_above():
    assert percentile_ranks(58, P95, 0.05) == Ranks(52, None)
    assert percentile_ranks(59, P95, 0.05) == Ranks(53, 59)


def test_a_single_trial_bounds_nothing_from_above():
    assert percentile_ranks(1, Fraction(1, 2), 0.05) == Ranks(None, None)


def test_the_median_of_ten_lies_between_the_second_and_the_ninth():
    assert percentile_ranks(10, Fraction(1, 2), 0.05) == Ranks(2, 9)


@pytest.mark.parametrize("n", [60, 100, 377, 1000])
@pytest.mark.parametrize("share", [Fraction(1, 2), P95, Fraction(99, 100)])
def test_the_ranks_are_the_innermost_that_are_wrong_at_most_alpha_of_the_time(n, share):
    low, high = percentile_ranks(n, share, 0.05)
    assert low is not None
    assert at_most(low - 1, n, float(share)) <= 0.05 < at_most(low, n, float(share))
    assert low <= nearest_rank(n, share)
    if high is not None:
        assert at_least(high, n, float(share)) <= 0.05 < at_least(high - 1, n, float(share))
        assert high >= nearest_rank(n, share)


@pytest.mark.parametrize("n", [1, 10, 59, 100, 1000])
def test_one_trial_per_cluster_is_the_independent_case(n):
    ranks = percentile_ranks(n, P95, 0.05)
    assert clustered_ranks(n, P95, 0.05, lambda rank: Sums(n, n, rank, rank, rank, n), 1) == ranks
    assert clustered_ranks_of(range(n), P95, 0.05) == ranks


def test_repeated_trials_bound_no_better_than_their_scenarios_allow():
    repeated = [scenario for scenario in range(30) for _ in range(10)]
    assert clustered_ranks_of(repeated, P95, 0.05).high is None
    assert percentile_ranks(300, P95, 0.05).high == 292


def test_the_high_end_is_below_a_limit_exactly_when_the_share_below_it_is_shown():
    source = random.Random(11)
    latencies = sorted((source.lognormvariate(0, 1), scenario) for scenario in range(120) for _ in range(2))
    high = clustered_ranks_of([scenario for _, scenario in latencies], P95, 0.05).high
    assert high is not None
    for rank in (high - 1, high):
        limit = latencies[rank - 1][0]
        counts = [sum(value <= limit for value, owner in latencies if owner == scenario) for scenario in range(120)]
        bounds = share_bounds(Sums.of((count, 2) for count in counts), 0.05)
        assert bounds is not None
        assert (bounds.low >= 0.95) == (rank == high)


def test_the_nearest_rank_is_the_smallest_that_reaches_the_share():
    assert [nearest_rank(n, P95) for n in (1, 19, 20, 21, 100)] == [1, 19, 19, 20, 95]
