"""Sequential rules along a prefix, against boundaries and bets that are computed slowly and exactly here."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from random import Random

import pytest

from highbar.model.records import ScenarioRecord
from tests import sequential_runs as runs

ACCURACY = "thresholds.blocking.accuracy"


# --- the oracle -----------------------------------------------------------------------------------


def exact_boundaries(rate, size, alpha, first=5):
    """By look, the fewest that pass and the most that fail, from the exact probabilities of all paths."""
    states, spent, found = {0: Fraction(1)}, [Fraction(0), Fraction(0)], []
    for look in range(1, size + 1):
        after = {}
        for count, chance in states.items():
            after[count] = after.get(count, 0) + chance * (1 - rate)
            after[count + 1] = after.get(count + 1, 0) + chance * rate
        budget = Fraction(alpha) * look / size if look >= min(first, size) else Fraction(0)
        lows, highs = [], []
        for count in sorted(after):
            if spent[1] + after[count] > budget:
                break
            spent[1] += after[count]
            lows.append(count)
        for count in sorted(set(after) - set(lows), reverse=True):
            if spent[0] + after[count] > budget:
                break
            spent[0] += after[count]
            highs.append(count)
        states = {count: chance for count, chance in after.items() if count not in {*lows, *highs}}
        found.append((min(highs, default=look + 1), max(lows, default=-1), min(after), max(after)))
    return found


def slow_decision(outcomes, rate, size, alpha):
    """The first crossing of known outcomes: (look, passed), or None."""
    good = 0
    for look, ((to_pass, to_fail, *_), outcome) in enumerate(
        zip(exact_boundaries(rate, size, alpha), outcomes, strict=False), 1
    ):
        good += outcome
        if good <= to_fail:
            return look, False
        if good >= to_pass:
            return look, True
    return None


def slow_bets(values, threshold, alpha):
    """The first time that the mean wealth of 25 constant stakes reaches 1 / alpha, for a pass or a fail."""
    for look in range(1, len(values) + 1):
        for loss, gains, passed in (
            (1 - threshold, [threshold - value for value in values[:look]], False),
            (threshold, [value - threshold for value in values[:look]], True),
        ):
            wealth = sum(math.prod(1 + stake / 26 / loss * gain for gain in gains) for stake in range(1, 26)) / 25
            if wealth >= 1 / alpha:
                return look, passed
    return None


def decided(result):
    if result.outcome not in ("pass", "fail"):
        return None
    return result.stopping.decided_at, result.outcome == "pass"


# --- exact boundaries -------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [5, 8, 11])
def test_every_run_is_decided_where_the_exact_boundaries_say(size):
    bar = runs.read(confidence=0.8, thresholds={"accuracy": "60%"})
    for outcomes in product((0, 1), repeat=size) if size < 10 else _some(size, 200):
        records = [runs.scenario(f"S{place:02}", outcome) for place, outcome in enumerate(outcomes)]
        expected = slow_decision(outcomes, Fraction(6, 10), size, Fraction(1, 5))
        assert decided(runs.judge(bar, records)[ACCURACY]) == expected


def _some(size, number):
    chance = Random(3)
    return [tuple(int(chance.random() < 0.6) for _ in range(size)) for _ in range(number)]


def test_the_fixture_of_200_scenarios_at_85_percent():
    bar = runs.read(thresholds={"accuracy": "85%"})
    good = [runs.scenario(f"S{place:03}", 1) for place in range(200)]
    result = runs.judge(bar, good)[ACCURACY]
    assert decided(result) == (31, True)
    assert result.reason == (
        "100% (90.8–100) is ≥ 85% (over 31 scenarios), at stopping; decided after 31 of 200 scenarios:"
        " 31 of 31 were good, 31 decide a pass"
    )
    assert result.value.scenarios == 31
    assert (result.second_run, result.more_scenarios, result.outlooks, result.open) == (None, None, (), False)
    assert runs.judge(bar, good, 30)[ACCURACY].outcome == "inconclusive"


def test_lower_is_better_counts_the_good_ones():
    bar = runs.read(thresholds={"error_rate": "≤ 15%"})
    good = [runs.scenario(f"S{place:03}", 1, error=Fraction(0)) for place in range(200)]
    assert decided(runs.judge(bar, good)["thresholds.blocking.error_rate"]) == (31, True)


def test_a_scenario_that_is_undecided_counts_against_a_pass_and_not_for_a_fail():
    bar = runs.read(thresholds={"accuracy": "85%"})
    best = [runs.scenario(f"S{place:03}", 1) for place in range(200)]
    worst = [runs.scenario(one.id, 0) if place == 3 else one for place, one in enumerate(best)]
    known = runs.judge(bar, worst)[ACCURACY]
    result = runs.judge(bar, worst, best=best)[ACCURACY]
    assert decided(result) == decided(known)
    assert decided(result)[0] > 31
    none_good = [runs.scenario(one.id, 0) for one in best]
    assert runs.judge(bar, none_good, best=best)[ACCURACY].outcome == "inconclusive"


def test_scenarios_without_the_metric_are_passed_over_and_the_whole_error_is_spent_at_the_end():
    bar = runs.read(confidence=0.8, thresholds={"accuracy": "60%"})
    there = [runs.scenario(f"S{place:02}", 1) for place in range(6)]
    without = [ScenarioRecord(f"T{place:02}", 1, 1) for place in range(6)]
    mixed = [one for pair in zip(there, without, strict=True) for one in pair]
    result = runs.judge(bar, mixed)[ACCURACY]
    # The fifth is at place 9 of 12, by which 15 of 20 % may be spent; that all of five pass is likely by 8 %.
    assert decided(result) == (9, True)
    assert result.value.scenarios == 5
    only_last = runs.judge(bar, [*without[:3], *there[:4], *without[3:]])[ACCURACY]
    assert decided(only_last) == (10, True)


def test_a_horizon_beyond_the_plan_spends_less():
    few = [runs.scenario(f"S{place:02}", 1) for place in range(33)]
    assert runs.judge(runs.read(thresholds={"accuracy": "85%"}), few)[ACCURACY].outcome == "pass"
    result = runs.judge(runs.read(thresholds={"accuracy": "85%"}, horizon=2000), few)[ACCURACY]
    assert result.outcome == "inconclusive"
    assert "open after 33 of 2000 scenarios" in result.reason


def test_of_a_suite_that_is_all_there_is_the_end_always_decides_if_answers_are_fixed():
    thresholds = {"accuracy": "85%", "pass_rate": "85%", "behavior_coverage": "85%"}
    passes = [int(place % 20 not in (3, 9, 15)) for place in range(40)]
    records = [runs.scenario(f"S{place:02}", one, behavior_score=Fraction(one)) for place, one in enumerate(passes)]
    wanted: tuple[tuple[dict[str, str], str], ...] = (
        ({"answers": "fixed"}, "pass"),
        ({"answers": "vary"}, "inconclusive"),
        ({}, "inconclusive"),  # an agent one point below the bar would pass in up to 46 % of the runs
    )
    for settings, outcome in wanted:
        bar = runs.read(thresholds=thresholds, population="suite", **settings)
        assert {one.outcome for one in runs.judge(bar, records).values()} == {outcome}


# --- bets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_scores_are_decided_where_slow_bets_are_won(seed):
    chance = Random(seed)
    bar = runs.read(confidence=0.8, thresholds={"behavior_coverage": "60%"})
    values = [Fraction(chance.randint(0, 4), 4) for _ in range(40)]
    values = [max(value, Fraction(1, 2)) if seed % 2 else value for value in values]
    records = [runs.scenario(f"S{place:02}", 1, behavior_score=value) for place, value in enumerate(values)]
    result = runs.judge(bar, records)["thresholds.blocking.behavior_coverage"]
    assert result.stopping.method == "bets"
    assert decided(result) == slow_bets([float(value) for value in values], 0.6, 0.2)


def test_ten_trials_of_a_scenario_count_once():
    bar = runs.read(thresholds={"accuracy": "85%"})
    once = [runs.scenario(f"S{place:02}", 10, 10) for place in range(10)]
    result = runs.judge(bar, once)[ACCURACY]
    assert result.outcome == "inconclusive"
    assert (result.stopping.seen, result.stopping.planned) == (10, 10)


def test_weights_make_a_scenario_count_more_in_the_bets():
    bar = runs.read(confidence=0.8, thresholds={"weighted_pass_rate": "60%"}, weights={"by_category": {"x": 4}})
    light = [runs.scenario(f"S{place:02}", 1, columns={"category": "y"}) for place in range(20)]
    heavy = [runs.scenario(f"T{place:02}", 1, columns={"category": "x"}) for place in range(20)]
    first = runs.judge(bar, [*light, *heavy])["thresholds.blocking.weighted_pass_rate"]
    second = runs.judge(bar, [*heavy, *light])["thresholds.blocking.weighted_pass_rate"]
    assert first.outcome == second.outcome == "pass"
    assert first.stopping.decided_at > second.stopping.decided_at


def test_precision_and_f1_are_bets_on_what_was_predicted():
    bar = runs.read(confidence=0.8, thresholds={"precision": "40%", "f1": "40%", "recall": "40%"}, positive="yes")
    kinds = ({"tp": 1}, {"tp": 1}, {"fp": 1}, {"fn": 1}, {"tp": 1}, {})
    records = []
    for place in range(60):
        kind = kinds[place % 6]
        outcome = {name: Fraction(kind.get(name, 0)) for name in ("tp", "fp", "fn")}
        records.append(runs.scenario(f"S{place:02}", 1, **outcome))
    for name in ("precision", "recall", "f1"):
        result = runs.judge(bar, records)[f"thresholds.blocking.{name}"]
        assert (result.outcome, result.stopping.method) == ("pass", "bets")


# --- other kinds --------------------------------------------------------------------------------


def test_a_latency_limit_is_a_share_of_trials_below_it():
    bar = runs.read(thresholds={"latency_p95": "< 500ms"})
    fast = [runs.scenario(f"S{place:03}", 1, latency_ms=Fraction(100)) for place in range(200)]
    result = runs.judge(bar, fast)["thresholds.blocking.latency_p95"]
    assert (result.outcome, result.stopping.method) == ("pass", "spending")
    slow = [runs.scenario(one.id, 1, latency_ms=Fraction(500)) for one in fast]
    assert decided(runs.judge(bar, slow)["thresholds.blocking.latency_p95"]) == (5, False)
    at_most = runs.read(thresholds={"latency_p95": "≤ 500ms"})
    assert runs.judge(at_most, slow)["thresholds.blocking.latency_p95"].outcome == "pass"


def test_a_threshold_of_100_percent_fails_at_the_first_failure_and_passes_when_enough_were_seen():
    bar = runs.read(thresholds={"accuracy": "100%"})
    good = [runs.scenario(f"S{place:03}", 1) for place in range(100)]
    assert decided(runs.judge(bar, good)[ACCURACY]) == (59, True)
    assert runs.judge(bar, good, 58)[ACCURACY].outcome == "inconclusive"
    one_bad = [runs.scenario(one.id, int(place != 40)) for place, one in enumerate(good)]
    assert decided(runs.judge(bar, one_bad)[ACCURACY]) == (41, False)
    accepted = runs.read(thresholds={"accuracy": {"threshold": "100%", "failures": 1}})
    assert decided(runs.judge(accepted, one_bad)[ACCURACY]) == (93, True)
    # There is one look: no failure in 59 is no second chance for a rule that accepts one in 93.
    assert runs.judge(accepted, good, 92)[ACCURACY].outcome == "inconclusive"
    # At the end of a smaller plan the failures that were seen count.
    assert decided(runs.judge(accepted, good[:60])[ACCURACY]) == (60, True)
    assert runs.judge(bar, good[:58])[ACCURACY].outcome == "inconclusive"


def test_in_a_suite_that_is_all_there_is_100_percent_needs_every_scenario():
    bar = runs.read(thresholds={"accuracy": "100%"}, population="suite")
    good = [runs.scenario(f"S{place:03}", 1) for place in range(100)]
    assert runs.judge(bar, good, 99)[ACCURACY].outcome == "inconclusive"
    assert decided(runs.judge(bar, good)[ACCURACY]) == (100, True)
    late = [runs.scenario(one.id, int(place != 99)) for place, one in enumerate(good)]
    assert decided(runs.judge(bar, late)[ACCURACY]) == (100, False)


def test_min_scenarios_makes_a_pass_wait():
    bar = runs.read(thresholds={"accuracy": {"threshold": "85%", "min_scenarios": 50}})
    good = [runs.scenario(f"S{place:03}", 1) for place in range(200)]
    assert decided(runs.judge(bar, good)[ACCURACY]) == (50, True)
    waiting = runs.judge(bar, good, 49)[ACCURACY]
    assert waiting.outcome == "inconclusive"
    assert "at least 50 scenarios are demanded" in waiting.reason


def test_clusters_and_steps_are_judged_at_the_end():
    bar = runs.read(thresholds={"accuracy": "60%"}, baseline={"file": "b.json", "step": {"accuracy": "1%"}})
    alike = [runs.scenario(f"S{place:02}", 1, cluster=f"C{place // 2}") for place in range(60)]
    found = runs.judge(bar, alike, base=alike)
    assert found[ACCURACY].stopping.method == "at the end"
    assert "scenarios of a cluster are not independent of each other" in found[ACCURACY].reason
    assert "a step above the baseline is not decided early" in found["baseline.step.accuracy"].reason


def test_a_composite_has_five_looks():
    composite = {"formula": "0.5 × accuracy + 0.5 × pass_rate", "pass": "final_score >= 0.7"}
    bar = runs.read(composite=composite)
    good = [runs.scenario(f"S{place:03}", int(place % 10 != 0)) for place in range(200)]
    result = runs.judge(bar, good)["composite.pass"]
    assert (result.outcome, result.stopping.method) == ("pass", "looks")
    assert result.stopping.decided_at in (40, 80, 120, 160, 200)
    assert runs.judge(bar, good, 39)["composite.pass"].outcome == "inconclusive"
    few = runs.judge(bar, good[:4])["composite.pass"]
    assert few.stopping.method == "at the end"


def test_a_margin_has_five_looks_for_single_trials_and_bets_for_others():
    bar = runs.read(baseline={"file": "b.json", "margin": {"accuracy": "10%"}})
    base = [runs.scenario(f"S{place:03}", int(place % 10 != 0)) for place in range(200)]
    result = runs.judge(bar, base, base=base)["baseline.accuracy"]
    assert (result.outcome, result.stopping.method) == ("pass", "looks")
    worse = [runs.scenario(one.id, int(place % 3 != 0)) for place, one in enumerate(base)]
    assert runs.judge(bar, worse, base=base)["baseline.accuracy"].outcome == "fail"
    trials = [runs.scenario(one.id, 3 * one.passed, 3) for one in base]
    several = runs.judge(bar, trials, base=base)["baseline.accuracy"]
    assert (several.outcome, several.stopping.method) == ("pass", "bets")


def test_a_scenario_of_the_baseline_that_is_not_planned_keeps_a_margin_from_passing():
    bar = runs.read(baseline={"file": "b.json", "margin": {"accuracy": "10%"}})
    base = [runs.scenario(f"S{place:03}", 3, 3) for place in range(100)]
    result = runs.judge(bar, base[1:], base=base)["baseline.accuracy"]
    assert result.outcome == "inconclusive"
    assert "1 scenario of the baseline without a result: S000" in result.reason


def test_nothing_that_was_seen_is_open():
    bar = runs.read(thresholds={"accuracy": "85%"})
    records = [runs.scenario(f"S{place:02}", 1) for place in range(40)]
    result = runs.judge(bar, records, 0)[ACCURACY]
    assert (result.outcome, result.open, result.stopping.seen) == ("inconclusive", True, 0)


def test_a_threshold_that_everything_meets_is_met_by_the_first():
    bar = runs.read(thresholds={"accuracy": "≥ 0%"})
    assert decided(runs.judge(bar, [runs.scenario("A", 0)])[ACCURACY]) == (1, True)
