"""Records a run that passes as the baseline that later runs are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from highbar import gate, pipeline
from highbar import policy as policies
from highbar.bar.on_demand import with_readers
from highbar.changes.scored_run import ScoredRun, measured
from highbar.changes.since import is_excused
from highbar.errors import InputError, Problem
from highbar.language.phrases import some
from highbar.load import run_folders
from highbar.model import Policy, RuleResult, Source, Value, Verdict
from highbar.model.baseline import Baseline, RecordedRule
from highbar.model.history import DamagedRecord
from highbar.model.job import SILENT, Job, JobWatch
from highbar.store import baseline_reading, writing
from highbar.store.baseline_text import render


class RecordedBaseline(Struct, frozen=True):
    """A baseline that was written, its file, and whether it replaced another.

    `notes` and `damaged` have the runs of a history that were left out.
    """

    baseline: Baseline
    file: str
    replaced: bool
    reasons: tuple[str, ...]  # why --force was needed, if it was
    notes: tuple[str, ...] = ()
    damaged: tuple[DamagedRecord, ...] = ()


def record(
    job: Job, watch: JobWatch = SILENT, *, file: str | None = None, date: str | None = None, force: str | None = None
) -> RecordedBaseline:
    """Record a run as the baseline: one that passes and is complete, or any run with `force`, the reason to store.

    Raises InputError before writing anything.
    """
    policy = policies.choose(job.policy)
    if policy.advisory:  # without a policy, no rule compares later runs with this one
        raise InputError(policies.missing())
    target = policies.baseline_file(policy, file)
    # The digest comes first: the write at the end is refused if the file changed in the meantime.
    seen = writing.digest(target)
    before = baseline_reading.read_baseline(target) if seen is not None else None
    done = pipeline.check_result(
        with_readers(replace(job, policy=policy, allow_missing_baseline=True, wants=replace(job.wants, run=True))),
        watch,
    )
    verdict, run = done.verdict, done.run
    if run is None:
        raise ValueError("the job did not want its run")
    _refuse_undecided(run, str(target))
    reasons = _reasons(verdict, _gone(policy, run, before))
    baseline = make_baseline(verdict, done.policy, run, date, force if reasons else None)
    write_baseline(baseline, target, seen, reasons, force)
    return RecordedBaseline(baseline, str(target), seen is not None, reasons)


def write_baseline(
    baseline: Baseline, target: Path, seen: str | None, reasons: Sequence[str], force: str | None
) -> None:
    """Write a baseline; `seen` is the digest of the file that it replaces. Raises InputError before writing anything.

    If there are `reasons` why later runs should not be compared with it, this needs `force`.
    """
    if reasons and not force:
        hint = "--force REASON records it anyway; the reason is stored and shown in every report"
        raise InputError(*(Problem("baseline.not-comparable", reason, str(target), hint=hint) for reason in reasons))
    writing.replace_baseline(target, render(baseline), expected_digest=seen)


def _refuse_undecided(run: ScoredRun, target: str) -> None:
    """Refuse undecided trials, even with --force: a baseline must have the result of every trial."""
    ids = [id_ for id_, _ in run.undecided]
    if ids:
        message = f"the run has undecided trials in {len(ids)} scenario{'' if len(ids) == 1 else 's'}: {some(ids)}"
        folder = run_folders.stopped_early(source.file for source in run.about.sources)
        hint = "run or judge them, and check again" if folder is None else run_folders.run_the_rest(folder)
        raise InputError(Problem("baseline.undecided", message, target, hint=f"{hint}: a baseline must be complete"))


def _reasons(verdict: Verdict, gone: Sequence[str]) -> tuple[str, ...]:
    """Why later runs should not be compared with this one."""
    found = []
    if verdict.verdict != "pass":
        missed = [rule.rule for rule in verdict.rules if rule.level == "blocking" and rule.outcome != "pass"]
        word = "failed" if verdict.verdict == "fail" else "is inconclusive"
        found.append(f"the run {word}: {some(missed)}")
    if gone:
        found.append(f"the run is not complete: {len(gone)} of the present baseline without a result: {some(gone)}")
    return tuple(found)


def _gone(policy: Policy, run: ScoredRun, before: Baseline | None) -> list[str]:
    """The scenarios of the present baseline that should have a result in the run and have none."""
    there = {record.id for record in run.records}
    missing = [scenario.id for scenario in before.scenarios if scenario.id not in there] if before else []
    return [id_ for id_ in missing if not is_excused(policy, id_)]


def make_baseline(verdict: Verdict, policy: Policy, run: ScoredRun, date: str | None, forced: str | None) -> Baseline:
    """The baseline of a run that was judged; `forced`: the --force reason, if it was needed."""
    return replace(
        baseline_from(policy, run, verdict.metrics, verdict.rules),
        verdict=gate.decide(verdict.rules),
        agent_version=verdict.agent_version,
        date=date,
        forced=forced,
        results=verdict.results,
    )


def baseline_from(
    policy: Policy, run: ScoredRun, metrics: Mapping[str, Value], rules: Iterable[RuleResult]
) -> Baseline:
    """What a baseline has of a run, its metrics and its rules, without the verdict and the results.

    If a rule was decided early, its value at stopping is luckier than that of the whole run, which is recorded instead.
    """
    whole = measured(policy, run)
    return Baseline(
        scenarios=run.records,
        metrics={name: value for name, value in sorted(metrics.items()) if value.value is not None},
        rules=tuple(
            RecordedRule(
                rule.rule,
                rule.metric,
                rule.slice,
                rule.threshold,
                rule.value if rule.stopping is None else whole.value(rule.metric, rule.slice),
            )
            for rule in rules
            if rule.metric is not None and rule.value is not None and rule.value.value is not None
        ),
        agent_version=run.about.agent_version,
        confidence=policy.confidence,
        scoring=run.scoring,
        judges=run.judges,
        suites=run.suites,
        policy=Source(policy.file or "<policy>", policy.sha256),
        suite=run.suite,
    )
