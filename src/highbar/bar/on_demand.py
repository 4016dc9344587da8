"""A job that reads the history only if a rule of its policy needs it: most policies have none, and need not load it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from highbar.model import Policy
from highbar.model.job import Job

if TYPE_CHECKING:  # see above
    from highbar.changes.run import ScoredRun
    from highbar.load.revision import Revision
    from highbar.model.recall import Recalled


def with_history(job: Job, there: Revision | None = None) -> Job:
    """The job, which can read the history; against a git ref, as it was there."""

    def recall(policy: Policy, run: ScoredRun, texts: Mapping[str, str], /) -> Recalled:
        from highbar.bar.recalling import recalled  # see above

        return recalled(job, there, policy, run, texts)

    return replace(job, recall=recall)
