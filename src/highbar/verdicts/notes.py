"""What was judged in, the warnings beside the verdict out."""

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
"""Milliseconds in which hardly any agent answers, and seconds in which most do."""


def all_notes(
    policy: Policy, results: Results, whole: measure.Measured, reduction: Reduction, rules: Sequence[RuleResult]
) -> tuple[str, ...]:
    """What to warn of beside the verdict: in the policy, in the files, in what the numbers rest on."""
    weighted = bool(policy.weights.by_category or policy.weights.by_capability or "weight" in reduction.columns)
    return (
        *policy.notes,
        *_judges_without_files(policy, results),
        *(note for file in results.files for note in file.notes),
        *reduction.warnings,
        *measure.weight_warnings(whole, weighted=weighted, clustered=reduction.clustered),
        *measure.trial_warnings(whole, _judged_metrics(rules)),
        *_in_seconds(whole, results),
        *_corrected(rules),
        *(() if policies.is_typical(policy) else gate.slack_notes(rules)),
    )


def _corrected(rules: Sequence[RuleResult]) -> Iterator[str]:
    """Demands that are met by a share as people would have it: a report of what is met does not show each value."""
    for rule in rules:
        if rule.raw is not None and rule.value is not None and rule.outcome == "pass":
            both = digits.show(rule.value), digits.show(rule.raw)
            yield f"{rule.metric} is corrected for the errors of the judge: {both[0]}, and {both[1]} as it judged"


def _in_seconds(whole: measure.Measured, results: Results) -> tuple[str, ...]:
    """A latency that was probably recorded in seconds: it would pass every threshold."""
    # `highbar run` measured it, or it comes from a format that says its unit.
    if results.files and all(file.recorded or file.has_known_units for file in results.files):
        return ()
    values = [value for name in _PERCENTILES if (value := whole.value(name).value) is not None]
    if not values or max(values) >= _FEW or all(value.denominator == 1 for value in values):
        return ()
    slowest = f"{float(max(values)):.3g}"
    how = "multiply it by 1000 where it is recorded, or in a mapping: latency_ms: { path: …, times: 1000 }"
    return (f"latency_ms looks like seconds: almost no trial took longer than {slowest}. If so, {how}",)


def _judges_without_files(policy: Policy, results: Results) -> tuple[str, ...]:
    """Rows that were imported before carry the judgment that they got then, which `judged_by` cannot change."""
    read = {judging.tool for judging in results.judged_by}
    unread = [tool for tool in policy.judged_by if tool not in read]
    if not unread or read:
        return ()
    named = ", ".join(unread)
    return (f"judged_by has no effect: no file of {named} was read, and rows of ours are judged by what they say",)


def _judged_metrics(rules: Sequence[RuleResult]) -> Iterator[str]:
    return (rule.metric for rule in rules if rule.metric is not None and not rule.slice)
