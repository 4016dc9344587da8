from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from bench.early_exact import drawn, exactly, sampled
from hypothesis import given, settings
from hypothesis import strategies as st

from highbar.statistics.spending import (
    Boundaries,
    Boundary,
    Crossing,
    binomial_boundaries,
    first_crossing,
    least_to_meet,
    suite_boundaries,
)

THRESHOLD = Fraction(85, 100)
ALPHA = 0.05
SPENDINGS = ["linear", "late"]


def of_passes(boundaries: Boundaries, passes: list[bool]) -> Crossing | None:
    return first_crossing(boundaries, [(passed, passed) for passed in passes])


def test_the_boundaries_of_200_units_at_85_percent_are_the_published_ones():
    boundaries = binomial_boundaries(THRESHOLD, 200, ALPHA)
    assert boundaries.at(30).to_pass is None
    assert boundaries.at(31).to_pass == 31
    at_threshold, above = sampled(boundaries, 0.85), sampled(boundaries, 0.95)
    assert (round(at_threshold.passes, 4), round(at_threshold.fails, 4)) == (0.0493, 0.0495)
    assert round(at_threshold.units, 1) == 190.5
    assert (round(above.passes, 4), round(above.units, 1)) == (0.9985, 66.8)


@pytest.mark.parametrize(
    ("rate", "passes", "fails", "units"),
    [
        (0.70, 0.0, 1.0, 60),
        (0.80, 0.001, 0.860, 273),
        (0.85, 0.049, 0.050, 475),
        (0.90, 0.922, 0.0, 253),
        (0.95, 1.0, 0.0, 82),
        (0.99, 1.0, 0.0, 41),
    ],
)
def test_what_500_units_at_85_percent_come_to_is_as_published(rate, passes, fails, units):
    ends = sampled(binomial_boundaries(THRESHOLD, 500, ALPHA), rate)
    assert (round(ends.passes, 3), round(ends.fails, 3), round(ends.units)) == (passes, fails, units)


@pytest.mark.parametrize(
    ("rate", "units", "power"), [(0.70, 50, 0.999), (0.80, 152, 0.528), (0.90, 151, 0.582), (0.95, 67, 0.998)]
)
def test_what_200_units_at_85_percent_come_to_is_as_published(rate, units, power):
    ends = sampled(binomial_boundaries(THRESHOLD, 200, ALPHA), rate)
    assert round(ends.units) == units
    assert round(max(ends.passes, ends.fails), 3) == power


@pytest.mark.parametrize("spending", SPENDINGS)
@pytest.mark.parametrize("percent", [50, 85, 95])
def test_no_design_up_to_24_units_spends_more_than_alpha_without_any_rounding(percent, spending):
    threshold = Fraction(percent, 100)
    for units in range(1, 25):
        passes, fails = exactly(binomial_boundaries(threshold, units, ALPHA, spending), threshold)
        assert passes <= Fraction(ALPHA)
        assert fails <= Fraction(ALPHA)


@pytest.mark.parametrize("spending", SPENDINGS)
def test_no_design_up_to_300_units_spends_more_than_alpha_at_85_percent(spending):
    for units in range(1, 301):
        ends = sampled(binomial_boundaries(THRESHOLD, units, ALPHA, spending), 0.85)
        assert max(ends.passes, ends.fails) <= ALPHA


@pytest.mark.slow
@pytest.mark.parametrize("spending", SPENDINGS)
def test_no_suite_up_to_300_units_is_judged_wrongly_more_often_than_alpha_at_85_percent(spending):
    for units in range(1, 301):
        boundaries = suite_boundaries(THRESHOLD, units, ALPHA, spending)
        least = least_to_meet(THRESHOLD, units)
        assert drawn(boundaries, least - 1).passes <= ALPHA
        assert drawn(boundaries, least).fails <= ALPHA


@pytest.mark.parametrize("percent", [5, 50, 70, 90, 95, 99])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.1])
@pytest.mark.parametrize("spending", SPENDINGS)
def test_no_design_spends_more_than_alpha_at_other_thresholds(percent, alpha, spending):
    threshold = Fraction(percent, 100)
    for units in (1, 4, 5, 19, 60, 137, 300):
        ends = sampled(binomial_boundaries(threshold, units, alpha, spending), percent / 100)
        assert max(ends.passes, ends.fails) <= alpha
        least = least_to_meet(threshold, units)
        of_suite = suite_boundaries(threshold, units, alpha, spending)
        assert drawn(of_suite, least - 1).passes <= alpha
        assert drawn(of_suite, least).fails <= alpha


@pytest.mark.parametrize("spending", SPENDINGS)
def test_an_error_is_no_likelier_farther_from_the_threshold(spending):
    boundaries = binomial_boundaries(THRESHOLD, 120, ALPHA, spending)
    rates = [place / 100 for place in range(0, 101, 5)]
    passes = [sampled(boundaries, rate).passes for rate in rates]
    fails = [sampled(boundaries, rate).fails for rate in rates]
    assert passes == pytest.approx(sorted(passes), abs=1e-12)
    assert fails == pytest.approx(sorted(fails, reverse=True), abs=1e-12)


def test_late_spending_decides_later_and_loses_less_power():
    linear, late = (sampled(binomial_boundaries(THRESHOLD, 200, ALPHA, spending), 0.9) for spending in SPENDINGS)
    assert late.units > linear.units
    assert late.passes > linear.passes


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 100),
    st.integers(1, 60),
    st.sampled_from([0.01, 0.05, 0.2]),
    st.sampled_from(SPENDINGS),
    st.booleans(),
)
def test_the_boundaries_never_meet_and_leave_open_only_what_was_open(percent, units, alpha, spending, suite):
    design = suite_boundaries if suite else binomial_boundaries
    boundaries = design(Fraction(percent, 100), units, alpha, spending)
    before = Boundary(None, None)
    for looked in range(1, units + 1):
        to_pass, to_fail = boundaries.at(looked)
        assert to_pass is None or to_fail is None or to_pass > to_fail
        assert to_pass is None or 0 <= to_pass <= looked
        assert to_fail is None or 0 <= to_fail <= looked
        # Only counts that follow from an open one are open.
        if before.to_pass is not None:
            assert to_pass is not None
            assert to_pass <= before.to_pass + 1
        if before.to_fail is not None:
            assert to_fail is not None
            assert to_fail >= before.to_fail
        before = Boundary(to_pass, to_fail)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 100), st.integers(1, 40), st.booleans(), st.integers(0, 2**32))
def test_a_suite_that_has_run_is_always_decided_by_its_exact_share_or_before(percent, units, strict, seed):
    threshold = Fraction(percent, 100)
    boundaries = suite_boundaries(threshold, units, ALPHA, strict=strict)
    passes = [random.Random(seed).random() < 0.7 for _ in range(units)]
    share = Fraction(sum(passes), units)
    crossing = of_passes(boundaries, passes)
    assert crossing is not None
    if crossing.units == units:
        assert crossing.passed == (share > threshold if strict else share >= threshold)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([(True, True), (False, False), (False, True)]), min_size=1, max_size=80))
def test_an_undecided_unit_never_changes_what_every_reading_of_it_comes_to(outcomes):
    boundaries = binomial_boundaries(Fraction(7, 10), 80, 0.2)
    found = first_crossing(boundaries, outcomes)
    worst, best = (of_passes(boundaries, [pair[reading] for pair in outcomes]) for reading in (0, 1))
    if found is not None:
        for crossing in (worst, best):
            assert crossing is not None
            assert crossing.passed == found.passed
        assert found == (worst if found.passed else best)
    else:
        assert worst is None or not worst.passed
        assert best is None or best.passed


@settings(max_examples=100, deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=80), st.integers(0, 79))
def test_breaking_a_unit_never_improves_the_outcome(passes, place):
    boundaries = binomial_boundaries(Fraction(7, 10), 80, 0.2)
    place %= len(passes)
    broken = [*passes[:place], False, *passes[place + 1 :]]
    before, after = of_passes(boundaries, passes), of_passes(boundaries, broken)
    ranks = {False: 0, None: 1, True: 2}
    assert ranks[after.passed if after else None] <= ranks[before.passed if before else None]


def test_nothing_after_the_crossing_is_read():
    boundaries = binomial_boundaries(THRESHOLD, 200, ALPHA)
    outcomes = iter([(True, True)] * 40 + [(False, False)] * 160)
    assert first_crossing(boundaries, outcomes) == Crossing(31, passed=True)
    assert len(list(outcomes)) == 169


def test_a_threshold_of_100_percent_fails_at_the_first_failure_and_never_passes():
    boundaries = binomial_boundaries(Fraction(1), 50, ALPHA)
    assert of_passes(boundaries, [True, True, False]) == Crossing(3, passed=False)
    assert of_passes(boundaries, [True] * 50) is None


def test_a_suite_decides_as_soon_as_its_share_is_settled():
    boundaries = suite_boundaries(Fraction(1), 50, ALPHA)
    assert of_passes(boundaries, [True, False]) == Crossing(2, passed=False)
    found = of_passes(boundaries, [True] * 50)
    assert found is not None
    assert found.passed


@pytest.mark.parametrize("look", [0, -1, 201])
def test_there_is_no_look_beyond_the_horizon(look):
    with pytest.raises(ValueError, match="of 200"):
        binomial_boundaries(THRESHOLD, 200, ALPHA).at(look)


def test_an_early_crossing_of_a_large_design_is_found_without_walking_all_of_it():
    boundaries = binomial_boundaries(THRESHOLD, 1_000_000, ALPHA)
    assert of_passes(boundaries, [False] * 100) is not None


@pytest.mark.parametrize("spending", SPENDINGS)
def test_units_that_turn_out_to_have_no_outcome_spend_nothing_and_the_rest_never_more_than_alpha(spending):
    places = tuple(place for place in range(1, 121) if place % 3)
    boundaries = binomial_boundaries(THRESHOLD, 120, ALPHA, spending, places)
    assert boundaries.units == 80
    ends = sampled(boundaries, 0.85)
    assert max(ends.passes, ends.fails) <= ALPHA
    assert min(ends.passes, ends.fails) > 0.04
    with pytest.raises(ValueError, match="81 of 80"):
        boundaries.at(81)


def test_threads_may_share_a_design():
    boundaries = binomial_boundaries(Fraction(831, 1000), 1500, ALPHA)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: [boundaries.at(looked) for looked in range(1, 1501)], range(8)))
    assert all(one == found[0] for one in found)
