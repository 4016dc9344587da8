"""Two verdicts about the same results, by the policy now and by that at a git ref → one, the worse of the two."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from highbar import gate
from highbar.bar.differences import BarDifferences
from highbar.errors import InputError
from highbar.language import formula
from highbar.load.revision import Revision
from highbar.model import (
    Against,
    BaselineRule,
    ConditionRule,
    NewFailuresRule,
    QuarantineRule,
    Rule,
    RuleResult,
    ScenarioRule,
    Source,
    StepRule,
    SuiteRule,
    Verdict,
)
from highbar.verdicts import CheckResult
from highbar.verdicts.notes import POLICY_CHANGED

_NOT_DEMANDED = ("file", "place", "threshold_place", "description", "stage", "folder")
"""Fields of a rule that do not change what it demands of the present version."""
_DOUBTED = "against_ref"
"""The name of the rule that holds what cannot be said for certain about the verdict at the ref."""


def merge_verdicts(
    now: CheckResult,
    then: CheckResult,
    there: Revision,
    differs: BarDifferences,
    doubts: Sequence[str],
    *,
    accepted: bool,
) -> Verdict:
    """The verdict now, plus every rule of the ref that has changed since or has another outcome, named after the ref.

    The verdict of all these rules together is the worse of the two. A rule that is the same in both is there once. Any
    of the `doubts` makes the verdict at the ref inconclusive at best.
    """
    # Compares what rules demand, not their sentences: the wording of a report must not decide which are the same.
    known = {_key(rule, result, now) for rule, result in zip(now.policy.rules, now.verdict.rules, strict=True)}
    others = [
        _result_there(result, there)
        for rule, result in zip(then.policy.rules, then.verdict.rules, strict=True)
        if _key(rule, result, then) not in known
    ]
    unsure = (RuleResult(there.name(_DOUBTED), "blocking", "inconclusive", "; ".join(doubts)),) if doubts else ()
    judged = gate.decide((*then.verdict.rules, *unsure))
    of_ref = (*others, *unsure)
    rules = (*now.verdict.rules, *(replace(one, level="warning") if accepted else one for one in of_ref))
    policy = then.verdict.policy or Source(there.ref, None)
    source = Source(there.renamed(policy.file), policy.sha256)
    against = Against(
        there.ref, there.commit, judged, source, differs.files, differs.text, differs.digest, accepted=accepted
    )
    # The policy at the ref is older than the run, so it was not changed to fit the results.
    unsaid = {*gate.slack_notes(then.verdict.rules), POLICY_CHANGED}
    own = now.verdict.warnings
    notes = [there.renamed(note) for note in then.verdict.warnings if note not in unsaid and note not in own]
    again = gate.second_run(rules)
    return replace(
        now.verdict,
        verdict=gate.decide(rules),
        second_run=again and again.high,
        second_run_low=again and again.low,
        rules=rules,
        warnings=(*against.notes, *own, *(f"{there.ref}: {note}" for note in notes)),
        against=against,
    )


def _key(rule: Rule, result: RuleResult, checked: CheckResult) -> tuple[object, ...]:
    """What identifies a rule in both policies: what it demands, the evidence that it was judged by, and its outcome."""
    demand = tuple(getattr(rule, name) for name in rule.__struct_fields__ if name not in _NOT_DEMANDED)
    return type(rule), demand, result.level, result.outcome, result.best, _evidence(rule, result, checked)


def _evidence(rule: Rule, result: RuleResult, checked: CheckResult) -> object:
    """The evidence that a rule was judged by, without paths: the copy of a file has another path than the file."""
    match rule:
        case ScenarioRule():
            return checked.sums.patterns.get(rule.pattern)
        case SuiteRule():
            return checked.sums.suite
        case ConditionRule():
            judged_by = (checked.verdict.metrics.get(name) for name in sorted(formula.names(rule.condition)))
            return (*judged_by, checked.policy.latency_limit)
        case BaselineRule() | StepRule() | NewFailuresRule():
            base = checked.changes and tuple(source.sha256 for source in checked.changes.base.about.sources)
            return result.value, base, checked.verdict.quarantined
        case QuarantineRule():
            return checked.verdict.quarantined
    return result.value


def _result_there(rule: RuleResult, there: Revision) -> RuleResult:
    file = rule.place.file
    place = replace(rule.place, file=there.renamed(file)) if file else rule.place
    return replace(rule, rule=there.name(rule.rule), reason=there.renamed(rule.reason), place=place, slack=None)


def problems_there(error: InputError, there: Revision) -> InputError:
    """The same problems, each marked as a problem of the policy at the ref."""
    return InputError(
        *(
            replace(
                problem,
                message=f"by the policy at {there.ref}: {there.renamed(problem.message)}",
                file=there.renamed(problem.file) if problem.file else None,
            )
            for problem in error.problems
        )
    )
