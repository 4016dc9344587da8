"""Judges a rule that compares with the baseline: its outcome, with a reason in words.

A margin is judged by the difference over the pairs. By the estimate, a difference within the margin passes, one whose
whole interval is beyond the margin fails, and anything else is inconclusive. With confidence, a difference passes only
if its whole interval is within the margin. No rule passes while scenarios of the baseline have no result now.
"""

from __future__ import annotations

import math
from fractions import Fraction

from msgspec import Struct
from msgspec.structs import replace

from highbar.gate.evidence import Compared, Evidence
from highbar.gate.new_failures import judge_new_failures
from highbar.gate.outlook import certain_outlooks, outlooks_of_difference, without_passes
from highbar.gate.thresholds import ThresholdOutcome, judge_value, with_doubt
from highbar.language import digits
from highbar.language.exact import write_decimal
from highbar.language.phrases import count, some
from highbar.model import (
    BaselineRule,
    Better,
    ComparingRule,
    Level,
    NewFailuresRule,
    Outcome,
    RuleResult,
    StepRule,
    Threshold,
    Unit,
)
from highbar.model.comparison import Difference
from highbar.statistics.planning import more_by_width

_ALLOWED = "which --allow-missing-baseline accepts"
_RECORD = "`highbar baseline record` makes one"


class Excess(Struct, frozen=True):
    """How much better the head is than the worst accepted value, with the bounds of that."""

    value: Fraction
    low: Fraction | float
    high: Fraction | float


def judge_baseline(rule: ComparingRule, evidence: Evidence) -> RuleResult:
    """The outcome of a rule that compares with a baseline; undefined if there is none, or it cannot be compared."""
    # Undefined, not passed: otherwise deleting the baseline would remove the rule.
    compared = evidence.baseline
    if compared is None:
        level: Level = "warning" if evidence.allow_missing_baseline else rule.level
        allowed = f", {_ALLOWED}" if level != rule.level else ""
        reason = f"there is no baseline at {evidence.baseline_file or rule.file}{allowed}; {_RECORD}"
        return replace(_undefined(reason).result(rule), level=level, threshold=_threshold_text(rule, evidence))
    if compared.problem:
        return replace(_undefined(compared.problem).result(rule), threshold=_threshold_text(rule, evidence))
    match rule:
        case BaselineRule():
            return _judge_margin_rule(rule, compared, evidence)
        case StepRule():
            return _judge_step_rule(rule, compared, evidence)
    return judge_new_failures(rule, compared, evidence).result(rule)


def _undefined(reason: str) -> ThresholdOutcome:
    return ThresholdOutcome("undefined", reason, outlooks=certain_outlooks("undefined"))


def _threshold_text(rule: ComparingRule, evidence: Evidence) -> str | None:
    """The threshold of a rule that cannot be judged, so that reports can still show what it demands."""
    if isinstance(rule, NewFailuresRule):
        return None
    metric = evidence.metrics[rule.metric]  # not from its value, which over a slice is measured only for a comparison
    step = -rule.margin if isinstance(rule, BaselineRule) else rule.step
    return _write_threshold(metric.better, metric.unit, step, relative=rule.relative)


# --- no worse by more than a margin -----------------------------------------------------------


def _judge_margin_rule(rule: BaselineRule, compared: Compared, evidence: Evidence) -> RuleResult:
    difference = compared.difference(rule.metric, rule.where)
    judged = _judge_margin(rule, difference, compared, evidence)
    head = difference.head
    threshold = _write_threshold(head.better, head.unit, -rule.margin, relative=rule.relative)
    return replace(judged.result(rule), value=head, threshold=threshold)


def _judge_margin(
    rule: BaselineRule, difference: Difference, compared: Compared, evidence: Evidence
) -> ThresholdOutcome:
    base = difference.base.value
    if difference.value is None or base is None:
        return _undefined(f"{rule.metric} cannot be compared: {difference.reason}")
    if rule.relative and base <= 0:
        return _undefined(f"a share of the baseline says nothing if the baseline is {_amount(base, difference)}")
    excess = _excess(rule, difference, compared)
    outcome, why = weigh_excess(excess, rule.demand.evidence, _say_margin(rule, difference))
    reason = f"{_say_difference(difference, compared.runs_in_base)}; {why}"
    missing = _say_missing(difference, compared)
    few = rule.demand.min_scenarios is not None and difference.pairs < rule.demand.min_scenarios
    if outcome == "pass" and (few or missing):
        outcome = "inconclusive"
        reason += f"; but at least {rule.demand.min_scenarios} pairs are demanded" if few else missing
    judged = _margin_outcome(rule, outcome, reason, excess, difference.pairs, evidence)
    judged = replace(judged, outlooks=without_passes(judged.outlooks)) if few or missing else judged
    return with_doubt(judged, difference.doubt, rule.demand)


def _excess(rule: BaselineRule, difference: Difference, compared: Compared) -> Excess:
    sign = 1 if difference.head.better == "higher" else -1
    head, base = difference.head.value or Fraction(0), difference.base.value or Fraction(0)
    # A relative margin scales the baseline: `5% of baseline` demands head - 0.95 × base ≥ 0 if higher is better.
    share = 1 - sign * rule.margin if rule.relative else Fraction(1)
    spare = Fraction(0) if rule.relative else rule.margin
    low: Fraction | float = -math.inf if difference.low is None else Fraction(difference.low)
    high: Fraction | float = math.inf if difference.high is None else Fraction(difference.high)
    if rule.relative:
        ends = compared.bounds(rule.metric, rule.where, share)
        low, high = (end if end in (-math.inf, math.inf) else Fraction(end) for end in ends)
    worst, best = (low, high) if sign > 0 else (-high, -low)
    value = sign * (head - share * base) + spare
    return Excess(value, min(worst + spare, value), max(best + spare, value))


def weigh_excess(excess: Excess, evidence: str, allowed: str = "") -> tuple[Outcome, str]:
    """The outcome by what is left of the margin, and why; `allowed` is the margin in words, empty if it is 0."""
    within = f"at most the allowed {allowed} worse than the baseline" if allowed else "no worse than the baseline"
    beyond = f"more than the allowed {allowed} worse than the baseline" if allowed else "worse than the baseline"
    if excess.low >= 0:
        return "pass", f"even the pessimistic end of the interval is {within}"
    if excess.high < 0:
        return "fail", f"even the optimistic end of the interval is {beyond}"
    if evidence == "estimate" and excess.value >= 0:
        return "pass", within
    return "inconclusive", f"the interval does not say whether it is {within}"


def _margin_outcome(
    rule: BaselineRule, outcome: Outcome, reason: str, excess: Excess, pairs: int, evidence: Evidence
) -> ThresholdOutcome:
    outlooks = outlooks_of_difference(
        excess.value, excess.low, excess.high, rule.demand, evidence.alpha, evidence.noise
    )
    if excess.low >= 0 or excess.high < 0:
        return ThresholdOutcome(outcome, reason, outlooks=outlooks)
    low, high = float(excess.low), float(excess.high)
    more = more_by_width(0, excess.value, low, high, pairs, evidence.alpha)
    return ThresholdOutcome(outcome, reason, fragile=True, more_scenarios=more, outlooks=outlooks)


def _say_difference(difference: Difference, runs: int) -> str:
    """`90.0% against 94.0% in the baseline, -4.0 points (-9.1 to +1.0) over 50 pairs`."""
    head, base = (_amount(value.value or Fraction(0), difference) for value in (difference.head, difference.base))
    changed = digits.show_change(difference)
    lack = f", {difference.missing} lack it" if difference.missing else ""
    pairs = f"{difference.pairs} pair{'' if difference.pairs == 1 else 's'}"
    baseline = "the baseline" if runs == 1 else f"the baseline of {runs} runs"
    return f"{head} against {base} in {baseline}, {changed} over {pairs}{lack}"


def _amount(value: Fraction, difference: Difference) -> str:
    return digits.amount(value, difference.head.unit)


def _say_margin(rule: BaselineRule, difference: Difference) -> str:
    """The margin in words, with its exact number; empty if it is 0."""
    if not rule.margin:
        return ""
    if rule.relative:
        return f"{write_decimal(rule.margin * 100)}%"
    if difference.head.unit != "ratio":
        return digits.amount(rule.margin, difference.head.unit)
    points = write_decimal(rule.margin * 100)
    return f"{points} point" if points == "1" else f"{points} points"


def _say_missing(difference: Difference, compared: Compared) -> str:
    """Why a rule cannot pass by these pairs: something in the baseline is missing now. Empty if nothing is."""
    if compared.missing_ids:
        ids = some(sorted(compared.missing_ids))
        return f"; but {count(len(compared.missing_ids), 'scenario')} of the baseline without a result: {ids}"
    if difference.lost:
        return f"; but {count(difference.lost, 'scenario')} of the baseline had it and have it no more"
    return ""


# --- better by a step -------------------------------------------------------------------------


def _judge_step_rule(rule: StepRule, compared: Compared, evidence: Evidence) -> RuleResult:
    base, head = compared.base_value(rule.metric, rule.where), evidence.measured.value(rule.metric, rule.where)
    text = _write_threshold(head.better, head.unit, rule.step, relative=rule.relative)
    if base.value is None:
        judged = _undefined(f"{rule.metric} is undefined in the baseline: {base.reason}")
    elif rule.relative and base.value <= 0:
        shown = digits.amount(base.value, base.unit)
        judged = _undefined(f"a share of the baseline says nothing if the baseline is {shown}")
    else:
        sign = 1 if head.better == "higher" else -1
        bar = base.value * (1 + sign * rule.step) if rule.relative else base.value + sign * rule.step
        if head.unit == "ratio":
            bar = min(max(bar, Fraction(0)), Fraction(1))  # no ratio can be better than 100 %, or than 0 %
        threshold = Threshold(">=" if sign > 0 else "<=", bar, head.unit, text)
        support = evidence.support(rule.metric, rule.where)
        judged = judge_value(rule.metric, head, threshold, rule.demand, evidence.alpha, support)
        of_runs = f" of {compared.runs_in_base} runs" if compared.runs_in_base > 1 else ""
        reason = f"{judged.reason}; the baseline{of_runs} is {digits.amount(base.value, base.unit)}"
        passed = judged.outcome == "pass"
        missing = _say_missing(compared.difference(rule.metric, rule.where), compared) if passed else ""
        judged = replace(judged, reason=reason)
        # The missing scenarios may be the bad ones, so a better value over the others is no improvement.
        if missing:
            outlooks = without_passes(judged.outlooks)
            judged = replace(judged, outcome="inconclusive", reason=reason + missing, outlooks=outlooks)
    return replace(judged.result(rule), value=head, threshold=text)


def _write_threshold(better: Better, unit: Unit, step: Fraction, *, relative: bool) -> str:
    """`>= baseline - 0.01`, `<= baseline + 200ms`, `>= baseline - 5%`."""
    up = (step if better == "higher" else -step) >= 0
    size = abs(step)
    amount = f"{write_decimal(size * 100)}%" if relative else f"{write_decimal(size)}{'ms' if unit == 'ms' else ''}"
    sign = f" {'+' if up else '-'} {amount}" if size else ""
    return f"{'>=' if better == 'higher' else '<='} baseline{sign}"
