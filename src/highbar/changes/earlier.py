"""The sums of a run and its policy → what earlier runs show: the changes since the baseline, and the history."""

from __future__ import annotations

from msgspec import Struct

from highbar.changes.run import ScoredRun, run_of
from highbar.changes.since import Changes, since_baseline
from highbar.load.results import Results
from highbar.model import Policy
from highbar.model.job import Job
from highbar.model.recall import Recalled
from highbar.model.reduction import Reduction


class EarlierRuns(Struct, frozen=True, eq=False):
    """What a check knows from earlier runs. `run` has its own results, scenario by scenario."""

    run: ScoredRun | None
    changes: Changes | None
    warnings: tuple[str, ...]
    recalled: tuple[Recalled, ScoredRun] | None = None


def earlier_runs(job: Job, policy: Policy, found: Results, sums: Reduction) -> EarlierRuns:
    """Compare with the baseline and read the history, if the policy or the job asks for either."""
    run = run_of(policy, sums, found) if sums.records else None
    changes, warnings = since_baseline(job, policy, run)
    if policy.recalls is None or job.recall is None or run is None or sums.records is None:
        return EarlierRuns(run, changes, warnings)
    return EarlierRuns(run, changes, warnings, (job.recall(policy, run, sums.records.texts), run))
