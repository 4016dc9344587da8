"""The stages in order: load → reduce → measure → gate. The verdict comes out; the caller reports it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from highbar import measure
from highbar import policy as policies
from highbar.engine.opening import reduce
from highbar.engine.protocol import Reduction
from highbar.errors import InputError
from highbar.load.opening import Results, results
from highbar.load.refusals import refuse_categories
from highbar.model import Policy, Verdict
from highbar.model.job import SILENT, Job, Watch
from highbar.verdicts import verdict
from highbar.verdicts.judgeable import nothing_to_compare

if TYPE_CHECKING:  # few checks compare
    from highbar.baseline.against import Kept


@dataclass(frozen=True, slots=True)
class Checked:
    """The verdict, and the run scenario by scenario if the job wants it or a rule compares."""

    verdict: Verdict
    run: Kept | None = None


def check(job: Job, watch: Watch = SILENT) -> Verdict:
    """Judge the results of a job by its policy. Raises InputError if either cannot be read."""
    return checked(job, watch).verdict


def checked(job: Job, watch: Watch = SILENT) -> Checked:
    """The same, with the run."""
    policy = policies.choose(job.policy, job.where)
    with results(job, policy, watch) as found:
        sums = reduce(found, lambda columns: measure.needs(policy, columns, job.wants))
        return judge(job, policy, found, sums)


def judge(job: Job, policy: Policy, found: Results, sums: Reduction) -> Checked:
    """Judge sums by a policy: the part of a check that reads no rows."""
    refuse_categories(found, sums.categories)
    policy = policies.resolve_version(policy, given=job.agent_version, recorded=sums.agent_version)
    if sums.records is None and not job.baseline:
        return Checked(verdict(job, policy, found, sums, None, ()))
    from highbar import runs  # few checks compare

    run = runs.keep(policy, sums, found) if sums.records else None
    changes, warnings = runs.since_baseline(job, policy, run)
    return Checked(verdict(job, policy, found, sums, changes, warnings), run)


def score(job: Job, policy: Policy, watch: Watch = SILENT) -> Kept:
    """Every scenario of a job's results, scored by a policy and judged by none of its rules. Raises InputError."""
    from highbar import runs  # only for a comparison

    wants = replace(job.wants, run=True)
    with results(job, policy, watch) as found:
        sums = reduce(found, lambda columns: measure.needs(policy, columns, wants))
        refuse_categories(found, sums.categories)
        unusable = nothing_to_compare(policy, measure.Measured(policy, sums.whole, sums.best), sums)
        if unusable:
            raise InputError(replace(unusable, file=unusable.file or found.only_file))
        return runs.keep(policy, sums, found)
