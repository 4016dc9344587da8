from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import pytest
from scipy import special, stats

from highbar.statistics.distributions import (
    at_least,
    at_most,
    beta_cdf,
    beta_pair_tails,
    beta_quantile,
    beta_survival,
    beta_upper_quantile,
    normal_cdf,
    normal_quantile,
)
from highbar.statistics.ratio import student_quantile
from tests.tables import each

PARAMETERS = (0.5, 1, 1.5, 2, 5, 17.25, 59, 299, 301, 1000, 12345.5, 1e5, 1e6, 3.3e7, 1e9)
PAIRS = list(itertools.product(PARAMETERS, PARAMETERS))
TAILS = (1e-300, 1e-200, 1e-100, 1e-50, 1e-20, 1e-12, 1e-6, 0.001, 0.025, 0.05, 0.5, 0.9, 0.999, 1 - 1e-9)
DEVIATIONS = (-35, -20, -12, -6, -3, -1, -0.1, 0, 0.5, 2, 5, 9, 20, 35)


def points(a: float, b: float) -> list[float]:
    mean = a / (a + b)
    deviation = math.sqrt(mean * (1 - mean) / (a + b + 1))
    return [x for z in DEVIATIONS if 0 < (x := mean + z * deviation) < 1]


def exact_tails(k: int, n: int, x: float) -> tuple[Decimal, Decimal]:
    """P(Binomial(n, x) < k) and its complement in 60 digits: the survival and the cdf of Beta(k, n - k + 1)."""
    with localcontext() as context:
        context.prec = 60
        p, q = Decimal(x), 1 - Decimal(x)
        below = sum((Decimal(math.comb(n, i)) * p**i * q ** (n - i) for i in range(k)), Decimal(0))
        return below, 1 - below


@each(PAIRS)
def test_both_tails_agree_with_scipy(a, b):
    # scipy loses digits itself where one parameter is small and the other huge; the next test takes those.
    tolerance = 1e-8 if min(a, b) < 20 and max(a, b) > 1e7 else 1e-10
    for x in points(a, b):
        for ours, theirs in ((beta_cdf, special.betainc), (beta_survival, special.betaincc)):
            expected = float(theirs(a, b, x))
            if expected > 1e-290:
                assert ours(x, a, b) == pytest.approx(expected, rel=tolerance, abs=0)


@each(itertools.product((1, 2, 5, 17, 40), (60, 1000, 10**6, 10**9)))
def test_both_tails_agree_with_exact_sums(k, n):
    for x in points(k, n - k + 1):
        below, rest = exact_tails(k, n, x)
        assert beta_survival(x, k, n - k + 1) == pytest.approx(float(below), rel=1e-12, abs=1e-300)
        assert beta_cdf(x, k, n - k + 1) == pytest.approx(float(rest), rel=1e-12, abs=1e-300)


@each(PAIRS)
def test_quantiles_agree_with_scipy_wherever_scipy_agrees_with_itself(a, b):
    # Its cdf is the better of its two: at (1000, 1e9) its quantile is twice what it should be.
    tolerance = 1e-8 if min(a, b) < 20 and max(a, b) > 1e7 else 1e-10
    for p in TAILS:
        lower, upper = float(special.betaincinv(a, b, p)), float(special.betainccinv(a, b, p))
        if lower > 1e-290 and consistent(p, special.betainc(a, b, lower), special.betaincc(a, b, lower)):
            assert beta_quantile(p, a, b) == pytest.approx(lower, rel=tolerance, abs=0)
        if upper > 1e-290 and consistent(p, special.betaincc(a, b, upper), special.betainc(a, b, upper)):
            assert beta_upper_quantile(p, a, b) == pytest.approx(upper, rel=tolerance, abs=0)


def consistent(p: float, tail: float, rest: float) -> bool:
    return abs(tail / p - 1) < 1e-10 and abs(rest / (1 - p) - 1) < 1e-10


@each(PAIRS)
def test_a_quantile_has_the_tail_that_was_asked_for(a, b):
    for p in TAILS:
        x = beta_quantile(p, a, b)
        if 1e-290 < x < 1 - 1e-5:  # nearer to 1 the double itself cannot say where it is
            # How much of the tail one last digit of x is worth.
            grain = math.exp((a - 1) * math.log(x) + (b - 1) * math.log1p(-x) - special.betaln(a, b)) * x / p * 1e-15
            assert beta_cdf(x, a, b) == pytest.approx(p, rel=max(1e-11, grain * 4), abs=0)


@each(itertools.product((1, 10, 59, 10**6, 10**9), (1e-300, 1e-50, 0.05, 0.5)))
def test_laws_with_a_closed_form_are_met_to_the_last_digits(n, p):
    assert beta_quantile(p, n, 1) == pytest.approx(math.exp(math.log(p) / n), rel=1e-13)
    assert beta_upper_quantile(p, 1, n) == pytest.approx(-math.expm1(math.log(p) / n), rel=1e-13)


def test_the_ends_of_the_range_are_certain():
    assert (beta_cdf(0, 2, 3), beta_cdf(1, 2, 3), beta_survival(0, 2, 3), beta_survival(1, 2, 3)) == (0, 1, 1, 0)
    assert (beta_quantile(0, 2, 3), beta_quantile(1, 2, 3)) == (0, 1)
    assert (beta_upper_quantile(0, 2, 3), beta_upper_quantile(1, 2, 3)) == (1, 0)


def test_parameters_near_0_give_a_number_between_0_and_1():
    for a, b in itertools.product((1e-9, 1e-4, 0.1, 1, 1e6), repeat=2):
        assert all(0 <= beta_quantile(p, a, b) <= 1 for p in (0.001, 0.05, 0.5, 0.95, 0.999))


def test_binomial_tails_agree_with_scipy_and_end_where_they_must():
    for n, p in itertools.product((1, 7, 50, 1000, 10**6), (0.01, 0.5, 0.85, 0.999)):
        for k in {0, 1, n // 2, int(n * p), n - 1, n}:
            assert at_most(k, n, p) == pytest.approx(float(stats.binom.cdf(k, n, p)), rel=1e-10, abs=1e-280)
            assert at_least(k, n, p) == pytest.approx(float(stats.binom.sf(k - 1, n, p)), rel=1e-10, abs=1e-280)
    assert (at_most(-1, 5, 0.5), at_most(5, 5, 0.5), at_least(0, 5, 0.5), at_least(6, 5, 0.5)) == (0, 1, 1, 0)


@pytest.mark.parametrize("p", [1e-300, 1e-100, 1e-12, 0.001, 0.025, 0.05, 0.3, 0.4999, 0.5, 0.7, 0.95, 0.999999])
def test_the_normal_law_agrees_with_scipy(p):
    assert normal_quantile(p) == pytest.approx(float(stats.norm.ppf(p)), rel=1e-13, abs=1e-15)
    assert normal_cdf(normal_quantile(p)) == pytest.approx(p, rel=1e-12)


def test_the_normal_law_is_infinite_at_its_ends():
    assert (normal_quantile(0), normal_quantile(1)) == (-math.inf, math.inf)


def student_cdf(t, freedom):
    total = freedom + t * t
    tail = 0.5 * beta_pair_tails(freedom / total, t * t / total, freedom / 2, 0.5)[0]
    return tail if t < 0 else 1.0 - tail


@pytest.mark.parametrize("freedom", [1, 2, 3, 9, 14.5, 29, 99, 1e3, 1e6, 1e9])
def test_students_law_agrees_with_scipy(freedom):
    for p in (1e-100, 1e-30, 1e-12, 1e-5, 0.025, 0.05, 0.4, 0.6, 0.95, 0.9999):
        expected = float(stats.t.ppf(p, freedom))
        if math.isfinite(expected) and stats.t.cdf(expected, freedom) == pytest.approx(p, rel=1e-9):
            assert student_quantile(p, freedom) == pytest.approx(expected, rel=1e-10)
        assert student_cdf(student_quantile(p, freedom), freedom) == pytest.approx(p, rel=1e-10)
    assert student_quantile(0.5, freedom) == 0
    assert student_quantile(0, freedom) == -math.inf
