from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import mcnemar

from highbar.statistics.normal import normal_quantile
from highbar.statistics.paired import bonett_price, mcnemar_exact, mcnemar_mid_p, tango_interval, tango_z
from highbar.statistics.student import student_quantile
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
    assert mcnemar_mid_p(3, 3) == pytest.approx(1 - math.comb(6, 3) / 2**6)


def test_students_interval_would_have_called_fifteen_questions_significant():
    pairs = zip(AIME_II["o3-mini (medium)"], AIME_II["o3-mini (high)"], strict=True)
    differences = [(after - before) / 4 for before, after in pairs]
    mean = math.fsum(differences) / 15
    deviation = math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / 14 / 15)
    half = student_quantile(0.95, 14) * deviation
    assert (round(mean - half, 3), round(mean + half, 3)) == (0.029, 0.237)
    assert bonett_price(15, math.fsum(differences), math.fsum(d * d for d in differences), 0.05).low < 0
