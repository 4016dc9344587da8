"""The details that some reports show beside the verdict; computed only for those."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from highbar import __version__, gate, measure
from highbar.gate.comparisons import comparisons
from highbar.measure.scores import percentiles_of, scores
from highbar.model import Policy
from highbar.model.details import Details, RowDetails
from highbar.model.job import Job
from highbar.model.reduction import Reduction

if TYPE_CHECKING:  # few policies compare
    from highbar.changes.since import Changes


def details(
    job: Job, policy: Policy, evidence: gate.Evidence, whole: measure.Measured, sums: Reduction, changes: Changes | None
) -> Details:
    """The trials of failed scenarios, the terms of scores and conditions, and the comparison with the baseline."""
    rows = sums.details or RowDetails()
    if rows.latency is not None:
        measured = percentiles_of("latency_ms", tuple(policy.metrics.values()))
        rows = replace(rows, latency=replace(rows.latency, metrics=measured))
    comparison = None
    if changes is not None:
        from highbar.changes.comparison import comparison_of  # few policies compare

        comparison = comparison_of(policy, changes.base, changes.head, slices=job.wants.slices)
    parts = comparisons(policy.rules, evidence)
    return Details(rows, scores(whole), parts, policy.text, __version__, comparison)
