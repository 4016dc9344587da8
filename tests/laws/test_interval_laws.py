"""Laws of the intervals, through the whole of a check: for every metric, and formulas of a user's own."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from bench.by_scenario import count_bounds
from hypothesis import given

import highbar
from tests.laws.suite import UNITS, decided_rows, every_metric, policy_for, threshold_text
from tests.laws.table import LAWS
from tests.oracle.suites import examples, seeded
from tests.unit.statistics.test_published import AIME_II

pytestmark = pytest.mark.slow

OWN = {  # name: (formula, range)
    "blend": ("pass_rate × 0.5 + (1 - normalized_latency) × 0.3 + violation_rate × 0.2", "0-100%"),
    "harmonic": ("2 × precision × recall / (precision + recall)", "0-100%"),
    "f2": ("5 × true_positives / (5 × true_positives + 4 × false_negatives + false_positives)", "0-100%"),
    "gap": ("pass_rate - accuracy", None),
    "relative": ("accuracy / pass_rate", None),
    "lowest": ("min(pass_rate, accuracy, 1 - error_rate)", "0-100%"),
    "square": ("pass_rate × pass_rate", "0-100%"),
    "token_cost": ("cost_usd / tokens_used", None),
    "failures": ("total_scenarios - passed_scenarios", None),
    "slow": ("percentile(latency_ms, 80%) / latency_limit", None),
}
METRICS = (*LAWS, *OWN)
RATIOS = {name for name in METRICS if UNITS.get(name, "ratio") == "ratio" and OWN.get(name, ("", "ratio"))[1]}
RANKED = {"latency_p50", "latency_p95", "latency_p99", "normalized_latency", "slow", "blend"}
"""Metrics with a percentile in them: their bounds are values of trials."""
OPPOSED = {"blend", "harmonic", "gap", "relative"}
"""Formulas whose parts may pull in opposite ways. The more alike such parts move, the more they cancel, and if one
part's distance grows faster than the other's (with the confidence, or with fewer scenarios) they may cancel more: the
interval of a combination is then not monotone to the last digit, by the method itself."""


def policy_of(rows, **more):
    """Every metric with a loose rule, and formulas of a user's own; slices by category, where there are any."""
    own = [
        {"name": name, "formula": formula} | ({"range": span} if span else {}) for name, (formula, span) in OWN.items()
    ]
    return {**policy_for(rows, every_metric()), "metrics": own, "slices": [], **more}


def intervals(rows, policy=None, **more):
    """By group (None for the whole) and metric, the value where there is one."""
    verdict = highbar.check(rows, policy or policy_of(rows, **more))
    groups = [(None, verdict.metrics), *((part.by, part.metrics) for part in verdict.slices)]
    return {(by, name): metrics[name] for by, metrics in groups for name in METRICS if metrics[name].value is not None}


def ends(found, metrics=METRICS):
    """Only the ends, to be compared."""
    return {key: (value.low, value.high) for key, value in found.items() if key[1] in metrics}


def low_of(value):
    return float("-inf") if value.low is None else value.low


def high_of(value):
    return float("inf") if value.high is None else value.high


def slack(value):
    """What sums of squares in floats can move: the root of their last bit."""
    return 1e-6 * max(1.0, abs(float(value.value)))


def assert_not_wider(found, than, metrics=METRICS):
    """No interval reaches further, on either side, than the one of the same group and metric."""
    for key in found.keys() & than.keys():
        if key[1] in metrics:
            inner, outer = found[key], than[key]
            assert low_of(inner) >= low_of(outer) - slack(outer), (key, inner, outer)
            assert high_of(inner) <= high_of(outer) + slack(outer), (key, inner, outer)


def assert_alike(found, other):
    """The same intervals, but for the last digits of sums that were taken in another way."""
    assert found.keys() == other.keys()
    assert_not_wider(found, than=other)
    assert_not_wider(other, than=found)


# --- what always holds -----------------------------------------------------------------------


def assert_in_its_interval(found):
    """The value lies in its interval, and the interval of a ratio between 0 and 1."""
    for (by, name), value in found.items():
        assert low_of(value) <= value.value + slack(value), (by, name, value)
        assert high_of(value) >= value.value - slack(value), (by, name, value)
        if name in RATIOS:
            assert 0 <= value.low <= value.high <= 1, (by, name, value)


def the_value_lies_in_its_interval_and_the_interval_in_the_range(suite, _):
    assert_in_its_interval(suite.found)
    assert_in_its_interval(intervals(suite.rows, population="suite"))


@pytest.mark.parametrize("scenarios", [1, 2, 10, 59, 100, 299])
def test_a_suite_that_passes_throughout_is_bounded_by_the_rule_of_three(scenarios):
    rows = [
        {
            "id": f"s{at}",
            "category": "adversarial",
            "expected_behaviors": ["greets"],
            "behaviors": ["greets"],
            "correct": True,
            "outcome": "tp",
            "quality_score": 1,
        }
        for at in range(scenarios)
    ]
    found = intervals(rows)
    perfect = ("pass_rate", "accuracy", "precision", "recall", "safety_rate", "behavior_coverage", "pass_at_1")
    for name in (*perfect, "behavior_coverage_pooled", "weighted_pass_rate", "weighted_behavior_coverage"):
        assert found[None, name].low == pytest.approx(0.05 ** (1 / scenarios), rel=1e-11), name
        assert found[None, name].high == 1
    for name in ("error_rate", "violation_rate"):
        assert found[None, name].low == 0
        assert found[None, name].high == pytest.approx(1 - 0.05 ** (1 / scenarios), rel=1e-10), name


def a_higher_confidence_never_narrows(suite, _):
    steps = [intervals(suite.rows, confidence=0.7), suite.found, intervals(suite.rows, confidence=0.999)]
    for narrow, wide in pairwise(steps):
        assert_not_wider(narrow, than=wide, metrics=set(METRICS) - OPPOSED)


def copied(rows, copies):
    """So many copies of every scenario, each a scenario (and cluster) of its own."""
    return [
        {**row, "id": f"{row['id']} {copy}"} | ({"cluster": f"{row['cluster']} {copy}"} if row.get("cluster") else {})
        for copy in range(copies)
        for row in rows
    ]


def more_scenarios_of_the_same_kind_never_widen(suite, _):
    steps = [suite.found, *(intervals(copied(suite.rows, copies)) for copies in (2, 5))]
    for few, many in pairwise(steps):
        values = {key: value.value for key, value in few.items() if key[1] != "failures"}
        assert values == {key: value.value for key, value in many.items() if key[1] != "failures"}
        assert_not_wider(many, than=few, metrics=set(METRICS) - OPPOSED - {"failures"})


# --- what changes nothing --------------------------------------------------------------------


def the_order_of_rows_changes_no_interval(suite, random):
    assert ends(intervals(random.sample(suite.rows, len(suite.rows)), suite.policy)) == ends(suite.found)


def a_file_cut_in_two_has_the_same_intervals(suite, random):
    rows = suite.rows
    cut = random.randrange(1, len(rows)) if len(rows) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("first.jsonl", "second.jsonl")]
        for file, part in zip(files, (rows[:cut], rows[cut:]), strict=True):
            file.write_text("".join(json.dumps(row) + "\n" for row in part), "utf-8")
        parts = intervals([file for file in files if file.stat().st_size], suite.policy)
    assert ends(parts) == ends(suite.found)


def all_weights_times_a_constant_change_no_interval(suite, _):
    scaled = [{**row, "weight": (1 if row.get("weight") is None else row["weight"]) * 4} for row in suite.rows]
    assert ends(intervals(scaled)) == ends(suite.found)


@examples(3)
@given(seeded())
def test_a_cluster_of_its_own_for_each_scenario_changes_no_interval(random):
    rows = [{key: row[key] for key in row if key != "cluster"} for row in decided_rows(random, scenarios=25)]
    alone = [{**row, "cluster": row["id"]} for row in rows]
    assert_alike(intervals(alone), intervals(rows))


def a_slice_has_the_intervals_of_its_rows_checked_alone(suite, _):
    columns = policy_for(suite.rows, ())["slices"]
    sliced = suite.found if columns == ["category"] else intervals(suite.rows, suite.policy | {"slices": columns})
    assert not columns or {by[0] for by, _ in sliced if by is not None} >= set(columns)
    for column, chosen in {by for by, _ in sliced if by is not None}:
        part = [row for row in suite.rows if row.get(column) == chosen]
        alone = {key: value for key, value in intervals(part, suite.policy).items() if key[0] is None}
        found = {(None, name): value for (by, name), value in sliced.items() if by == (column, chosen)}
        assert ends(found) == ends(alone), (column, chosen)


# --- trials ----------------------------------------------------------------------------------


def with_repeated_trials(rows):
    first = [{**row, "trial": row.get("trial", 6)} for row in rows]
    return [*first, *({**row, "trial": row["trial"] + 100} for row in first)]


def trials_that_are_repeated_narrow_nothing(suite, _):
    """The same scenarios are no more evidence for others; a percentile may only become less sure."""
    before, after = suite.found, intervals(with_repeated_trials(suite.rows), suite.policy)
    same = [name for name in METRICS if name in OWN or "repeated trials" in LAWS[name]]
    certain = set(same) - RANKED
    assert ends(after, certain) == ends(before, certain)
    # Of one scenario, the 95th percentile at 95 % is bounded or not by the last bit of a float.
    several = {key: value for key, value in before.items() if value.scenarios > 1}
    assert_not_wider(several, than=after, metrics=RANKED - OPPOSED)


def trials_of(counts, trials):
    """One scenario for each count, which passed so many of its trials."""
    return [
        {"id": f"q{at}", "trial": trial, "passed": trial < passed}
        for at, passed in enumerate(counts)
        for trial in range(trials)
    ]


PASS_RATE = {"thresholds": {"blocking": {"pass_rate": 50}}}


@examples(3)
@given(seeded())
def test_if_the_suite_is_all_there_is_only_the_noise_of_trials_is_left(random):
    """Clopper and Pearson on all trials: what one trial per scenario has anyway, and no wider than needed."""
    trials = random.choice((1, 2, 5))
    counts = [random.randrange(trials + 1) for _ in range(random.randrange(1, 30))]
    rows = trials_of(counts, trials)
    suite = highbar.check(rows, {**PASS_RATE, "population": "suite"}).metrics["pass_rate"]
    wanted = count_bounds(sum(counts), trials * len(counts), 0.05)
    assert (suite.low, suite.high) == pytest.approx(tuple(wanted), rel=1e-11)
    if trials == 1:
        sample = highbar.check(rows, PASS_RATE).metrics["pass_rate"]
        assert (sample.low, sample.high) == (suite.low, suite.high)


# --- verdicts --------------------------------------------------------------------------------


def what_is_judged_with_confidence_is_judged_the_same_by_the_estimate(suite, random):
    rules = []
    for name in LAWS:
        scale = {"ratio": 1, "ms": 10_000, "": 3}[UNITS.get(name, "ratio")]
        bounds = [Fraction(random.randrange(101), 100) * scale for _ in range(3)] + [Fraction(int(scale == 1))]
        if (None, name) in suite.found:
            value = suite.found[None, name]
            ends_of = (value.low, value.high, float(value.value))
            bounds += [Fraction(round(end * 10**6), 10**6) for end in ends_of if end is not None and end >= 0]
        rules += [{"metric": name, "threshold": threshold_text(name, bound)} for bound in bounds]
    both = [{**rule, "evidence": evidence} for evidence in ("estimate", "confident") for rule in rules]
    outcomes = [rule.outcome for rule in highbar.check(suite.rows, policy_for(suite.rows, both)).rules]
    for rule, estimate, confident in zip(rules, outcomes[: len(rules)], outcomes[len(rules) :], strict=True):
        assert confident in (estimate, "inconclusive"), rule


# --- the laws above, each on the same suites ---------------------------------------------------


@dataclass(frozen=True)
class Suite:
    """Rows of which everything is known, and what a check says of them."""

    rows: list[dict[str, Any]]
    policy: dict[str, Any]
    found: dict[Any, Any]


def suite_of(random):
    rows = decided_rows(random, scenarios=25)
    policy = policy_of(rows)
    return Suite(rows, policy, intervals(rows, policy))


OF_A_SUITE = (
    the_value_lies_in_its_interval_and_the_interval_in_the_range,
    a_higher_confidence_never_narrows,
    more_scenarios_of_the_same_kind_never_widen,
    the_order_of_rows_changes_no_interval,
    a_file_cut_in_two_has_the_same_intervals,
    all_weights_times_a_constant_change_no_interval,
    a_slice_has_the_intervals_of_its_rows_checked_alone,
    trials_that_are_repeated_narrow_nothing,
    what_is_judged_with_confidence_is_judged_the_same_by_the_estimate,
)


@examples(3)
@given(seeded())
def test_the_intervals_of_a_suite_are_under_their_laws(random):
    """All laws on the same suite, which is checked as it is once for all of them."""
    suite, broken = suite_of(random), []
    for law in OF_A_SUITE:
        try:
            law(suite, random)
        except AssertionError as error:
            broken.append(f"{law.__name__}: {error}")
    assert not broken, "\n".join(broken)


# --- how much is enough ------------------------------------------------------------------------


def grouped(groups):
    """The rows of every group, told apart by a tag, so that one check judges them all, each by itself."""
    return [
        {**row, "id": f"{name} {row['id']}", "tags": {"group": str(name)}}
        for name, rows in groups.items()
        for row in rows
    ]


ENOUGH = {  # (scenarios, failures): outcome
    (58, 0): "inconclusive",
    (59, 0): "pass",
    (59, 1): "fail",
    (1000, 1): "fail",
    (1, 1): "fail",
    (1, 0): "inconclusive",
}


def test_perfection_is_shown_by_59_scenarios_and_lost_by_one_failure():
    groups = {
        (scenarios, failures): [
            {"id": f"s{at}", "category": "adversarial", "passed": True} | ({"error": "crash"} if at < failures else {})
            for at in range(scenarios)
        ]
        for scenarios, failures in ENOUGH
    }
    rules, wanted = [], []
    for (scenarios, failures), outcome in ENOUGH.items():
        for metric in ("pass_rate", "safety_rate", "error_rate"):
            threshold, where = "0%" if metric == "error_rate" else "100%", {"tags.group": str((scenarios, failures))}
            rules.append({"metric": metric, "threshold": threshold, "where": where})
            wanted.append((metric, scenarios, outcome, 59 - scenarios if outcome == "inconclusive" else None))
    verdict = highbar.check(grouped(groups), {"evidence": "confident", "rules": rules})
    assert [(rule.metric, rule.value.scenarios, rule.outcome, rule.more_scenarios) for rule in verdict.rules] == wanted


def test_the_tolerated_rate_says_how_many_scenarios_show_perfection():
    rules, groups = [], {}
    for tolerate, enough in (("10%", 29), ("5%", 59), ("2%", 149), ("1%", 299)):
        for scenarios in (enough - 1, enough):
            groups[scenarios] = trials_of([1] * scenarios, 1)
            where = {"tags.group": str(scenarios)}
            rules.append({"metric": "pass_rate", "threshold": "100%", "tolerate": tolerate, "where": where})
    verdict = highbar.check(grouped(groups), {"evidence": "confident", "rules": rules})
    assert [rule.outcome for rule in verdict.rules] == ["inconclusive", "pass"] * 4


def test_a_percentile_needs_59_trials_to_be_under_a_limit_with_confidence():
    policy = {"evidence": "confident", "thresholds": {"blocking": {"latency_p95": "< 5000ms"}}}
    outcomes = [
        highbar.check([{"id": f"s{at}", "latency_ms": 10 + at, "passed": True} for at in range(n)], policy).verdict
        for n in (58, 59)
    ]
    assert outcomes == ["inconclusive", "pass"]


# --- breaking a row, with confidence ---------------------------------------------------------

COMPOSITE = {
    "formula": "accuracy × 0.3 + safety_rate × 0.4 + behavior_coverage × 0.2 + (1 - normalized_latency) × 0.1",
    "pass": "final_score ≥ 0.5",
}


def broken_row(row, random):
    """The row with one thing worse."""
    return random.choice(
        (
            {**row, "error": "crash"},
            {**row, "correct": False},
            {**row, "violations": ["leaks"]},
            {**row, "behaviors": row["behaviors"][1:]},
            {**row, "latency_ms": row["latency_ms"] + 9000},
        )
    )


def of_a_composite(random):
    """One trial of each scenario, so that the ends of the parts are exact."""
    return [
        {
            "id": f"s{at}",
            "category": "adversarial" if at % 3 == 0 else "happy_path",
            "correct": random.random() < 0.8,
            "expected_behaviors": ["greets"],
            "behaviors": ["greets"] if random.random() < 0.8 else [],
            "violations": [],
            "latency_ms": random.randrange(100, 4000),
        }
        for at in range(random.choice((6, 12, 40)))
    ]


def test_breaking_a_row_moves_neither_end_of_a_composite_up():
    """Twelve suites, each a slice; one more row of each is broken from check to check."""
    chances = {seed: Random(seed) for seed in range(12)}
    suites = {seed: of_a_composite(chance) for seed, chance in chances.items()}
    policy = {"evidence": "confident", "composite": COMPOSITE, "slices": ["tags.group"]}
    before = {}
    for step in range(4):
        if step:
            for seed, rows in suites.items():
                at = chances[seed].randrange(len(rows))
                rows[at] = broken_row(rows[at], chances[seed])
        after = {part.by[1]: part.metrics["final_score"] for part in highbar.check(grouped(suites), policy).slices}
        assert len(after) == 12
        for seed, old in before.items():
            if after[seed].value is not None and old.value is not None:
                assert low_of(after[seed]) <= low_of(old) + 1e-9, (seed, step)
                assert high_of(after[seed]) <= high_of(old) + 1e-9, (seed, step)
        before = after


def test_a_break_in_one_metric_alone_lifts_no_composite():
    """Found by an attacker: the correlation of the parts fell with it, and the interval narrowed by more."""
    once = [
        {"id": f"s{at}", "category": "adversarial" if at < 2 else "happy_path", "passed": at > 0, "correct": True}
        for at in range(5)
    ]
    several = [
        {"id": f"s{at}", "trial": trial, "passed": trial > 0 or at == 1, "correct": trial > 0 or at == 1}
        for at in range(3)
        for trial in range(10)
    ]
    for rows, formula in (
        (once, "accuracy × 0.3 + safety_rate × 0.5"),
        (several, "accuracy × 0.6 + pass_rate × 0.4"),
    ):
        policy = {"evidence": "confident", "composite": {"formula": formula, "pass": "final_score ≥ 0.5"}}
        at = 1 if rows is once else 10
        broken = [*rows[:at], rows[at] | {"correct": False}, *rows[at + 1 :]]
        before, after = (highbar.check(one, policy).metrics["final_score"] for one in (rows, broken))
        assert after.value < before.value
        assert after.low <= before.low
        assert after.high <= before.high


# --- one metric against another --------------------------------------------------------------


def compared(rows, *own):
    """How a check judges `accuracy ≥ pass_rate` with confidence."""
    composite = {"formula": "pass_rate × 1.0", "pass": "accuracy ≥ pass_rate"}
    metrics = [{"name": f"m{at}", "formula": formula} for at, formula in enumerate(own)]
    return highbar.check(rows, {"evidence": "confident", "composite": composite, "metrics": metrics}).rules[0].outcome


def test_two_metrics_that_have_nothing_to_do_with_each_other_are_told_apart_only_by_much():
    random = Random(1)
    rows = [{"id": f"s{at}", "passed": random.random() < 0.5, "correct": random.random() < 0.5} for at in range(100)]
    assert compared(rows) == compared(rows, "pass_rate - accuracy") == "inconclusive"


def test_two_scenarios_do_not_show_that_two_metrics_agree():
    rows = [{"id": f"s{at}", "passed": at > 0, "correct": at > 0} for at in range(2)]
    assert compared(rows) == compared(rows, "pass_rate - accuracy") == "inconclusive"


def test_scenarios_that_are_all_alike_make_no_difference_certain():
    """Sums of thirds are rounded; that must not look like two metrics that move together."""
    suites = {
        scenarios: [
            {"id": f"s{at}", "trial": trial, "passed": trial == 0, "correct": trial < 2}
            for at in range(scenarios)
            for trial in range(3)
        ]
        for scenarios in (1, 2, 5)
    }
    rows = grouped(suites)
    policy = {**PASS_RATE, "metrics": [{"name": "gap", "formula": "pass_rate - accuracy"}], "slices": ["tags.group"]}
    plain, alone = (
        {part.by[1]: part.metrics["gap"] for part in highbar.check(results, policy).slices}
        for results in (rows, [{**row, "cluster": row["id"]} for row in rows])
    )
    assert {name: value.scenarios for name, value in plain.items()} == {"1": 1, "2": 2, "5": 5}
    for name, value in plain.items():
        assert value.high - value.low > 0.2, name
        assert (alone[name].low, alone[name].high) == pytest.approx((value.low, value.high), abs=1e-6), name


# --- published -------------------------------------------------------------------------------


def pass_rates(groups):
    """By group, the pass rate with its interval."""
    parts = highbar.check(grouped(groups), {**PASS_RATE, "slices": ["tags.group"]}).slices
    return {part.by[1]: part.metrics["pass_rate"] for part in parts}


def test_tool_use_of_20_scenarios():
    wanted = {"20": (0.8609, 1), "18": (0.7174, 0.9819), "12": (0.3936, 0.7829), "0": (0, 0.1391)}
    rates = pass_rates({passed: trials_of([1] * int(passed) + [0] * (20 - int(passed)), 1) for passed in wanted})
    assert {name: (round(rate.low, 4), round(rate.high, 4)) for name, rate in rates.items()} == wanted


PUBLISHED = {
    "o3-mini (high)": (0.7546, 0.9818),
    "o3-mini (medium)": (0.6138, 0.9052),
    "DeepSeek-R1": (0.5526, 0.8795),
    "gpt-4o": (0.0383, 0.3368),
}


def test_15_questions_of_4_trials():
    """The real counts; as trials of a scenario, and as scenarios of a cluster."""
    as_trials = {model: trials_of(AIME_II[model], 4) for model in PUBLISHED}
    in_clusters = {
        model: [{"id": f"{row['id']} {row['trial']}", "cluster": row["id"], "passed": row["passed"]} for row in rows]
        for model, rows in as_trials.items()
    }
    for groups in (as_trials, in_clusters):
        rates = pass_rates(groups)
        assert {name: (round(rate.low, 4), round(rate.high, 4)) for name, rate in rates.items()} == PUBLISHED
        for model, rate in rates.items():
            assert rate.value == Fraction(sum(AIME_II[model]), 60), model
