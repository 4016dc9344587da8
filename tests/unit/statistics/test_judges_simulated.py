"""A small run of `bench/judges.py`: gates whose judge errs, where other intervals are wrong far too often."""

from __future__ import annotations

import numpy as np
import pytest
from bench.judge_methods import Errors, other_run, same_run
from bench.judge_runs import JudgePoint, drawn_runs, judge_points, true_rates

RUNS = 500
MOST = 0.065 + 3 * 0.01
"""The limit, and three standard errors of so few runs."""


def by_method(found: list[Errors]) -> dict[str, Errors]:
    return {one.method: one for one in found}


def test_labels_of_the_same_scenarios_go_together_and_the_gate_knows_it() -> None:
    point = JudgePoint(0.9, 0.85, 0.95, labels=200, trials=200, statements=5, repeats=5, correlation=0.8)
    found = by_method(same_run(point, RUNS, np.random.default_rng(1)))
    assert max(found["Highbar"].false_pass, found["Highbar"].false_fail) < MOST
    assert found["independent labels"].false_fail > 0.12
    assert found["PPI++"].false_pass > 0.12
    assert found["raw judge"].false_fail == 1


def test_the_figures_of_others_are_reproduced() -> None:
    # p = .95, sensitivity .97, specificity .75, 1,000 unlabeled trials and 30 labels: raw .71, PPI .010/.221.
    point = JudgePoint(0.95, 0.97, 0.75, labels=30, trials=1030, statements=1, repeats=1, correlation=0.5)
    found = by_method(same_run(point, 1_000, np.random.default_rng(2)))
    assert found["raw judge"].false_fail == pytest.approx(0.71, abs=0.05)
    assert found["PPI"].false_pass == pytest.approx(0.010, abs=0.012)
    assert found["PPI"].false_fail == pytest.approx(0.221, abs=0.045)
    assert found["PPI++"].false_pass == pytest.approx(0.211, abs=0.045)
    assert found["Highbar"].false_pass == 0
    assert found["Highbar"].false_fail < MOST


def test_plain_counts_show_a_bad_judge_as_a_good_one() -> None:
    point = JudgePoint(0.8, 0.97, 0.75, labels=200, trials=1000, statements=1, repeats=1, correlation=0.5)
    found = by_method(other_run(point, RUNS, np.random.default_rng(3)))
    assert found["plain specificity"].false_pass > 0.9
    for method in ("specificity", "sensitivity", "Highbar"):
        assert max(found[method].false_pass, found[method].false_fail) < MOST


def test_half_of_the_labels_come_from_each_stratum_unless_one_is_too_small() -> None:
    point = JudgePoint(0.97, 0.97, 0.75, labels=100, trials=200, statements=1, repeats=1, correlation=0.5)
    runs = drawn_runs(point, 0.97, 50, np.random.default_rng(4))
    assert (runs.asked.sum(axis=(1, 2)) == 100).all()
    failed = (~runs.judge).sum(axis=(1, 2))
    assert ((runs.asked & ~runs.judge).sum(axis=(1, 2)) == np.minimum(failed, 50)).all()


def test_the_true_rates_are_those_of_very_many_trials() -> None:
    point = JudgePoint(0.8, 0.95, 0.9, labels=50, trials=2000, statements=3, repeats=5, correlation=0.5)
    runs = drawn_runs(point, 0.8, 100, np.random.default_rng(5))
    sensitivity, specificity = true_rates(point, 0.8)
    assert runs.judge[runs.people].mean() == pytest.approx(sensitivity, abs=0.005)
    assert (~runs.judge)[~runs.people].mean() == pytest.approx(specificity, abs=0.01)


def test_the_grid_is_the_one_that_was_fixed() -> None:
    points = list(judge_points())
    assert len(points) == len(set(points)) == 3 * 3 * 3 * 3 * 11
