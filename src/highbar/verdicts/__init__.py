"""Makes a verdict from a policy, the results and their sums: the evidence, the outcomes of the rules, and notes.

judgeable                    whether any rule can be computed from the results at all
notes, details               the warnings beside the verdict; what only some reports show
judges                       which results a judge decided, how good it is, and what that changes
judged_parts, judged_units   the judged rows, scored by part; the scenarios behind one share
label_sources                which labels count, and whether those of this run agree with the others
label_rates, corrections     how often the judge is right; shares corrected for its errors
sequential, replay, shares   a run in its recorded order: what each sequential rule sees of it
quarantine, settling         what is quarantined today; what would settle each rule
earlier_noise                what the history says about the noise of the trials
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from highbar import gate, measure
from highbar import policy as policies
from highbar.errors import InputError, Problem
from highbar.gate.evidence import PASSING
from highbar.load import run_folders
from highbar.load.results import Results
from highbar.measure.doubts import Weighed
from highbar.model import Counts, Policy, RuleResult, Slice, Verdict
from highbar.model.job import Job
from highbar.model.reduction import Reduction
from highbar.statistics.second_run import NOT_REPEATED
from highbar.statistics.slices import standings
from highbar.verdicts import notes
from highbar.verdicts.judgeable import nothing_to_compare, nothing_to_judge

if TYPE_CHECKING:  # few policies compare
    from highbar.changes.scored_run import ScoredRun
    from highbar.changes.since import Changes
    from highbar.gate.evidence import JudgeKnown
    from highbar.model.recall import Recalled
    from highbar.verdicts.corrections import Corrections
    from highbar.verdicts.earlier_noise import EarlierNoise

MOST_FAILED = 1000
"""The most failed scenarios that a verdict lists, the worst first."""


class CheckResult(Struct, frozen=True, eq=False):
    """A verdict and its sources: the policy for the agent's version, the sums, and the changes if a rule compares.

    `run`, the run scenario by scenario, is None unless the job wants it or a rule compares. `finished` has the ids of
    the scenarios in the counts of the verdict, if the run ended early; None if the counts are of all.
    """

    verdict: Verdict
    policy: Policy
    sums: Reduction
    run: ScoredRun | None = None
    changes: Changes | None = None
    finished: frozenset[str] | None = None


def make_verdict(
    job: Job,
    policy: Policy,
    results: Results,
    sums: Reduction,
    changes: Changes | None = None,
    warnings: Sequence[str] = (),
    recalled: tuple[Recalled, ScoredRun] | None = None,
    run: ScoredRun | None = None,
) -> Verdict:
    """Judge every rule. Raises InputError if no row has a column from which any rule can be computed."""
    before = changes.base.records if changes else ()
    weighed = Weighed(sums.records.scenarios, before) if sums.records else None
    noise = _earlier_noise(policy, recalled)
    whole = measure.Measured(
        policy, sums.whole, sums.best, categories=sums.categories, weighed=weighed, earlier_noise=noise
    )
    if policies.is_typical(policy):
        known = policies.default([name for name in policy.metrics if whole.value(name).scenarios])
        policy = replace(policy, rules=known.rules)  # typical thresholds apply only to metrics that have data
    judge = _judge_evidence(job, policy, results, sums, whole)
    evidence = _evidence(job, policy, whole, sums, changes)
    if judge is not None:
        evidence = evidence.with_fields(judge=judge[0], corrections=judge[1])
    if recalled is not None:
        evidence = _with_recalled(evidence, *recalled)
    replay = None
    if policy.is_sequential:
        from highbar.verdicts import sequential  # few policies are

        replay = sequential.replay_of(policy, results, run, changes, noise)
        evidence = sequential.with_replay(evidence, policy, replay)
    quarantine_notes: tuple[str, ...] = ()
    if policy.quarantine is not None:
        from highbar.verdicts.quarantine import with_quarantine  # few policies have one

        evidence, quarantine_notes = with_quarantine(job, policy, sums, evidence)
    rules = _with_first_trials(job, policy, sums, tuple(gate.judge(rule, evidence) for rule in policy.rules))
    unjudgeable = nothing_to_judge(policy, whole, sums)
    if unjudgeable and not policy.advisory:
        raise InputError(unjudgeable)
    found = _without_rules(policy, results, whole, sums)
    noted = (*notes.all_notes(policy, results, whole, sums, rules), *warnings, *quarantine_notes)
    found = replace(found, warnings=noted, quarantined=evidence.quarantined)
    if replay is not None:
        found, whole = (
            sequential.with_stopping(found, policy, sums, replay),
            sequential.finished_metrics(policy, replay) or whole,
        )
        evidence = replace(evidence, measured=whole)  # the rules are already judged, so this is only for display
    if judge is not None:
        from highbar.verdicts.judges import with_judge  # few results rest on a judge

        found = with_judge(found, *judge)
    if job.wants.details:
        from highbar.verdicts.details import details  # few reports need them

        found = replace(found, details=details(job, policy, evidence, whole, sums, changes))
    return _with_advice(found, rules, unjudgeable, results) if policy.advisory else _with_decision(found, policy, rules)


def finished_part(found: Verdict, results: Results) -> frozenset[str] | None:
    """The scenarios in the counts of a verdict, if the run ended early; None if the counts are of all."""
    done = found.sequential
    if done is None or done.problem is not None or not done.saved:
        return None
    from highbar.model.order import RunOrder  # few policies are sequential

    return results.order.finished if isinstance(results.order, RunOrder) else None


def _judge_evidence(
    job: Job, policy: Policy, results: Results, sums: Reduction, whole: measure.Measured
) -> tuple[JudgeKnown, Corrections | None] | None:
    """What is known about the judge, and the corrections for its errors; None if no policy or row mentions one."""
    if policy.judge is None and "judged" not in sums.columns:
        return None
    from highbar.verdicts.judges import judge_evidence  # few results rest on a judge

    return judge_evidence(policy, results, sums, whole, job.today or datetime.now(UTC).date())


def _earlier_noise(policy: Policy, recalled: tuple[Recalled, ScoredRun] | None) -> EarlierNoise | None:
    """What the history says about the noise of a suite that is all there is; None if it says nothing."""
    if recalled is None or policy.population != "suite":
        return None
    from highbar.verdicts.earlier_noise import earlier_noise_of  # few policies have both

    return earlier_noise_of(*recalled)


def _with_first_trials(
    job: Job, policy: Policy, sums: Reduction, rules: tuple[RuleResult, ...]
) -> tuple[RuleResult, ...]:
    """The results of the rules, with the worse of all trials and of first trials alone where a rule must be sure.

    A comparison is not repeated with first trials alone: if it must be sure, it stays open.
    """
    if sums.uneven is None or not sums.uneven.ends_in_a_pass:
        return rules
    rules = tuple(map(gate.open_if_tried_again, policy.rules, rules))
    first = sums.uneven.first
    if first is None:
        return rules
    alone = measure.Measured(policy, first.whole, first.best, categories=first.categories)
    evidence = _evidence(job, policy, alone, first, None)
    return tuple(
        gate.worse_of(result, gate.judge(rule, evidence)) if measure.may_be_tried_again(rule) else result
        for rule, result in zip(policy.rules, rules, strict=True)
    )


def _with_recalled(evidence: gate.Evidence, recalled: Recalled, run: ScoredRun) -> gate.Evidence:
    """The evidence with the history; undecided trials of this run count as not passed, and at best as passed."""
    decided = {one.id: (one.passed, one.trials - one.undecided) for one in run.records}
    worst, best = (
        replace(recalled, now={one.id: (one.passed, one.trials) for one in records}, decided=decided)
        for records in (run.records, run.best or run.records)
    )
    return replace(evidence, recalled=worst, best=evidence.best and replace(evidence.best, recalled=best))


def refuse_unusable(policy: Policy, results: Results, sums: Reduction) -> None:
    """Raise InputError if no metric of the policy can be computed from one side of a comparison."""
    unusable = nothing_to_compare(policy, measure.Measured(policy, sums.whole, sums.best), sums)
    if unusable:
        raise InputError(replace(unusable, file=unusable.file or results.only_file))


def _evidence(
    job: Job, policy: Policy, whole: measure.Measured, sums: Reduction, changes: Changes | None
) -> gate.Evidence:
    """The evidence for the rules; if trials are undecided, also with them at their best."""
    pooled, undecided = policy.population == "suite", sums.undecided > 0
    noise = NOT_REPEATED
    if sums.repetition is not None:
        noise = measure.noise_share(sums.repetition, sums.whole.scenarios, pooled=pooled, undecided=undecided)
    evidence = gate.Evidence(
        whole,
        policy.metrics,
        sums.patterns,
        sums.suite,
        float(1 - policy.confidence),
        changes,
        allow_missing_baseline=job.allow_missing_baseline,
        baseline_file=job.baseline,
        noise=noise,
    )
    if whole.best is None:
        return evidence
    trials = {rule.name: sums.undecided_trials.get(measure.undecided_of(rule, policy), ()) for rule in policy.rules}
    return evidence.with_best(trials)


def _without_rules(policy: Policy, results: Results, whole: measure.Measured, sums: Reduction) -> Verdict:
    """The parts of a verdict that do not depend on the rules."""
    return Verdict(
        verdict=None,
        counts=Counts(
            sums.whole.scenarios,
            sums.whole.trials,
            sums.errors,
            sums.unjudged,
            sums.failed,
            sums.undecided,
            sums.selection.rows if sums.selection else 0,
        ),
        metrics=whole.values(),
        slices=_slices(whole, sums),
        rules=(),
        scenarios_failed=sums.scenarios_failed[:MOST_FAILED],
        warnings=(),
        policy=None,
        results=results.sources(),
        scenarios_undecided=sums.scenarios_undecided,
        agent_version=policy.agent_version or sums.agent_version,
        confidence=policy.confidence,
        flaky=() if sums.repetition is None else sums.repetition.scenarios_flaky,
        repetition=None
        if sums.repetition is None
        else measure.repetition(sums.repetition, sums.whole.scenarios, float(1 - policy.confidence)),
        scenarios=sums.scenarios,
        judged_by=results.judged_by,
        selection=sums.selection,
    )


def _slices(whole: measure.Measured, sums: Reduction) -> tuple[Slice, ...]:
    groups = [group for group in sums.slices if group.by is not None]
    best = {group.by: group for group in sums.best_slices}
    measured = [whole.over(group, best.get(group.by)) for group in groups]
    standing = standings(whole.sums(PASSING), [part.sums(PASSING) for part in measured])
    return tuple(
        Slice(group.by or ("", ""), group.scenarios, part.values(), *of_rest)
        for group, part, of_rest in zip(groups, measured, standing, strict=True)
    )


def _with_decision(found: Verdict, policy: Policy, rules: tuple[RuleResult, ...]) -> Verdict:
    again = gate.second_run(rules)
    return replace(
        found,
        verdict=gate.decide(rules),
        rules=rules,
        policy=policy.source,
        second_run=again and again.high,
        second_run_low=again and again.low,
    )


def _with_advice(
    found: Verdict, rules: tuple[RuleResult, ...], unjudgeable: Problem | None, results: Results
) -> Verdict:
    """The verdict without a policy: nothing is decided, and the typical thresholds are only advice."""
    missing = policies.missing()
    # The command that judges a run as it was to be. No policy comes from its folder: the agent could write one there.
    command = run_folders.check_command([file.name for file in results.files])
    missing = missing if command is None else replace(missing, hint=command)
    problems = (missing, *([unjudgeable] if unjudgeable else []))
    return replace(found, advice=() if unjudgeable else rules, problems=problems)
