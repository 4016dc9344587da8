"""What labels say about a judge: numbers that others have printed, brute force, and laws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from bench.by_scenario import count_bounds
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from highbar.statistics.agreement import agreement, krippendorff_alpha
from highbar.statistics.bounds import Sums, share_bounds
from highbar.statistics.judges import (
    JudgedCluster,
    JudgeRates,
    LabelStratum,
    canary_test,
    chance_of_same_rates,
    exact_test,
    judge_rates,
    post_stratified,
    rogan_gladen,
)

ALPHA = 0.05
SIDES = (True, False)


def alone(passed: bool, count: int, label: bool | None = None) -> JudgedCluster:
    """`count` scenarios of one trial that the judge passed or failed, and what people say of each."""
    here = (1, 0) if passed else (0, 1)
    nowhere = (0, 0)
    return JudgedCluster(1, 0, here, nowhere if label is None else here, here if label else nowhere, count)


def run_of(n11: int, n01: int, n10: int, n00: int, *, passed: int = 0, failed: int = 0) -> list[JudgedCluster]:
    """Labeled scenarios of one trial by cell, and others that the judge passed and failed without a label."""
    cells = ((True, n11, True), (True, n01, False), (False, n10, True), (False, n00, False))
    return [alone(*cell) for cell in cells] + [alone(True, passed), alone(False, failed)]


counts = st.integers(0, 40)
runs = st.builds(
    lambda cells, passed, failed: run_of(*cells, passed=passed, failed=failed),
    st.tuples(st.integers(1, 40), counts, counts, st.integers(1, 40)),
    st.integers(0, 500),
    st.integers(0, 500),
)
alphas = st.sampled_from([0.2, 0.1, 0.05, 0.01])


# --- published -------------------------------------------------------------------------------


def test_cohens_kappa_of_a_textbook_table():
    found = agreement(20, 10, 5, 15)
    assert found is not None
    assert (found.share, found.base_rate, found.constant) == (0.7, 0.5, 0.5)
    assert found.kappa == pytest.approx(0.4)


def test_a_constant_judge_agrees_as_often_as_the_base_rate_and_has_a_kappa_of_0():
    found = agreement(95, 5, 0, 0)
    assert found is not None
    assert (found.share, found.constant, found.kappa) == (0.95, 0.95, 0)


def test_kappa_is_undefined_if_only_one_word_was_said_and_without_labels():
    assert agreement(7, 0, 0, 0).kappa is None
    assert agreement(0, 0, 0, 0) is None


def test_krippendorffs_alpha_of_three_readers_with_gaps():
    # The example of three readers and fifteen units that Wikipedia works out; nominal .691.
    first = [None, None, None, None, None, 3, 4, 1, 2, 1, 1, 3, 3, None, 3]
    second = [1, None, 2, 1, 3, 3, 4, 3, None, None, None, None, None, None, None]
    third = [None, None, 2, 1, 3, 4, 4, None, 2, 1, 1, 3, 3, None, 4]
    units = [[value for value in unit if value is not None] for unit in zip(first, second, third, strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.691, abs=5e-4)


def test_krippendorffs_alpha_by_its_definition():
    units = [[1, 1, 0], [0, 0], [1, 0, 1, 1], [0, 0, 0], [1]]
    pairs = [(a, b, len(unit) - 1) for unit in units for a, b in itertools.permutations(unit, 2)]
    values = [value for unit in units if len(unit) > 1 for value in unit]
    observed = sum(Fraction(a != b, weight) for a, b, weight in pairs)
    expected = Fraction(sum(a != b for a, b in itertools.permutations(values, 2)), len(values) - 1)
    assert krippendorff_alpha(units) == pytest.approx(float(1 - observed / expected))


def test_krippendorffs_alpha_is_undefined_without_pairs_and_without_variety():
    assert krippendorff_alpha([[1], [0]]) is None
    assert krippendorff_alpha([[1, 1], [1, 1]]) is None


def test_the_formula_of_tenenbein_with_the_half_widths_of_clopper_and_pearson():
    # One trial per scenario: statistics by hand, term by term.
    n11, n01, n10, n00, passed, failed = 47, 3, 20, 30, 800, 100
    total, share = passed + failed + 100, (passed + 50) / (passed + failed + 100)
    r1, r0 = n11 / 50, n10 / 50
    found = post_stratified(run_of(n11, n01, n10, n00, passed=passed, failed=failed), ALPHA)
    assert found is not None
    assert found.value == pytest.approx(share * r1 + (1 - share) * r0)
    first, second = count_bounds(n11, 50, ALPHA), count_bounds(n10, 50, ALPHA)
    scores = [(Fraction(n11, 50), 1)] * (passed + 50) + [(Fraction(n10, 50), 1)] * (failed + 50)
    spread = share_bounds(Sums.of(scores), ALPHA)
    low = math.hypot(share * (r1 - first.low), (1 - share) * (r0 - second.low), found.value - spread.low)
    high = math.hypot(share * (first.high - r1), (1 - share) * (second.high - r0), spread.high - found.value)
    assert len(scores) == total
    assert found.bounds.low == pytest.approx(found.value - low)
    assert found.bounds.high == pytest.approx(found.value + high)


# --- laws ------------------------------------------------------------------------------------


@given(runs, alphas)
def test_the_bounds_hold_the_corrected_share(clusters, alpha):
    found = post_stratified(clusters, alpha)
    if found is not None:
        assert 0 <= found.bounds.low <= found.value <= found.bounds.high <= 1


@given(runs, alphas)
def test_passes_and_failures_are_treated_alike(clusters, alpha):
    turned = [
        JudgedCluster(
            one.weight,
            one.weight - one.known - sum(one.judged),
            one.judged[::-1],
            one.labeled[::-1],
            tuple(labeled - ones for labeled, ones in zip(one.labeled, one.ones, strict=True))[::-1],
            one.count,
        )
        for one in clusters
    ]
    found, mirrored = post_stratified(clusters, alpha), post_stratified(turned, alpha)
    assert (found is None) == (mirrored is None)
    if found is not None and mirrored is not None:
        assert mirrored.value == pytest.approx(1 - found.value)
        # Lower bounds are wider if need be, so that they never rise if a trial breaks; upper ones are not.
        assert found.bounds.low <= 1 - mirrored.bounds.high + 1e-9
        assert mirrored.bounds.low <= 1 - found.bounds.high + 1e-9


@given(runs, alphas, alphas)
def test_more_confidence_never_narrows_a_corrected_share(clusters, one, other):
    sure, unsure = post_stratified(clusters, min(one, other)), post_stratified(clusters, max(one, other))
    if sure is not None and unsure is not None:
        assert sure.bounds.low <= unsure.bounds.low + 1e-12
        assert sure.bounds.high >= unsure.bounds.high - 1e-12


@given(st.integers(1, 40), st.integers(0, 39), st.integers(1, 40), st.integers(0, 39))
def test_one_more_label_that_fails_never_raises_the_share(n11, n01, n10, n00):
    before = post_stratified(run_of(n11, n01, n10, n00, passed=200, failed=50), ALPHA)
    after = post_stratified(run_of(n11 - 1, n01 + 1, n10, n00, passed=200, failed=50), ALPHA)
    assert before is not None
    assert after is not None
    assert after.value <= before.value


@given(st.integers(1, 60), st.integers(1, 60), alphas)
def test_a_judge_that_all_labels_confirm_has_the_plain_share_and_bounds_that_are_not_narrower(passed, failed, alpha):
    found = post_stratified(run_of(passed, 0, 0, failed), alpha)
    plain = count_bounds(passed, passed + failed, alpha)
    assert found is not None
    assert found.value == passed / (passed + failed)
    assert found.bounds.low <= plain.low
    assert found.bounds.high >= plain.high


def test_a_judge_that_very_many_labels_confirm_has_the_plain_bounds():
    found = post_stratified(run_of(90_000, 0, 0, 10_000), ALPHA)
    assert found is not None
    assert found.bounds == pytest.approx(count_bounds(90_000, 100_000, ALPHA), abs=1e-5)


def test_known_trials_need_no_label_and_widen_nothing_by_it():
    known = [JudgedCluster(1, 1, (0, 0), (0, 0), (0, 0), 19), JudgedCluster(1, 0, (0, 0), (0, 0), (0, 0), 1)]
    found = post_stratified(known, ALPHA)
    assert found is not None
    assert found.bounds == pytest.approx(count_bounds(19, 20, ALPHA))


def test_a_stratum_with_trials_and_without_labels_leaves_the_share_undefined():
    assert post_stratified(run_of(20, 1, 0, 0, failed=1), ALPHA) is None
    assert post_stratified(run_of(20, 1, 0, 0), ALPHA) is not None
    assert post_stratified([], ALPHA) is None


def test_labels_of_the_same_scenarios_are_worth_less_than_those_of_others():
    apart = run_of(45, 5, 10, 40, passed=100, failed=50)
    together = [
        JudgedCluster(5, 0, (5, 0), (5, 0), (5, 0), 9),
        JudgedCluster(5, 0, (5, 0), (5, 0), (0, 0), 1),
        JudgedCluster(5, 0, (0, 5), (0, 5), (0, 5), 2),
        JudgedCluster(5, 0, (0, 5), (0, 5), (0, 0), 8),
        JudgedCluster(5, 0, (5, 0), (0, 0), (0, 0), 20),
        JudgedCluster(5, 0, (0, 5), (0, 0), (0, 0), 10),
    ]
    one, five = post_stratified(apart, ALPHA), post_stratified(together, ALPHA)
    assert one is not None
    assert five is not None
    assert five.value == pytest.approx(one.value)
    assert five.bounds.low < one.bounds.low - 0.02
    assert five.bounds.high > one.bounds.high + 0.02


def test_scenarios_that_the_judge_finds_bad_and_in_which_it_errs_widen_the_bounds():
    # In the same scenarios, the judge fails more trials and people fail more of what it passed.
    clusters = [
        JudgedCluster(5, 0, (5, 0), (3, 0), (3, 0), 30),
        JudgedCluster(5, 0, (2, 3), (2, 2), (0, 0), 10),
    ]
    mixed = [
        JudgedCluster(5, 0, (5, 0), (3, 0), (3, 0), 20),
        JudgedCluster(5, 0, (5, 0), (2, 0), (0, 0), 10),
        JudgedCluster(5, 0, (2, 3), (3, 2), (3, 0), 10),
    ]
    wide, narrow = post_stratified(clusters, ALPHA), post_stratified(mixed, ALPHA)
    assert wide is not None
    assert narrow is not None
    assert wide.value == pytest.approx(narrow.value)
    assert wide.value - wide.bounds.low > narrow.value - narrow.bounds.low


def test_scenarios_may_be_counted_or_listed():
    counted = run_of(20, 2, 5, 9, passed=30, failed=10)
    listed = [
        JudgedCluster(one.weight, one.known, one.judged, one.labeled, one.ones)
        for one in counted
        for _ in range(one.count)
    ]
    assert post_stratified(counted, ALPHA) == post_stratified(listed, ALPHA)


# --- sensitivity and specificity -------------------------------------------------------------


def strata_of(n11: int, n01: int, n10: int, n00: int, passed: int, failed: int) -> list[LabelStratum]:
    return [
        LabelStratum(True, passed, ((1, 1),) * n11 + ((0, 1),) * n01),
        LabelStratum(False, failed, ((1, 1),) * n10 + ((0, 1),) * n00),
    ]


def test_labels_drawn_half_from_each_stratum_stand_for_the_trials_of_their_stratum():
    # Of 1,000 trials the judge passes 900 of 950 and 20 of 50: the labels are a twentieth of one, half of the other.
    rates = judge_rates(strata_of(45, 1, 25, 15, 920, 80), ALPHA)
    assert rates is not None
    assert rates.sensitivity.value == pytest.approx(900 / 950)
    assert rates.specificity.value == pytest.approx(30 / 50)


@given(counts, counts, counts, counts, st.integers(1, 2000), st.integers(1, 2000), alphas)
def test_the_bounds_hold_the_rates(n11, n01, n10, n00, passed, failed, alpha):
    rates = judge_rates(strata_of(n11, n01, n10, n00, passed, failed), alpha)
    assert (rates is None) == (n11 + n01 == 0 or n10 + n00 == 0)
    for rate in (rates.sensitivity, rates.specificity) if rates else ():
        if rate is not None:
            assert 0 <= rate.bounds.low <= rate.value <= rate.bounds.high <= 1


@given(counts, counts, counts, counts, st.integers(1, 2000), st.integers(1, 2000))
def test_sensitivity_of_one_word_is_specificity_of_the_other(n11, n01, n10, n00, passed, failed):
    rates = judge_rates(strata_of(n11, n01, n10, n00, passed, failed), ALPHA)
    turned = judge_rates(strata_of(n00, n10, n01, n11, failed, passed), ALPHA)
    assert (rates is None) == (turned is None)
    if rates is None or turned is None or rates.sensitivity is None or turned.specificity is None:
        return
    assert rates.sensitivity.value == pytest.approx(turned.specificity.value)
    assert rates.sensitivity.bounds == pytest.approx(turned.specificity.bounds, abs=1e-9)


@pytest.mark.parametrize("sides", [(True, True, True), (False, False, False), (True, False, True)])
def test_the_order_of_the_strata_does_not_matter(sides: tuple[bool, ...]) -> None:
    counts = ((9, 1, 30), (2, 8, 50), (5, 5, 20))
    strata = [
        LabelStratum(side, trials, ((1, 1),) * ones + ((0, 1),) * zeros)
        for side, (ones, zeros, trials) in zip(sides, counts, strict=True)
    ]
    found = [judge_rates(order, ALPHA) for order in itertools.permutations(strata)]
    for rates in found:
        assert rates is not None
        assert found[0] is not None
        for one, other in ((rates.sensitivity, found[0].sensitivity), (rates.specificity, found[0].specificity)):
            assert one is not None
            assert other is not None
            assert (one.value, *one.bounds) == pytest.approx((other.value, *other.bounds), abs=1e-12)


def test_a_whole_run_of_labels_gives_almost_the_exact_bounds():
    rates = judge_rates(strata_of(180, 5, 20, 95, 185, 115), ALPHA)
    assert rates is not None
    assert rates.sensitivity.value == pytest.approx(180 / 200)
    assert rates.sensitivity.bounds == pytest.approx(count_bounds(180, 200, ALPHA), abs=0.01)


def test_a_stratum_may_be_in_parts():
    whole = judge_rates(strata_of(40, 10, 20, 30, 500, 100), ALPHA)
    first, second = strata_of(40, 10, 20, 30, 500, 100)
    halves = [
        LabelStratum(False, 50, second.labels[10:35]),
        LabelStratum(False, 50, second.labels[:10] + second.labels[35:]),
    ]
    parts = judge_rates([first, *halves], ALPHA)
    assert whole is not None
    assert parts is not None
    assert parts.sensitivity.value == pytest.approx(whole.sensitivity.value)
    assert parts.sensitivity.bounds == pytest.approx(whole.sensitivity.bounds, abs=0.02)


def test_a_constant_judge_tells_nothing_apart():
    rates = judge_rates([LabelStratum(True, 1000, ((1, 1),) * 90 + ((0, 1),) * 10)], ALPHA)
    assert rates is not None
    assert rates.sensitivity.value == 1
    assert rates.specificity.value == 0
    assert rates.sensitivity.bounds.low < 1
    assert not rates.is_better_than_chance()


def test_a_judge_by_chance_does_not_tell_apart_and_a_good_one_does():
    assert not judge_rates(strata_of(45, 5, 44, 6, 500, 500), ALPHA).is_better_than_chance()
    assert judge_rates(strata_of(48, 2, 10, 40, 900, 100), ALPHA).is_better_than_chance()
    assert not JudgeRates(None, None).is_better_than_chance()


# --- Rogan and Gladen ------------------------------------------------------------------------

GOOD = judge_rates(strata_of(95, 5, 10, 90, 500, 500), ALPHA)


def judged(passed: int, failed: int) -> list[JudgedCluster]:
    return [alone(True, passed), alone(False, failed)]


def test_the_share_is_that_of_rogan_and_gladen():
    found = rogan_gladen(judged(800, 200), SIDES, GOOD, ALPHA)
    sens, spec = GOOD.sensitivity.value, GOOD.specificity.value
    assert found is not None
    assert found.value == pytest.approx((0.8 + spec - 1) / (sens + spec - 1))


@given(st.integers(0, 400), st.integers(0, 400), alphas)
def test_the_bounds_hold_the_share_of_rogan_and_gladen(passed, failed, alpha):
    found = rogan_gladen(judged(passed, failed), SIDES, GOOD, alpha)
    assert (found is None) == (passed + failed == 0)
    if found is not None:
        assert 0 <= found.bounds.low <= found.value <= found.bounds.high <= 1


@settings(max_examples=30)
@given(st.integers(0, 99))
def test_one_more_failure_never_raises_the_share_or_its_bounds(failed):
    before = rogan_gladen(judged(100 - failed, failed), SIDES, GOOD, ALPHA)
    after = rogan_gladen(judged(99 - failed, failed + 1), SIDES, GOOD, ALPHA)
    assert before is not None
    assert after is not None
    assert after.value <= before.value
    assert after.bounds.low <= before.bounds.low + 1e-9
    assert after.bounds.high <= before.bounds.high + 1e-9


def test_a_perfect_judge_with_endless_labels_has_the_plain_bounds():
    endless = 10**6
    rates = judge_rates([LabelStratum(side, endless, ((int(side) * 10**5, 10**5),) * 10**3) for side in SIDES], ALPHA)
    found = rogan_gladen(judged(90, 10), SIDES, rates, ALPHA)
    assert found is not None
    assert found.bounds == pytest.approx(count_bounds(90, 100, ALPHA), abs=5e-3)


def test_trials_that_are_known_bound_the_share():
    clusters = [
        *judged(40, 10),
        JudgedCluster(1, 1, (0, 0), (0, 0), (0, 0), 30),
        JudgedCluster(1, 0, (0, 0), (0, 0), (0, 0), 20),
    ]
    found = rogan_gladen(clusters, SIDES, GOOD, ALPHA)
    assert found is not None
    assert 0.3 <= found.bounds.low <= found.value <= found.bounds.high <= 0.8


def test_no_share_is_corrected_by_a_judge_that_does_not_tell_apart():
    chance = judge_rates(strata_of(45, 5, 44, 6, 500, 500), ALPHA)
    assert rogan_gladen(judged(80, 20), SIDES, chance, ALPHA) is None


# --- canaries --------------------------------------------------------------------------------


@pytest.mark.parametrize(("wrong", "good", "bad"), [(0, 3, 2), (1, 3, 2), (2, 4, 0), (3, 2, 3), (5, 3, 2)])
def test_the_chance_of_so_many_wrong_canaries_by_brute_force(wrong, good, bad):
    errors = [0.05] * good + [0.2] * bad
    expected = sum(
        math.prod(error if is_wrong else 1 - error for error, is_wrong in zip(errors, outcome, strict=True))
        for outcome in itertools.product((False, True), repeat=len(errors))
        if sum(outcome) >= wrong
    )
    assert canary_test(wrong, good, 0, bad, 0.95, 0.8) == pytest.approx(expected)


def test_a_judge_that_is_95_percent_right_misses_one_of_ten_canaries_in_40_percent_of_runs():
    assert canary_test(1, 5, 0, 5, 0.95, 0.95) == pytest.approx(0.4013, abs=1e-4)


def test_no_canary_wrong_is_no_evidence_and_all_wrong_is():
    assert canary_test(0, 5, 0, 5) == 1
    assert canary_test(0, 0, 0, 0) == 1
    assert canary_test(5, 5, 5, 5) < 1e-9


# --- the same rates? -------------------------------------------------------------------------


@given(st.tuples(*[st.integers(0, 30)] * 4))
@settings(max_examples=100, deadline=None)
def test_the_exact_test_is_that_of_others(cells: tuple[int, int, int, int]) -> None:
    one, zero, other_one, other_zero = cells
    _, expected = fisher_exact([[one, zero], [other_one, other_zero]])
    assert exact_test(one, one + zero, other_one, other_one + other_zero) == pytest.approx(float(expected), rel=1e-6)


def test_labels_of_equal_weight_are_compared_as_counts() -> None:
    """Ten labels of each stratum, of which the judge has 9 and 5 right before, and 4 and 5 now."""
    before = [LabelStratum(True, 50, ((1, 1),) * 9 + ((0, 1),)), LabelStratum(False, 50, ((0, 1),) * 10)]
    now = [LabelStratum(True, 50, ((1, 1),) * 2 + ((0, 1),) * 8), LabelStratum(False, 50, ((0, 1),) * 10)]
    _, expected = fisher_exact([[10, 1], [10, 8]])
    assert chance_of_same_rates(now, before) == pytest.approx(2 * float(expected))


def test_a_label_that_stands_for_more_trials_counts_more() -> None:
    def strata(passed: int, missed: int) -> list[LabelStratum]:
        return [LabelStratum(True, passed, ((0, 1),) * missed + ((1, 1),) * (10 - missed)),
                LabelStratum(False, 10, ((0, 1),) * 10)]  # fmt: skip

    assert chance_of_same_rates(strata(10, 4), strata(1000, 4)) < chance_of_same_rates(strata(10, 4), strata(10, 4))
    assert chance_of_same_rates([], strata(10, 4)) == 1.0
