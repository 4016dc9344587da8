from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.composite import BoundedTerm, CrossSums, combine, correlation
from tests.unit.statistics import published

INDEPENDENT = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]


def term(passed: int, total: int, gradient: float, alpha: float = 0.025) -> BoundedTerm:
    bounds = published.wilson(passed, total, alpha)
    return BoundedTerm(passed / total, bounds.low, bounds.high, gradient)


@pytest.mark.parametrize(("first", "second"), [((56, 70), (48, 80)), ((5, 56), (0, 29)), ((10, 10), (0, 20))])
def test_the_difference_of_independent_rates_is_newcombes(first, second):
    terms = [term(*first, 1.0), term(*second, -1.0)]
    interval = combine(terms[0].value - terms[1].value, terms, INDEPENDENT)
    assert interval == pytest.approx(published.newcombe_difference(first, second, 0.025))


def test_the_difference_of_correlated_rates_is_newcombes():
    a, b, c, d = 20, 12, 2, 16
    phi = (a * d - b * c) / math.sqrt((a + b) * (c + d) * (a + c) * (b + d))
    terms = [term(a + b, 50, 1.0), term(a + c, 50, -1.0)]
    interval = combine(0.2, terms, [[1.0, phi], [phi, 1.0]])
    assert interval == pytest.approx(published.newcombe_paired((a, b, c, d), 0.025, corrected=False))


def test_a_single_term_keeps_its_own_bounds():
    assert combine(0.9, [BoundedTerm(0.9, 0.8, 0.95, 1.0)], [[1.0]]) == pytest.approx((0.8, 0.95))
    assert combine(0.1, [BoundedTerm(0.9, 0.8, 0.95, -1.0)], [[1.0]]) == pytest.approx((0.05, 0.2))


def test_the_sign_of_the_gradient_chooses_the_end():
    latency = BoundedTerm(0.6, 0.5, 1.0, -0.1, worst_case=True)
    assert combine(0.4, [latency], [[1.0]]) == pytest.approx((0.36, 0.41))


def test_a_worst_case_term_is_added_in_full():
    terms = [
        BoundedTerm(0.9, 0.8, 0.95, 1.0),
        BoundedTerm(0.9, 0.8, 0.95, 1.0),
        BoundedTerm(0.5, 0.4, 0.8, -1.0, worst_case=True),
    ]
    low, high = combine(1.3, terms, INDEPENDENT)
    assert low == pytest.approx(1.3 - math.hypot(0.1, 0.1) - 0.3)
    assert high == pytest.approx(1.3 + math.hypot(0.05, 0.05) + 0.1)


def test_an_unbounded_term_leaves_that_side_unbounded():
    terms = [BoundedTerm(0.9, 0.8, 0.95, 1.0), BoundedTerm(5000.0, 4000.0, math.inf, -0.001, worst_case=True)]
    low, high = combine(0.5, terms, INDEPENDENT)
    assert low == -math.inf
    assert high == pytest.approx(0.5 + 0.05 + 1.0)


def test_a_term_that_does_not_move_the_formula_does_not_count_even_unbounded():
    assert combine(1.0, [BoundedTerm(5.0, 1.0, math.inf, 0.0)], [[1.0]]) == (1.0, 1.0)


def test_terms_that_move_as_one_add_up_and_opposites_cancel():
    terms = [BoundedTerm(0.9, 0.8, 0.95, 0.5), BoundedTerm(0.9, 0.8, 0.95, 0.5)]
    assert combine(0.9, terms, [[1.0, 1.0], [1.0, 1.0]]) == pytest.approx((0.8, 0.95))
    assert combine(0.9, terms, [[1.0, -1.0], [-1.0, 1.0]]) == pytest.approx((0.9, 0.9))


def test_a_term_that_did_not_vary_still_has_a_width():
    assert combine(1.0, [BoundedTerm(1.0, 0.741, 1.0, 1.0)], [[0.0]]) == pytest.approx((0.741, 1.0))


scores = st.tuples(st.booleans(), st.booleans(), st.integers(1, 3))


@given(st.lists(scores, min_size=2, max_size=20))
def test_the_correlation_is_that_of_the_scenarios_influences(listed):
    first = [(Fraction(a * w), Fraction(w)) for a, _, w in listed]
    second = [(Fraction(b), Fraction(1)) for _, b, _ in listed]
    pairs = list(zip(first, second, strict=True))
    cross = CrossSums(
        zz=sum(k[0] * m[0] for k, m in pairs),
        zd=sum(k[0] * m[1] for k, m in pairs),
        dz=sum(k[1] * m[0] for k, m in pairs),
        dd=sum(k[1] * m[1] for k, m in pairs),
    )
    one, two = Sums.of(first), Sums.of(second)
    x = [float(z - one.value * d) for z, d in first]
    y = [float(z - two.value * d) for z, d in second]
    scale = math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))
    expected = sum(a * b for a, b in zip(x, y, strict=True)) / scale if scale > 1e-9 else 0.0
    assert correlation(one, two, cross) == pytest.approx(expected, abs=1e-9)


def test_a_share_correlates_perfectly_with_itself():
    sums = Sums.of([(1, 1), (0, 1), (1, 2)])
    assert correlation(sums, sums, CrossSums(sums.zz, sums.zd, sums.zd, sums.dd)) == pytest.approx(1)


def test_the_guides_composite_is_mostly_a_safety_interval_where_few_scenarios_are_adversarial():
    shares = [(93, 100, 0.3), (25, 25, 0.4), (90, 100, 0.2)]
    terms = []
    for passed, total, weight in shares:
        bounds = share_bounds(Sums.of([(1, 1)] * passed + [(0, 1)] * (total - passed)), 0.05)
        assert bounds is not None
        terms.append(BoundedTerm(passed / total, bounds.low, bounds.high, weight))
    independent = [[float(i == j) for j in range(3)] for i in range(3)]
    known = [replace(term, low=term.value, high=term.value) if term.gradient == 0.4 else term for term in terms]
    width, without = (-combine(0.0, each, independent).low for each in (terms, known))
    assert 1 - without / width > 0.5
