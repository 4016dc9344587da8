"""Without a policy: the results compared with the typical thresholds, as rows for every report that people read."""

from __future__ import annotations

from highbar.language.digits import bounds_by_metric, show, wanted
from highbar.model import RuleResult, Verdict

HEADING = "Advice: the typical thresholds, which decide nothing"
COLUMNS = ("value", "typical", "it would")


def advice_rows(verdict: Verdict) -> list[tuple[str, str, str, str]]:
    """For each typical threshold its metric, the value, the threshold, and what would become of it. Text of ours."""
    bounds = bounds_by_metric(verdict.advice)
    return [
        (
            rule.metric or rule.rule,
            show(rule.value, bounds.get(rule.metric or "", ())) if rule.value else "",
            wanted(rule.threshold or "", rule.value.unit if rule.value else None) or rule.threshold or "",
            would(rule),
        )
        for rule in verdict.advice
    ]


def would(rule: RuleResult) -> str:
    """`pass`, `fail`, `warn`, `be undefined`, `be inconclusive`."""
    if rule.outcome == "pass":
        return "pass"
    if rule.level == "warning":
        return "warn"
    return "fail" if rule.outcome == "fail" else f"be {rule.outcome}"
