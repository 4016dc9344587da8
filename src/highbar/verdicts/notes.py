"""Collects the warnings beside the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from highbar import gate, measure
from highbar import policy as policies
from highbar.language import digits
from highbar.load.results import Results
from highbar.model import Policy, RuleResult
from highbar.model.reduction import Reduction

POLICY_CHANGED = (
    "the policy is not the one that this run was to be decided by: a threshold, spending or horizon that was changed "
    "after a look at results is a second chance to pass"
)
_PERCENTILES = ("latency_p50", "latency_p95", "latency_p99")
_FEW = 60
"""Hardly any agent answers within this many milliseconds; most do within this many seconds."""


def all_notes(
    policy: Policy, results: Results, whole: measure.Measured, reduction: Reduction, rules: Sequence[RuleResult]
) -> tuple[str, ...]:
    """Warnings on the policy, the files and the numbers behind the metrics."""
    weighted = bool(policy.weights.by_category or policy.weights.by_capability or "weight" in reduction.columns)
    return (
        *policy.notes,
        *_scorer_notes(policy, results),
        *(note for file in results.files for note in file.notes),
        *reduction.warnings,
        *measure.weight_warnings(whole, weighted=weighted, clustered=reduction.clustered),
        *measure.trial_warnings(whole, _judged_metrics(rules)),
        *_seconds_notes(whole, results),
        *_correction_notes(rules),
        *(() if policies.is_typical(policy) else gate.slack_notes(rules)),
    )


def _correction_notes(rules: Sequence[RuleResult]) -> Iterator[str]:
    """Notes on rules that pass with a corrected share, because reports do not show the value of each passed rule."""
    for rule in rules:
        if rule.raw is not None and rule.value is not None and rule.outcome == "pass":
            both = digits.show(rule.value), digits.show(rule.raw)
            yield f"{rule.metric} is corrected for the errors of the judge: {both[0]}, and {both[1]} as it judged"


def _seconds_notes(whole: measure.Measured, results: Results) -> tuple[str, ...]:
    """A warning on a latency that was probably recorded in seconds: it would pass every threshold."""
    # Not if `highbar run` measured it, or if it comes from a format with a known unit.
    if results.files and all(file.recorded or file.has_known_units for file in results.files):
        return ()
    values = [value for name in _PERCENTILES if (value := whole.value(name).value) is not None]
    if not values or max(values) >= _FEW or all(value.denominator == 1 for value in values):
        return ()
    slowest = f"{float(max(values)):.3g}"
    how = "multiply it by 1000 where it is recorded, or in a mapping: latency_ms: { path: …, times: 1000 }"
    return (f"latency_ms looks like seconds: almost no trial took longer than {slowest}. If so, {how}",)


def _scorer_notes(policy: Policy, results: Results) -> tuple[str, ...]:
    """A warning that `judged_by` has no effect: rows imported earlier already have their judgment."""
    read = {judging.tool for judging in results.judged_by}
    unread = [tool for tool in policy.judged_by if tool not in read]
    if not unread or read:
        return ()
    named = ", ".join(unread)
    return (f"judged_by has no effect: no file of {named} was read, and rows of ours are judged by what they say",)


def _judged_metrics(rules: Sequence[RuleResult]) -> Iterator[str]:
    return (rule.metric for rule in rules if rule.metric is not None and not rule.slice)
