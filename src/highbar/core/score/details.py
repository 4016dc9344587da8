"""What detailed reports show: the trials of failed scenarios, and the distribution of latencies.

Only the rows of failed scenarios are read again in full, and only as many of them, and as much of their texts, as a
report can hold.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from msgspec.structs import replace

from highbar.core.rows.row import own_field, says, says_raw
from highbar.core.score import reasons
from highbar.core.score.asked import WHY
from highbar.core.score.limits import (
    LONGEST_ANSWER,
    LONGEST_EVIDENCE,
    LONGEST_NAME,
    LONGEST_TEXT,
    MOST_BEHAVIORS,
    MOST_BINS,
    MOST_TRIALS,
    SHORTEST_TEXT,
)
from highbar.core.score.settled import Settled
from highbar.core.score.trial import marks_of, violations_of
from highbar.model import FailedScenario
from highbar.model.details import Bin, Details, Excerpt, Latency, ScenarioDetail, TrialDetail
from highbar.statistics.bounds import nearest_rank

_SCALED = 10**6


class DetailReader:
    """Reads trials in full; `reread` gives the rows of some trials with the columns `WHY`."""

    def __init__(self, settled: Settled, reread: Any) -> None:
        self.settled, self.reread = settled, reread

    def details(self, failed: Sequence[FailedScenario]) -> Details:
        """The trials of the failed scenarios, in their order, and the distribution of all latencies."""
        number = sum(min(scenario.trials, MOST_TRIALS) for scenario in failed)
        found = self.trials_of([scenario.id for scenario in failed], number)
        return Details(tuple(ScenarioDetail(one, found.get(one.id, ())) for one in failed), latencies(self.settled))

    def trials_of(self, ids: Collection[str], number: int | None = None) -> Mapping[str, tuple[TrialDetail, ...]]:
        """By id, trials of the scenarios, passed ones too; `number` of them, by default the most that fit."""
        settled = self.settled
        places = [settled.scores.ids[id_] for id_ in ids if id_ in settled.scores.ids]
        if number is None:
            number = len(ids) * (MOST_TRIALS if settled.repeated else 1)
        longest = longest_text(len(ids), number)
        shown = {place: self._shown(place) for place in places}
        rows = self.reread([at for positions in shown.values() for at in positions])
        return {
            settled.ids[place]: tuple(self._trial(at, rows[at], longest) for at in positions if at in rows)
            for place, positions in shown.items()
        }

    def _shown(self, place: int) -> list[int]:
        """The trials of a scenario that are shown: failed ones first, then undecided ones; in their order."""
        settled = self.settled

        def order(at: int) -> tuple[bool, bool, tuple[bool, int]]:
            trial = settled.trial(at)
            return not trial.failed, trial.passed, self._number(at)

        return sorted(sorted(settled.positions[place], key=order)[:MOST_TRIALS], key=self._number)

    def _number(self, at: int) -> tuple[bool, int]:
        number = self.settled.number(at)
        return number is None, number or 0

    def _trial(self, at: int, row: Any, longest: int) -> TrialDetail:
        trial = self.settled.trial(at)
        names = violations_of(row)
        latency = row.latency_ms
        return TrialDetail(
            trial=self.settled.number(at),
            passed=True if trial.passed else False if trial.failed else None,
            reason=reasons.reason(row, trial),
            input=_excerpt(row.input, longest),
            output=_excerpt(row.output, longest),
            expected_behaviors=_names(row.expected_behaviors or ()),
            behaviors=_names(marks_of(row.behaviors).true),
            must_not=_names(marks_of(row.must_not).every),
            violations=_names(names),
            violation_count=_count(row.violations),
            expected=_label(row.expected),
            predicted=_label(row.predicted),
            error=row.error[:longest] or None if says(row.error) else None,
            latency_ms=Fraction(round(latency * _SCALED), _SCALED) if says(latency) else None,
            why=tuple(one for place in range(len(WHY)) for one in _evidence(getattr(row, own_field(place)))),
        )

    def with_expected_answers(self, failed: tuple[FailedScenario, ...]) -> tuple[FailedScenario, ...]:
        """The scenarios, with the expected answer after `wrong answer`, if the rows of a run have it."""
        settled = self.settled
        wrong = [settled.scores.ids[one.id] for one in failed if reasons.WRONG in one.reason]
        rows = self.reread([at for place in wrong for at in settled.positions[place]])
        answers: dict[str, str] = {}
        for at, row in rows.items():
            answer = dict(_evidence(getattr(row, own_field(WHY.index("missed"))))).get("answer")
            if answer is not None:
                id_ = settled.ids[settled.scores.scenario[at]]
                answers[id_] = min(answer, answers.get(id_, answer))
        return tuple(replace(one, reason=_with_answer(one.reason, answers.get(one.id))) for one in failed)


def longest_text(scenarios: int, trials: int) -> int:
    """How many characters of a text to show: texts share a fixed space, so that a report of many failures opens."""
    room = 160_000 + 2_000 * scenarios
    return min(LONGEST_TEXT, max(SHORTEST_TEXT, room // (2 * max(trials, 1))))


def _excerpt(text: Any, longest: int) -> Excerpt | None:
    return Excerpt(text[:longest], max(len(text) - longest, 0)) if says(text) else None


def _names(names: Collection[str]) -> tuple[str, ...]:
    return tuple(name[:LONGEST_NAME] for name in list(names)[:MOST_BEHAVIORS])


def _count(violations: Any) -> int | None:
    if violations.__class__ is int:
        return int(violations)
    return len(violations) if says(violations) else None


def _label(value: Any) -> str | None:
    if not says(value):
        return None
    return (value if value.__class__ is str else str(value).lower())[:LONGEST_NAME]


def _evidence(raw: Any) -> Iterator[tuple[str, str]]:
    """The entries of a JSON object, or of a list of pairs, as texts; nothing if it is anything else."""
    if not says_raw(raw) or len(bytes(raw)) > LONGEST_EVIDENCE:
        return
    try:
        value = json.loads(bytes(raw))
    except (ValueError, RecursionError):
        return
    pairs = list(value.items()) if isinstance(value, dict) else value if isinstance(value, list) else ()
    for pair in pairs[:MOST_BEHAVIORS]:
        match pair:
            case (str(name), value):
                shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                yield name[:LONGEST_NAME], shown[:LONGEST_NAME]


def _with_answer(reason: str, answer: str | None) -> str:
    """The reason with the expected answer, without the semicolons and slashes that separate the parts of a reason."""
    if not answer:
        return reason
    text = " ".join(answer.replace(";", ",").replace(" / ", " or ").split())
    shown = text if len(text) <= LONGEST_ANSWER else f"{text[:LONGEST_ANSWER]}…"
    return reason.replace(reasons.WRONG, f"{reasons.WRONG} ({shown})", 1)


# --- latency ---------------------------------------------------------------------------------


def latencies(settled: Settled) -> Latency | None:
    """The latencies of the trials that completed, in about 40 bins of equal width; None if no latency is known.

    Latencies far above the 95th percentile share one bin without an end: otherwise a few slow trials would squeeze all
    others into one bin.
    """
    column = settled.scores.numbers[0]
    known = sorted(column[at] for at in range(len(column)) if column[at] == column[at] and not settled.trial(at).error)
    if not known:
        return None
    errors = sum(settled.trial(at).error for at in range(len(column)))
    least, usual, most = known[0], known[nearest_rank(len(known), Fraction(95, 100)) - 1], known[-1]
    end = most if most <= 3 * usual else 2 * usual - least
    width = _round_width((end - least) / MOST_BINS)
    first, last = math.floor(Fraction(least) / width), math.floor(Fraction(end) / width)
    counted = Counter(min(max(math.floor(Fraction(value) / width), first), last + 1) for value in known)
    bins = [Bin(width * n, width * (n + 1), counted[n]) for n in range(first, last + 1)]
    above = counted[last + 1]
    return Latency((*bins, *([Bin(width * (last + 1), None, above)] if above else ())), errors)


def _round_width(least: float) -> Fraction:
    """The smallest of 1, 2 and 5 times a power of ten that is not below `least`."""
    if least <= 0:
        return Fraction(1)
    power = Fraction(10) ** math.floor(math.log10(least))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= least)
