"""A run, scenario by scenario: the one in a baseline, or one that was just reduced."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from highbar import measure
from highbar.changes.record_sums import sums_of
from highbar.errors import InputError
from highbar.load import run_folders
from highbar.load.results import Results
from highbar.measure.doubts import Weighed
from highbar.model import Policy, Source, Trial
from highbar.model.baseline import Baseline, Scoring
from highbar.model.comparison import Side
from highbar.model.job import Job
from highbar.model.judging import Judging, Selection
from highbar.model.records import ScenarioRecord
from highbar.model.reduction import Reduction
from highbar.store import baseline_reading


class ScoredRun(Struct, frozen=True):
    """One run, scenario by scenario, and the settings that two compared runs must share."""

    records: tuple[ScenarioRecord, ...]
    about: Side
    scoring: Scoring
    judges: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    suite: Source | None = None
    best: tuple[ScenarioRecord, ...] = ()  # with undecided trials at their best; empty if nothing is undecided
    not_run: frozenset[str] = frozenset()  # scenarios without a record, because the run was decided without them

    def at_best(self) -> ScoredRun:
        """The run with undecided trials at their best."""
        return replace(self, records=self.best or self.records, best=())

    def without(self, ids: frozenset[str]) -> ScoredRun:
        """The run without the records of some scenarios."""
        records, best = (tuple(one for one in side if one.id not in ids) for side in (self.records, self.best))
        return replace(self, records=records, best=best if best != records else ())

    def stopped_without(self, ids: frozenset[str]) -> ScoredRun:
        """A run that stopped early, without the scenarios `ids` that it did not finish."""
        left = self.without(ids)
        trials = sum(record.trials for record in left.records)
        return replace(left, about=replace(self.about, scenarios=len(left.records), trials=trials), not_run=ids)

    @property
    def undecided(self) -> tuple[Trial, ...]:
        """The scenarios with undecided trials; the numbers of the trials are not known here."""
        pairs = zip(self.records, self.best, strict=True) if self.best else ()
        return tuple((worst.id, None) for worst, best in pairs if worst != best)


def only_finished(run: ScoredRun, job: Job, found: Results) -> ScoredRun:
    """The run without the scenarios that it did not finish because it was decided early: they have not failed.

    Raises InputError if the run stopped early and nothing says which scenarios it finished.
    """
    folder = run_folders.stopped_early(source.file for source in found.sources())
    if folder is None:
        return run
    from highbar.model.order import NO_ORDER  # few runs stop early

    order = NO_ORDER if job.order is None else job.order(found.files, job.seed)
    if isinstance(order, str):
        why = f"nothing says which scenarios were not run: {order}"
        raise InputError(run_folders.not_whole(folder, why))
    not_run = frozenset(record.id for record in run.records if record.id not in order.finished)
    return run.stopped_without(not_run) if not_run else run


def run_in(baseline: Baseline) -> ScoredRun:
    """The run in a baseline."""
    source = Source(baseline.file or "<baseline>", baseline.sha256)
    about = Side(
        (source,),
        is_baseline=True,
        agent_version=baseline.agent_version,
        scenarios=len(baseline.scenarios),
        trials=baseline.trials,
        date=baseline.date,
        forced=baseline.forced,
        judged_by=tuple(Judging(tool, judges) for tool, judges in baseline.scoring.judged_by),
        selection=Selection(baseline.scoring.select) if baseline.scoring.select else None,
        runs=baseline.runs,
    )
    return ScoredRun(baseline.scenarios, about, baseline.scoring, baseline.judges, baseline.suites, baseline.suite)


def baseline_of(job: Job) -> ScoredRun | None:
    """The run in the baseline that a job names as its results; None if they are not a baseline."""
    if len(job.results) != 1 or job.names or not baseline_reading.is_baseline(job.results[0]):
        return None
    return run_in(baseline_reading.read_baseline(job.results[0]))


def run_of(policy: Policy, sums: Reduction, results: Results) -> ScoredRun:
    """A run that was just reduced. The request to the engine must have included the records of scenarios."""
    records = sums.records
    if records is None:
        raise ValueError("the engine was not asked for the scenarios")
    about = Side(
        results.sources(),
        is_baseline=False,
        agent_version=policy.agent_version or sums.agent_version,
        scenarios=sums.whole.scenarios,
        trials=sums.whole.trials,
        judged_by=results.judged_by,
        selection=sums.selection,
    )
    return ScoredRun(
        records.scenarios,
        about,
        scoring_of(policy, results.judged_by),
        records.judges,
        records.suites,
        _suite_source(policy),
        records.best,
    )


def scoring_of(policy: Policy, judged_by: tuple[Judging, ...] = ()) -> Scoring:
    """The settings by which a policy scores trials, and the scorers that judged in files of other tools."""
    judges: dict[str, set[str]] = {}
    for one in judged_by:
        judges.setdefault(one.tool, set()).update(one.judges)
    found = tuple((tool, tuple(sorted(names))) for tool, names in sorted(judges.items()))
    return Scoring(policy.pass_score, policy.positive, policy.select, found)


def _suite_source(policy: Policy) -> Source | None:
    """The suite's file and the digest of its bytes."""
    if policy.suite is None:
        return None
    digest = None
    with suppress(OSError):  # the policy may come from a git ref, and the copy of its suite be gone
        digest = hashlib.sha256(Path(policy.suite.file).read_bytes()).hexdigest()
    return Source(policy.suite.file, digest)


def measured(policy: Policy, run: ScoredRun) -> measure.Measured:
    """The metrics of one run over all its scenarios."""
    best = sums_of(policy, run.best).group if run.best else None
    categories = sorted({record.columns["category"] for record in run.records if "category" in record.columns})
    return measure.Measured(
        policy, sums_of(policy, run.records).group, best, categories=tuple(categories), weighed=Weighed(run.records)
    )
