"""Weights that the run hardly has: no interval allows for scenarios that were not drawn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import highbar

WEIGHTED = {"thresholds": {"blocking": {"weighted_pass_rate": "≥ 90%"}}}


def light(number: int = 400, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"S{place:03}", "passed": True, "category": "happy_path", **more} for place in range(number)]


def heavy(number: int, **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"H{place}", "passed": True, "category": "adversarial", **more} for place in range(number)]


def rule(rows: list[dict[str, Any]], evidence: str = "confident", **policy: Any) -> Any:
    return highbar.check(rows, {**WEIGHTED, "evidence": evidence, **policy}).rules[0]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_h168_a_category_that_the_policy_weighs_and_the_run_hardly_has(number: int) -> None:
    weights = {"weights": {"by_category": {"adversarial": 5}}}
    for evidence in ("confident", "sequential"):
        found = rule([*light(), *heavy(number)], evidence, **weights)
        assert found.outcome == "inconclusive"
        assert f"{number or 'no'} scenario{'s' if number == 2 else ''} of the category adversarial" in found.reason
    assert rule([*light(), *heavy(number)], "estimate", **weights).outcome == "pass"


@pytest.mark.parametrize("number", [3, 9])
def test_h168_three_scenarios_of_a_weight_are_enough(number: int) -> None:
    weights = {"weights": {"by_category": {"adversarial": 5}}}
    assert rule([*light(), *heavy(number)], **weights).outcome == "pass"
    assert rule([*light(weight=1), *heavy(number, weight=5)]).outcome == "pass"


@pytest.mark.parametrize("number", [1, 2])
def test_h168_scenarios_of_the_run_that_alone_have_their_weight(number: int) -> None:
    found = rule([*light(weight=1), *heavy(number, weight=5)])
    assert found.outcome == "inconclusive"
    assert "with the weight 5" in found.reason


def test_h168_a_class_that_weighs_less_than_the_mean_may_be_absent() -> None:
    assert rule(light(), weights={"by_category": {"adversarial": 0.5, "regression": 1}}).outcome == "pass"


def test_h168_weights_of_the_suite_count_where_their_scenarios_are_optional(tmp_path: Path) -> None:
    suite = [{**row, "weight": 1} for row in light()] + [{**row, "weight": 7} for row in heavy(5)]
    for row in suite:
        del row["passed"]
    (tmp_path / "suite.json").write_text(json.dumps(suite), "utf-8")
    optional = {"optional_scenarios": ["H*"]}
    policy = {**WEIGHTED, **optional, "suite": str(tmp_path / "suite.json"), "evidence": "confident"}
    found = highbar.check(light(weight=1), policy)
    (weighted,) = (one for one in found.rules if one.metric == "weighted_pass_rate")
    assert weighted.outcome == "inconclusive"
    assert "no scenario with the weight 7" in weighted.reason


def test_h168_weights_of_the_baseline_count() -> None:
    margin = {"baseline": {"file": "b.json", "margin": {"weighted_pass_rate": "10%"}}, "evidence": "confident"}
    base = [*light(weight=1), *heavy(2, weight=7)]
    assert highbar.compare(base, base, margin).rules[0].outcome == "inconclusive"
    more = [*light(weight=1), *heavy(3, weight=7)]
    assert highbar.compare(more, more, margin).rules[0].outcome == "pass"


def test_h168_what_does_not_use_weights_is_judged_as_before() -> None:
    policy = {"thresholds": {"blocking": {"pass_rate": "≥ 90%"}}, "weights": {"by_category": {"adversarial": 5}}}
    assert highbar.check(light(), {**policy, "evidence": "confident"}).rules[0].outcome == "pass"
