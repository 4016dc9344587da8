"""Rows that compare the results with the typical thresholds if there is no policy, for all reports for people."""

from __future__ import annotations

from highbar.language.digits import bounds_by_metric, rule_bounds, show, show_threshold
from highbar.model import RuleResult, Verdict

HEADING = "Advice: the typical thresholds, which decide nothing"
COLUMNS = ("value", "typical", "it would")


def advice_rows(verdict: Verdict) -> list[tuple[str, str, str, str]]:
    """For each typical threshold the metric, its value, the threshold and the outcome it would have; our own text."""
    bounds = bounds_by_metric(verdict.advice)
    return [
        (
            rule.metric or rule.rule,
            show(rule.value, rule_bounds(rule, bounds)) if rule.value else "",
            show_threshold(rule.threshold or "", rule.value.unit if rule.value else None) or rule.threshold or "",
            typical_outcome(rule),
        )
        for rule in verdict.advice
    ]


def typical_outcome(rule: RuleResult) -> str:
    """The outcome after "it would": `pass`, `fail`, `warn`, `be undefined` or `be inconclusive`."""
    if rule.outcome == "pass":
        return "pass"
    if rule.level == "warning":
        return "warn"
    return "fail" if rule.outcome == "fail" else f"be {rule.outcome}"
