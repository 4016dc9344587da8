"""The end of a recorded trial as it would have been with the timeouts of a git ref: a late answer is an error."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec.structs import replace

from highbar.errors import InputError
from highbar.running.journal_state import JournalState
from highbar.running.records import TrialEnded
from highbar.suite import Suite, read


def ends_there(history: JournalState, suite: Suite) -> Callable[[TrialEnded], TrialEnded]:
    """A function of the end of a trial of a run. An option of the run chose its timeout itself: that is no change."""
    chosen = history.plan.settings
    try:
        asked: Suite | None = read(history.plan.suite_file, data=history.suite_text)
    except InputError:  # files of its checks may be on another machine; fail closed: any timeout may have been longer
        asked = None
    whole = suite.run.trial_timeout
    given_whole = None if asked is None else asked.run.trial_timeout
    longer_whole = whole is not None and "trial_timeout" not in chosen and (given_whole is None or given_whole > whole)

    def end(ended: TrialEnded) -> TrialEnded:
        limit = suite.scenarios[ended.id].timeout
        before = None if asked is None else asked.scenarios.get(ended.id)
        times = [math.inf if turn.latency_ms is None else turn.latency_ms / 1000 for turn in ended.turns]
        # A loop that stood still prolongs a timeout, so only where the run had a longer one does the time say anything.
        longer = "timeout" not in chosen and (before is None or before.timeout > limit)
        late = (longer and max(times, default=0.0) > limit) or (longer_whole and whole and sum(times) > whole)
        if ended.outcome != "answered" or not late:
            return ended
        return replace(ended, outcome="error", reason="timed out: the answer took longer than it may at the ref")

    return end
