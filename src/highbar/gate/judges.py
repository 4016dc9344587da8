"""Judges rules about the judge, and thresholds of shares that are corrected for its errors.

A rule about a rate of the judge passes if the lower bound reaches it, and fails if even the upper bound does not. If
the policy demands a correction and a share cannot be corrected, its rule is inconclusive: the uncorrected share is
never used instead. So is a rule that must be sure of behaviors that a judge decides, if its errors are not corrected.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec.structs import replace

from highbar.gate.evidence import Evidence, JudgeKnown
from highbar.gate.outlook import certain_outlooks, certain_result
from highbar.gate.thresholds import ThresholdOutcome, interval_ends, judge_value
from highbar.language import digits
from highbar.language.phrases import count
from highbar.measure.needs import leaves_of
from highbar.measure.parts import columns_of
from highbar.model import (
    BaselineRule,
    ConditionRule,
    Doubt,
    JudgeRule,
    Outcome,
    Rule,
    RuleResult,
    StepRule,
    ThresholdRule,
    Value,
)
from highbar.model.judge_quality import JudgeRate, JudgeReport
from highbar.model.number import Number

NOTHING_RESTS = "no trial rests on a judge"
DECIDED = frozenset({"pass", "fail"})
_BEHAVIORS = frozenset({"behavior_score", "observed"})
"""The columns of behaviors, which a judge may decide."""
_WORDS = {"min_sensitivity": ("sensitivity", "passes"), "min_specificity": ("specificity", "fails")}


def judge_the_judge(rule: JudgeRule, known: JudgeKnown | None) -> RuleResult:
    """Whether the judge is known to be good enough; inconclusive if that is not known."""
    outcome, reason = _outcome(rule, known)
    return certain_result(rule, outcome, reason)


def _outcome(rule: JudgeRule, known: JudgeKnown | None) -> tuple[Outcome, str]:
    if known is None or known.problem is not None:
        why = "the rows were not read" if known is None else known.problem
        return "inconclusive", f"it is not known which trials rest on a judge: {why}"
    if known.report is None:
        return "pass", NOTHING_RESTS
    if rule.bound is None:
        return _judge_calibration(known.report)
    if rule.key == "min_labels":
        return _judge_labels(known.report, rule.bound)
    rate = known.report.sensitivity if rule.key == "min_sensitivity" else known.report.specificity
    return _judge_rate(rule, rate, rule.bound, known.report)


def _judge_calibration(report: JudgeReport) -> tuple[Outcome, str]:
    if report.calibrated and report.labels is not None:
        return "pass", f"people labeled {count(report.labels.trials, 'trial')} of this judge"
    return "inconclusive", f"the judge is not calibrated: {report.why or 'it has no labels'}"


def _judge_labels(report: JudgeReport, bound: Fraction) -> tuple[Outcome, str]:
    labeled = 0 if report.labels is None else report.labels.trials
    wanted = f"at least {bound} {'is' if bound == 1 else 'are'} demanded"
    found = f"people labeled {count(labeled, 'trial')} of this judge"
    if labeled >= bound and report.calibrated:
        return "pass", f"{found}; {wanted}"
    why = f"; {report.why}" if report.why else ""
    return "inconclusive", f"{found}, but {wanted}{why}"


def _judge_rate(rule: JudgeRule, rate: JudgeRate | None, bound: Fraction, report: JudgeReport) -> tuple[Outcome, str]:
    name, verb = _WORDS[rule.key]
    if rate is None:
        why = report.why or f"people labeled no trial of which they say that it {verb}"
        return "inconclusive", f"the {name} of the judge is not known: {why}"
    shown = digits.show(Value(rate.value, 0, 0, "ratio", "higher", low=rate.low, high=rate.high), (bound,))
    wanted = f"≥ {digits.amount(bound, 'ratio')}"
    if Fraction(rate.low) >= bound:
        return "pass", f"the {name} of the judge is {shown}: its lower bound is {wanted}"
    if Fraction(rate.high) < bound:
        return "fail", f"the {name} of the judge is {shown}: not even its upper bound is {wanted}"
    return (
        "inconclusive",
        f"the {name} of the judge is {shown}: its lower bound is not {wanted}; more labels would tell",
    )


# --- behaviors that a judge decides ----------------------------------------------------------


def with_judge_doubt(rule: Rule, result: RuleResult, evidence: Evidence) -> RuleResult:
    """The result, or inconclusive if the rule must be sure of behaviors, and the errors of their judge are not known.

    An expected behavior that is missing from one trial fails a threshold of 100 %, whoever says so.
    """
    if not isinstance(rule, ThresholdRule | ConditionRule | BaselineRule | StepRule) or result.raw is not None:
        return result
    if not rule.demand.is_confident or result.outcome not in DECIDED or (why := _why_unsure(rule, evidence)) is None:
        return result
    is_perfect = isinstance(rule, ThresholdRule) and _is_about_perfection(rule, evidence)
    if is_perfect and (result.outcome == "fail" or _is_calibrated(evidence.judge)):
        return result
    reason = f"{result.reason}; with confidence this stays open: {why}"
    open_ = certain_outlooks("inconclusive")
    return replace(result, outcome="inconclusive", reason=reason, second_run=None, second_run_low=None,
                   more_scenarios=None, outlooks=open_)  # fmt: skip


def _why_unsure(rule: ThresholdRule | ConditionRule | BaselineRule | StepRule, evidence: Evidence) -> str | None:
    """Why the errors of a judge may move a rule on behaviors; None if no judge decides them."""
    known = evidence.judge
    if known is None or not (known.problem or known.of_behaviors):
        return None
    leaves = leaves_of(rule, evidence.measured.policy)
    if not any(column in _BEHAVIORS for column, _ in columns_of(leaves)):
        return None
    if known.problem is not None:
        return f"it is not known which trials rest on a judge: {known.problem}"
    if _is_calibrated(known):
        return "a judge decides behaviors, and its errors are not corrected: `judge: { correct: true }` does that"
    why = known.report and known.report.why
    return f"a judge decides behaviors, and its errors are not known: {why or 'it has no labels'}"


def _is_calibrated(known: JudgeKnown | None) -> bool:
    return known is not None and known.report is not None and known.report.calibrated


def _is_about_perfection(rule: ThresholdRule, evidence: Evidence) -> bool:
    better = evidence.metrics[rule.metric].better
    return rule.threshold.less(rule.demand.margin, better).is_perfection(better)


# --- corrected shares ------------------------------------------------------------------------


def corrected_value(rule: ThresholdRule, raw: Value, evidence: Evidence) -> Value | None:
    """The value of a rule, corrected for the errors of the judge; None if the uncorrected value counts.

    Its `value` is None if the labels are not enough, and it has a `doubt` if they decide no rule. A threshold of 100 %
    is not corrected, because it is about observed failures, not about a share.
    """
    bar = rule.threshold.less(rule.demand.margin, raw.better)
    if evidence.corrections is None or raw.value is None or bar.is_perfection(raw.better):
        return None
    share = evidence.corrections.share(rule.metric, rule.where, at_best=evidence.at_best)
    if share is None:
        return None
    doubt = None if share.reason is None else Doubt("judge", share.reason)
    plain = replace(raw, own_low=None, own_high=None, best=None, corrected=None, doubt=doubt or raw.doubt)
    if share.value is None:
        reason = f"it cannot be corrected for the errors of the judge: {share.reason}"
        return replace(plain, value=None, low=None, high=None, reason=reason)
    best = evidence.corrections.share(rule.metric, rule.where, at_best=True) if raw.undecided else None
    at_best = None if best is None or best.value is None else Number(best.value)
    return replace(plain, value=Number(share.value), low=share.low, high=share.high, best=at_best)


def judge_corrected(rule: ThresholdRule, raw: Value, value: Value, alpha: float) -> ThresholdOutcome:
    """The outcome of a rule about a corrected share; inconclusive if the labels are not enough."""
    if value.value is None:
        return ThresholdOutcome(
            "inconclusive", f"{rule.metric}: {value.reason}", outlooks=certain_outlooks("inconclusive")
        )
    judged = judge_value(rule.metric, value, rule.threshold, rule.demand, alpha)
    if value.doubt is not None and value.doubt.about == "judge" and judged.outcome in DECIDED:
        outlooks = certain_outlooks("inconclusive")
        judged = ThresholdOutcome("inconclusive", f"{judged.reason}, but {value.doubt.reason}", outlooks=outlooks)
    if judged.outcome == "pass" and not _is_certain(rule, raw, value):
        why = ", but only by the correction, and the labels leave open whether it is right"
        judged = ThresholdOutcome("inconclusive", judged.reason + why, fragile=True)
    beside = f"; corrected for the errors of the judge, {digits.show(raw)} as it judged"
    # More scenarios cannot replace missing labels, and nobody knows which labels a second run would get.
    return replace(judged, reason=judged.reason + beside, more_scenarios=None, outlooks=())


def _is_certain(rule: ThresholdRule, raw: Value, value: Value) -> bool:
    """Whether the uncorrected share reaches the threshold too, or the corrected one does at its worse end.

    A few labels, or labels of another agent, can lift an estimate over any bar. That alone is no evidence.
    """
    bar = rule.threshold.less(rule.demand.margin, raw.better)
    worse = interval_ends(value)[0 if value.better == "higher" else 1]
    return (raw.value is not None and bar.met_by(raw.value)) or bar.met_by(worse)
