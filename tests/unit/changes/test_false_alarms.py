"""A small run of `bench/false_alarms.py`: the rule that is right stays quiet where the guide's does not."""

from __future__ import annotations

import csv
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from bench.false_alarms import (
    AGENTS,
    LIMIT,
    METRICS,
    SEED,
    TABLE,
    alarms,
    discordant,
    false_alarm,
    guide,
    limited,
    ours,
)

import highbar

ROOT = Path(__file__).parents[3]


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize(("name", "rate", "alike"), AGENTS)
@pytest.mark.parametrize("scenarios", [50, 100, 300])
def test_an_unchanged_agent_fails_the_guides_rule_often_and_ours_rarely(random, name, rate, alike, scenarios):
    pairs = discordant(random, scenarios, rate, alike, 0.0, 4000)
    assert guide(pairs, scenarios, 1) > 0.5
    for margin in (0, 1, 5):
        for evidence in ("estimate", "confident"):
            assert ours(pairs, scenarios, margin, evidence).failed <= LIMIT


def test_an_agent_at_the_edge_of_the_margin_seldom_passes_with_confidence(random):
    pairs = discordant(random, 100, 0.85, 0.6, 0.05, 4000)
    assert ours(pairs, 100, 5, "confident").passed <= LIMIT
    assert ours(pairs, 100, 5, "estimate").passed > 0.4


@pytest.mark.parametrize(("name", "upper"), METRICS)
def test_other_metrics_of_an_unchanged_agent_are_seldom_called_worse(random, name, upper):
    assert false_alarm(random, upper, 60, 150) <= 0.10


@pytest.mark.slow
def test_the_simulation_judges_as_the_product_does(random):
    for better, worse, _ in discordant(random, 60, 0.85, 0.3, 0.02, 4).tolist():
        outcomes = [(False, True)] * better + [(True, False)] * worse + [(True, True)] * (60 - better - worse)
        base, head = ([{"id": str(i), "passed": kind[side]} for i, kind in enumerate(outcomes)] for side in (0, 1))
        for evidence in ("estimate", "confident"):
            policy = {"baseline": {"file": "b", "margin": {"pass_rate": {"margin": "2%", "evidence": evidence}}}}
            shares = ours(np.array([[better, worse]]), 60, 2, evidence)
            expected = {"pass": shares.passed, "fail": shares.failed, "inconclusive": shares.unsure}
            assert expected[highbar.compare(base, head, policy).rules[0].outcome] == 1


def test_the_table_is_what_is_found_now_and_keeps_the_limit():
    with TABLE.open(encoding="utf-8", newline="") as file:
        found = [(*row[:3], int(row[3]), row[4], float(row[5])) for row in list(csv.reader(file))[1:]]
    again = list(islice(alarms(np.random.default_rng(SEED)), 11))  # the first agent on the fewest scenarios
    assert found[:11] == [(*row[:-1], pytest.approx(row[-1], abs=1e-5)) for row in again]
    assert sum(limited(row) for row in found) == 48 + 8 + 18
    assert max(row[-1] for row in found if limited(row)) <= LIMIT
