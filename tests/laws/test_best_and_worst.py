"""At their best, undecided trials make no metric worse than at their worst."""

from __future__ import annotations

from random import Random

import pytest

import highbar

OWN = [
    {"name": "scored", "formula": "percentile(score, 50%)", "range": "0-1"},
    {"name": "mean_score", "formula": "mean(score)", "range": "0-1"},
    {"name": "slow", "formula": "percentile(delay, 50%)", "better": "lower"},
    {"name": "tokens_p50", "formula": "percentile(tokens_used, 50%)", "better": "lower"},
    {"name": "quality_p50", "formula": "percentile(quality_score, 50%)", "range": "0-1"},
]
POLICY = {
    "metrics": OWN,
    "thresholds": {"blocking": {"pass_rate": "10%"}},
    "latency_limit": 9,
    "tokens_limit": 9,
    "cost_limit": 9,
}

WITHOUT_A_BEST = ("token_efficiency", "cost_per_pass", "slow")
"""Undefined at best, which passes nothing: what may be divided by 0, and a percentile of a column without a range."""


def rows_of(chance: Random) -> list[dict[str, object]]:
    """Several trials of a few scenarios, each with some of the columns."""
    columns = {
        "passed": lambda: chance.random() < 0.6,
        "correct": lambda: chance.random() < 0.6,
        "outcome": lambda: chance.choice(("tp", "fp", "fn", "tn")),
        "latency_ms": lambda: chance.randint(0, 9),
        "score": lambda: chance.randint(0, 4) / 4,
        "delay": lambda: chance.randint(-4, 4),
        "tokens_used": lambda: chance.randint(0, 9),
        "quality_score": lambda: chance.randint(0, 4) / 4,
        "cost_usd": lambda: chance.randint(0, 9),
        "category": lambda: "adversarial",
    }
    rows: list[dict[str, object]] = []
    for scenario in range(chance.randint(1, 3)):
        for trial in range(chance.randint(1, 3)):
            row: dict[str, object] = {"id": f"s{scenario}", "trial": trial, "passed": True}
            row |= {name: make() for name, make in columns.items() if chance.random() < 0.6}
            row |= {"error": "boom"} if chance.random() < 0.2 else {}
            row |= {"unjudged": "no judge"} if chance.random() < 0.2 else {}
            rows.append(row)
    for row in rows:
        if row.get("outcome") in ("tp", "tn"):
            row["correct"] = True
        elif "outcome" in row:
            row["correct"] = False
    return rows


@pytest.mark.parametrize("seed", range(12))
def test_no_metric_is_worse_at_best_than_at_worst(seed):
    rows = rows_of(Random(seed))
    metrics = highbar.check(rows, POLICY).metrics
    for name, metric in metrics.items():
        if metric.value is not None and metric.undecided and not (name in WITHOUT_A_BEST and metric.best is None):
            assert metric.best is not None, (name, rows)
            assert (metric.best - metric.value) * (1 if metric.better == "higher" else -1) >= 0, (name, rows)
        if metric.low is not None and metric.high is not None:
            assert metric.low <= metric.high, (name, rows)
