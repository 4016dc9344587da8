from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.distributions import normal_quantile
from highbar.statistics.interval import Interval
from highbar.statistics.paired import (
    bonett_price,
    bonett_price_units,
    bounds_of_difference,
    bounds_of_moves,
    mcnemar_exact,
    mcnemar_mid_p,
    paired_bounds,
    pearson_correlation,
    tango_interval,
    tango_z,
)
from highbar.statistics.ratio import student_quantile
from tests.unit.statistics.test_published import AIME_II

counts = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 60)).filter(sum)


@given(counts)
def test_the_intervals_hold_the_difference_and_mirror_when_swapped(cells):
    better, worse, _ = cells
    total, changed = sum(cells), better + worse
    for forth, back in (
        (bonett_price(total, better - worse, changed, 0.05), bonett_price(total, worse - better, changed, 0.05)),
        (tango_interval(better, worse, total, 0.05), tango_interval(worse, better, total, 0.05)),
    ):
        assert -1 - 1e-12 <= forth.low <= (better - worse) / total <= forth.high <= 1 + 1e-12
        assert forth == pytest.approx((-back.high, -back.low), abs=1e-9)


@given(counts)
def test_tangos_interval_ends_where_its_score_rejects(cells):
    better, worse, _ = cells
    total = sum(cells)
    low, high = tango_interval(better, worse, total, 0.05)
    if low > -1 + 1e-6:
        assert tango_z(better, worse, total, low) == pytest.approx(normal_quantile(0.95), abs=1e-4)
    if high < 1 - 1e-6:
        assert tango_z(better, worse, total, high) == pytest.approx(-normal_quantile(0.95), abs=1e-4)


def test_tangos_score_of_no_difference_is_mcnemars():
    assert tango_z(10, 4, 50, 0.0) == pytest.approx(6 / math.sqrt(14))
    assert tango_z(0, 0, 50, 0.0) == 0
    assert tango_z(50, 0, 50, 1.0) == 0
    assert tango_z(0, 5, 50, 1.0) == -math.inf


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemars_exact_p_value_agrees_with_statsmodels(better, worse):
    expected = mcnemar([[0, better], [worse, 0]], exact=True).pvalue if better + worse else 1.0
    assert mcnemar_exact(better, worse) == pytest.approx(min(1.0, float(expected)))
    assert 0 <= mcnemar_mid_p(better, worse) <= mcnemar_exact(better, worse) <= 1


def test_the_mid_p_value_of_no_disagreement_is_1():
    assert mcnemar_mid_p(0, 0) == 1
    assert mcnemar_mid_p(3, 3) == pytest.approx(1 - math.comb(6, 3) / 2**6 / 2)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_more_uneven_the_change_the_less_likely(better, worse):
    assert mcnemar_mid_p(better, worse) == mcnemar_mid_p(worse, better)
    if better > worse > 0:
        assert mcnemar_mid_p(better + 1, worse - 1) < mcnemar_mid_p(better, worse)


@given(st.lists(st.tuples(st.floats(-1, 1), st.just(1)), min_size=1, max_size=40))
def test_units_of_one_weight_are_scenarios(units):
    moved = [x for x, _ in units]
    found = bonett_price_units(units, 0.05)
    squares = math.fsum(x * x for x in moved)
    assert found == pytest.approx(bonett_price(len(moved), math.fsum(moved), squares, 0.05), abs=1e-9)


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0.1, 10)), min_size=1, max_size=20))
def test_the_bounds_of_units_hold_the_difference_mirror_and_do_not_depend_on_the_scale(units):
    weighed = [(x * d, d) for x, d in units]
    low, high = bonett_price_units(weighed, 0.05)
    value = math.fsum(x for x, _ in weighed) / math.fsum(d for _, d in weighed)
    assert -1 - 1e-9 <= low <= value + 1e-9
    assert value - 1e-9 <= high <= 1 + 1e-9
    assert bonett_price_units([(-x, d) for x, d in weighed], 0.05) == pytest.approx((-high, -low), abs=1e-9)
    assert bonett_price_units([(3 * x, 3 * d) for x, d in weighed], 0.05) == pytest.approx((low, high), abs=1e-9)


def test_units_without_weight_have_no_bounds_and_those_that_never_differed_have_a_width():
    assert bonett_price_units([(0, 0)], 0.05) is None
    low, high = bonett_price_units([(0, 1)] * 50, 0.05)
    assert high == -low == pytest.approx(normal_quantile(0.95) * math.sqrt(2) / 52)


def test_a_loss_alone_has_the_exact_bound_of_a_share():
    """Of 150 scenarios one broke: a loss of 3 % is not excluded, which Bonett and Price's bound would have said."""
    units = [(-1, 1)] + [(0, 1)] * 149
    exact, shorter = bounds_of_moves(units, 0.05), paired_bounds(units, 0.05)
    assert exact.low == pytest.approx(-share_bounds(Sums.of([(-x, d) for x, d in units]), 0.05).high)
    assert exact.low < -0.03 < shorter.low
    assert exact.high >= shorter.high
    assert bounds_of_moves([(-x, d) for x, d in units], 0.05) == pytest.approx((-exact.high, -exact.low))


def test_the_bounds_of_a_difference_of_two_values():
    head, base = (5.0, Interval(4.0, 7.0)), (3.0, Interval(2.5, 3.2))
    below, above = bounds_of_difference(head, base, 0.0)
    assert (below, above) == pytest.approx((math.hypot(1.0, 0.2), math.hypot(2.0, 0.5)))
    assert bounds_of_difference(head, base, 1.0) == pytest.approx((0.8, 1.5))
    assert bounds_of_difference(base, head, 0.3) == pytest.approx(bounds_of_difference(head, base, 0.3)[::-1])
    assert bounds_of_difference((5.0, Interval(4.0, math.inf)), base, 0.5)[1] == math.inf


def test_a_column_that_does_not_vary_has_no_correlation():
    assert pearson_correlation([1, 1], [0, 1]) == 0
    assert pearson_correlation([], []) == 0
    assert pearson_correlation([0, 1, 2], [1, 2, 3]) == pytest.approx(1)
    assert pearson_correlation([0, 1, 2], [3, 2, 1]) == pytest.approx(-1)


def test_students_interval_would_have_called_fifteen_questions_significant():
    pairs = zip(AIME_II["o3-mini (medium)"], AIME_II["o3-mini (high)"], strict=True)
    differences = [(after - before) / 4 for before, after in pairs]
    mean = math.fsum(differences) / 15
    deviation = math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / 14 / 15)
    half = student_quantile(0.95, 14) * deviation
    assert (round(mean - half, 3), round(mean + half, 3)) == (0.029, 0.237)
    assert bonett_price(15, math.fsum(differences), math.fsum(d * d for d in differences), 0.05).low < 0


def test_units_have_the_wider_of_bonett_and_price_and_of_the_bound_of_a_share():
    few_broke = [(-1, 1)] * 4 + [(0, 1)] * 146
    price, wider = bonett_price_units(few_broke, 0.05), paired_bounds(few_broke, 0.05)
    share = share_bounds(Sums.of([(Fraction(x + d, 2), d) for x, d in few_broke]), 0.05)
    assert wider.low == pytest.approx(min(price.low, 2 * share.low - 1))
    assert wider.high == pytest.approx(max(price.high, 2 * share.high - 1))
    assert wider.low < price.low
    assert paired_bounds([], 0.05) is None


DECLINE = [(Fraction(-4, 5), 1)] * 9 + [(Fraction(1, 5), 1)] * 12 + [(0, 1)] * 40


def test_against_pooled_runs_bonett_and_price_alone_show_a_decline():
    wide, price = paired_bounds(DECLINE, 0.05), bonett_price_units(DECLINE, 0.05)
    assert price.high < 0 <= wide.high
    assert paired_bounds(DECLINE, 0.05, "base") == (wide.low, price.high)
    assert paired_bounds(DECLINE, 0.05, "head") == wide  # a head of several runs shows nothing about the base
    better = [(-x, d) for x, d in DECLINE]
    assert paired_bounds(better, 0.05, "head") == pytest.approx((-price.high, -wide.low))
    assert paired_bounds(better, 0.05, "base") == paired_bounds(better, 0.05)


def test_turning_the_versions_around_turns_the_wider_interval_over():
    units = [(-1, 2), (0.5, 1), (0, 1), (0.25, 1)]
    low, high = paired_bounds(units, 0.05)
    assert paired_bounds([(-x, d) for x, d in units], 0.05) == pytest.approx((-high, -low))
