"""The history of a policy → what it says about the scenarios of a run: in earlier runs, of the same text, judged alike.

Against a git ref only runs of ancestors of the merge base count, from records that the change did not touch: so no
change can excuse a failure of its own. Else it is the ancestors of what is checked out, or the branch of the last run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from highbar import history as histories
from highbar.bar.remembering import judge_digest, scoring_digest, texts_of
from highbar.changes.run import ScoredRun
from highbar.errors import InputError
from highbar.history.choosing import comparable
from highbar.history.drift import MOST_RUNS, counts_by_run
from highbar.load.ancestry import ancestors_of_merge_base, folder_as_there
from highbar.load.checkout import ancestors
from highbar.load.revision import Revision
from highbar.model import Policy
from highbar.model.history import RunRecord
from highbar.model.job import Job
from highbar.model.recall import Recalled


def recalled(job: Job, there: Revision | None, policy: Policy, run: ScoredRun, texts: Mapping[str, str]) -> Recalled:
    """What the history of a policy says about a run; `texts` are the digests that the rows give.

    Whatever keeps it from being read is in `problem`: then nothing is known.
    """
    try:
        return _recalled(there, policy, run, texts_of(job, policy) or texts)
    except InputError as error:
        message = error.problems[0].message
        return Recalled(problem=message if there is None else there.renamed(message))


def _recalled(there: Revision | None, policy: Policy, run: ScoredRun, texts: Mapping[str, str]) -> Recalled:
    history = histories.read(_folder(there, policy.recalls or ""))
    line: frozenset[str] | None = None
    if there is not None:
        ancestry = ancestors_of_merge_base(there)
        if ancestry.problem is not None:
            return Recalled(problem=ancestry.problem)
        line = frozenset(ancestry.commits)
    else:
        line = ancestors()
    own = {source.sha256 for source in run.about.sources}
    runs = [one for one in history.runs if _is_alike(one, policy, run) and not own & set(one.results)]
    chosen = comparable(runs, line, MOST_RUNS, changed=there is None, any_suite=True)
    found, damaged = counts_by_run(history, chosen.runs)
    return Recalled(
        runs=tuple(
            {
                id_: (one.passed, one.passed + one.failed)
                for (id_, digest, _), one in by_key.items()
                if digest is not None and texts.get(id_) == digest
            }
            for by_key in found
        ),
        damaged=tuple(one.file for one in (*history.damaged, *damaged)),
    )


def _folder(there: Revision | None, named: str) -> Path:
    """The folder that a policy names, or the copy of it as it was at the ref."""
    if there is None:
        return Path(named)
    # What the copy of the policy names beside itself, or above, is beside the policy: never in the temporary folder.
    is_of_copy = named.startswith(f"{there.folder}{os.sep}")
    here = there.root / os.path.relpath(named, there.folder) if is_of_copy else Path(named)
    return folder_as_there(there, here.absolute())


def _is_alike(one: RunRecord, policy: Policy, run: ScoredRun) -> bool:
    return (one.scoring, one.judge) == (scoring_digest(policy, run.scoring), judge_digest(run))
