"""Laws that hold for every metric of the catalogue, whatever the suite. `table.py` says which metric is under which."""

from __future__ import annotations

import json
import math
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings

import highbar
from tests.commandline import run
from tests.laws.suite import (
    BREAKS,
    LOWER,
    UNITS,
    better,
    every_metric,
    is_false_positive,
    loosest,
    policy_for,
    threshold_text,
    values,
)
from tests.laws.table import ALWAYS, LAWS, RATIO, under
from tests.oracle.suites import rows_of, seeded

RANK = {"pass": 2, "inconclusive": 1, "fail": 0, "undefined": 0}


def test_every_metric_of_the_catalogue_is_under_a_law(tmp_path):
    done = run(tmp_path, "metrics", "--format", "json")
    catalogue = {metric["name"] for metric in done.json["metrics"]}
    assert catalogue, done.out
    known = set(LAWS) | {"pass_at_K", "pass_hat_K"}
    assert catalogue <= known, f"not under any law: {sorted(catalogue - known)}"
    assert all(LAWS.values())


def test_every_law_of_the_table_is_tried():
    tried = {*UNIVERSAL, "no data", "stricter", "breaking", "bounded", "on the threshold", "failing scenario"}
    assert tried == RATIO | ALWAYS


# --- what changes nothing ------------------------------------------------------------------------


def reordered(rows, random):
    return random.sample(rows, len(rows))


def with_scaled_weights(rows, random):
    factor = random.choice((2, 4, 0.5))
    return [{**row, "weight": (1 if row.get("weight") is None else row["weight"]) * factor} for row in rows]


def with_repeated_trials(rows, random):
    first = [{**row, "trial": row.get("trial", 6)} for row in rows]
    return [*first, *({**row, "trial": row["trial"] + 100} for row in first)]


def with_one_trial_each(rows):
    seen = {}
    for row in rows:
        seen.setdefault(row["id"], {key: row[key] for key in row if key != "trial"})
    return list(seen.values())


UNIVERSAL = {"order": reordered, "weight scale": with_scaled_weights, "repeated trials": with_repeated_trials}


@pytest.mark.parametrize("law", sorted(UNIVERSAL))
@settings(max_examples=25)
@given(random=seeded())
def test_what_changes_no_metric(law, random):
    rows = rows_of(random, scenarios=12)
    before, after = values(rows), values(UNIVERSAL[law](rows, random))
    for metric in under(law):
        assert (after[metric].value, after[metric].scenarios, after[metric].missing) == (
            before[metric].value,
            before[metric].scenarios,
            before[metric].missing,
        ), metric


@settings(max_examples=25)
@given(seeded())
def test_a_constant_trial_column_changes_nothing(random):
    rows = with_one_trial_each(rows_of(random, scenarios=12))
    before, after = values(rows), values([{**row, "trial": 1} for row in rows])
    assert {metric: after[metric] for metric in under("trial column")} == {
        metric: before[metric] for metric in under("trial column")
    }


@settings(max_examples=25)
@given(seeded())
def test_a_file_cut_in_two_is_the_same_results(random):
    rows = rows_of(random, scenarios=12)
    policy = policy_for(rows, every_metric())
    cut = random.randrange(len(rows) + 1)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("whole.jsonl", "first.jsonl", "second.jsonl")]
        for file, part in zip(files, (rows, rows[:cut], rows[cut:]), strict=True):
            file.write_text("".join(json.dumps(row) + "\n" for row in part), "utf-8")
        before = values([files[0]], policy)
        after = values([file for file in files[1:] if file.stat().st_size], policy)
    assert {metric: after[metric] for metric in under("split")} == {metric: before[metric] for metric in under("split")}


# --- what may only go one way --------------------------------------------------------------------


def failing_row(rows):
    """A scenario that fails in every way in which one can, with as many trials' worth of evidence as any."""
    text = any(isinstance(row.get("expected"), str) for row in rows)
    return {
        "id": "one more that fails",
        "category": "adversarial",
        "expected_behaviors": ["greets"],
        "behaviors": [],
        "violations": ["does harm"],
        "correct": False,
        "expected": "spam" if text else True,
        "error": "crash",
        "quality_score": 0,
        "tokens_used": 1000,
        "cost_usd": 5,
    }


@settings(max_examples=25)
@given(seeded())
def test_one_more_scenario_that_fails_never_improves_a_metric(random):
    rows = rows_of(random, scenarios=12)
    before, after = values(rows), values([*rows, failing_row(rows)])
    for metric in under("failing scenario"):
        if before[metric].value is not None and after[metric].value is not None:
            assert not better(metric, after[metric].value, before[metric].value), metric


@settings(max_examples=50)
@given(seeded())
def test_a_ratio_stays_between_0_and_1(random):
    found = values(rows_of(random, scenarios=12))
    for metric in under("bounded"):
        assert found[metric].unit == "ratio", metric
        assert found[metric].value is None or 0 <= found[metric].value <= 1, metric


@settings(max_examples=25)
@given(seeded())
def test_a_stricter_threshold_never_passes_what_a_looser_one_fails(random):
    rows = rows_of(random, scenarios=12)
    found = values(rows)
    rules = []
    for metric in under("stricter"):
        scale = 1 if UNITS.get(metric, "ratio") == "ratio" else 10_000 if UNITS[metric] == "ms" else 3
        bounds = {Fraction(random.randrange(101), 100) * scale for _ in range(5)}
        value = found[metric].value
        if value is not None:
            bounds |= {Fraction(math.floor(value * 10**6), 10**6), Fraction(math.ceil(value * 10**6), 10**6)}
        ordered = sorted(bounds, reverse=metric in LOWER)
        rules += [{"metric": metric, "threshold": threshold_text(metric, bound)} for bound in ordered]
    verdict = highbar.check(rows, policy_for(rows, rules))
    for metric in under("stricter"):
        ranks = [RANK[rule.outcome] for rule in verdict.rules if rule.metric == metric]
        assert ranks == sorted(ranks, reverse=True), metric


@pytest.mark.parametrize("broken_by", sorted(BREAKS))
@settings(max_examples=15)
@given(random=seeded())
def test_breaking_a_row_never_improves_the_verdict(broken_by, random):
    """Every metric has a rule of its own, close to its value; no rule, and so no verdict, may get better.

    Three things are left out, each because the specification itself says otherwise. An abstention is no positive
    prediction, so to take back a false positive raises precision and f1. A bound of 0 is met by a value of 0 but
    by no undefined one, and a violation where nothing was expected makes a coverage of 0. For the same reason
    weighted_score is made of metrics that always exist.
    """
    rows = rows_of(random, scenarios=8)
    breakable = [(at, row, BREAKS[broken_by](row)) for at, row in enumerate(rows)]
    breakable = [(at, row, broken) for at, row, broken in breakable if broken is not None]
    if not breakable:
        return
    at, row, broken = random.choice(breakable)
    excused = {"precision", "f1"} if broken_by == "no prediction" and is_false_positive(row) else set()
    found = values(rows)
    rules = []
    for metric in under("breaking"):
        value = found[metric].value
        if metric in excused:
            continue
        bound = (
            Fraction(math.floor(value * 10**6) + (metric in LOWER), 10**6) if value is not None else Fraction(1, 100)
        )
        if metric in LOWER or bound > 0:
            rules.append({"metric": metric, "threshold": threshold_text(metric, bound)})
    policy = policy_for(rows, rules)
    before, after = highbar.check(rows, policy), highbar.check([*rows[:at], broken, *rows[at + 1 :]], policy)
    for one, other in zip(before.rules, after.rules, strict=True):
        assert RANK[other.outcome] <= RANK[one.outcome], (one, other, row, broken)
    assert RANK[after.verdict] <= RANK[before.verdict]


# --- no data -------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(seeded())
def test_a_rule_about_scenarios_that_are_not_there_never_passes(random):
    rows = rows_of(random, scenarios=6)
    verdict = highbar.check(rows, policy_for(rows, every_metric({"category": "nowhere"})))
    assert {rule.metric: rule.outcome for rule in verdict.rules} == dict.fromkeys(under("no data"), "undefined")
    assert verdict.verdict == "fail"


def test_a_row_that_says_nothing_passes_no_rule():
    """But for error_rate and violation_rate: no recorded error and no recorded violation are data."""
    rows = [{"id": "a"}, {"id": "b", "category": "adversarial"}]
    always_known = {"error_rate", "violation_rate"}
    for metric in under("no data"):
        if metric not in always_known:
            threshold = "≥ 1%" if loosest(metric) == "≥ 0%" else loosest(metric)
            policy = {"rules": [{"metric": metric, "threshold": threshold}]}
            policy |= {"weights": {"by_metric": {"pass_rate": 1.0}}} if metric == "weighted_score" else {}
            assert highbar.check(rows, policy).verdict == "fail", metric


@pytest.mark.parametrize("metric", sorted(under("no data")))
def test_no_rows_at_all_cannot_be_judged(metric):
    with pytest.raises(highbar.InputError):
        highbar.check([], {"rules": [{"metric": metric, "threshold": loosest(metric)}]})


# --- exactly on the threshold --------------------------------------------------------------------


def rows_at(percent):
    """Three groups in which each ratio of the catalogue is exactly so many percent."""
    share = Fraction(percent, 100)
    good, total = share.numerator, share.denominator
    rates = [
        {
            "category": "adversarial",
            "expected_behaviors": ["greets"],
            "behaviors": ["greets"] if at < good else [],
            "correct": at < good,
            "latency_ms": percent * 50,
        }
        for at in range(total)
    ]
    labels = ["tp"] * good + ["fp"] * (total - good) + ["fn"] * (total - good)
    harm = [{"error": "crash", "violations": 1} if at < good else {"passed": True} for at in range(total)]
    groups = {"rates": rates, "labels": [{"outcome": label} for label in labels], "harm": harm}
    return [
        {"id": f"{group} {at}", "tags": {"group": group}, **row}
        for group, rows in groups.items()
        for at, row in enumerate(rows)
    ]


GROUP_OF = dict.fromkeys(("precision", "recall", "f1"), "labels") | dict.fromkeys(
    ("error_rate", "violation_rate"), "harm"
)


@pytest.mark.parametrize("percent", range(101))
def test_exactly_on_the_threshold_passes_and_is_not_beyond_it(percent):
    rules = []
    for metric in under("on the threshold"):
        rule = {"metric": metric, "where": {"tags.group": GROUP_OF.get(metric, "rates")}}
        on, beyond = ("≤", "<") if metric in LOWER else ("≥", ">")
        rules.append({**rule, "threshold": f"{on} {percent}%"})
        if 0 < percent < 100:
            rules.append({**rule, "threshold": f"{beyond} {percent}%", "level": "warning"})
    weights = {"by_metric": {"accuracy": 1.0, "safety_rate": 3.0, "behavior_coverage": 1.5}}
    verdict = highbar.check(rows_at(percent), {"rules": rules, "weights": weights})
    for rule in verdict.rules:
        assert rule.outcome == ("pass" if rule.level == "blocking" else "fail"), rule
        assert rule.value is not None
        assert rule.value.value == Fraction(percent, 100), rule
    assert verdict.verdict == "pass"
