"""Margins: with confidence only an interval that is known to hold decides."""

from __future__ import annotations

from typing import Any

import pytest

import highbar

ALIKE = [
    {
        "id": f"S{place:03}",
        "passed": place % 10 > 0,
        "category": "adversarial" if place % 5 == 1 else "happy_path",
        "outcome": ("tp", "tp", "tn", "fn", "fp")[place % 5],
        "correct": place % 10 > 0,
        "cost_usd": 1.0,
        "tokens_used": 100,
        "quality_score": 0.9,
        "latency_ms": 100 + place,
    }
    for place in range(150)
]
LIMITS = {"cost_limit": 20, "tokens_limit": 10000}
COMPOSITE = {"formula": "pass_rate × 0.6 + safety_rate × 0.4", "pass": "final_score ≥ 0%"}
OWN = {"name": "own", "formula": "1 - pass_rate × recall", "unit": "ratio", "better": "lower"}


def outcome(metric: str, margin: str, evidence: str, **settings: Any) -> tuple[str, str]:
    policy = {"baseline": {"file": "b.json", "margin": {metric: {"margin": margin, "evidence": evidence}}}, **settings}
    (rule,) = (one for one in highbar.compare(ALIKE, ALIKE, policy).rules if one.rule == f"baseline.{metric}")
    return rule.outcome, rule.reason


UNKNOWN = {"cost_per_pass": "`cost_usd` has no limit", "token_efficiency": "`tokens_used` has no limit"}
KNOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "cost_per_pass": ("5", {}),
    "token_efficiency": ("5", {}),
    "precision": ("30%", {}),
    "f1": ("30%", {}),
    "final_score": ("30%", {"composite": COMPOSITE}),
    "own": ("30%", {"metrics": [OWN]}),
}


@pytest.mark.parametrize("metric", UNKNOWN)
def test_h167_a_margin_whose_interval_is_not_known_to_hold_stays_open_with_confidence(metric: str) -> None:
    assert outcome(metric, "5", "estimate")[0] == "pass"
    for evidence in ("confident", "sequential"):
        found, reason = outcome(metric, "5", evidence)
        assert found == "inconclusive"
        assert UNKNOWN[metric] in reason
        assert "no interval is known to hold" in reason


@pytest.mark.parametrize("metric", KNOWN)
def test_h167_a_margin_with_bounds_in_both_runs_is_judged(metric: str) -> None:
    margin, settings = KNOWN[metric]
    for evidence in ("estimate", "confident"):
        assert outcome(metric, margin, evidence, **settings, **LIMITS)[0] == "pass"


RARE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "precision": ("outcome", "2.9%", {}),
    "f1": ("outcome", "2%", {}),
    "final_score": ("category", "2.08%", {"composite": COMPOSITE}),
    "cost_per_pass": ("cost_usd", "0.9", {"cost_limit": 30}),
}


@pytest.mark.parametrize("metric", RARE)
def test_h167_two_runs_that_do_not_differ_do_not_show_that_nothing_rare_and_heavy_was_lost(metric: str) -> None:
    """The jackknife gave no width to what was in neither run: it passed 17 % of such agents where 5 % is promised."""
    column, margin, settings = RARE[metric]
    labels = {"outcome": "tp"} if column == "outcome" else {"cost_usd": 1.0} if column == "cost_usd" else {}
    rows = [
        {"id": f"S{at}", "passed": True, "category": "adversarial" if at % 5 == 0 else "happy_path", **labels}
        for at in range(60)
    ]
    policy = {
        "baseline": {"file": "b.json", "margin": {metric: {"margin": margin, "evidence": "confident"}}},
        **settings,
    }
    rules = {rule.rule: rule for rule in highbar.compare(rows, rows, policy).rules}
    assert rules[f"baseline.{metric}"].outcome == "inconclusive"


@pytest.mark.parametrize(
    ("metric", "margin"),
    [("pass_rate", "5%"), ("recall", "5%"), ("accuracy", "5%"), ("safety_rate", "30%"), ("latency_p50", "50%")],
)
def test_h167_a_margin_of_a_share_or_a_percentile_is_judged(metric: str, margin: str) -> None:
    wanted = f"{margin} of baseline" if metric == "latency_p50" else margin
    assert outcome(metric, wanted, "confident")[0] == "pass"


def test_h167_a_share_of_a_baseline_is_judged_by_its_pairs() -> None:
    metric = {"name": "own", "formula": "passed_scenarios / total_scenarios", "unit": "number"}
    found = outcome("own", "5% of baseline", "confident", metrics=[metric])
    assert found[0] == "pass", found[1]
