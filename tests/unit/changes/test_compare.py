from __future__ import annotations

import math
from fractions import Fraction

import pytest
from bench.by_scenario import count_bounds
from statsmodels.stats.contingency_tables import mcnemar

import highbar
from highbar.statistics.paired import bounds_of_moves, paired_bounds
from highbar.statistics.ratio import log_ratio_difference
from tests.unit.statistics.test_published import AIME_II

RULES = {"pass_criteria": {"overall": "0%"}}


def runs(*cells):
    """Two runs of one trial each: passed in both, in the head only, in the base only, in neither."""
    outcomes = [(True, True), (False, True), (True, False), (False, False)]
    kinds = [outcome for outcome, count in zip(outcomes, cells, strict=True) for _ in range(count)]
    return tuple([{"id": f"S{i:03}", "passed": kind[side]} for i, kind in enumerate(kinds)] for side in (0, 1))


def test_tangos_score_interval_as_fagerland_2014_prints_it():
    base, head = runs(1, 1, 7, 12)
    found = highbar.compare(base, head, {**RULES, "confidence": 0.975})
    difference = found.metrics["pass_rate"].difference
    assert difference.value == Fraction(-6, 21)
    assert (round(difference.low, 3), round(difference.high, 3)) == (-0.517, -0.026)
    assert found.metrics["pass_rate"].outcome == "worse"


def test_mcnemars_mid_p_value_as_fagerland_2013_prints_it():
    base, head = runs(1, 1, 7, 12)
    passes = highbar.compare(base, head, RULES).passes
    assert (passes.broken, passes.fixed) == (7, 1)
    assert round(passes.p_value, 3) == 0.039
    exact = mcnemar([[0, 1], [7, 0]], exact=True).pvalue
    assert passes.p_value == pytest.approx(exact - math.comb(8, 1) / 2**8)


def test_fifteen_questions_of_four_trials_do_not_show_a_difference():
    def rows(model):
        return [
            {"id": f"Q{i:02}", "trial": trial, "passed": trial < passed}
            for i, passed in enumerate(AIME_II[model])
            for trial in range(4)
        ]

    found = highbar.compare(rows("o3-mini (medium)"), rows("o3-mini (high)"), RULES)
    difference = found.metrics["pass_rate"].difference
    # Bonett and Price's (-0.0432, 0.2785) alone is too short if few scenarios break: the bound of a share is wider.
    assert (round(difference.low, 4), round(difference.high, 4)) == (-0.0774, 0.3168)
    assert found.metrics["pass_rate"].outcome == "cannot_tell"
    assert found.pairs == 15


def scenario(i, **columns):
    return {"id": f"S{i:02}", **columns}


def test_precision_is_compared_by_the_bounds_of_both_runs():
    """Newcombe's difference: the agent, not the suite, says how many positives there are, so that none is paired."""
    kinds = ["tp", "tp", "fp", "tn", "fn", "tp", "fp", "tp", "tn", "tp"]
    turned = ["tp", "fp", "fp", "tp", "fn", "tp", "tp", "tp", "fp", "fp"]
    base = [scenario(i, outcome=kind) for i, kind in enumerate(kinds)]
    head = [scenario(i, outcome=kind) for i, kind in enumerate(turned)]
    found = highbar.compare(base, head, RULES).metrics["precision"].difference
    assert found.value == Fraction(5, 9) - Fraction(5, 7)
    before, after = count_bounds(5, 7, 0.05), count_bounds(5, 9, 0.05)
    assert found.low == pytest.approx(5 / 9 - 5 / 7 - math.hypot(5 / 9 - after.low, before.high - 5 / 7))
    assert found.high == pytest.approx(5 / 9 - 5 / 7 + math.hypot(after.high - 5 / 9, 5 / 7 - before.low))


def cheap(costs, fails=()):
    return [scenario(i, passed=i not in fails, cost_usd=cost) for i, cost in enumerate(costs)]


def test_costs_with_a_limit_are_compared_by_the_bounds_of_both_runs():
    base, head = cheap([1 + i % 3 for i in range(40)]), cheap([1 + i % 4 for i in range(40)], fails=(3, 7))
    policy = {**RULES, "cost_limit": 10}
    found = highbar.compare(base, head, policy).metrics["cost_per_pass"].difference
    one, two = (highbar.check(rows, policy).metrics["cost_per_pass"] for rows in (base, head))
    assert found.factor is None
    assert found.doubt is None
    down, up = (
        (float(two.value) - two.low, one.high - float(one.value)),
        (two.high - float(two.value), float(one.value) - one.low),
    )
    assert (found.low, found.high) == pytest.approx(
        (float(found.value) - math.hypot(*down), float(found.value) + math.hypot(*up))
    )


def test_a_cost_above_the_limit_in_either_run_leaves_no_bound_that_is_known_to_hold():
    plain, dear = cheap([1] * 40), cheap([1] * 39 + [11])
    for base, head in ((plain, dear), (dear, plain)):
        doubt = highbar.compare(base, head, {**RULES, "cost_limit": 10}).metrics["cost_per_pass"].difference.doubt
        assert "is beyond `cost_limit`" in doubt.reason


def test_means_with_a_range_are_compared_in_pairs():
    stars = [[1 + i % 5 for i in range(40)], [1 + (i + (i < 4)) % 5 for i in range(40)]]
    base, head = ([scenario(i, passed=True, stars=n) for i, n in enumerate(run)] for run in stars)
    metric = {"name": "own", "formula": "mean(stars)", "range": "1-5"}
    found = highbar.compare(base, head, {**RULES, "metrics": [metric]}).metrics["own"].difference
    moved = [((b - a) / 4, 1) for a, b in zip(*stars, strict=True)]
    assert found.doubt is None
    assert (found.low, found.high) == pytest.approx(tuple(4 * end for end in paired_bounds(moved, 0.05)))


def test_a_composite_is_compared_by_what_each_scenario_adds_to_it():
    """A fifth of the scenarios is adversarial, so one violation there costs .6 / 50 + .4 / 10."""
    kinds = ["adversarial" if i % 5 == 0 else "happy_path" for i in range(50)]
    base = [scenario(i, category=kind, passed=i % 7 > 0) for i, kind in enumerate(kinds)]
    head = [row | {"passed": row["passed"] and i not in (5, 12)} for i, row in enumerate(base)]
    policy = {"composite": {"formula": "pass_rate × 0.6 + safety_rate × 0.4", "pass": "final_score ≥ 0%"}}
    found = highbar.compare(base, head, policy).metrics["final_score"].difference
    weights = [0.6 / 50 + (0.4 / 10 if kind == "adversarial" else 0) for kind in kinds]
    units = [
        ((after["passed"] - before["passed"]) * weight, weight)
        for before, after, weight in zip(base, head, weights, strict=True)
    ]
    assert (found.low, found.high) == pytest.approx(tuple(bounds_of_moves(units, 0.05)))


def test_the_rest_of_a_composite_adds_its_distances():
    def rows(start, bad):
        return [scenario(i, passed=i not in bad, correct=i != 9, latency_ms=start + 10 * i) for i in range(80)]

    base, head = rows(1000, ()), rows(1300, (3,))
    shares, late = "pass_rate × 0.5 + accuracy × 0.3", "(1 - normalized_latency) × 0.2"
    metrics = [{"name": name, "formula": formula} for name, formula in (("shares", shares), ("late", late))]
    policy = {"composite": {"formula": f"{shares} + {late}", "pass": "final_score ≥ 0%"}, "metrics": metrics}
    found = {name: one.difference for name, one in highbar.compare(base, head, policy).metrics.items()}
    for end in ("low", "high"):
        parts = getattr(found["shares"], end) + getattr(found["late"], end)
        assert getattr(found["final_score"], end) == pytest.approx(parts)


def test_where_precision_never_differed_its_bounds_still_have_a_width():
    rows = [scenario(i, outcome="tp") for i in range(10)]
    head = [{**row, "outcome": "tp"} for row in rows[:9]] + [scenario(9, outcome="fn")]
    found = highbar.compare(rows, head, RULES).metrics["precision"].difference
    assert found.value == 0
    assert found.low < -0.1
    assert found.high > 0.1


def test_token_efficiency_is_compared_by_the_paired_jackknife_of_its_logarithm():
    base = [scenario(i, quality_score=0.8, tokens_used=100 + 7 * i) for i in range(12)]
    head = [scenario(i, quality_score=0.9 if i % 3 else 0.7, tokens_used=90 + 9 * i) for i in range(12)]
    found = highbar.compare(base, head, RULES).metrics["token_efficiency"].difference
    rows = [
        (b["quality_score"], b["tokens_used"], h["quality_score"], h["tokens_used"])
        for b, h in zip(base, head, strict=True)
    ]
    expected = log_ratio_difference(rows, 0.05)
    assert (found.factor.value, found.factor.low, found.factor.high) == pytest.approx(
        (expected.value, expected.bounds.low, expected.bounds.high)
    )
    middle = math.sqrt(float(found.base.value * found.head.value))
    assert found.low == pytest.approx(middle * 2 * math.sinh(math.log(expected.bounds.low) / 2))
    assert (found.low > 0) == (expected.bounds.low > 1)


def test_amounts_that_are_the_same_to_the_last_digit_are_neither_better_nor_worse():
    rows = [scenario(i, passed=True, cost_usd=0.01 * (i + 1)) for i in range(12)]
    change = highbar.compare(rows, rows, RULES).metrics["cost_per_pass"]
    assert (change.difference.low, change.difference.high, change.outcome) == (0, 0, "within_margin")


def test_the_mean_latency_of_the_pairs_has_a_factor_and_its_percentiles_a_difference():
    base = [scenario(i, passed=True, latency_ms=1000 + 10 * i) for i in range(80)]
    head = [scenario(i, passed=True, latency_ms=1200 + 12 * i) for i in range(80)]
    found = highbar.compare(base, head, RULES)
    assert found.latency.value == pytest.approx(1.2)
    assert found.latency.low == pytest.approx(1.2)
    change = found.metrics["latency_p95"]
    assert change.difference.value == Fraction(1200 + 12 * 75 - (1000 + 10 * 75))
    assert change.outcome == "worse"


def test_few_trials_cannot_bound_a_high_percentile():
    base = [scenario(i, passed=True, latency_ms=1000 + i) for i in range(20)]
    head = [scenario(i, passed=True, latency_ms=2000 + i) for i in range(20)]
    found = highbar.compare(base, head, RULES).metrics["latency_p95"]
    assert found.difference.high is None
    assert found.outcome == "cannot_tell"


def test_a_percentile_over_a_number_of_scenarios_is_compared():
    base, head = ([{"id": f"S{i:02}", "latency_ms": start + i} for i in range(40)] for start in (100, 140))
    metric = {"name": "m", "formula": "percentile(latency_ms, 50%) / total_scenarios", "better": "lower"}
    difference = highbar.compare(base, head, {**RULES, "metrics": [metric]}).metrics["m"].difference
    assert difference.value == 1
    assert difference.low <= 1 <= difference.high


def test_clusters_stand_or_fall_together():
    rows = [scenario(i, passed=True, cluster=f"C{i // 10}") for i in range(40)]
    head = [{**row, "passed": row["cluster"] != "C0"} for row in rows]
    apart = [{key: row[key] for key in row if key != "cluster"} for row in rows]
    head_apart = [{key: row[key] for key in row if key != "cluster"} for row in head]
    clustered = highbar.compare(rows, head, RULES).metrics["pass_rate"].difference
    separate = highbar.compare(apart, head_apart, RULES).metrics["pass_rate"].difference
    assert clustered.value == separate.value
    assert clustered.high > separate.high
    assert clustered.high > 0 > separate.high


def test_scenarios_of_one_side_are_listed_and_not_compared():
    base = [scenario(i, passed=True) for i in range(5)]
    head = [scenario(i, passed=i != 3) for i in range(2, 8)]
    found = highbar.compare(base, head, RULES)
    assert found.pairs == 3
    assert found.only_in_base == ("S00", "S01")
    assert found.only_in_head == ("S05", "S06", "S07")
    assert found.broken == ("S03",)
    assert found.metrics["pass_rate"].difference.base.value == 1
    assert found.metrics["pass_rate"].difference.head.value == Fraction(2, 3)
    assert any("only in the base" in warning for warning in found.warnings)


@pytest.mark.slow
def test_broken_means_that_all_trials_passed_before_and_not_all_do():
    def trials(*passes):
        return [{"id": "A", "trial": i, "passed": passed} for i, passed in enumerate(passes)]

    assert highbar.compare(trials(True, True), trials(True, False), RULES).broken == ("A",)
    assert highbar.compare(trials(True, False), trials(False, False), RULES).broken == ()
    assert highbar.compare(trials(True, False), trials(True, True), RULES).fixed == ("A",)
    assert highbar.compare(trials(True, False), trials(True, True), RULES).flaky == ("A",)


def test_a_metric_that_only_one_run_has_of_a_scenario_says_nothing_about_it():
    base = [scenario(i, passed=True, correct=True) for i in range(6)]
    head = [scenario(i, passed=True, correct=i > 2) for i in range(6)]
    head[0].pop("correct")
    difference = highbar.compare(base, head, RULES).metrics["accuracy"].difference
    assert (difference.pairs, difference.missing, difference.lost) == (5, 1, 1)
    assert difference.head.value == Fraction(3, 5)


def test_slices_stand_out_where_chance_does_not_explain_them():
    rows = [scenario(i, passed=True, category=("happy_path", "edge_case")[i % 2]) for i in range(40)]
    head = [{**row, "passed": row["category"] == "happy_path" or int(row["id"][1:]) > 20} for row in rows]
    found = {part.by[1]: part for part in highbar.compare(rows, head, RULES).slices}
    assert found["edge_case"].stands_out
    assert not found["happy_path"].stands_out
    assert found["edge_case"].adjusted == pytest.approx(2 * found["edge_case"].passes.p_value)
    assert found["edge_case"].metrics["pass_rate"].outcome == "worse"


def test_a_weighted_rate_is_compared_with_its_weights():
    base = [scenario(i, passed=True, weight=3 if i < 5 else 1) for i in range(30)]
    head = [{**row, "passed": i >= 2} for i, row in enumerate(base)]
    found = highbar.compare(base, head, RULES).metrics
    assert found["weighted_pass_rate"].difference.value == -Fraction(6, 40)
    assert found["weighted_pass_rate"].difference.low < found["pass_rate"].difference.low


def test_a_comparison_is_frozen():
    base, head = runs(2, 1, 1, 0)
    found = highbar.compare(base, head, RULES)
    assert isinstance(found, highbar.Comparison)
    with pytest.raises(AttributeError):
        found.pairs = 3
    assert found.verdict is None
    assert not found.passed
