"""Runs of ancestors → the scenarios that pass in one run and fail in another: those that `auto` may quarantine.

Nothing is stored about a quarantine. Its start is computed: the first run, since the scenario was last known to be
steady, whose window shows both a pass and a failure. So it can end even if the scenario stays flaky.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from highbar.history import History
from highbar.history.excusing import is_agent_ambiguous
from highbar.history.pooling import each_result_once
from highbar.language.phrases import some_and_more
from highbar.model.history import NOBODY, AgentKey, RunRecord, ScenarioCounts
from highbar.model.quarantine import MOST_RUNS, NEVER, UnsteadyScenario

_Key = tuple[str, str]
_CLOCKS_DIFFER = timedelta(days=1)


class LastRuns(Struct, frozen=True, eq=False):
    """The last runs of ancestors that list their scenarios, the oldest first, with these scenarios.

    `left_out` has the records that could not be read, `later` those with a date in the future.
    `is_agent_ambiguous`: some runs name their agent, but the judged run does not.
    """

    runs: tuple[RunRecord, ...]
    scenarios: tuple[tuple[ScenarioCounts, ...], ...]
    left_out: tuple[str, ...] = ()
    later: tuple[RunRecord, ...] = ()
    is_agent_ambiguous: bool = False


def of_ancestors(
    history: History, ancestors: Mapping[str, int], most: int, today: date, agent: AgentKey = NOBODY
) -> LastRuns:
    """The last runs of ancestors, at most `most`; `ancestors` maps a commit to its distance, 0 for the merge base.

    A record without a commit, or of a working tree that differed from its commit, does not count. If the `agent` is not
    known, only runs without a known agent count; and no run at all, if some runs name their agent.
    """
    earlier = [run for run in history.runs if run.commit in ancestors and not run.changed and run.listed]
    ambiguous = is_agent_ambiguous(earlier, agent)
    known = [run for run in earlier if run.of_agent == agent and not ambiguous]
    later = tuple(run for run in known if _day(run) > today + _CLOCKS_DIFFER)
    known = [run for run in known if run not in later]
    # By ancestry before time: an old commit that was run again lately is still an old one.
    known.sort(key=lambda run: (-ancestors[run.commit or ""], run.time, run.record))
    last = each_result_once(known)[-most:]
    found = {
        run.record: tuple(one for _, one in rows) for run, rows in groupby(history.counts(last), lambda one: one[0])
    }
    readable = tuple(run for run in last if run.record in found)
    left_out = tuple(run.record for run in last if run not in readable)
    return LastRuns(readable, tuple(found[run.record] for run in readable), left_out, later, ambiguous)


def _day(run: RunRecord) -> date:
    """The day of a run; the last possible day if the record has none, so that it counts as later than today."""
    try:
        return date.fromisoformat(run.time[:10])
    except ValueError:
        return date.max


def unsteady(last: LastRuns, window: int) -> tuple[UnsteadyScenario, ...]:
    """The texts of scenarios that passed and failed within the last `window` runs, sorted by id.

    A pass means that all trials passed, a failure that one of them failed. The two count only if both runs had the same
    scoring and the same judge. A text without a digest cannot be recognized in another run, and is left out.
    """
    outcomes: dict[_Key, dict[int, bool]] = {}
    adversarial: set[str] = set()
    for place, rows in enumerate(last.scenarios):
        for one in rows:
            if one.category == NEVER:
                adversarial.add(one.id)
            if one.digest is not None and (one.failed or one.passed == one.trials):
                outcomes.setdefault((one.id, one.digest), {})[place] = not one.failed
    found = [_unsteady(key, by_place, last.runs, window) for key, by_place in sorted(outcomes.items())]
    return tuple(replace(one, is_adversarial=one.id in adversarial) for one in found if one is not None)


def _unsteady(
    key: _Key, by_place: Mapping[int, bool], runs: Sequence[RunRecord], window: int
) -> UnsteadyScenario | None:
    def varies(end: int) -> bool:
        """Whether the window of runs that ends here has a pass and a failure, scored and judged alike."""
        alike: dict[tuple[str | None, str | None], set[bool]] = {}
        for place in range(max(0, end - window + 1), end + 1):
            if place in by_place:
                alike.setdefault((runs[place].scoring, runs[place].judge), set()).add(by_place[place])
        return any(len(outcomes) > 1 for outcomes in alike.values())

    def is_known(end: int) -> bool:
        """Whether all runs in the window that ends here have the scenario, from the first run that has it."""
        return all(place in by_place for place in range(max(first, end - window + 1), end + 1))

    first = min(by_place)
    start = _start(varies, is_known, len(runs))
    if start is None:
        return None
    recent = [by_place[place] for place in range(max(0, len(runs) - window), len(runs)) if place in by_place]
    # Runs are ordered by ancestry, not by time: a late date of the first run must not prolong the quarantine.
    since = min(_day(run) for run in runs[start:])
    # Only a whole window of runs before the start shows that the scenario was steady then.
    known = start >= window
    passed, failed = recent.count(True), recent.count(False)
    return UnsteadyScenario(*key, since, len(runs) - start, passed, failed, is_start_known=known)


def _start(varies: Callable[[int], bool], is_known: Callable[[int], bool], length: int) -> int | None:
    """The first run at which a scenario varies since it was known to be steady; None if it does not vary at the end.

    A run that stopped early lacks many scenarios: if a window lacks this one, that does not show that it was steady.
    """
    if not varies(length - 1):
        return None
    start = length - 1
    for place in reversed(range(length - 1)):
        if varies(place):
            start = place
        elif is_known(place):
            break
    return start


def runs_needed(window: int) -> int:
    """How many runs show whether a quarantine has lasted too long."""
    return MOST_RUNS + window


def notes_of(history: History, last: LastRuns) -> tuple[str, ...]:
    """Notes about the records of the history that were left out."""
    by_kind = {
        f"damaged records of {history.folder}": [*(one.file for one in history.damaged), *last.left_out],
        f"records of {history.folder} that are of a later day than today": [run.record for run in last.later],
    }
    return tuple(f"quarantine: {kind} are left out: {some_and_more(names)}" for kind, names in by_kind.items() if names)
