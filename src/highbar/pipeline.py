"""The stages in order: load → reduce → measure → gate. The verdict comes out; the caller reports it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from highbar import measure
from highbar import policy as policies
from highbar.engine.opening import reduce
from highbar.errors import ReportError
from highbar.load.refusals import refuse_categories
from highbar.load.results import Results, results
from highbar.model import Policy, Verdict
from highbar.model.job import SILENT, Job, JobWatch
from highbar.model.reduction import Reduction
from highbar.verdicts import CheckResult, refuse_unusable, verdict

if TYPE_CHECKING:  # few checks compare, and these classes take time to make
    from highbar.changes.run import ScoredRun
    from highbar.model.comparison import Comparison, Side
    from highbar.model.details import TrialDetail

MOST_MOVED = 25
"""Scenarios that broke, and as many that were fixed, whose outputs a comparison shows."""


def check(job: Job, watch: JobWatch = SILENT) -> Verdict:
    """Judge the results of a job by its policy. Raises InputError if either cannot be read."""
    return checked(job, watch).verdict


def checked(job: Job, watch: JobWatch = SILENT) -> CheckResult:
    """The same, with the run scenario by scenario if the job wants it."""
    policy = policies.choose(job.policy, job.where)
    if policy.recalls is not None and job.engine.name == "duckdb":  # no other engine gives the digests of texts
        job = replace(job, wants=replace(job.wants, texts=True))
    with results(job, policy, watch) as found:
        sums = reduce(found, lambda columns: measure.needs(policy, columns, job.wants))
        return judge(job, policy, found, sums)


def judge(job: Job, policy: Policy, found: Results, sums: Reduction) -> CheckResult:
    """The part of a check that reads no rows."""
    refuse_categories(found, sums.categories)
    policy = policies.resolve_version(policy, given=job.agent_version, recorded=sums.agent_version)
    if sums.records is None and job.baseline is None:
        return CheckResult(verdict(job, policy, found, sums), policy, sums)
    from highbar.changes.run import run_of  # likewise
    from highbar.changes.since import since_baseline  # few checks compare

    run = run_of(policy, sums, found) if sums.records else None
    changes, warnings = since_baseline(job, policy, run)
    recalled = None
    if policy.recalls is not None and job.recall is not None and run is not None and sums.records is not None:
        recalled = job.recall(policy, run, sums.records.texts), run
    return CheckResult(verdict(job, policy, found, sums, changes, warnings, recalled), policy, sums, run, changes)


def score(job: Job, policy: Policy, watch: JobWatch = SILENT) -> ScoredRun:
    """A job's results, scenario by scenario, scored by a policy and judged by none of its rules."""
    from highbar.changes.run import run_of  # only for a comparison

    policy, wants = policies.choose(policy, job.where), replace(job.wants, run=True)
    with results(job, policy, watch) as found:
        sums = reduce(found, lambda columns: measure.needs(policy, columns, wants))
        refuse_categories(found, sums.categories)
        refuse_unusable(policy, found, sums)
        return run_of(policy, sums, found)


def compare(base: Job, head: Job, watch: JobWatch = SILENT) -> Comparison:
    """What changed between two runs, by the policy of the head; either may be a baseline. Raises InputError."""
    from highbar.changes.comparison import compare_runs  # only for a comparison
    from highbar.changes.run import baseline_of  # likewise

    policy = policies.choose(head.policy)
    scored = policies.without_rules(policy)
    before, after = (baseline_of(job) or score(job, scored, watch) for job in (base, head))
    return compare_runs(policy, before, after, head.wants.slices)


def with_outputs(comparison: Comparison, base: Job, head: Job) -> Comparison:
    """The comparison with the trials of the scenarios that broke or were fixed, read again from both runs.

    A baseline has no outputs, and standard input cannot be read twice. Raises ReportError if a run has changed.
    """
    from highbar.model.comparison import MovedScenario  # only for a comparison

    ids = (*comparison.broken[:MOST_MOVED], *comparison.fixed[:MOST_MOVED])
    if not ids:
        return comparison
    policy = policies.without_rules(policies.choose(head.policy))
    both = ((base, comparison.base), (head, comparison.head))
    before, after = (_trials_of(job, policy, side, ids) for job, side in both)
    moved = (
        MovedScenario(id_, *(None if trials is None else trials.get(id_, ()) for trials in (before, after)))
        for id_ in ids
    )
    return replace(comparison, moved=tuple(moved))


def _trials_of(
    job: Job, policy: Policy, side: Side, ids: tuple[str, ...]
) -> Mapping[str, tuple[TrialDetail, ...]] | None:
    """The trials of the scenarios by id; None if the run cannot be read again."""
    if side.is_baseline or "-" in job.results:
        return None
    policy, wants = policies.choose(policy, job.where), replace(job.wants, trials_of=ids)
    with results(job, policy, SILENT) as found:
        sums = reduce(found, lambda columns: measure.needs(policy, columns, wants))
        if found.sources() != side.sources:
            raise ReportError("the results changed while they were compared")
    return sums.trials
