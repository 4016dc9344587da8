from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import pytest
from bench.early_scores import first_won
from hypothesis import given, settings
from hypothesis import strategies as st

from highbar.statistics.betting import Bets, Gambler
from highbar.statistics.spending import Crossing

ALPHA = 0.05
HALF = Fraction(1, 2)


def of_scores(threshold, scores, units=None, alpha=ALPHA, strict=False):
    return first_won(Bets(threshold, alpha, units, strict=strict), [((score, 1), (score, 1)) for score in scores])


def false_crossings(threshold, law, looks, alpha, passed):
    """How likely scores of this law, (score, chance) each, ever cross to this side, by trying every sequence."""
    total = Fraction(0)
    for sequence in itertools.product(law, repeat=looks):
        found = of_scores(threshold, [score for score, _ in sequence], alpha=alpha)
        if found is not None and found.passed is passed:
            total += math.prod((chance for _, chance in sequence), start=Fraction(1))
    return total


@pytest.mark.parametrize("threshold", [Fraction(1, 5), HALF, Fraction(9, 10)])
@pytest.mark.parametrize("alpha", [0.3])
@pytest.mark.parametrize("ends", [(Fraction(0), Fraction(1)), (Fraction(0), None), (None, Fraction(1))])
def test_no_law_with_two_scores_crosses_more_often_than_alpha(threshold, alpha, ends):
    low, high = (
        (ends[0] if ends[0] is not None else threshold / 2),
        (ends[1] if ends[1] is not None else (1 + threshold) / 2),
    )
    chance = (threshold - low) / (high - low)  # the mean is the threshold
    law = [(low, 1 - chance), (high, chance)]
    for passed in (True, False):
        assert false_crossings(threshold, law, 8, alpha, passed) <= Fraction(alpha)


@settings(max_examples=12, deadline=None)
@given(st.integers(1, 9), st.integers(0, 10), st.integers(0, 10), st.sampled_from([0.1, 0.3]))
def test_no_law_with_three_scores_crosses_more_often_than_alpha(tenths, of_low, of_high, alpha):
    threshold = Fraction(tenths, 10)
    low, high = threshold * Fraction(of_low, 11), 1 - (1 - threshold) * Fraction(of_high, 11)
    chance = (threshold - low) / (high - low) / 2
    law = [(low, HALF - chance), (high, chance), (threshold, HALF)]
    for passed in (True, False):
        assert false_crossings(threshold, law, 5, alpha, passed) <= Fraction(alpha)


@pytest.mark.slow
@pytest.mark.parametrize("values", [(0, 0, 1, 1, 1, 1), (0, Fraction(1, 2), Fraction(1, 2), 1, 1, Fraction(1, 4))])
@pytest.mark.parametrize("alpha", [0.1, 0.3])
def test_no_suite_crosses_to_the_wrong_side_more_often_than_alpha(values, alpha):
    share = Fraction(sum(map(Fraction, values)), len(values))
    orders = list(itertools.permutations(values))
    for threshold, strict, wrong in (
        (share + Fraction(1, 100), False, True),
        (share, True, True),
        (share, False, False),
    ):
        found = [of_scores(threshold, order, len(values), alpha, strict) for order in orders]
        assert sum(crossing.passed is wrong for crossing in found) <= alpha * len(orders)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 12).map(lambda part: Fraction(part, 12)), min_size=1, max_size=30), st.integers(0, 20))
def test_a_suite_that_has_run_is_always_decided(scores, twentieths):
    threshold, share = Fraction(twentieths, 20), sum(scores) / len(scores)
    for strict in (False, True):
        found = of_scores(threshold, scores, len(scores), strict=strict)
        assert found is not None
        if found.units == len(scores):
            assert found.passed == (share > threshold if strict else share >= threshold)


@pytest.mark.parametrize(
    ("rate", "passes", "fails", "units"),
    # Computed exactly on the lattice; statistics of the method by simulation: .785/.005/279 and 1/.001/70.
    [(0.90, 0.775, 0.005, 280.5), (0.95, 0.9995, 0.0005, 69.1)],
)
def test_what_500_units_come_to_is_as_published(rate, passes, fails, units):
    ends = by_lattice(Fraction(85, 100), rate, 500)
    assert ends == (pytest.approx(passes, abs=0.001), pytest.approx(fails, abs=0.001), pytest.approx(units, abs=0.5))


def by_lattice(threshold, rate, looks):
    """The chances of a pass and of a fail, and the mean number of looks, for passes and fails: counts are enough."""
    needed = math.log(1 / ALPHA)
    masses, passes, fails, expected = {0: 1.0}, 0.0, 0.0, 0.0
    for looked in range(1, looks + 1):
        after = dict.fromkeys(range(min(masses), max(masses) + 2), 0.0)
        for count, mass in masses.items():
            after[count] += mass * (1 - rate)
            after[count + 1] += mass * rate
        masses = {}
        for count, mass in after.items():
            for_pass = wealth(count, looked - count, (1 - threshold) / threshold)
            for_fail = wealth(looked - count, count, threshold / (1 - threshold))
            passes, fails = passes + mass * (for_pass >= needed), fails + mass * (for_fail >= needed)
            expected += mass * looked * (max(for_pass, for_fail) >= needed)
            if max(for_pass, for_fail) < needed:
                masses[count] = mass
    return passes, fails, expected + looks * sum(masses.values())


def wealth(won, lost, odds):
    logs = [won * math.log1p(share / 26 * float(odds)) + lost * math.log1p(-share / 26) for share in range(1, 26)]
    return math.log(sum(math.exp(log) for log in logs) / 25)


@pytest.mark.slow
@pytest.mark.parametrize("law", ["coverage", "catastrophes", "uniform"])
def test_scores_at_the_threshold_cross_no_more_often_than_alpha(law):
    laws = {
        "coverage": ([0, 0.5, 0.75, 1], [0.1, 0.1, 0.2, 0.6]),
        "catastrophes": ([0, 0.95], [0.05, 0.95]),
        "uniform": ([place / 20 for place in range(21)], [1] * 21),
    }
    values, weights = laws[law]
    mean = Fraction(sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)).limit_denominator(10_000)
    source = random.Random(7)
    runs = 400
    found = [of_scores(mean, source.choices(values, weights, k=200)) for _ in range(runs)]
    for side in (True, False):
        # Three standard errors above alpha.
        assert sum(crossing is not None and crossing.passed is side for crossing in found) <= runs * (ALPHA + 0.033)


@settings(max_examples=60, deadline=None)
@given(st.permutations([(Fraction(place, 10), Fraction(1)) for place in range(11)]))
def test_the_wealth_of_a_sample_does_not_depend_on_the_order(units):
    bets = Bets(Fraction(6, 10), 1e-9)
    for unit in units:
        bets.add(unit, unit)
    ordered = Bets(Fraction(6, 10), 1e-9)
    for unit in sorted(units):
        ordered.add(unit, unit)
    assert bets.log_wealth == pytest.approx(ordered.log_wealth)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60))
def test_breaking_a_unit_never_improves_the_outcome(pairs):
    units = [(Fraction(min(pair), 4), Fraction(max(pair), 4)) for pair in pairs]
    broken = [(Fraction(0), of) for _, of in units[:1]] + units[1:]
    before, after = (first_won(Bets(HALF, 0.3), [(unit, unit) for unit in listed]) for listed in (units, broken))
    ranks = {False: 0, None: 1, True: 2}
    assert ranks[after.passed if after else None] <= ranks[before.passed if before else None]


def test_undecided_units_count_against_a_pass_and_for_the_agent_at_the_fail_boundary():
    undecided = ((0, 1), (1, 1))
    assert first_won(Bets(HALF, ALPHA), [undecided] * 100) is None
    mixed = [((1, 1), (1, 1))] * 9 + [undecided]
    assert first_won(Bets(HALF, ALPHA), mixed * 10) == of_scores(HALF, ([1] * 9 + [0]) * 10)


def test_a_ratio_is_bet_on_by_its_numerator_and_denominator():
    # Units without a predicted positive say nothing about precision.
    silent, right = ((0, 1), (0, 1)), ((1, 1), (1, 1))
    nothing = ((0, 0), (0, 0))
    alone = first_won(Bets(HALF, ALPHA), [right] * 50)
    between = first_won(Bets(HALF, ALPHA), [nothing, right] * 50)
    assert alone is not None
    assert between == Crossing(2 * alone.units, passed=True)
    assert first_won(Bets(HALF, ALPHA), [silent] * 50) == Crossing(alone.units, passed=False)


@pytest.mark.parametrize("unit", [(2, 1), (-1, 1), (1, 2), (0.5, 0.4), (math.nan, 1)])
def test_a_unit_outside_of_its_range_is_refused(unit):
    with pytest.raises(ValueError, match="a share of"):
        Bets(HALF, ALPHA).add(unit, unit)


def test_certain_thresholds_are_settled_by_the_first_unit_that_contradicts_them():
    assert of_scores(Fraction(1), [1, 1, Fraction(1, 2)]) == Crossing(3, passed=False)
    assert of_scores(Fraction(1), [1] * 100) is None
    assert of_scores(Fraction(0), [0, Fraction(1, 100)]) == Crossing(2, passed=True)


def test_a_gambler_that_always_loses_is_never_ruined():
    gambler = Gambler(HALF)
    for _ in range(2000):
        gambler.add(-HALF)
    assert -math.inf < gambler.log_wealth < 0
