"""The results beside the suite: what is missing, what is extra, and what contradicts it."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

from highbar.core.score.differences import SuiteDifferences
from highbar.core.score.limits import MOST_OF_SUITE
from highbar.core.score.scores import Scores
from highbar.core.score.settled import Settled
from highbar.core.score.trial import LOOKED_AT
from highbar.model import DEMANDS
from highbar.model.reduction import SuiteMatch

_SAID_BY = {
    "expected_behaviors": "`behaviors`",
    "must_not": "`violations`, `behaviors`, or a `must_not` that says what happened",
    "expected": "`predicted` or `correct`",
    "answer": "`correct`",
}
"""By demand of the suite: the columns that tell what became of it."""
_SAID_BY_ERROR = {
    "expected_behaviors": "`behaviors: []`",
    "must_not": "`violations: []`",
    "expected": "`correct: false`",
    "answer": "`correct: false`",
}
"""By demand of the suite: what a row with an error says that got to nothing."""


def match_suite(
    settled: Settled, differences: SuiteDifferences, excused: Callable[[str], bool], missing: set[str]
) -> SuiteMatch:
    """Which scenarios of the suite have no result, which results are not in the suite, and which columns differ.

    `excused` are optional scenarios, whose absence their own rule warns about. `missing` are the ids of scenarios with
    one result without a number, beside which planned trials are missing: nothing was taken from those.
    """
    suite = settled.scores.asked.suite
    absent = [id_ for id_ in suite if id_ not in settled.scores.ids]
    gone = [id_ for id_ in absent if not excused(id_)]
    extra = [id_ for id_ in settled.ids if id_ not in suite]
    unjudged = {
        settled.ids[place]
        for place in settled.places()
        if any(settled.trial(at).unjudged for at in _numbered(settled, place, missing))
    }
    unlooked = _unlooked(settled) if settled.scores.asked.demands else []
    return SuiteMatch(
        len(gone),
        tuple(heapq.nsmallest(MOST_OF_SUITE, gone)),
        len(extra),
        tuple(heapq.nsmallest(MOST_OF_SUITE, extra)),
        (*differences.words(), *(differences.forbidden_words() if settled.scores.asked.demands else ())),
        tuple(sorted(id_ for id_ in absent if excused(id_))),
        unlooked=tuple(unlooked[:MOST_OF_SUITE]),
        unlooked_more=max(len(unlooked) - MOST_OF_SUITE, 0),
        unjudged_ids=tuple(heapq.nsmallest(MOST_OF_SUITE, unjudged)),
    )


def _numbered(settled: Settled, place: int, missing: set[str]) -> Iterable[int]:
    positions = settled.positions[place]
    if settled.ids[place] not in missing:
        return positions
    return [at for at in positions if settled.number(at) is None]


def _unlooked(settled: Settled) -> list[str]:
    """The demands of the suite that some trial does not answer, whether it has an error or not."""
    found = []
    scores: Scores = settled.scores
    for id_ in sorted(settled.ids):
        fields = scores.asked.suite.get(id_, {})
        trials = [settled.trial(at) for at in settled.positions[scores.ids[id_]]]
        for key in sorted(DEMANDS):
            if fields.get(key, "[]") == "[]":
                continue
            # `highbar run` has looked at all that there was.
            silent = [
                t
                for t in trials
                if not t.unjudged and not (t.error and t.facts.of_run) and not t.looked_at & LOOKED_AT[key]
            ]
            if silent:
                beside = f" (beside an `error` at least {_SAID_BY_ERROR[key]})"
                found.append(f"{id_}: {key}, by {_SAID_BY[key]}" + (beside if any(t.error for t in silent) else ""))
    return found
