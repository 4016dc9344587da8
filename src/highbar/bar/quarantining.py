"""The quarantine of a change: which part of it counts, which scenarios are flaky by the history.

Only the quarantine in the policy at the ref counts, and only runs of commits before the change, so that no change can
quarantine a failure of its own. Additions in the policy now count once they are merged.
"""

from __future__ import annotations

import os
import posixpath
from datetime import UTC, date, datetime
from pathlib import Path

from msgspec.structs import replace

from highbar import history as histories
from highbar.bar.run_records import agent_of, texts_of
from highbar.errors import InputError, Problem
from highbar.history import quarantine
from highbar.history.excusing import AGENT_NOT_NAMED
from highbar.load.ancestry import Ancestry, ancestors_of_merge_base, folder_as_there, main_line_before
from highbar.load.revision import Revision
from highbar.model import Policy
from highbar.model.history import NOBODY, RunRecord
from highbar.model.job import Job
from highbar.model.quarantine import AutoQuarantine, QuarantinePolicy
from highbar.policy.files import asks_for_auto_quarantine

_NOTHING = QuarantinePolicy()


def bounded(here: Policy, before: Policy) -> Policy:
    """The policy now, with only the part of its quarantine that the policy at the ref has too."""
    if here.quarantine is None:
        return here
    now, then = here.quarantine, before.quarantine or _NOTHING
    ids = {id_: _earlier(until, then.ids[id_]) for id_, until in now.ids.items() if id_ in then.ids}
    auto = None if now.auto is None else then.auto
    return replace(here, quarantine=QuarantinePolicy(ids, auto, then.history, then.folder))


def _earlier(one: date | None, other: date | None) -> date | None:
    return min((day for day in (one, other) if day is not None), default=None)


def flaky_before(there: Revision, path: str, before: Policy, here: Policy, job: Job) -> AutoQuarantine | None:
    """The scenarios that are flaky by runs before the change; None if the policy at the ref has no `auto`.

    If the history cannot be used, `problem` says why, and nothing is quarantined automatically. `path` is the policy's.
    """
    block = before.quarantine
    if block is None or block.auto is None:
        return None
    # More runs quarantine more scenarios, so the smaller number of the two policies counts.
    window = min(block.auto, (here.quarantine and here.quarantine.auto) or block.auto)
    folder = Path(os.path.normpath(there.root / posixpath.dirname(path) / block.history))
    try:
        found = histories.read_history(folder_as_there(there, folder))
    except InputError as error:
        return AutoQuarantine(problem=f"{block.history}: {there.renamed(error.problems[0].message)}")
    ancestry = ancestors_of_merge_base(there)
    if ancestry.problem is not None:
        return AutoQuarantine(problem=ancestry.problem)
    agent = agent_of(job, before)
    today = job.today or datetime.now(UTC).date()
    last = quarantine.of_ancestors(found, ancestry.commits, quarantine.runs_needed(window), today, agent)
    if job.today is not None and last.later:
        raise InputError(_too_early(job.today, last.later[-1]))
    notes = tuple(there.renamed(note) for note in quarantine.notes_of(found, last))
    if last.is_agent_ambiguous:
        return AutoQuarantine(notes=notes, problem=f"{block.history} {AGENT_NOT_NAMED}")
    if not last.runs:
        of_agent = "" if agent == NOBODY else " of the same agent, with the same settings"
        problem = f"{block.history} has no run of a commit before the change{of_agent}"
        return AutoQuarantine(notes=notes, problem=problem)
    unsteady = quarantine.unsteady(last, window)
    if not all(one.is_start_known for one in unsteady) and _is_older_than_auto(last.runs[0], there, path, ancestry):
        unsteady = tuple(replace(one, is_start_known=True) for one in unsteady)
    if unsteady and agent == NOBODY:
        notes += (f"quarantine: whether all runs in {block.history} are of the same agent is not known",)
    return AutoQuarantine(unsteady, texts_of(job, here), notes, window=window)


def _is_older_than_auto(run: RunRecord, there: Revision, path: str, ancestry: Ancestry) -> bool:
    """Whether this run, the first of the history, is older than `auto` in the policy.

    A quarantine begins no earlier than `auto`, so in that case the history has every run since it began. If old records
    are removed again and again, the first run is soon younger than `auto`, and no quarantine is prolonged.
    """
    try:
        before = main_line_before(there, ancestry, run.commit or "")
        return before is None or not before.has(path) or not asks_for_auto_quarantine(before.read(path))
    except InputError:
        return False


def _too_early(today: date, run: RunRecord) -> Problem:
    """The problem with a date before the runs that count: it would prolong every quarantine."""
    message = f"--today {today} is before the run {run.record} of {run.time[:10]}, which comes before the change"
    return Problem(message, hint="give the date of today; if that of the record is wrong, remove the record")
