"""A PASS with undecided trials is a PASS for whatever they turn out to be, by any formula.

Formulas that rise with one part and fall with another are judged by bounds (`measure/between.py`). Here every undecided
trial is filled in, in every way, and each completed run is judged by itself.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

import highbar
from highbar import catalogue
from highbar.measure import between
from highbar.model import Percentile
from highbar.policy import read_dict

FORMULAS = {
    "accuracy / pass_rate": "higher",
    "pass_rate / accuracy": "lower",
    "pass_rate - accuracy": "lower",
    "1 - pass_rate": "lower",
    "1 - pass_rate × accuracy": "higher",
    "abs(accuracy - pass_rate)": "lower",
    "max(accuracy, pass_rate) - min(accuracy, pass_rate)": "lower",
    "pass_rate × (1 - pass_rate)": "lower",
    "accuracy / (pass_rate + 0.1) + pass_rate": "higher",
    "2 × precision × recall / (precision + recall)": "higher",
    "precision - recall": "higher",
}
OUTCOMES = ("tp", "fp", "fn", "tn")


def completions(row):
    """Every way in which an undecided row may turn out."""
    for passed, outcome in product((True, False), OUTCOMES):
        yield {**row, "passed": passed, "outcome": outcome}


def values_of(rows):
    """The value of every formula, by one check."""
    metrics = [
        {"name": f"mixed_{place}", "formula": formula, "better": better}
        for place, (formula, better) in enumerate(FORMULAS.items())
    ]
    policy = {"metrics": metrics, "rules": [{"metric": "pass_rate", "threshold": "≥ 0%"}]}
    found = highbar.check(rows, policy).metrics
    return {formula: found[f"mixed_{place}"] for place, formula in enumerate(FORMULAS)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_completion_of_a_run_is_worse_than_its_worst_value(seed):
    random = Random(seed)
    known = [
        {"id": f"s{number}", "passed": random.random() < 0.7, "outcome": random.choice(OUTCOMES)}
        for number in range(random.randint(2, 5))
    ]
    undecided = {"id": "u"}
    found = values_of([*known, undecided])
    for row in completions(undecided):
        completed = values_of([*known, row])
        for formula, better in FORMULAS.items():
            bounds, value = found[formula], completed[formula].value
            if bounds.value is None or value is None:
                continue
            if better == "higher":
                assert bounds.value <= value <= bounds.best, (formula, known, row)
            else:
                assert bounds.value >= value >= bounds.best, (formula, known, row)


@pytest.mark.parametrize("name", catalogue.metrics())
def test_every_metric_of_the_catalogue_is_at_its_worst_when_all_its_parts_are(name):
    """They are not looked at again in each check: this is what `is_plain` rests on."""
    policy = read_dict({"thresholds": {"blocking": {"accuracy": "≥ 80%"}}})
    metric = policy.metrics[name]
    node = between.tree(policy, metric)
    worse_is_more = {"fp", "fn", "error", "violated", "tokens_both", "cost_usd", "latency_ms"}
    ends = {}
    for leaf in between.sums_in(node):
        fixed = not isinstance(leaf, Percentile) and (leaf.of == "count" or leaf.column in ("scenario", "expected"))
        few, many = Fraction(1), Fraction(9)
        ends[leaf] = (many, many) if fixed else (many, few) if leaf.column in worse_is_more else (few, many)
    assert between.is_monotonic(node, ends, metric.better)
    assert between.is_plain(metric)


def test_a_catalogue_name_with_another_formula_is_looked_at():
    replaced = {"name": "accuracy", "formula": "correct_outputs / passed_scenarios"}
    policy = read_dict({"metrics": [replaced], "thresholds": {"blocking": {"accuracy": "≥ 80%"}}})
    assert not between.is_plain(policy.metrics["accuracy"])
