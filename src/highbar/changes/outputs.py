"""A comparison → the same with the trials of scenarios that broke or were fixed, read again from both runs."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from highbar import measure
from highbar import policy as policies
from highbar.engine.opening import reduce
from highbar.errors import ReportError
from highbar.load.results import open_results
from highbar.model import Policy, Source
from highbar.model.comparison import Comparison, MovedScenario, Side
from highbar.model.details import TrialDetail
from highbar.model.job import SILENT, Job

MOST_MOVED = 25
"""The largest number of broken scenarios, and of fixed ones, whose outputs a comparison shows."""


def with_outputs(comparison: Comparison, base: Job, head: Job) -> Comparison:
    """The comparison with the trials of the scenarios that broke or were fixed.

    The trials are None for a baseline, which has no outputs, and for standard input, which cannot be read twice. Raises
    ReportError if a run has changed since.
    """
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


def read_trials(job: Job, ids: tuple[str, ...]) -> Mapping[str, tuple[TrialDetail, ...]]:
    """The trials of the scenarios with these ids, passed ones too, scored by the job's policy. Raises InputError."""
    return _read_trials(job, policies.without_rules(policies.choose(job.policy)), ids)[0]


def _read_trials(
    job: Job, policy: Policy, ids: tuple[str, ...]
) -> tuple[Mapping[str, tuple[TrialDetail, ...]], tuple[Source, ...]]:
    """The trials by the ids of their scenarios, and the files that they were read from."""
    policy, wants = policies.choose(policy, job.where), replace(job.wants, trials_of=ids)
    with open_results(job, policy, SILENT) as found:
        sums = reduce(found, lambda columns: measure.needs(policy, columns, wants))
        return sums.trials, found.sources()


def _trials_of(
    job: Job, policy: Policy, side: Side, ids: tuple[str, ...]
) -> Mapping[str, tuple[TrialDetail, ...]] | None:
    """The trials of the scenarios by id; None if the run cannot be read again."""
    if side.is_baseline or "-" in job.results:
        return None
    trials, sources = _read_trials(job, policy, ids)
    # If a file was rewritten since, these are not the outputs of the rows that were compared.
    if sources != side.sources:
        raise ReportError("the results changed while they were compared")
    return trials
