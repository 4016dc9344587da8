"""Collects the warnings beside the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from highbar import gate, measure
from highbar import policy as policies
from highbar.gate.evidence import PASSING
from highbar.language import digits
from highbar.language.phrases import count, some
from highbar.load.results import Results
from highbar.measure.limits import FEW_CLUSTERS, FEW_WEIGHTED, HEAVY, ROUNDING
from highbar.measure.parts import of_metric, unweighted, weights_differ
from highbar.model import Policy, Ratio, RuleResult
from highbar.model.reduction import Group, Reduction
from highbar.statistics.bounds import effective_clusters

POLICY_CHANGED = (
    "the policy is not the one that this run was to be decided by: a threshold, spending or horizon that was changed "
    "after a look at results is a second chance to pass"
)
_PERCENTILES = ("latency_p50", "latency_p95", "latency_p99")
_ONE_SIDED = 1.645
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
        *_suite_notes(policy, reduction),
        *reduction.warnings,
        *_number_notes(policy, reduction),
        *_weight_notes(whole, weighted=weighted, clustered=reduction.clustered),
        *_trial_notes(whole, _judged_metrics(rules)),
        *_seconds_notes(whole, results),
        *_correction_notes(rules),
        *(() if policies.is_typical(policy) else gate.slack_notes(rules)),
    )


def _number_notes(policy: Policy, reduction: Reduction) -> Iterator[str]:
    """Notes on how many trials the scenarios have, and how many they were to have."""
    if policy.trials == "as_recorded":
        yield "trials: as_recorded: nothing checks how many trials each scenario was to have"
    missing, uneven = reduction.missing, reduction.uneven
    if missing is not None:
        named = [f"{id_} lacks {number} of {planned}" for id_, number, planned in missing.examples]
        are = "is not in the results and counts" if missing.trials == 1 else "are not in the results and count"
        listed = some(named, total=missing.scenarios)
        yield f"{count(missing.trials, 'planned trial')} {are} as undecided: {listed}"
    if uneven is None:
        return
    if policy.trials is None:
        most = uneven.numbers[0][0]
        hint = f"say how many there were to be: `trials: {most}` in the policy, or `trials: as_recorded`"
        yield f"the scenarios have different numbers of trials: {_say_numbers(uneven.numbers)}; {hint}"
    if uneven.ends_in_a_pass:
        fewer = "every scenario with fewer trials than others passed its last one"
        alone = ", so rules with `evidence: confident` are also judged by first trials alone" if uneven.first else ""
        yield f"{fewer}: were failures tried again until they passed? Then the rates are too high{alone}"


def _say_numbers(numbers: Sequence[tuple[int, int, str]]) -> str:
    """How many scenarios have how many trials: `10 (48 scenarios), 7 (q3)`."""
    named = [
        f"{trials} ({id_ if scenarios == 1 else count(scenarios, 'scenario')})" for trials, scenarios, id_ in numbers
    ]
    return some(named)


def _weight_notes(whole: measure.Measured, *, weighted: bool, clustered: bool) -> tuple[str, ...]:
    """Warnings that weights or clusters make a metric depend on few scenarios, or that heavy scenarios fail more."""
    name = "weighted_pass_rate" if weighted else PASSING
    root = of_metric(whole.policy, whole.policy.metrics[name])
    if not (weighted or clustered) or not isinstance(root, Ratio):
        return ()
    totals = whole.group.ratios[root]
    if not totals.sums.clusters:
        return ()
    unit = "cluster" if clustered else "scenario"
    found = []
    share = totals.largest / float(totals.sums.d)
    if share > HEAVY:
        found.append(f"one {unit} has {share:.0%} of the weight and largely determines {name}")
    effective = effective_clusters(totals.sums)
    few = FEW_WEIGHTED if weighted and weights_differ(root, whole.group) else FEW_CLUSTERS
    if effective < few:
        found.append(
            f"the {totals.sums.clusters} {unit}s are worth about {effective:.0f} of equal weight:"
            f" bounds are rough below {few}"
        )
    if weighted and _heavier_fail_more(root, whole.group):
        found.append(f"scenarios with more weight fail more often than others: few of them decide {name}")
    return tuple(found)


def _trial_notes(whole: measure.Measured, metrics: Iterable[str]) -> tuple[str, ...]:
    """Warnings on metrics whose trials may not be a sample: slow scenarios may have been tried more often."""
    found = {name: whole.value(name).doubt for name in dict.fromkeys(metrics)}
    return tuple(f"{name}: {doubt.reason}" for name, doubt in found.items() if doubt and doubt.about == "trials")


def _heavier_fail_more(ratio: Ratio, group: Group) -> bool:
    """Whether, beyond chance, the heavier scenarios of a weighted share score less than the others."""
    weighted, plain = group.ratios[ratio].sums, group.ratios[unweighted(ratio)].sums
    count = plain.clusters
    if count <= 2 or plain.d != count or weighted.clusters != count:
        return False  # too few, or clusters of several scenarios
    w, ww, x, xx, wx = (float(n) for n in (weighted.d, weighted.dd, plain.z, plain.zz, weighted.z))
    squares = (count * ww - w * w) * (count * xx - x * x)
    if squares <= 0:
        return False
    # The t test of the correlation between weight and score, with the normal quantile.
    correlation = (count * wx - w * x) / math.sqrt(squares)
    rest = max(1 - correlation * correlation, ROUNDING)
    return correlation * math.sqrt((count - 2) / rest) < -_ONE_SIDED


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


def _suite_notes(policy: Policy, reduction: Reduction) -> tuple[str, ...]:
    """A warning on columns of text in the suite that nothing names."""
    if policy.suite is None:
        return ()
    known = {*reduction.columns, *policies.named_columns(policy)}
    unread = [name for name in policy.suite.own_texts if name not in known]
    if not unread:
        return ()
    from highbar.suite import unread_columns  # few suites have such a column

    return (unread_columns(policy.suite.file, unread),)


def _judged_metrics(rules: Sequence[RuleResult]) -> Iterator[str]:
    return (rule.metric for rule in rules if rule.metric is not None and not rule.slice)
