from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from highbar.statistics.bounds import Sums
from highbar.statistics.slices import (
    adjusted_p_values,
    benjamini_hochberg,
    effective_counts,
    shrink,
    worse_than_rest,
)


def counts(passed: int, total: int) -> Sums:
    return Sums(clusters=total, d=total, z=passed, zz=passed, zd=passed, dd=total)


shares = st.integers(1, 300).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@given(shares, shares)
def test_for_plain_counts_it_is_fishers_exact_test(part, rest):
    table = [[part[0], part[1] - part[0]], [rest[0], rest[1] - rest[0]]]
    expected = float(stats.fisher_exact(table, alternative="less").pvalue)
    assert worse_than_rest(counts(*part), counts(*rest)) == pytest.approx(expected, abs=1e-10)


def test_clusters_weaken_the_evidence():
    alone = worse_than_rest(counts(12, 20), counts(190, 200))
    repeated = worse_than_rest(Sums.of([(5, 5)] * 2 + [(2, 10)] * 1), counts(190, 200))
    assert alone < 0.001 < repeated


def test_a_slice_or_a_rest_without_scenarios_is_not_worse():
    assert worse_than_rest(Sums.of([]), counts(9, 10)) == 1
    assert worse_than_rest(counts(1, 10), Sums.of([])) == 1
    assert worse_than_rest(counts(10, 10), counts(5, 10)) == 1
    assert worse_than_rest(counts(5, 10), counts(0, 10)) == 1


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_adjusted_p_values_agree_with_statsmodels(p_values):
    rejected, adjusted, _, _ = multipletests(p_values, alpha=0.10, method="fdr_bh")
    assert adjusted_p_values(p_values) == pytest.approx(list(adjusted))
    assert benjamini_hochberg(p_values) == pytest.approx(list(rejected))


def test_no_hypothesis_no_rejection():
    assert benjamini_hochberg([]) == ()


def test_the_worst_of_fifty_equal_slices_looks_bad():
    above = stats.binom.sf(np.arange(20), 20, 0.9) ** 50  # all fifty passed more than k
    assert float(above.sum()) / 20 == pytest.approx(0.727, abs=0.002)
    assert 1 - above[16] > 0.999


def test_the_worst_of_fifty_equal_slices_is_shown_near_the_common_rate():
    source = random.Random(1)
    shrunk = []
    for _ in range(300):
        passes = [sum(source.random() < 0.9 for _ in range(20)) for _ in range(50)]
        shrunk.append(min(shrink([(passed, 20) for passed in passes])))
    assert sum(shrunk) / len(shrunk) == pytest.approx(0.886, abs=0.003)


def test_slices_that_truly_differ_keep_their_rates():
    rates = shrink([(9500, 10_000), (6000, 10_000), (8000, 10_000)])
    assert rates == pytest.approx((0.95, 0.60, 0.80), abs=0.001)


@given(st.lists(shares, min_size=1, max_size=20))
def test_a_shrunk_rate_lies_between_its_own_and_the_common_one(listed):
    common = sum(passed for passed, _ in listed) / sum(total for _, total in listed)
    for (passed, total), rate in zip(listed, shrink(listed), strict=True):
        low, high = sorted((passed / total, common))
        assert low - 1e-12 <= rate <= high + 1e-12


def test_bh_on_exact_tests_finds_the_bad_slices_among_fifty():
    source = random.Random(2)
    found = false = 0
    for _ in range(20):
        passes = [sum(source.random() < (0.60 if index < 5 else 0.85) for _ in range(50)) for index in range(50)]
        p_values = [float(stats.binom.cdf(passed, 50, 0.85)) for passed in passes]
        rejected = benjamini_hochberg(p_values, 0.10)
        found += sum(rejected[:5])
        false += sum(rejected[5:])
    assert found / 100 > 0.88
    assert false / 20 < 1.0


def test_plain_counts_are_worth_themselves_and_clusters_fewer():
    plain = [Sums.of([(1, 1)] * 17 + [(0, 1)] * 3), Sums.of([(1, 1)] * 10 + [(0, 1)] * 10)]
    assert effective_counts(plain) == [(17, 20), (10, 20)]
    clustered = [Sums.of([(5, 5)] * 8 + [(0, 5)] * 2), Sums.of([(5, 5)] * 9 + [(0, 5)])]
    for (passed, total), part in zip(effective_counts(clustered), clustered, strict=True):
        assert passed / total == part.value
        assert 9 < total < 11  # ten clusters that stand or fall together, not 50 scenarios
    assert effective_counts([Sums.of([(5, 5)] * 4)]) == [(4, 4)]


def test_the_worst_of_equal_slices_with_clusters_is_drawn_to_the_rest():
    """A cluster that fell once made a slice of equal ones look 20 points worse."""
    parts = [Sums.of([(5, 5)] * (10 - failed) + [(0, 5)] * failed) for failed in (3, 2, 1, 1, 2, 1, 0, 2, 1, 2)]
    by_scenarios = min(shrink([(part.z, part.d) for part in parts]))
    by_clusters = min(shrink(effective_counts(parts)))
    assert by_scenarios < 0.78
    assert by_clusters > 0.82
