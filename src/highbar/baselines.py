"""What is done with two runs, or with one that is to be kept: compare, and record a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from highbar import gate, pipeline
from highbar import policy as policies
from highbar.baseline import reading, store
from highbar.baseline.against import Kept, excused, kept_in
from highbar.baseline.compare import compare as compare_kept
from highbar.baseline.document import Baseline, RecordedRule
from highbar.baseline.text import render
from highbar.errors import InputError, Problem
from highbar.model import Policy, Source, Verdict
from highbar.model.comparison import Comparison
from highbar.model.job import SILENT, Job, Watch
from highbar.policy.selecting import with_rows


def compare(base: Job, head: Job, watch: Watch = SILENT) -> Comparison:
    """What changed from one run to another, by the policy of `head`; each is results, or the path of a baseline.

    Raises InputError.
    """
    if base.results == head.results == ("-",):
        raise InputError(Problem("both runs are standard input", hint="name a file for one of them"))
    policy = policies.choose(head.policy)
    # A side is not judged by itself, and has its own version; by which columns rules choose scenarios it must know.
    chosen = tuple(dict.fromkeys((*policy.slices, *policies.chosen_by(policy))))
    scored = replace(policy, rules=(), agent_version=None, slices=chosen)
    before, after = _run(base, scored, watch), _run(head, scored, watch)
    if {record.id for record in before.records}.isdisjoint(record.id for record in after.records):
        raise InputError(_nothing_in_common(before, after))
    slices = head.wants.slices
    if policy.advisory:
        return compare_kept(scored, before, after, slices=slices)
    return compare_kept(policy, before, after, slices=slices, source=Source(policy.file or "<policy>", policy.sha256))


def _run(job: Job, policy: Policy, watch: Watch) -> Kept:
    """One side, scored by the policy, unless it is a baseline, which was scored when it was recorded."""
    if len(job.results) == 1 and not job.names and reading.is_baseline(job.results[0]):
        return kept_in(reading.read(job.results[0]))
    return pipeline.score(job, with_rows(policy, job.where) if job.where else policy, watch)


def _nothing_in_common(before: Kept, after: Kept) -> Problem:
    shown = [", ".join(record.id for record in run.records[:3]) for run in (before, after)]
    message = f"no scenario is in both runs, so nothing can be compared: {shown[0]} in the base, {shown[1]} in the head"
    return Problem(message, hint="the same scenario must have the same id in both runs")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A baseline that was written, where, and whether it took the place of another."""

    baseline: Baseline
    file: str
    replaced: bool
    reasons: tuple[str, ...]  # why it took force


def record(
    job: Job, watch: Watch = SILENT, *, file: str | None = None, date: str | None = None, force: str | None = None
) -> Recorded:
    """Keep a run as the baseline: only a complete one that passes, or with `force`, which is the reason that is stored.

    Raises InputError, and then nothing was written.
    """
    policy = policies.choose(job.policy)
    if policy.advisory:  # nothing says that later runs should be compared with this one
        raise InputError(policies.missing())
    target = policies.baseline_file(policy, file)
    seen = store.digest(target)
    before = reading.read(target) if seen is not None else None
    done = pipeline.checked(
        replace(job, policy=policy, allow_missing_baseline=True, wants=replace(job.wants, run=True)), watch
    )
    verdict, run = done.verdict, done.run
    if run is None:
        raise ValueError("the job did not want its run")
    _refuse_undecided(run, str(target))
    reasons = _reasons(verdict, _gone(policy, run, before))
    if reasons and not force:
        hint = "--force REASON records it all the same; the reason is stored and shown in every report"
        raise InputError(*(Problem(reason, str(target), hint=hint) for reason in reasons))
    baseline = made(verdict, run, date, force if reasons else None)
    store.write(target, render(baseline), seen=seen)
    return Recorded(baseline, str(target), seen is not None, reasons)


def _refuse_undecided(run: Kept, target: str) -> None:
    """A baseline says what became of every trial; by force, too, nobody can know that of an undecided one."""
    ids = [id_ for id_, _ in run.undecided]
    if ids:
        message = f"the run has undecided trials in {len(ids)} scenario{'' if len(ids) == 1 else 's'}: {_some(ids)}"
        raise InputError(Problem(message, target, hint="judge them and check again: a baseline must be complete"))


def _reasons(verdict: Verdict, gone: Sequence[str]) -> tuple[str, ...]:
    """Why a run is not one to hold others against."""
    found = []
    if verdict.verdict != "pass":
        missed = [rule.rule for rule in verdict.rules if rule.level == "blocking" and rule.outcome != "pass"]
        word = "failed" if verdict.verdict == "fail" else "is inconclusive"
        found.append(f"the run {word}: {_some(missed)}")
    if gone:
        found.append(f"the run is not complete: {len(gone)} of the present baseline without a result: {_some(gone)}")
    return tuple(found)


def _gone(policy: Policy, kept: Kept, before: Baseline | None) -> list[str]:
    """The scenarios of the present baseline that should have a result and have none."""
    there = {record.id for record in kept.records}
    missing = [scenario.id for scenario in before.scenarios if scenario.id not in there] if before else []
    return [id_ for id_ in missing if not excused(policy, id_)]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def made(verdict: Verdict, kept: Kept, date: str | None, forced: str | None) -> Baseline:
    """The baseline of a run that was judged; `forced` is why it is recorded all the same, where it took force."""
    return Baseline(
        scenarios=kept.records,
        metrics={name: value for name, value in sorted(verdict.metrics.items()) if value.value is not None},
        rules=tuple(
            RecordedRule(rule.rule, rule.metric, rule.slice, rule.threshold, rule.value)
            for rule in verdict.rules
            if rule.metric is not None and rule.value is not None and rule.value.value is not None
        ),
        verdict=gate.decide(verdict.rules),
        agent_version=verdict.agent_version,
        date=date,
        forced=forced,
        confidence=verdict.confidence,
        scoring=kept.scoring,
        judges=kept.judges,
        suites=kept.suites,
        policy=verdict.policy,
        suite=kept.suite,
        results=verdict.results,
    )
