"""Adds the history to the evidence, for the rules that need earlier runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from highbar import gate
from highbar.changes.run import ScoredRun
from highbar.model.recall import Recalled, Trials
from highbar.model.records import ScenarioRecord


def with_recalled(evidence: gate.Evidence, recalled: Recalled, run: ScoredRun) -> gate.Evidence:
    """The evidence with the history; undecided trials of this run count as not passed, and at best as passed."""
    decided = {one.id: (one.passed, one.trials - one.undecided) for one in run.records}
    worst = replace(recalled, now=_counts(run.records), decided=decided)
    best = replace(worst, now=_counts(run.best or run.records))
    return replace(evidence, recalled=worst, best=evidence.best and replace(evidence.best, recalled=best))


def _counts(records: Sequence[ScenarioRecord]) -> Mapping[str, Trials]:
    return {one.id: (one.passed, one.trials) for one in records}
