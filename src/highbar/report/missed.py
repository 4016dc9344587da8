"""Short reasons why a demand is not met. Texts from files go through the `encode` of the calling report."""

from __future__ import annotations

from highbar.language.digits import bounds_by_metric, held_against, show
from highbar.language.phrases import count
from highbar.model import RuleResult, Verdict
from highbar.report.headline import as_judged, lacks
from highbar.report.visible import Encode


def short_reason(rule: RuleResult, verdict: Verdict, encode: Encode) -> str:
    """`90.0% (81.2–95.6), 60 scenarios` if a value explains it; else why the scenario failed, or the rule's reason."""
    value = rule.value
    failed = next((one for one in verdict.scenarios_failed if rule.rule.endswith(f"_scenarios.{one.id}")), None)
    if rule.outcome == "fail" and value and rule.evidence in (None, "estimate") and held_against(rule.threshold or ""):
        shown = show(value, bounds_by_metric((rule,)).get(rule.metric or "", ()))
        return ", ".join(filter(None, (shown, as_judged(rule), count(value.scenarios, "scenario"), lacks(value))))
    if rule.outcome == "undefined" and rule.metric:
        return f"undefined: {encode(rule.reason.removeprefix(f'{rule.metric} is undefined: '))}"
    if rule.outcome == "inconclusive":
        return f"inconclusive: {encode(rule.reason)}"
    return encode(failed.reason if failed else rule.reason)
