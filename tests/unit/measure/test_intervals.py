"""Formulas and sums → bounds, against computations from the scenarios themselves."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from bench.by_scenario import ratio_bounds
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import highbar
from highbar.catalogue import MEASURES, metrics
from highbar.errors import InputError
from highbar.language.formula.operations import Operation, derivative, value
from highbar.model import Percentile, Ratio, Term
from highbar.policy import read_dict
from highbar.statistics.bounds import Sums, monotone_bounds, share_bounds
from tests.oracle.suites import rows_of
from tests.unit.measure.groups import Rank, bounds_of, pairs

SCENARIO, PASSED = Term("scenario"), Term("passed")
CORRECT, ANSWERED = Term("correct"), Term("correct", "count")
SCORE, SCORED = Term("behavior_score"), Term("behavior_score", "count")
TP, FP, FN = Term("tp"), Term("fp"), Term("fn")
QUALITY, TOKENS = Term("quality_both"), Term("tokens_both")
P95 = Percentile("latency_ms", Fraction(95, 100))


def suite(count, seed=1):
    """Scenarios whose measures go together, as those of one agent do."""
    random = Random(seed)
    scenarios = []
    for _ in range(count):
        good = random.random() < 0.8
        label = random.choice((TP, TP, FP, FN))
        scenarios.append(
            {
                SCENARIO: 1,
                PASSED: int(good and random.random() < 0.95),
                CORRECT: int(good or random.random() < 0.3),
                ANSWERED: 1,
                SCORE: Fraction(random.randrange(2 + 3 * good), 4),
                SCORED: 1,
                label: 1,
                QUALITY: Fraction(random.randrange(1, 11), 10),
                TOKENS: random.randrange(100, 2000),
                Term("cost_usd"): Fraction(random.randrange(1, 100), 1000),
            }
        )
    return scenarios


def shares(scenarios, above, below):
    """The value of a share, its bounds, and each scenario's influence on it."""
    listed = pairs(Ratio(((above, Fraction(1)),), tuple((term, Fraction(1)) for term in below)), scenarios)
    sums = Sums.of(listed)
    influence = np.array([float((z - sums.value * d) / sums.d) for z, d in listed])
    return float(sums.value), share_bounds(sums, 0.05), influence


def mover(parts, gradient, value):
    """Zou and Donner's bounds from parts (value, bounds, influence), in full."""
    rho = np.atleast_2d(np.nan_to_num(np.corrcoef([influence for _, _, influence in parts])))
    np.fill_diagonal(rho, 1.0)
    down = [g * ((v - b.low) if g > 0 else (b.high - v)) for g, (v, b, _) in zip(gradient, parts, strict=True)]
    up = [g * ((b.high - v) if g > 0 else (v - b.low)) for g, (v, b, _) in zip(gradient, parts, strict=True)]
    return value - math.sqrt(np.array(down) @ rho @ down), value + math.sqrt(np.array(up) @ rho @ up)


# --- single parts ----------------------------------------------------------------------------


@pytest.mark.parametrize(("passed", "total"), [(0, 7), (3, 7), (7, 7), (45, 50), (1, 1)])
def test_passes_and_fails_have_the_bounds_of_clopper_and_pearson(passed, total):
    low, high = bounds_of("pass_rate", [{SCENARIO: 1, PASSED: int(at < passed)} for at in range(total)])
    wanted = stats.binomtest(passed, total).proportion_ci(0.90, "exact")
    assert (low, high) == pytest.approx((wanted.low, wanted.high), abs=1e-9)


def test_f1_is_bounded_through_the_share_of_true_positives():
    scenarios = [{TP: 1}] * 30 + [{FP: 1}] * 4 + [{FN: 1}] * 6
    share = stats.binomtest(30, 40).proportion_ci(0.90, "exact")
    wanted = [2 * end / (1 + end) for end in (share.low, share.high)]
    assert bounds_of("f1", scenarios) == pytest.approx(wanted, abs=1e-9)


def test_a_weighted_f_measure_is_a_share_of_weighted_counts():
    scenarios = [{TP: 1}] * 30 + [{FP: 1}] * 4 + [{FN: 1}] * 6
    formula = "5 × true_positives / (5 × true_positives + 4 × false_negatives + false_positives)"
    wanted = share_bounds(Sums.of([(5, 5)] * 30 + [(0, 1)] * 4 + [(0, 4)] * 6), 0.05)
    assert bounds_of(formula, scenarios) == pytest.approx(tuple(wanted), abs=1e-12)


def test_a_quotient_of_amounts_has_the_jackknife_and_is_never_narrower_than_it():
    scenarios = suite(60)
    listed = [(one[QUALITY], one[TOKENS]) for one in scenarios]
    low, high = bounds_of("token_efficiency", scenarios)
    exact = ratio_bounds(listed, 0.05)
    assert low <= exact.low
    assert high >= exact.high
    assert (high - low) == pytest.approx(exact.high - exact.low, rel=0.15)


@pytest.mark.parametrize("scenarios", [suite(1), [{QUALITY: 1, TOKENS: 0}, {QUALITY: 1, TOKENS: 10}]])
def test_a_quotient_that_one_scenario_decides_is_not_bounded(scenarios):
    low, high = bounds_of("token_efficiency", scenarios)
    assert math.isinf(low)
    assert math.isinf(high)


def test_a_percentile_brings_its_own_bounds():
    ranks = {P95: Rank(Fraction(900), Fraction(800), None)}
    assert bounds_of("latency_p95", suite(5), ranks=ranks) == (800, math.inf)


def test_a_suite_that_is_all_there_is_leaves_the_noise_of_trials():
    scenarios = [{SCENARIO: 1, PASSED: Fraction(at % 4, 3)} for at in range(40)]
    wanted = stats.binomtest(60, 120).proportion_ci(0.90, "exact")
    found = bounds_of("pass_rate", scenarios, trial_noise=True, trials=3)
    assert found == pytest.approx((wanted.low, wanted.high), abs=1e-9)


# --- a part under functions ------------------------------------------------------------------


def test_a_single_part_is_carried_end_by_end():
    scenarios = suite(50)
    low, high = bounds_of("pass_rate", scenarios)
    assert bounds_of("1 - pass_rate", scenarios) == pytest.approx((1 - high, 1 - low))
    assert bounds_of("-pass_rate", scenarios) == pytest.approx((-high, -low))
    assert bounds_of("pass_rate × 2 + 1", scenarios) == pytest.approx((2 * low + 1, 2 * high + 1))
    assert bounds_of("pass_rate × pass_rate", scenarios) == pytest.approx((low**2, high**2))
    assert bounds_of("1 / pass_rate", scenarios) == pytest.approx((1 / high, 1 / low))
    assert bounds_of("min(pass_rate, 70%)", scenarios) == pytest.approx((min(low, 0.7), min(high, 0.7)))


def test_a_sum_varies_as_the_mean_does_times_a_number_of_scenarios_that_does_not():
    scenarios = suite(50)
    low, high = bounds_of("pass_rate", scenarios)
    assert bounds_of("passed_scenarios", scenarios) == pytest.approx((50 * low, 50 * high))
    assert bounds_of("sum(cost_usd)", scenarios) == pytest.approx(
        tuple(50 * end for end in bounds_of("sum(cost_usd) / total_scenarios", scenarios))
    )


def test_the_number_of_scenarios_is_not_left_to_chance():
    scenarios = suite(50)
    assert bounds_of("total_scenarios", scenarios) == (50, 50)
    low, high = bounds_of("pass_rate", scenarios)
    assert bounds_of("(passed_scenarios + 1) / total_scenarios", scenarios) == pytest.approx((low + 0.02, high + 0.02))


def test_a_function_that_turns_within_the_interval_reaches_its_turning_point():
    scenarios = [{SCENARIO: 1, PASSED: int(at < 45)} for at in range(100)]
    low, high = bounds_of("pass_rate", scenarios)
    assert low < 0.5 < high
    assert bounds_of("abs(pass_rate - 50%)", scenarios) == pytest.approx((0, 0.5 - low), abs=1e-3)
    assert bounds_of("pass_rate × (1 - pass_rate)", scenarios) == pytest.approx((low * (1 - low), 0.25), abs=1e-3)


def test_what_may_be_divided_by_0_is_not_bounded():
    scenarios = [{SCENARIO: 1, PASSED: int(at < 45)} for at in range(100)]
    low, high = bounds_of("1 / (pass_rate - 50%)", scenarios)
    assert math.isinf(low) or math.isinf(high)
    ranks = {Percentile("latency_ms", Fraction(1, 100)): Rank(Fraction(100), None, Fraction(100))}
    low, high = bounds_of("1 / percentile(latency_ms, 1%)", scenarios, ranks=ranks)
    assert low == pytest.approx(0.01)
    assert math.isinf(high)


# --- several parts ---------------------------------------------------------------------------

PARTS = ((PASSED, (SCENARIO,)), (CORRECT, (ANSWERED,)), (SCORE, (SCORED,)))


@pytest.mark.parametrize("count", [8, 40, 300])
def test_a_weighted_sum_of_shares_is_the_mean_of_what_each_scenario_scores_in_it(count):
    """Zou and Donner's interval is narrower, but a trial that breaks in one part alone can lift its lower end."""
    scenarios = suite(count)
    parts = [shares(scenarios, *one) for one in PARTS]
    gradient = (0.3, 0.5, 0.2)
    value = sum(g * part[0] for g, part in zip(gradient, parts, strict=True))
    found = bounds_of("pass_rate × 0.3 + accuracy × 0.5 + behavior_coverage × 0.2", scenarios)
    scores = [(sum(g * one[term] for g, (term, _) in zip(gradient, PARTS, strict=True)), 1) for one in scenarios]
    assert found == pytest.approx(tuple(monotone_bounds(Sums.of(scores), 0.05, 1)), abs=1e-9)
    ends = [sum(g * part[1][end] for g, part in zip(gradient, parts, strict=True)) for end in (0, 1)]
    narrower = mover(parts, gradient, value)
    assert ends[0] < found.low <= narrower[0]
    assert ends[1] > found.high >= narrower[1]


def test_terms_of_a_sum_that_are_subtracted_are_those_of_failures():
    scenarios = suite(60)
    whole = bounds_of("pass_rate × 0.6 + accuracy × 0.4", scenarios)
    turned = bounds_of("0.6 - (1 - pass_rate) × 0.6 - (1 - accuracy) × 0.4", scenarios)
    assert turned == pytest.approx(tuple(end - 0.4 for end in whole), abs=1e-9)
    doubled = bounds_of("(3 × pass_rate + 2 × accuracy) / 5", scenarios)
    assert doubled == pytest.approx(tuple(whole), abs=1e-9)


def test_a_sum_in_which_nothing_failed_is_as_sure_as_each_of_its_parts():
    """What no scenario has shown may still break all parts at once."""
    scenarios = [{SCENARIO: 1, PASSED: 1, CORRECT: 1, ANSWERED: 1}] * 40
    found = bounds_of("pass_rate × 0.6 + accuracy × 0.4", scenarios)
    assert found == pytest.approx(tuple(bounds_of("pass_rate", scenarios)), abs=1e-9)


@pytest.mark.parametrize(
    ("formula", "at", "gradient"),
    [
        ("pass_rate - accuracy", lambda p, a: p - a, lambda *_: (1, -1)),
        ("accuracy / pass_rate", lambda p, a: a / p, lambda p, a: (-a / p**2, 1 / p)),
    ],
)
@pytest.mark.parametrize("count", [20, 200])
def test_parts_that_pull_against_each_other_are_combined_through_the_gradient(formula, at, gradient, count):
    scenarios = suite(count, seed=3)
    parts = [shares(scenarios, *one) for one in PARTS[:2]]
    values = [part[0] for part in parts]
    assert bounds_of(formula, scenarios) == pytest.approx(mover(parts, gradient(*values), at(*values)), abs=1e-9)


@pytest.mark.parametrize(
    ("formula", "at"),
    [
        ("accuracy × pass_rate", lambda p, a: a * p),
        ("2 × pass_rate × accuracy / (pass_rate + accuracy)", lambda p, a: 2 * p * a / (p + a)),
    ],
)
@pytest.mark.parametrize("count", [20, 200])
def test_a_formula_that_rises_with_all_its_parts_is_taken_at_their_ends(formula, at, count):
    scenarios = suite(count, seed=3)
    ends = [shares(scenarios, *one)[1] for one in PARTS[:2]]
    assert bounds_of(formula, scenarios) == pytest.approx(
        (at(ends[0].low, ends[1].low), at(ends[0].high, ends[1].high)), abs=1e-9
    )


def test_a_part_turned_around_correlates_the_other_way():
    scenarios = suite(100, seed=5)
    straight = bounds_of("pass_rate × 0.5 - accuracy × 0.5", scenarios)
    turned = bounds_of("pass_rate × 0.5 + (1 - accuracy) × 0.5", scenarios)
    assert turned == pytest.approx(tuple(end + 0.5 for end in straight), abs=1e-9)


def test_parts_that_do_not_vary_do_not_correlate():
    """Their own bounds have a width all the same. No rounding in the sums may turn it into a correlation."""
    third = Fraction(1, 3)
    for count in (1, 2, 7):
        scenarios = [{SCENARIO: 1, PASSED: float(third), CORRECT: float(2 * third), ANSWERED: 1}] * count
        (_, p, _), (_, a, _) = (shares(scenarios, *one) for one in PARTS[:2])
        half = math.hypot(1 / 3 - p.low, a.high - 2 / 3)
        assert bounds_of("pass_rate - accuracy", scenarios).low == pytest.approx(-1 / 3 - half, abs=1e-9)


def test_a_percentile_in_a_formula_is_added_in_full():
    scenarios = suite(80)
    ranks = {P95: Rank(Fraction(2500), Fraction(2000), Fraction(4000))}
    rate = bounds_of("pass_rate", scenarios)
    value = shares(scenarios, *PARTS[0])[0] * 0.9 + (1 - 0.5) * 0.1
    low, high = bounds_of("pass_rate × 0.9 + (1 - normalized_latency) × 0.1", scenarios, ranks=ranks)
    passed = float(shares(scenarios, *PARTS[0])[0])
    assert low == pytest.approx(value - 0.9 * (passed - rate.low) - 0.1 * 0.3)
    assert high == pytest.approx(value + 0.9 * (rate.high - passed) + 0.1 * 0.1)


def test_an_open_end_of_a_part_opens_the_whole_where_it_matters():
    ranks = {P95: Rank(Fraction(2500), Fraction(2000), None)}
    low, high = bounds_of("pass_rate - latency_p95", suite(30), ranks=ranks)
    assert math.isinf(low)
    assert math.isfinite(high)
    low, high = bounds_of("pass_rate × 0.9 + (1 - normalized_latency) × 0.1", suite(30), ranks=ranks)
    assert math.isfinite(low)  # at most 1, however slow


def test_a_minimum_is_as_unsure_as_any_of_its_arguments():
    scenarios = [
        {SCENARIO: 1, PASSED: int(at >= 10)} | ({CORRECT: 1, ANSWERED: 1} if at < 10 else {}) for at in range(100)
    ]
    rate, accuracy = bounds_of("pass_rate", scenarios), bounds_of("accuracy", scenarios)
    low, high = bounds_of("min(pass_rate, accuracy)", scenarios)
    assert accuracy.low < rate.low
    assert low <= accuracy.low + 1e-9
    assert high >= min(rate.high, accuracy.high) - 1e-9


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 40))
def test_a_formula_that_is_one_part_in_disguise_has_the_bounds_of_the_part(seed, count):
    scenarios = suite(count, seed)
    whole = bounds_of("pass_rate", scenarios)
    assert bounds_of("pass_rate × 0.4 + pass_rate × 0.6", scenarios) == pytest.approx(tuple(whole), abs=1e-9)
    together = bounds_of("(pass_rate + accuracy) / 2 + (pass_rate - accuracy) / 2", scenarios)
    assert together == pytest.approx(tuple(whole), abs=1e-6)


# --- the gradient ----------------------------------------------------------------------------

LEAVES = tuple(
    Ratio(((Term(name), Fraction(1)),), ((SCENARIO, Fraction(1)),)) for name in ("passed", "error", "violated")
)


def nodes():
    """Trees of three parts and some numbers."""
    leaf = st.one_of(st.sampled_from(LEAVES), st.sampled_from([Fraction(1, 2), Fraction(1), Fraction(3)]))

    def grown(children):
        pair = st.tuples(children, children)
        return st.one_of(
            st.builds(Operation, st.sampled_from(["+", "-", "*", "/", "min", "max"]), pair),
            st.builds(Operation, st.just("abs"), st.tuples(children)),
        )

    return st.recursive(leaf, grown, max_leaves=8)


@settings(max_examples=300)
@given(nodes(), st.lists(st.floats(0.1, 0.95), min_size=3, max_size=3))
def test_the_gradient_is_the_derivative(node, numbers):
    values = dict(zip(LEAVES, numbers, strict=True))
    for piece in LEAVES:

        def at(step, piece=piece):
            return value(node, (values | {piece: values[piece] + step}).get)

        sides = [(at(step) - at(0.0)) / step for step in (1e-6, -1e-6)]
        assume(all(math.isfinite(side) for side in sides))
        assume(abs(at(0.0)) < 1e3)
        assume(abs(sides[0] - sides[1]) <= 1e-3 * (1 + abs(sides[0])))  # not at a kink or a pole
        assert derivative(node, piece, values.get) == pytest.approx(sum(sides) / 2, rel=1e-3, abs=1e-4)


# --- nothing crashes -------------------------------------------------------------------------

NAMES = (*MEASURES, *metrics(), "latency_limit", "pass_at_2")
COLUMNS = ("passed", "correct", "behavior_score", "latency_ms", "tokens_used", "quality_score", "cost_usd", "batch")


def written(random, depth):
    """A formula, as deep as that at most."""
    kind = random.randrange(10 if depth else 4)
    if kind < 2:
        return random.choice(NAMES)
    if kind == 2:
        return random.choice(("0", "1", "0.5", "95%", "100", "9" * 40))
    if kind == 3:
        function, column = random.choice(("mean", "sum", "percentile")), random.choice(COLUMNS)
        return f"percentile({column}, 95%)" if function == "percentile" else f"{function}({column})"
    inner = [written(random, depth - 1) for _ in range(2)]
    if kind < 8:
        return f"({inner[0]} {random.choice('+-×/')} {inner[1]})"
    return random.choice(
        (f"abs({inner[0]})", f"-{inner[0]}", f"min({inner[0]}, {inner[1]})", f"max({inner[0]}, {inner[1]})")
    )


def accepted(formulas):
    """Those that the policy reader takes."""
    taken = []
    for formula in formulas:
        try:
            read_dict({"metrics": [{"name": "m", "formula": formula}], "thresholds": {"blocking": {"pass_rate": 50}}})
        except InputError:
            continue
        taken.append(formula)
    return taken


@pytest.mark.slow
@settings(max_examples=4, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(st.integers(0, 2**32).map(Random))
def test_no_formula_that_a_policy_may_hold_makes_a_check_crash(random):
    rows = rows_of(random, scenarios=10)
    formulas = accepted(written(random, random.randrange(1, 5)) for _ in range(15))
    own = [{"name": f"m{at}", "formula": formula} for at, formula in enumerate(formulas)]
    policy = {
        "metrics": own,
        "thresholds": {"blocking": {"pass_rate": 50}},
        "population": random.choice(("suite", "scenarios")),
    }
    verdict = highbar.check(rows, policy)
    for metric in own:
        found = verdict.metrics[metric["name"]]
        for end, sign in ((found.low, 1), (found.high, -1)):
            if found.value is not None and end is not None and abs(found.value) < 10**300:
                assert not math.isnan(end), metric
                assert sign * (float(found.value) - end) >= -1e-9 * abs(float(found.value)), (metric, found)


def test_a_formula_may_divide_by_a_percentile_whose_lower_bound_is_0():
    rows = [{"id": f"s{i}", "passed": i % 5 > 0, "latency_ms": 0 if i < 30 else 100 + i} for i in range(40)]
    metric = {"name": "m", "formula": "pass_rate / percentile(latency_ms, 80%)"}
    found = highbar.check(rows, {"metrics": [metric], "thresholds": {"blocking": {"pass_rate": 50}}}).metrics["m"]
    assert found.low < found.value
    assert found.high is None


def test_a_value_beyond_every_float_is_bounded_by_nothing():
    formula = " × ".join(["pass_rate", *["9" * 40] * 9])
    policy = {"metrics": [{"name": "m", "formula": formula}], "thresholds": {"blocking": {"pass_rate": 50}}}
    assert highbar.check([{"id": "a", "passed": True}], policy).metrics["m"].value > 10**300
