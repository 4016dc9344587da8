"""Lets a job read the history, or the order of a run, only if a rule of its policy needs it, which few do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from highbar.model import Policy, ResultsFile
from highbar.model.job import Job

if TYPE_CHECKING:  # see above
    from highbar.changes.scored_run import ScoredRun
    from highbar.load.revision import Revision
    from highbar.model.order import RunOrder
    from highbar.model.recall import Recalled


def with_readers(job: Job, there: Revision | None = None) -> Job:
    """The job with functions that read the history (as it was at the ref `there`, if any) and the order of its run."""

    def recall(policy: Policy, run: ScoredRun, texts: Mapping[str, str], /) -> Recalled:
        from highbar.bar.recalling import recall_trials  # see above

        return recall_trials(job, there, policy, run, texts)

    def order(files: Sequence[ResultsFile], seed: int | None, /) -> RunOrder | str:
        from highbar.running.replaying import recorded_order  # see above

        return recorded_order(files, seed)

    return replace(job, recall=recall, order=job.order or order)
