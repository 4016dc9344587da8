"""The stages in order: load → reduce → measure → gate. The verdict comes out; the caller reports it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from highbar import measure
from highbar import policy as policies
from highbar.engine.opening import reduce
from highbar.load.refusals import refuse_categories, refuse_suite_keys
from highbar.load.results import Results, open_results
from highbar.model import Policy, Verdict
from highbar.model.job import SILENT, Job, JobWatch, Wants
from highbar.model.reduction import Reduction
from highbar.verdicts import CheckResult, finished_part, make_verdict, refuse_unusable

if TYPE_CHECKING:  # few checks compare, and these classes take time to make
    from highbar.changes.scored_run import ScoredRun
    from highbar.model.comparison import Comparison


def check(job: Job, watch: JobWatch = SILENT) -> Verdict:
    """Judge the results of a job by its policy. Raises InputError if either cannot be read."""
    return check_result(job, watch).verdict


def check_result(job: Job, watch: JobWatch = SILENT) -> CheckResult:
    """As `check`, but also returns what the verdict was made from; `run` has every scenario if the job wants it."""
    policy = policies.choose(job.policy, job.where)
    # Recalling earlier runs compares digests of the texts, and only DuckDB computes these.
    wants = replace(job.wants, texts=job.wants.texts or (policy.recalls is not None and job.engine.name == "duckdb"))
    with open_results(job, policy, watch) as found:
        sums = reduce(found, lambda columns: measure.needs(policy, columns, with_order(wants, found)))
        return judge_sums(job, policy, found, sums)


def with_order(wants: Wants, found: Results) -> Wants:
    """What a check needs from the results: also every single scenario, if a rule judges them in a recorded order."""
    return replace(wants, run=True) if found.has_order else wants


def judge_sums(job: Job, policy: Policy, found: Results, sums: Reduction) -> CheckResult:
    """Judge sums that are already computed: the part of a check that reads no rows."""
    refuse_categories(found, sums.categories)
    refuse_suite_keys(policy, sums.columns)
    policy = policies.resolve_version(policy, given=job.agent_version, recorded=sums.agent_version)
    if sums.records is None and job.baseline is None:
        return CheckResult(make_verdict(job, policy, found, sums), policy, sums)
    from highbar.changes.since import earlier_runs  # few checks compare

    sums, run, changes, warnings, recalled = earlier_runs(job, policy, found, sums)
    judged = make_verdict(job, policy, found, sums, changes, warnings, recalled, run)
    return CheckResult(judged, policy, sums, run, changes, finished_part(judged, found))


def score(job: Job, policy: Policy, watch: JobWatch = SILENT, base: ScoredRun | None = None) -> ScoredRun:
    """Score a job's results by a policy, scenario by scenario; trials that only `base` has are undecided."""
    from highbar.changes.scored_run import only_finished  # only for a comparison
    from highbar.changes.since import with_lost_trials  # only for a comparison

    policy, wants = policies.choose(policy, job.where), replace(job.wants, run=True)
    with open_results(job, policy, watch) as found:
        sums = reduce(found, lambda columns: measure.needs(policy, columns, wants))
        refuse_categories(found, sums.categories)
        refuse_unusable(policy, found, sums)
        return only_finished(with_lost_trials(job, policy, found, sums, base)[1], job, found)


def compare(base: Job, head: Job, watch: JobWatch = SILENT) -> Comparison:
    """What changed between two runs, by the policy of the head; either may be a baseline. Raises InputError."""
    from highbar.changes.comparison import compare_runs  # only for a comparison
    from highbar.changes.scored_run import baseline_of  # only for a comparison

    policy = policies.choose(head.policy)
    scored = policies.without_rules(policy)
    before = baseline_of(base) or score(base, replace(scored, trials="as_recorded"), watch)  # it had a plan of its own
    after = baseline_of(head) or score(head, scored, watch, before)
    return compare_runs(policy, before, after, head.wants.slices)
