"""Runs of ancestors → the scenarios that pass in one run and fail in another: those that `auto` may quarantine.

Nothing is stored about a quarantine. It begins with the first run that, together with the ones before it, shows a pass
and a failure, since the scenario was last known to be steady; so it has an end even if the scenario stays flaky.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from highbar.history import History
from highbar.history.explaining import is_whose_unknown
from highbar.history.pooling import each_result_once
from highbar.language.phrases import some_and_more
from highbar.model.history import NOBODY, AgentKey, RunRecord, ScenarioCounts
from highbar.model.quarantine import MOST_RUNS, NEVER, UnsteadyScenario

_Key = tuple[str, str]
_CLOCKS_DIFFER = timedelta(days=1)


class LastRuns(Struct, frozen=True, eq=False):
    """The last runs of ancestors that say something about scenarios, the oldest first, and their scenarios.

    `left_out` has the records that could not be read, `later` those of a day that is yet to come. `is_agent_open`: some
    runs say their agent, and the judged one does not.
    """

    runs: tuple[RunRecord, ...]
    scenarios: tuple[tuple[ScenarioCounts, ...], ...]
    left_out: tuple[str, ...] = ()
    later: tuple[RunRecord, ...] = ()
    is_agent_open: bool = False


def of_ancestors(
    history: History, ancestors: Mapping[str, int], most: int, today: date, agent: AgentKey = NOBODY
) -> LastRuns:
    """The last runs, at most so many; `ancestors` says how far back a commit is, 0 for the merge base.

    A record without a commit, or of a working tree that differed from its commit, is not a run of an ancestor. If the
    `agent` is not known, runs count of which it is not known either; and none, if some of the others say theirs.
    """
    earlier = [run for run in history.runs if run.commit in ancestors and not run.changed and run.listed]
    whose = is_whose_unknown(earlier, agent)
    known = [run for run in earlier if run.of_agent == agent and not whose]
    later = tuple(run for run in known if _day(run) > today + _CLOCKS_DIFFER)
    known = [run for run in known if run not in later]
    known.sort(key=lambda run: (-ancestors[run.commit or ""], run.time, run.record))
    last = each_result_once(known)[-most:]
    found = {
        run.record: tuple(one for _, one in rows) for run, rows in groupby(history.counts(last), lambda one: one[0])
    }
    readable = tuple(run for run in last if are_counts(found.get(run.record, ())))
    left_out = tuple(run.record for run in last if run not in readable)
    return LastRuns(readable, tuple(found[run.record] for run in readable), left_out, later, whose)


def _day(run: RunRecord) -> date:
    """The day of a run; the last one there is if the record has none."""
    try:
        return date.fromisoformat(run.time[:10])
    except ValueError:
        return date.max


def are_counts(rows: Sequence[ScenarioCounts]) -> bool:
    """Whether a record has scenarios, each once, with counts that fit."""
    fit = all(
        None not in (one.id, one.trials, one.passed, one.failed, one.undecided)
        and one.trials >= 1 and min(one.passed, one.failed, one.undecided) >= 0
        and one.passed + one.failed + one.undecided == one.trials
        for one in rows
    )  # fmt: skip
    return bool(rows) and fit and len({one.id for one in rows}) == len(rows)


def unsteady(last: LastRuns, window: int) -> tuple[UnsteadyScenario, ...]:
    """The texts of scenarios that passed and failed within the last `window` runs, sorted by id.

    A pass and a failure count as such only if both were scored by the same settings and the same judge. A text whose
    digest is not known cannot be known again. In a pass all trials passed, in a failure one of them failed.
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
        """Whether the runs up to this one have both, judged alike."""
        alike: dict[tuple[str | None, str | None], set[bool]] = {}
        for place in range(max(0, end - window + 1), end + 1):
            if place in by_place:
                alike.setdefault((runs[place].scoring, runs[place].judge), set()).add(by_place[place])
        return any(len(outcomes) > 1 for outcomes in alike.values())

    def is_known(end: int) -> bool:
        """Whether all the runs up to this one have the scenario, from the first one that does."""
        return all(place in by_place for place in range(max(first, end - window + 1), end + 1))

    first = min(by_place)
    start = _start(varies, is_known, len(runs))
    if start is None:
        return None
    recent = [by_place[place] for place in range(max(0, len(runs) - window), len(runs)) if place in by_place]
    since = min(_day(run) for run in runs[start:])
    # Only a whole window of runs shows that it was steady before.
    known = start >= window
    passed, failed = recent.count(True), recent.count(False)
    return UnsteadyScenario(*key, since, len(runs) - start, passed, failed, is_start_known=known)


def _start(varies: Callable[[int], bool], is_known: Callable[[int], bool], length: int) -> int | None:
    """The first place at which it varies since it is known to have been steady; None if it does not vary at the end.

    A run that stopped early lacks many scenarios: that one of them is not there does not show that it is steady.
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
    """How many runs tell whether a quarantine has lasted too long."""
    return MOST_RUNS + window


def notes_of(history: History, last: LastRuns) -> tuple[str, ...]:
    """What was left out of the history, in words."""
    by_kind = {
        f"damaged records of {history.folder}": [*(one.file for one in history.damaged), *last.left_out],
        f"records of {history.folder} that are of a later day than today": [run.record for run in last.later],
    }
    return tuple(f"quarantine: {kind} are left out: {some_and_more(names)}" for kind, names in by_kind.items() if names)
