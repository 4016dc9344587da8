from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from bench.by_scenario import count_bounds
from scipy import special
from statsmodels.stats.proportion import proportion_confint

from highbar.statistics.bounds import (
    Sums,
    effective_clusters,
    effective_trials,
    share_bounds,
    share_p_value,
    standard_error,
    suite_bounds,
)


def defined(bounds):
    assert bounds is not None
    return bounds


def by_definition(pairs: list[tuple[float, float]], alpha: float) -> tuple[float, float]:
    """The bound as it is defined, cluster by cluster, in floats and with scipy."""
    weight = math.fsum(d for _, d in pairs)
    extra = math.fsum(d * d for _, d in pairs) / weight
    ends = []
    for score, level in ((0.0, alpha), (extra, 1 - alpha)):
        clusters = [*pairs, (score, extra)]
        mean = math.fsum(z for z, _ in clusters) / (weight + extra)
        squares = math.fsum((z - mean * d) ** 2 for z, d in clusters) / (weight + extra) ** 2
        size = mean * (1 - mean) / (squares * len(clusters) / (len(clusters) + 1)) - 1
        ends.append(float(special.betaincinv(mean * size, (1 - mean) * size, level)))
    return ends[0], ends[1]


def test_plain_counts_give_clopper_and_pearson():
    for total in (1, 2, 7, 50, 1000):
        for passed in {0, 1, total // 3, total - 1, total}:
            sums = Sums(clusters=total, d=total, z=passed, zz=passed, zd=passed, dd=total)
            low, high = proportion_confint(passed, total, alpha=0.10, method="beta")
            assert share_bounds(sums, 0.05) == count_bounds(passed, total, 0.05)
            assert count_bounds(passed, total, 0.05) == pytest.approx((low, high), rel=1e-11, abs=1e-300)


def test_clusters_and_weights_follow_the_definition():
    source = random.Random(7)
    for clusters in (2, 3, 10, 100):
        weights = [source.choice([1, 2, 3.5, 10]) for _ in range(clusters)]
        pairs = [(weight * source.random(), weight) for weight in weights]
        assert share_bounds(Sums.of(pairs), 0.05) == pytest.approx(by_definition(pairs, 0.05), rel=1e-9)


def test_scores_that_are_all_alike_keep_their_digits():
    # In floats the sum of squares around the mean would come out as noise, or below 0.
    alike = share_bounds(Sums.of([(Fraction(9, 10), 1)] * 1_000), 0.05)
    assert alike == pytest.approx(by_definition([(0.9, 1)] * 1_000, 0.05), rel=1e-9)
    rounded = Sums(clusters=10**6, d=1e6, z=999_999.9999999, zz=999_999.9999998, zd=999_999.9999999, dd=1e6)
    assert 0.99999 < defined(share_bounds(rounded, 0.05)).low < 1


def test_the_unit_of_weight_does_not_matter():
    pairs = [(1, 1), (0, 2), (3, 3), (Fraction(1, 3), 1)]
    in_thousands = [(z * 1000, d * 1000) for z, d in pairs]
    assert share_bounds(Sums.of(pairs), 0.05) == share_bounds(Sums.of(in_thousands), 0.05)


def test_nothing_scored_and_everything_scored_reach_the_end():
    assert defined(share_bounds(Sums.of([(0, 1)] * 20), 0.05)).low == 0
    assert defined(share_bounds(Sums.of([(2, 2)] * 20), 0.05)).high == 1


def test_no_cluster_has_no_bounds():
    assert share_bounds(Sums.of([]), 0.05) is None
    assert share_bounds(Sums.of([(0, 0)]), 0.05) is None
    assert share_p_value(Sums.of([]), 0.9) == 1
    assert effective_clusters(Sums.of([])) == 0


def test_one_cluster_says_little_however_many_trials_it_has():
    low, high = defined(share_bounds(Sums.of([(100, 100)]), 0.05))
    assert (low, high) == (pytest.approx(0.05), 1)


def test_trials_that_repeat_a_scenario_add_no_evidence_that_scenarios_do_not_give():
    ten_times = share_bounds(Sums.of([(10, 10)] * 10), 0.05)
    assert defined(ten_times).low == pytest.approx(0.05**0.1)
    assert ten_times == share_bounds(Sums.of([(1, 1)] * 10), 0.05)


def test_the_suite_as_the_population_pools_the_trials():
    assert suite_bounds(Fraction(135, 150), 150, 0.05) == count_bounds(135, 150, 0.05)
    low, high = suite_bounds(Fraction(135, 150), 150, 0.05)
    assert high - low == pytest.approx(0.085, abs=0.003)  # as in the notes: .085 against .162 for the population


def test_unequal_trials_are_worth_fewer_equal_ones():
    assert effective_trials(30, Fraction(1, 5)) == 150  # 30 scenarios of 5 trials each
    assert effective_trials(30, Fraction(1, 1)) == 30  # 15 of 9 trials, 15 of one: a trial of the latter weighs 1


def test_the_pseudo_cluster_may_have_the_largest_weight():
    pairs = [(1, 1)] * 90 + [(10, 10)] * 10
    sums = Sums.of(pairs)
    typical, largest = share_bounds(sums, 0.05), share_bounds(sums, 0.05, 10)
    assert defined(largest).low < defined(typical).low
    plain = Sums.of([(1, 1)] * 90 + [(0, 1)] * 10)
    assert share_bounds(plain, 0.05, 1) == share_bounds(plain, 0.05)


def test_a_trial_that_breaks_a_perfect_run_lifts_no_lower_bound():
    for weights in ((1,), (1, 1), (10, 1, 1, 1, 1)):
        perfect = defined(share_bounds(Sums.of([(w, w) for w in weights]), 0.05))
        for failed in range(1, 4):
            broken = [(Fraction(weights[0] * (3 - failed), 3), weights[0]), *((w, w) for w in weights[1:])]
            assert defined(share_bounds(Sums.of(broken), 0.05)).low <= perfect.low


@pytest.mark.parametrize("trials", [2, 3, 5])
def test_no_lower_bound_rises_if_a_trial_of_scenarios_of_equal_weight_breaks(trials):
    source = random.Random(trials)
    for scenarios in (2, 3, 5, 8, 12, 19):
        for usual in range(trials + 1):
            scores = [usual] * scenarios if source.random() < 0.3 else source.choices(range(trials + 1), k=scenarios)
            scores[0] = trials
            before = defined(share_bounds(Sums.of([(Fraction(one, trials), 1) for one in scores]), 0.05))
            for place in {0, source.randrange(scenarios)}:
                broken = [one - (at == place and one > 0) for at, one in enumerate(scores)]
                after = defined(share_bounds(Sums.of([(Fraction(one, trials), 1) for one in broken]), 0.05))
                assert after.low <= before.low + 1e-7, (scores, broken)


def test_the_p_value_of_plain_counts_is_binomial():
    sums = Sums(clusters=50, d=50, z=30, zz=30, zd=30, dd=50)
    assert share_p_value(sums, 0.85) == pytest.approx(float(special.bdtr(30, 50, 0.85)), rel=1e-10)
    assert share_p_value(Sums.of([(1, 1)] * 5), 0.85) == 1


def test_the_standard_error_is_that_of_the_clusters():
    assert standard_error(Sums.of([(1, 1), (0, 1)])) == pytest.approx(0.5)
    assert standard_error(Sums.of([(1, 1)] * 5)) == 0
    assert standard_error(Sums.of([(1, 1)])) is None


def test_unequal_weights_count_as_fewer_clusters():
    assert effective_clusters(Sums.of([(1, 1)] * 30)) == 30
    assert effective_clusters(Sums.of([(12, 12)] * 3 + [(1, 1)] * 27)) == pytest.approx(63**2 / (3 * 144 + 27))


def test_the_rest_of_a_slice_is_what_the_slice_leaves():
    part, rest = [(1, 1), (0, 2)], [(Fraction(1, 2), 1), (3, 3), (0, 1)]
    assert Sums.of(part + rest).without(Sums.of(part)) == Sums.of(rest)


def test_sums_that_no_scores_can_have_bound_nothing():
    assert share_bounds(Sums(clusters=2, d=2, z=1, zz=100, zd=1, dd=2), 0.05) == (0, 1)
