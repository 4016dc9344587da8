"""A value or the reason of a rule in a few words, with the scenarios behind it. Computes nothing.

Texts from files go through the `encode` of the calling report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from highbar.language.digits import amount, parse_threshold, rule_bounds, show
from highbar.language.phrases import count
from highbar.model import RuleResult, Value, Verdict
from highbar.report.visible import Encode

if TYPE_CHECKING:  # few checks compare, and creating its classes takes time
    from highbar.model.comparison import Difference


def short_reason(rule: RuleResult, verdict: Verdict, encode: Encode) -> str:
    """`90.0% (81.2–95.6), 60 scenarios` if a value explains it; else why the scenario failed, or the rule's reason."""
    value, bounds = rule.value, rule_bounds(rule)
    failed = next((one for one in verdict.scenarios_failed if rule.rule.endswith(f"_scenarios.{one.id}")), None)
    if (
        rule.outcome == "fail"
        and value
        and rule.evidence in (None, "estimate")
        and parse_threshold(rule.threshold or "")
    ):
        size = count(value.scenarios, "scenario")
        return _joined(show(value, bounds), uncorrected_words(rule), size, missing_words(value, bounds))
    if rule.outcome == "undefined" and rule.metric:
        return f"undefined: {encode(rule.reason.removeprefix(f'{rule.metric} is undefined: '))}"
    if rule.outcome == "inconclusive":
        return f"inconclusive: {encode(rule.reason)}"
    return encode(failed.reason if failed else rule.reason)


def scenarios_cell(value: Value, bounds: Iterable[Fraction]) -> str:
    """`50`, or `50, 2 missing, 1 undecided (at best 94.0%)`: the scenarios behind a value, then `missing_words`."""
    return _joined(str(value.scenarios), missing_words(value, bounds))


def missing_words(value: Value, bounds: Iterable[Fraction]) -> str:
    """`2 missing, 1 undecided (at best 94.0%)`, and the value corrected by labels; empty if none of these applies."""
    parts = [f"{value.missing} missing"] * bool(value.missing)
    if value.undecided:
        best = "" if value.best is None else f" (at best {amount(value.best, value.unit, bounds)})"
        parts.append(f"{value.undecided} undecided{best}")
    return _joined(*parts, _corrected_words(value, bounds))


def uncorrected_words(rule: RuleResult) -> str:
    """`90.0% as judged`: the uncorrected value, if the rule's value is corrected for the judge's errors; else empty."""
    return "" if rule.raw is None or rule.raw.value is None else f"{show(rule.raw, rule_bounds(rule))} as judged"


def _corrected_words(value: Value, bounds: Iterable[Fraction]) -> str:
    """`corrected 78.5% (66.4–87.2)`; `not corrected` if that is undefined; empty if the policy corrects nothing."""
    share = value.corrected
    if share is None or share.value is None:
        return "" if share is None else "not corrected"
    shown = Value(share.value, 0, 0, value.unit, value.better, low=share.low, high=share.high)
    return f"corrected {show(shown, bounds)}"


def accepted_words(rule: RuleResult) -> str:
    """`1 failed, 1 accepted`, if the rule passed although scenarios failed; else empty."""
    if rule.outcome != "pass" or rule.accepted is None:
        return ""
    failed, most = rule.accepted
    return f"{failed} failed, {most} accepted"


def undefined_by_reason(values: Mapping[str, Value | Difference]) -> dict[str, list[str]]:
    """The names of what is undefined, by reason, not encoded."""
    found: dict[str, list[str]] = {}
    for name, value in values.items():
        if value.value is None:
            found.setdefault(value.reason or "no reason given", []).append(name)
    return found


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))
