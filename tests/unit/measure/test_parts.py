"""A formula → the ratios and percentiles that it is made of."""

from __future__ import annotations

from fractions import Fraction

import pytest

from highbar.catalogue import MEASURES, metrics
from highbar.measure import needs
from highbar.measure.parts import Size, is_share, of_metric, parts_of, per_scenario
from highbar.model import Percentile, Ratio, Term
from highbar.policy import read_dict

ONE = Fraction(1)
PASSED, SCENARIO, CORRECT = Term("passed"), Term("scenario"), Term("correct")
TP, FP, FN = Term("tp"), Term("fp"), Term("fn")
GERMAN = (("tags.locale", ("de",)),)


def policy_with(formula, **more):
    """A policy whose metric `m` has this formula."""
    metric = {"name": "m", "formula": formula, "range": "0-100%", **more.pop("metric", {})}
    return read_dict(
        {"metrics": [metric, *more.pop("metrics", [])], "thresholds": {"blocking": {"pass_rate": 50}}, **more}
    )


def tree(formula, where=(), **more):
    """The tree of a formula."""
    policy = policy_with(formula, **more)
    return of_metric(policy, policy.metrics["m"], where)


def ratio(above, below):
    """Sums as {term: factor}."""
    return Ratio(*(tuple((term, Fraction(number)) for term, number in side.items()) for side in (above, below)))


# --- ratios of linear forms ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "above", "below"),
    [
        ("passed_scenarios / total_scenarios", {PASSED: 1}, {SCENARIO: 1}),
        ("-passed_scenarios / total_scenarios", {PASSED: -1}, {SCENARIO: 1}),
        ("3 × passed_scenarios / total_scenarios", {PASSED: 3}, {SCENARIO: 1}),
        ("passed_scenarios × 3 / total_scenarios", {PASSED: 3}, {SCENARIO: 1}),
        ("passed_scenarios / 4 / total_scenarios", {PASSED: Fraction(1, 4)}, {SCENARIO: 1}),
        ("(correct_outputs + passed_scenarios) / total_scenarios", {CORRECT: 1, PASSED: 1}, {SCENARIO: 1}),
        ("(total_scenarios - passed_scenarios) / total_scenarios", {SCENARIO: 1, PASSED: -1}, {SCENARIO: 1}),
        (
            "true_positives / (true_positives + 0.5 × (false_positives + false_negatives))",
            {TP: 1},
            {TP: 1, FP: "0.5", FN: "0.5"},
        ),
        ("(passed_scenarios + passed_scenarios) / total_scenarios", {PASSED: 2}, {SCENARIO: 1}),
        ("sum(cost_usd) / passed_scenarios", {Term("cost_usd"): 1}, {PASSED: 1}),
        ("sum(hops) / sum(turns)", {Term("extra:hops"): 1}, {Term("extra:turns"): 1}),
        ("mean(quality_score)", {Term("quality_score"): 1}, {Term("quality_score", "count"): 1}),
        ("mean(pass_hat_3)", {Term("pass_hat_3"): 1}, {Term("pass_hat_3", "count"): 1}),
        ("mean(hops)", {Term("extra:hops"): 1}, {Term("extra:hops", "count"): 1}),
    ],
)
def test_a_quotient_of_weighted_sums_is_one_ratio(formula, above, below):
    assert tree(formula) == ratio(above, below)


def test_every_share_of_the_catalogue_is_one_part():
    policy = read_dict({"thresholds": {"blocking": {"pass_rate": 50}}})
    for name in metrics():
        parts = parts_of(of_metric(policy, policy.metrics[name]))
        assert len(parts) == 1, name
        assert isinstance(parts[0], Percentile) == ("latency" in name), name


def test_sums_that_cancel_are_no_ratio():
    assert not isinstance(tree("(passed_scenarios - passed_scenarios) / total_scenarios"), Ratio)
    assert not isinstance(tree("passed_scenarios / (total_scenarios - total_scenarios)"), Ratio)


@pytest.mark.parametrize("formula", ["(passed_scenarios + 1) / total_scenarios", "passed_scenarios / 2"])
def test_what_is_no_quotient_of_sums_is_made_of_sums(formula):
    root = tree(formula)
    assert isinstance(root, tuple)
    assert all(isinstance(part, Ratio) for part in parts_of(root))


def test_a_sum_by_itself_is_the_mean_of_all_scenarios_times_their_number():
    rate = ratio({PASSED: 1}, {SCENARIO: 1})
    assert tree("passed_scenarios") == ("*", (rate, Size(rate)))
    where = (("category", ("adversarial",)),)
    rate = ratio({Term("passed", where=where): 1}, {Term("scenario", where=where): 1})
    assert tree("adversarial_passed") == ("*", (rate, Size(rate)))


def test_a_sum_of_a_column_by_itself_likewise():
    mean = ratio({Term("cost_usd"): 1}, {SCENARIO: 1})
    assert tree("sum(cost_usd)") == ("*", (mean, Size(mean)))
    assert tree("sum(hops) + 1")[0] == "+"


# --- other nodes -----------------------------------------------------------------------------


def test_arithmetic_keeps_its_shape():
    rate, accuracy = ratio({PASSED: 1}, {SCENARIO: 1}), ratio({CORRECT: 1}, {Term("correct", "count"): 1})
    assert tree("pass_rate × 0.5 + accuracy") == ("+", (("*", (rate, Fraction(1, 2))), accuracy))
    assert tree("-pass_rate") == ("-", (Fraction(0), rate))
    assert tree("min(pass_rate, 1 - accuracy)") == ("min", (rate, ("-", (ONE, accuracy))))
    assert tree("abs(pass_rate - 85%)") == ("abs", (("-", (rate, Fraction(85, 100))),))


def test_a_percentile_is_a_part_and_a_setting_is_a_number():
    found = tree("normalized_latency", latency_limit="2s")
    assert found == ("min", (("/", (Percentile("latency_ms", Fraction(95, 100)), Fraction(2000))), ONE))


def test_a_part_that_is_named_twice_is_one_part():
    found = parts_of(tree("pass_rate × pass_rate + passed_scenarios / total_scenarios"))
    assert found == (ratio({PASSED: 1}, {SCENARIO: 1}),)


# --- where -----------------------------------------------------------------------------------


def test_a_metric_in_a_formula_keeps_its_own_scenarios_and_those_of_the_rule():
    german = {"name": "german", "formula": "passed_scenarios / total_scenarios", "where": {"tags.locale": "de"}}
    inner = ratio({Term("passed", where=GERMAN): 1}, {Term("scenario", where=GERMAN): 1})
    assert tree("german × 0.5", metrics=[german]) == ("*", (inner, Fraction(1, 2)))
    edge = (("category", ("edge_case",)),)
    both = tuple(sorted((*edge, *GERMAN)))
    narrowed = ratio({Term("passed", where=both): 1}, {Term("scenario", where=both): 1})
    assert tree("german × 0.5", where=edge, metrics=[german]) == ("*", (narrowed, Fraction(1, 2)))


def test_scenarios_that_exclude_each_other_leave_none():
    root = tree("safety_rate", where=(("category", ("edge_case",)),))
    nothing = (("category", ()),)
    assert root == ratio({Term("passed", where=nothing): 1}, {Term("scenario", where=nothing): 1})


def test_a_percentile_is_of_the_scenarios_too():
    assert tree("latency_p95", where=GERMAN) == Percentile("latency_ms", Fraction(95, 100), GERMAN)


# --- shares ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("pass_rate", "accuracy", "precision", "recall", "safety_rate", "behavior_coverage"),
        *("behavior_coverage_pooled", "error_rate", "violation_rate", "weighted_pass_rate"),
        "weighted_behavior_coverage",
    ],
)
def test_ratios_of_the_catalogue_are_shares(name):
    root = tree(name)
    assert isinstance(root, Ratio)
    assert is_share(root)


@pytest.mark.parametrize(
    ("formula", "share"),
    [
        ("mean(quality_score)", True),
        ("mean(pass_at_2)", True),
        ("passed_scenarios / 2 / total_scenarios", True),
        ("5 × true_positives / (5 × true_positives + 4 × false_negatives + false_positives)", True),
        ("quality_score / tokens_used", False),
        ("cost_usd / passed_scenarios", False),
        ("mean(hops)", False),
        ("mean(latency_ms)", False),
        ("2 × passed_scenarios / total_scenarios", False),
        ("-passed_scenarios / total_scenarios", False),
        ("(total_scenarios - passed_scenarios) / total_scenarios", False),
        ("passed_scenarios / scored_scenarios", False),
        ("passed_scenarios / correct_outputs", False),
        ("adversarial_passed / total_scenarios", False),
        ("passed_scenarios / total_weight", False),
        ("observed_behaviors / total_scenarios", False),
    ],
)
def test_a_share_lies_between_0_and_its_whole_in_every_scenario(formula, share):
    root = tree(formula)
    assert isinstance(root, Ratio)
    assert is_share(root) is share


# --- F-measures ------------------------------------------------------------------------------


def test_an_f_measure_goes_through_the_share_of_true_positives_among_all_that_is_positive():
    share = ratio({TP: 1}, {TP: 1, FP: 1, FN: 1})
    assert tree("f1") == ("/", (("*", (2, share)), ("+", (1, ("*", (1, share))))))
    assert tree("5 × true_positives / (5 × true_positives + false_positives)") == (
        "/",
        (("*", (5, ratio({TP: 1}, {TP: 1, FP: 1}))), ("+", (1, ("*", (4, ratio({TP: 1}, {TP: 1, FP: 1})))))),
    )


@pytest.mark.parametrize(
    "formula",
    [
        "true_positives / (true_positives + false_positives)",
        "5 × true_positives / (5 × true_positives + 4 × false_negatives + false_positives)",
        "2 × true_positives / (3 × true_positives + false_positives)",
        "2 × passed_scenarios / total_scenarios",
        "(2 × true_positives + false_positives) / (2 × true_positives + false_positives + false_negatives)",
    ],
)
def test_another_quotient_stays_one_ratio(formula):
    assert isinstance(tree(formula), Ratio)


# --- what the engine is asked for ------------------------------------------------------------


def test_the_engine_is_asked_for_each_ratio_once_and_for_pairs_within_a_formula():
    policy = policy_with("pass_rate × 0.5 + accuracy × 0.3 + recall × 0.2")
    wanted = needs(policy)
    rate, accuracy, recall = (of_metric(policy, policy.metrics[name]) for name in ("pass_rate", "accuracy", "recall"))
    of_formulas = tuple(pair for pair in wanted.crosses if set(pair) <= {rate, accuracy, recall})
    assert of_formulas == ((rate, accuracy), (rate, recall), (accuracy, recall))
    # Beside them the two sides of each ratio of sums without bounds: token efficiency, and cost per pass.
    assert set(wanted.crosses) - set(of_formulas) == {per_scenario(one) for one in wanted.thirds}
    assert len(set(wanted.ratios)) == len(wanted.ratios)
    assert {rate, accuracy, recall} <= set(wanted.ratios)
    assert ratio({TP: 1}, {TP: 1, FP: 1, FN: 1}) in wanted.ratios  # for the bounds of f1


def test_every_measure_can_stand_in_a_formula():
    for name, measure in MEASURES.items():
        parts = parts_of(tree(f"{name} + 1"))
        counted = measure.term.column == "scenario" and not measure.term.weighted  # a number of scenarios does not vary
        assert len(parts) == (0 if counted else 1)
        assert all(isinstance(part, Ratio) for part in parts)
