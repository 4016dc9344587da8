"""Judges each rule by the evidence, with a reason in words, and decides from the outcomes of all rules."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.gate.conditions import could_fail, could_hold, judge_condition
from highbar.gate.evidence import Evidence
from highbar.gate.outlook import certain_outlooks
from highbar.gate.thresholds import ThresholdOutcome, judge_value, slack
from highbar.language import formula
from highbar.language.phrases import count, some
from highbar.model import (
    BaselineRule,
    ConditionRule,
    Decision,
    DriftRule,
    Goal,
    JudgeRule,
    NewFailuresRule,
    Outcome,
    Progressive,
    ProgressiveRule,
    QuarantineRule,
    Rule,
    RuleResult,
    ScenarioRule,
    Stage,
    StepRule,
    SuiteRule,
    Threshold,
    ThresholdRule,
    Trial,
    Value,
)
from highbar.model.reduction import SuiteMatch
from highbar.policy import matches
from highbar.policy.scenario_ids import is_pattern

MOST_NAMED = 10
"""The most undecided trials that a rule names; the engine finds no more."""


def judge(rule: Rule, evidence: Evidence) -> RuleResult:
    """The outcome of the rule. A rule that cannot be checked does not pass."""
    if isinstance(rule, ThresholdRule | ConditionRule | BaselineRule | StepRule) and rule.demand.is_sequential:
        from highbar.gate.sequential import judge_sequential  # few policies are sequential

        result = judge_sequential(rule, evidence, judge_by_all_evidence)
    else:
        result = judge_by_all_evidence(rule, evidence)
    if evidence.judge is None:
        return result
    from highbar.gate.judges import with_judge_doubt  # few results rest on a judge

    return with_judge_doubt(rule, result, evidence)


def judge_by_all_evidence(rule: Rule, evidence: Evidence) -> RuleResult:
    """The outcome of the rule by all of the evidence, whatever its order.

    Undecided trials are taken once at their worst and once at their best; the rule passes only if it passes in both.
    """
    # At the worst first: the value that reports show is the worst one.
    worst = _judge(rule, evidence)
    if evidence.best is None:
        return worst
    at_best = _judge(rule, evidence.best)
    settled = combine_ends(worst, at_best, evidence.undecided.get(rule.name, ()))
    if at_best.outcome == "undefined" and worst.outcome != "pass" and _is_unjudged(rule, evidence.best):
        settled = _reopened(settled, f"{settled.reason}; trials that are not judged may still give it a value")
    if settled.outcome == "pass" and _open_between(rule, evidence, evidence.best):
        reason = f"{settled.reason}; but between the worst and the best of undecided trials it could fail"
        settled = replace(settled, outcome="inconclusive", reason=reason, second_run=None, more_scenarios=None)
    is_certain = worst.outcome == at_best.outcome == settled.outcome and _is_certain(rule, settled, evidence)
    return replace(settled, open=not is_certain)


def _is_unjudged(rule: Rule, best: Evidence) -> bool:
    """Whether a rule is undefined only because trials are not judged: that is no fault of the agent, and no pass."""
    if isinstance(rule, BaselineRule | StepRule):
        compared = best.baseline
        if compared is None or compared.problem or compared.base_value(rule.metric, rule.where).value is None:
            return False
    return best.measured.is_unjudged(rule)


def _is_certain(rule: Rule, settled: RuleResult, evidence: Evidence) -> bool:
    """Whether a rule with the same outcome at both ends keeps it whatever the undecided trials turn out to be."""
    if isinstance(rule, DriftRule):  # it uses only decided trials, not the ends of the others
        return False
    if settled.outcome != "fail":  # an undefined value may become a number when more is known
        return settled.outcome == "pass"
    if isinstance(rule, ConditionRule):
        return not could_hold(rule.condition, evidence)
    return evidence.best is None or not _open_between(rule, evidence, evidence.best)


def _open_between(rule: Rule, worst: Evidence, best: Evidence) -> bool:
    """Whether the outcome may differ between the ends. Not that of a threshold, whose value is a bound already."""
    match rule:
        case ConditionRule():
            return could_fail(rule.condition, worst)
        case BaselineRule() | StepRule():
            compared = [one.baseline for one in (worst, best) if one.baseline is not None]
            all_monotonic = all(one.is_monotonic(rule.metric, rule.where) for one in compared)
            return not all_monotonic or not worst.measured.is_monotonic(rule.metric, rule.where)
    return False


def _judge(rule: Rule, evidence: Evidence) -> RuleResult:
    match rule:
        case ThresholdRule():
            return _judge_threshold(rule, evidence)
        case ConditionRule():
            return _judge_condition(rule, evidence)
        case ScenarioRule():
            return _judge_scenarios(rule, evidence)
        case SuiteRule():
            outcome, reason = _suite_outcome(evidence.suite, at_best=evidence.at_best)
            return RuleResult(
                rule.name, rule.level, outcome, reason, place=rule.place, outlooks=certain_outlooks(outcome)
            )
        case BaselineRule() | StepRule() | NewFailuresRule():
            from highbar.gate.baseline import judge_baseline  # few policies have one

            return judge_baseline(rule, evidence)
        case JudgeRule():
            from highbar.gate.judges import judge_the_judge  # few policies have one

            return judge_the_judge(rule, evidence.judge)
        case DriftRule():
            from highbar.gate.history import NOT_READ, judge_drift  # few policies have one

            return judge_drift(rule, evidence.recalled or NOT_READ)
        case QuarantineRule():
            from highbar.gate.history import judge_quarantine  # few policies have one

            return judge_quarantine(rule, evidence)
        # Without a version the step that applies is unknown. Taking the lowest would lower the bar silently.
        case ProgressiveRule():
            reason = "the agent's version is not known"
            return RuleResult(
                rule.name,
                rule.level,
                "undefined",
                reason,
                metric=rule.metric,
                place=rule.place,
                outlooks=certain_outlooks("undefined"),
            )
    assert_never(rule)


def _judge_threshold(rule: ThresholdRule, evidence: Evidence) -> RuleResult:
    raw = evidence.measured.value(rule.metric, rule.where)
    corrected = None
    if evidence.corrections is not None:
        from highbar.gate import judges  # few policies correct a judge

        corrected = judges.corrected_value(rule, raw, evidence)
    value = raw if corrected is None else corrected
    if corrected is None:
        support = evidence.support(rule.metric, rule.where)
        judged = judge_value(rule.metric, raw, rule.threshold, rule.demand, evidence.alpha, support)
    else:
        judged = judges.judge_corrected(rule, raw, corrected, evidence.alpha)
    return replace(
        judged.result(rule),
        threshold=rule.threshold.text,
        value=value,
        accepted=judged.accepted,
        progressive=progress(rule.stage, value) if rule.stage else None,
        slack=slack(rule.threshold, value) if judged.outcome == "pass" else None,
        raw=None if corrected is None else raw,
    )


def _judge_condition(rule: ConditionRule, evidence: Evidence) -> RuleResult:
    metric = "final_score" if "final_score" in formula.names(rule.condition) else None
    value = evidence.measured.value(metric) if metric else None
    return replace(judge_condition(rule, evidence).result(rule), metric=metric, threshold=rule.text, value=value)


def _judge_scenarios(rule: ScenarioRule, evidence: Evidence) -> RuleResult:
    outcome, reason = _scenarios_outcome(rule, evidence)
    found = evidence.patterns[rule.pattern]
    # How often a rare failure comes back is not known. If others than these scenarios decide the rule, it stays.
    outlooks = () if outcome == "pass" or found.failed else certain_outlooks(outcome)
    return ThresholdOutcome(outcome, reason, outlooks=outlooks).result(rule)


def _scenarios_outcome(rule: ScenarioRule, evidence: Evidence) -> tuple[Outcome, str]:
    found = evidence.patterns[rule.pattern]
    if not found.scenarios:
        missing = "no id matches" if is_pattern(rule.pattern) else "no result has the id"
        return "fail", f"{missing} {rule.pattern}"
    if found.failed:
        ids = some(found.examples, total=found.failed)
        if found.scenarios == 1:
            return "fail", f"{ids} did not pass"
        return "fail", f"{found.failed} of {found.scenarios} scenarios did not pass: {ids}"
    if found.undecided and not evidence.at_best:
        ids = some(found.undecided_examples, total=found.undecided)
        if found.scenarios == 1:
            return "fail", f"{ids} has an undecided trial"
        verb = "has" if found.undecided == 1 else "have"
        return "fail", f"{found.undecided} of {found.scenarios} scenarios {verb} an undecided trial: {ids}"
    excused = () if evidence.suite is None else evidence.suite.excused_ids
    absent = tuple(id_ for id_ in excused if matches(rule.pattern, id_))
    if absent:
        return "fail", f"{count(len(absent), 'scenario')} of the suite without a result: {some(absent)}"
    return "pass", f"{count(found.scenarios, 'scenario')} passed every trial"


def _suite_outcome(match: SuiteMatch | None, *, at_best: bool) -> tuple[Outcome, str]:
    if match is None:
        return "undefined", "the results were not compared with the suite"
    parts = []
    if match.missing:
        ids = some(match.missing_ids, total=match.missing)
        parts.append(f"{count(match.missing, 'scenario')} of the suite without a result: {ids}")
    if match.extra:
        parts.append(f"{count(match.extra, 'scenario')} not in the suite: {some(match.extra_ids, total=match.extra)}")
    parts.extend(match.different)
    more = f" and {match.unlooked_more} more" if match.unlooked_more else ""
    if match.unlooked:
        parts.append(f"not everything that the suite demands was looked at: {'; '.join(match.unlooked)}{more}")
    if match.unjudged_ids and not at_best:
        ids = ", ".join(match.unjudged_ids)
        parts.append(f"unjudged trials, so that not every scenario was judged: {ids}")
    if parts:
        return "fail", "; ".join(parts)
    if match.not_run:
        left = f"{count(match.not_run, 'scenario')} of the plan {'was' if match.not_run == 1 else 'were'} not run"
        return "pass", f"the run was planned with every scenario of the suite, and no other; {left}"
    if match.of_part:
        return "pass", "every scenario that was chosen has a result; the others of the suite were not run"
    if match.excused_ids:
        return "pass", f"every scenario of the suite has a result, but for {len(match.excused_ids)} that are optional"
    return "pass", "every scenario of the suite has a result, and no other has"


def combine_ends(worst: RuleResult, best: RuleResult, undecided: tuple[Trial, ...]) -> RuleResult:
    """One result from two: a pass if both pass, inconclusive if one does, else the outcome at the worst."""
    at_best = None if best.value is None else best.value.value
    settled = replace(worst, best=at_best if undecided else None, undecided=undecided)
    if (worst.outcome == "pass") == (best.outcome == "pass"):
        return settled
    named = ", ".join(name_of(trial) for trial in undecided)
    more = ", …" if len(undecided) >= MOST_NAMED else ""
    reason = f"{worst.reason}; it depends on undecided trials ({named}{more}): at best, {best.reason}"
    return _reopened(settled, reason)


def _reopened(result: RuleResult, reason: str, outcome: Outcome = "inconclusive") -> RuleResult:
    """The result with another outcome. More scenarios do not settle it, and nothing is known about a second run."""
    return replace(
        result,
        outcome=outcome,
        reason=reason,
        second_run=None,
        second_run_low=None,
        more_scenarios=None,
        outlooks=(),
    )


_WORST_FIRST: tuple[Outcome, ...] = ("undefined", "fail", "inconclusive", "pass")


def worse_of(result: RuleResult, first: RuleResult) -> RuleResult:
    """The result of a rule, or the outcome by first trials alone if that is worse."""
    if _WORST_FIRST.index(first.outcome) >= _WORST_FIRST.index(result.outcome):
        return result
    reason = f"by the first trial of each scenario alone, {first.reason}"
    return _reopened(result, f"{result.reason}; {reason}", first.outcome)


def open_if_tried_again(rule: Rule, result: RuleResult) -> RuleResult:
    """The result of a rule on trials that look repeated until they passed: a comparison with confidence stays open."""
    if not isinstance(rule, BaselineRule | StepRule) or not rule.demand.is_confident or result.outcome != "pass":
        return result
    reason = f"{result.reason}; with confidence this stays open: failures may have been tried again until they passed"
    return replace(
        result,
        outcome="inconclusive",
        reason=reason,
        second_run=None,
        second_run_low=None,
        more_scenarios=None,
        outlooks=certain_outlooks("inconclusive"),
    )


def name_of(trial: Trial) -> str:
    """`SEC-001`, or `SEC-001 trial 2`."""
    id_, number = trial
    return id_ if number is None else f"{id_} trial {number}"


def progress(stage: Stage, value: Value) -> Progressive:
    """The state of a progressive rule: the step that applies, and the distances to the next step and the target.

    Distances are measured from the value, even if a later step demands more evidence.
    """
    following = stage.next
    return Progressive(
        step=stage.step.version,
        next=_goal(following.threshold, value, following.version) if following else None,
        target=_goal(stage.target, value) if stage.target else None,
    )


def _goal(threshold: Threshold, value: Value, version: str | None = None) -> Goal:
    number = value.value
    if number is None:
        return Goal(threshold.text, met=False, distance=None, version=version)
    lacking = threshold.value - number if value.better == "higher" else number - threshold.value
    return Goal(threshold.text, threshold.met_by(number), max(lacking, Fraction(0)), version)


def still_open(results: Sequence[RuleResult], *, strict: bool = False) -> tuple[RuleResult, ...]:
    """The rules that may still change the decision once undecided trials are known; empty if it is certain.

    If a blocking rule has failed for good, the others do not matter. With `strict`, warnings count too.
    """
    blocking = [result for result in results if result.level == "blocking"]
    if any(result.outcome in ("fail", "undefined") and not result.open for result in blocking):
        return ()
    return tuple(result for result in (results if strict else blocking) if result.open)


def decide(results: Sequence[RuleResult]) -> Decision:
    """Fail if a blocking rule failed or is undefined; else inconclusive if one is; else pass, also if none blocks."""
    if not results:
        raise InputError(
            Problem("policy.no-rule", "there is no rule to judge by", hint="a policy needs at least one rule")
        )
    outcomes = {result.outcome for result in results if result.level == "blocking"}
    # Warnings are not among the outcomes: they never decide.
    if outcomes <= {"pass"}:
        return "pass"
    if outcomes <= {"pass", "inconclusive"}:
        return "inconclusive"
    return "fail"
