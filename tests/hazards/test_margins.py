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


UNKNOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "cost_per_pass": ("5", {}),
    "token_efficiency": ("5", {}),
    "precision": ("30%", {}),
    "f1": ("30%", {}),
    "final_score": ("30%", {"composite": COMPOSITE}),
    "own": ("30%", {"metrics": [OWN]}),
}


@pytest.mark.parametrize("limits", [{}, LIMITS])
@pytest.mark.parametrize("metric", UNKNOWN)
def test_h167_a_margin_whose_interval_is_not_known_to_hold_stays_open_with_confidence(
    metric: str, limits: dict[str, Any]
) -> None:
    margin, settings = UNKNOWN[metric]
    assert outcome(metric, margin, "estimate", **settings, **limits)[0] == "pass"
    for evidence in ("confident", "sequential"):
        found, reason = outcome(metric, margin, evidence, **settings, **limits)
        assert found == "inconclusive"
        assert "no interval is known to hold" in reason


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
