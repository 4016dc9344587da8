"""Which law holds for which metric: one table, over the whole catalogue.

A metric that is not here, or is here under no law, fails `test_every_metric_of_the_catalogue_is_under_a_law`.
"""

from __future__ import annotations

ALWAYS = frozenset(
    {
        "order",  # the order of rows changes nothing
        "weight scale",  # all weights times a constant change nothing
        "failing scenario",  # one more scenario that fails in every way never improves it
        "split",  # one file cut in two changes nothing
        "no data",  # without data it is undefined and passes no rule
        "stricter",  # a stricter threshold never passes what a looser one fails
        "breaking",  # breaking a row never improves a rule's outcome, nor the verdict
        "trial column",  # a constant column `trial: 1` changes nothing
        "repeated trials",  # every trial a second time changes nothing
    }
)
RATIO = ALWAYS | {
    "bounded",  # it stays in 0 to 1
    "on the threshold",  # k of 100 meets k %, for all 101 k
}
# To choose 2 of the doubled trials is to choose, sometimes, the same run twice: another question, another value. And
# its values are not the shares of scenarios: those are pass_at_1, which is under every law.
REPEATED = RATIO - {"repeated trials", "on the threshold"}

LAWS: dict[str, frozenset[str]] = {
    "pass_rate": RATIO,
    "accuracy": RATIO,
    "precision": RATIO,
    "recall": RATIO,
    "f1": RATIO,
    "safety_rate": RATIO,
    "behavior_coverage": RATIO,
    "behavior_coverage_pooled": RATIO,
    "latency_p50": ALWAYS,
    "latency_p95": ALWAYS,
    "latency_p99": ALWAYS,
    "normalized_latency": RATIO,
    "token_efficiency": ALWAYS,
    "cost_per_pass": ALWAYS,
    "error_rate": RATIO,
    "violation_rate": RATIO,
    "weighted_pass_rate": RATIO,
    "weighted_behavior_coverage": RATIO,
    "weighted_score": RATIO,
    "pass_at_1": RATIO,
    "pass_hat_1": RATIO,
    "pass_at_2": REPEATED,
    "pass_hat_2": REPEATED,
    "pass_at_3": REPEATED,
    "pass_hat_3": REPEATED,
}


def under(law: str) -> list[str]:
    """The metrics for which a law holds."""
    return [metric for metric, laws in LAWS.items() if law in laws]
