from __future__ import annotations

from fractions import Fraction

import pytest
from bench import early_exact
from bench.early_scores import first_won
from hypothesis import given, settings
from hypothesis import strategies as st

from highbar.statistics.betting import Bets, bet_boundaries
from highbar.statistics.spending import (
    Crossing,
    binomial_boundaries,
    first_crossing,
    suite_boundaries,
    tolerance_boundaries,
)
from highbar.statistics.stopping import sample_ends, suite_ends

ALPHA = 0.05


@pytest.mark.parametrize("percent", [0, 70, 85, 95, 100])
@pytest.mark.parametrize("spending", ["linear", "late"])
def test_a_sample_ends_as_computed_over_the_whole_lattice(percent, spending):
    boundaries = binomial_boundaries(Fraction(85, 100), 150, ALPHA, spending)
    (ends, units), expected = (
        sample_ends(boundaries, Fraction(percent, 100)),
        early_exact.sampled(boundaries, percent / 100),
    )
    assert (ends.passes, ends.fails, units) == pytest.approx(expected, abs=1e-9)
    assert ends.passes + ends.fails + ends.inconclusive == pytest.approx(1)


@pytest.mark.parametrize("passes", [0, 80, 101, 102, 110, 120])
def test_a_suite_ends_as_computed_over_the_whole_lattice_and_is_always_decided(passes):
    boundaries = suite_boundaries(Fraction(85, 100), 120, ALPHA)
    (ends, units), expected = suite_ends(boundaries, passes), early_exact.drawn(boundaries, passes)
    assert (ends.passes, ends.fails, units) == pytest.approx(expected, abs=1e-9)
    assert ends.inconclusive == pytest.approx(0, abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 20), st.lists(st.booleans(), min_size=1, max_size=60))
def test_bets_on_passes_and_fails_are_won_at_their_boundaries(twentieths, passes):
    threshold = Fraction(twentieths, 20)
    by_counts = first_crossing(bet_boundaries(threshold, 60, 0.2), [(passed, passed) for passed in passes])
    assert by_counts == first_won(Bets(threshold, 0.2), [((int(passed), 1), (int(passed), 1)) for passed in passes])


@pytest.mark.parametrize(("failures", "enough"), [(0, 59), (1, 93), (2, 124)])
def test_no_more_failures_than_accepted_pass_as_soon_as_they_exclude_the_tolerated_rate(failures, enough):
    boundaries = tolerance_boundaries(Fraction(5, 100), 200, ALPHA, failures)
    good = [(True, True)] * 200
    assert first_crossing(boundaries, [(False, False)] * failures + good) == Crossing(enough, passed=True)
    assert first_crossing(boundaries, [(False, False)] * (failures + 1)) == Crossing(failures + 1, passed=False)
    assert first_crossing(boundaries, good[: enough - 1]) is None


def test_a_tolerated_rate_is_passed_no_more_often_than_alpha():
    for failures in range(3):
        ends, _ = sample_ends(tolerance_boundaries(Fraction(5, 100), 200, ALPHA, failures), Fraction(95, 100))
        assert ends.passes <= ALPHA


def test_too_few_units_for_the_accepted_failures_still_pass_at_the_end_with_fewer():
    boundaries = tolerance_boundaries(Fraction(5, 100), 70, ALPHA, failures=1)
    good = [(True, True)] * 70
    assert first_crossing(boundaries, good) == Crossing(70, passed=True)
    assert first_crossing(boundaries, [(False, False), *good[1:]]) is None
    assert first_crossing(tolerance_boundaries(Fraction(5, 100), 58, ALPHA), good[:58]) is None
    assert sample_ends(boundaries, Fraction(95, 100))[0].passes <= ALPHA
