from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from bench.by_scenario import ratio_bounds, ratio_influences
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import skew
from scipy.stats import t as student

from highbar.statistics.ratio import (
    RatioSums,
    ThirdSums,
    log_ratio_difference,
    ratio_bounds_from_sums,
    skewed_ratio_bounds,
    student_quantile,
)

qualities = st.floats(0, 1)
tokens = st.integers(1, 100_000)
rows = st.lists(st.tuples(qualities, tokens), min_size=2, max_size=30)
positive = st.floats(0.1, 1)
paired_rows = st.lists(st.tuples(positive, tokens, positive, tokens), min_size=2, max_size=30)


def defined(result):
    assert result is not None
    return result


def sums_of(pairs) -> RatioSums:
    exact = [(Fraction(q), Fraction(t)) for q, t in pairs]
    return RatioSums(
        scenarios=len(exact),
        q=sum(q for q, _ in exact),
        t=sum(t for _, t in exact),
        qq=sum(q * q for q, _ in exact),
        qt=sum(q * t for q, t in exact),
        tt=sum(t * t for _, t in exact),
        t_max=max(t for _, t in exact),
    )


@given(rows)
def test_influences_are_what_leaving_a_scenario_out_does(pairs):
    whole = sum(q for q, _ in pairs) / sum(t for _, t in pairs)
    for index, influence in enumerate(defined(ratio_influences(pairs))):
        rest = pairs[:index] + pairs[index + 1 :]
        without = sum(q for q, _ in rest) / sum(t for _, t in rest)
        assert whole - without == pytest.approx(influence, rel=1e-9, abs=1e-12)


def test_bounds_are_the_jackknife_with_students_t():
    pairs = [(1, 100), (0, 300), (0.5, 200), (1, 250)]
    influences = defined(ratio_influences(pairs))
    mean = sum(influences) / 4
    deviation = math.sqrt(3 / 4 * sum((x - mean) ** 2 for x in influences))
    half = student_quantile(0.95, 3) * deviation
    assert ratio_bounds(pairs, 0.05) == pytest.approx((2.5 / 850 - half, 2.5 / 850 + half))


@given(rows)
def test_bounds_from_sums_are_never_narrower(pairs):
    low, high = defined(ratio_bounds(pairs, 0.05))
    wide_low, wide_high = defined(ratio_bounds_from_sums(sums_of(pairs), 0.05))
    slack = 1e-9 * (high - low) + 1e-15
    assert wide_low <= low + slack
    assert wide_high >= high - slack


@pytest.mark.parametrize(("scenarios", "excess"), [(100, 0.25), (1_000, 0.06), (10_000, 0.01)])
def test_bounds_from_sums_are_hardly_wider_with_many_scenarios(scenarios, excess):
    source = random.Random(scenarios)
    pairs = [(float(source.random() < 0.9), source.lognormvariate(7, 1)) for _ in range(scenarios)]
    narrow, wide = defined(ratio_bounds(pairs, 0.05)), defined(ratio_bounds_from_sums(sums_of(pairs), 0.05))
    assert 1 <= (wide.high - wide.low) / (narrow.high - narrow.low) < 1 + excess


def test_a_ratio_that_rests_on_one_scenario_has_no_bounds():
    assert ratio_bounds([(1, 10)], 0.05) is None
    assert ratio_bounds([(1, 10), (1, 0)], 0.05) is None
    assert ratio_bounds_from_sums(sums_of([(1, 10), (1, 0)]), 0.05) is None
    assert ratio_bounds_from_sums(sums_of([(1, 10)]), 0.05) is None


@given(paired_rows)
def test_swapping_base_and_head_turns_the_relative_change_over(listed):
    swapped = [(c, d, a, b) for a, b, c, d in listed]
    forth, back = defined(log_ratio_difference(listed, 0.05)), defined(log_ratio_difference(swapped, 0.05))
    assert forth.value == pytest.approx(1 / back.value)
    assert forth.bounds.low == pytest.approx(1 / back.bounds.high, rel=1e-6)
    assert forth.bounds.low <= forth.value <= forth.bounds.high


@given(rows.filter(lambda listed: sum(q > 0.01 for q, _ in listed) >= 2))
def test_a_version_compared_with_itself_has_not_changed(pairs):
    listed = [(q, t, q, t) for q, t in pairs]
    change = defined(log_ratio_difference(listed, 0.05))
    assert (change.value, change.bounds.low, change.bounds.high) == (1, 1, 1)


def test_pairing_removes_what_both_versions_share():
    source = random.Random(5)
    listed = []
    for _ in range(100):
        hardness = source.lognormvariate(7, 1)
        listed.append((1, hardness, 1, hardness * 0.9 * source.lognormvariate(0, 0.1)))
    change = defined(log_ratio_difference(listed, 0.05))
    assert 1.05 < change.bounds.low < change.value < change.bounds.high < 1.15


def test_without_any_quality_there_is_no_relative_change():
    assert log_ratio_difference([(0, 10, 1, 10), (0, 10, 1, 10)], 0.05) is None
    assert log_ratio_difference([(1, 10, 1, 10), (0, 10, 1, 10)], 0.05) is None
    assert log_ratio_difference([(1, 10, 1, 10)], 0.05) is None
    assert log_ratio_difference([], 0.05) is None


def with_thirds(pairs):
    """The sums of two and of three factors."""
    q, t = zip(*pairs, strict=True)
    products = [sum(a * b for a, b in zip(one, two, strict=True)) for one, two in ((q, q), (q, t), (t, t))]
    cubes = ((q, q, q), (q, q, t), (q, t, t), (t, t, t))
    thirds = ThirdSums(*(sum(x * y * z for x, y, z in zip(*sides, strict=True)) for sides in cubes))
    return RatioSums(len(q), sum(q), sum(t), *products, max(t)), thirds


def test_halls_correction_solves_his_equation_and_moves_the_interval_toward_the_long_tail():
    """Hall 1992: T + uT²/3 + u²T³/27 + u/6 is Student's quantile, u the skewness over the root of n (scipy's skew)."""
    random = np.random.default_rng(5)
    costs = np.exp(random.standard_normal(40) * 1.2)
    sums, thirds = with_thirds([(float(cost), 1.0) for cost in costs])
    plain, found = ratio_bounds_from_sums(sums, 0.05), skewed_ratio_bounds(sums, thirds, 0.05)
    deviation = (plain.high - plain.low) / 2 / student.ppf(0.95, 39)
    u = skew(costs) / math.sqrt(40)
    for end, quantile in ((found.low, student.ppf(0.95, 39)), (found.high, student.ppf(0.05, 39))):
        studentized = (costs.mean() - end) / deviation
        assert studentized + u * studentized**2 / 3 + u**2 * studentized**3 / 27 + u / 6 == pytest.approx(quantile)
    assert found.high > plain.high
    assert found.low > plain.low


def test_without_skewness_halls_interval_is_students():
    sums, thirds = with_thirds([(float(q), 1.0) for q in (1, 2, 3, 4, 5)])
    assert skewed_ratio_bounds(sums, thirds, 0.05) == pytest.approx(ratio_bounds_from_sums(sums, 0.05))
