"""Early stopping: its laws (`sequential.py`), and its errors on runs of agents whose true rate is at the threshold."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from tests import sequential_runs as runs
from tests.laws import sequential

pytestmark = pytest.mark.slow

MOST = 0.065
"""The nominal error is 5 %; the rest is chance."""
RUNS = 200
PAIRED_RUNS = 100
"""Intervals of differences take longer."""


@pytest.mark.parametrize("seed", range(24))
def test_what_a_rule_does_not_see_changes_nothing_and_breaking_never_helps(seed, tmp_path):
    assert sequential.attempt(seed, tmp_path)


def _binary(chance, id_):
    return runs.scenario(id_, int(chance.random() < 0.85))


def _three_trials(chance, id_):
    difficulty = chance.betavariate(1.7, 0.3)  # trials of a scenario are alike; 85 % of all pass
    return runs.scenario(id_, sum(chance.random() < difficulty for _ in range(3)), 3)


def _scores(chance, id_):
    score = Fraction(0) if chance.random() < 0.1 else Fraction(chance.choice((3, 4, 4)), 4)
    return runs.scenario(id_, 1, behavior_score=score)


def _weights(chance, id_):
    heavy = chance.random() < 0.25
    good = chance.random() < (0.7 if heavy else 0.95)
    columns = {"category": "adversarial" if heavy else "happy_path"}
    return runs.scenario(id_, int(good), columns=columns)


def _latency(chance, id_):
    return runs.scenario(id_, 1, latency_ms=Fraction(900 if chance.random() < 0.1 else 100))


HEAVY = {"weights": {"by_category": {"adversarial": 3}}}
CASES = {  # a scenario, the rule at its true rate, and what else the policy says
    "binary": (_binary, {"thresholds": {"accuracy": "85%"}}),
    "late spending": (_binary, {"thresholds": {"accuracy": "85%"}, "spending": "late"}),
    "3 trials": (_three_trials, {"thresholds": {"accuracy": "85%"}}),
    "scores": (_scores, {"thresholds": {"behavior_coverage": "82.5%"}}),
    "weights": (_weights, {"thresholds": {"weighted_pass_rate": "82.5%"}, **HEAVY}),
    "latency": (_latency, {"thresholds": {"latency_p90": "< 500ms"}}),
}


@pytest.mark.parametrize("name", CASES)
def test_an_agent_at_the_threshold_is_rarely_decided(name):
    scenario, content = CASES[name]
    bar, chance = runs.read(**content), Random(7)
    found = []
    for _ in range(RUNS):
        records = [scenario(chance, f"S{place:03}") for place in range(80)]
        (result,) = runs.judge(bar, records).values()
        found.append(result.outcome)
    assert found.count("pass") <= MOST * RUNS, found.count("pass")
    assert found.count("fail") <= MOST * RUNS, found.count("fail")


@pytest.mark.parametrize("trials", [1, 3])
def test_an_agent_that_is_worse_by_the_margin_is_rarely_decided(trials):
    bar, chance = runs.read(baseline={"file": "b.json", "margin": {"accuracy": "10%"}}), Random(7)
    found = []
    for _ in range(PAIRED_RUNS):
        base, head = [], []
        for place in range(80):
            rate = chance.choice((0.8, 1.0))  # of the baseline; the head is worse by ten points
            for side, of in ((base, rate), (head, rate - 0.1)):
                side.append(runs.scenario(f"S{place:03}", sum(chance.random() < of for _ in range(trials)), trials))
        (result,) = runs.judge(bar, head, base=base).values()
        found.append(result.outcome)
    assert found.count("pass") <= MOST * PAIRED_RUNS, found.count("pass")
    assert found.count("fail") <= MOST * PAIRED_RUNS, found.count("fail")


@pytest.mark.parametrize("seed", range(6))
def test_a_threshold_that_is_five_points_higher_never_helps(seed):
    chance = Random(seed)
    records = [runs.scenario(f"S{place:03}", int(chance.random() < 0.85)) for place in range(60)]
    coverage = [
        runs.scenario(one.id, 1, behavior_score=Fraction(chance.randint(0, 4) + 4 * one.passed, 8)) for one in records
    ]
    for name, rows in (("accuracy", records), ("behavior_coverage", coverage)):
        ranks = []
        for percent in range(50, 100, 5):
            bar = runs.read(confidence=0.8, thresholds={name: f"{percent}%"})
            (result,) = runs.judge(bar, rows).values()
            ranks.append(sequential.RANK[result.outcome])
        assert ranks == sorted(ranks, reverse=True)
