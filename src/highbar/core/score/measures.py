"""What a trial adds to each measure, at worst and at best: a table with one entry for each measure.

Example: `correct`, and three trials of one scenario. The first says `correct: true`: it is `given` an answer, and so
the scenario has one, and all its trials count. The second says nothing about an answer: it lacks what its scenario has,
and counts its `lack`. The third crashed: it counts `anyway`, as errors, violations and unjudged trials do, also if no
trial of its scenario is given an answer but other scenarios have one.

Measures that are computed from judgments are listed here. Those of a measured column follow from its row in
`columns.py`: whether it has bounds, its scale, and which direction is better.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from highbar.columns import BY_NAME, EXTRA, EXTRA_SCALE, MEASURED, Column
from highbar.core.score.trial import ANSWER, BEHAVIORS, Trial
from highbar.model import Ends

World = Literal["worst", "best"]
"""How undecided trials count: every check is made at the worst, and again at the best if there are any."""
Test = Callable[[Trial], bool]
Amount = Callable[[Trial], int]
NO_ENDS = Ends()
PASSED, VIOLATED, SCORE = "passed", "violated", "behavior_score"
"""The measures that a scenario sums in a way of their own."""


def never(_: Trial) -> bool:
    """For a measure of which no trial is so."""
    return False


def always(_: Trial) -> bool:
    """For a measure of which every trial is so."""
    return True


def nothing(_: Trial) -> int:
    """The amount of a trial that adds nothing."""
    return 0


class Numbers(Struct, frozen=True):
    """The column whose numbers a measure sums, and the whole numbers at which trials without one count."""

    place: int  # of the column among those that are measured
    scale: int = 1  # sums are whole multiples of 1/scale, so that they are exact in whatever order the rows come
    up: bool = False  # whether a number with more digits becomes the next larger multiple, which is worse
    zero_on_error: bool = False  # whether an error counts 0, whatever was recorded
    beyond: int | None = None  # the end beyond which a value counts better than none
    beyond_below: bool = False  # whether lower values are beyond it
    if_not_given: Test | None = None  # which trials add their number if no trial is given the measure; None: all


class TrialMeasure(Struct, frozen=True):
    """A number that a trial may have. `worst` and `best` are what it adds beside its number in a column."""

    given: Test
    anyway: Test = never
    worst: Amount = nothing
    best: Amount = nothing
    lack_worst: Amount = nothing
    lack_best: Amount = nothing
    unknown: Test = never  # whether a trial that is given it, or counts anyway, is undecided
    # What an error adds to a scenario that is not given it; None: nothing but what `anyway` says. It adds nothing if it
    # is known what the scenario asks for: a crash leaves alone what nobody asked.
    crash: int | None = None
    bit: int = 0  # the bit of the suite's demand for it, 0 if a suite cannot demand it
    of_behaviors: bool = False  # counted one by one: a trial without any lacks as many as another one expects
    # If there are any, the scenario has the measure if each of these is given by some trial, not all by the same one.
    given_separately: tuple[Test, ...] = ()
    valueless: Test | None = None  # in a column without bounds: whether a trial that has it has no value of its own
    numbers: Numbers | None = None
    every: bool = False  # whether every trial has it


def _every(worst: Test, best: Test, unknown: Test) -> TrialMeasure:
    return TrialMeasure(always, worst=worst, best=best, unknown=unknown, every=True)


def _no_answer(t: Trial) -> bool:
    return t.open and not t.has_answer


def _no_outcome(t: Trial) -> bool:
    return t.open and not t.has_outcome


def _open(t: Trial) -> bool:
    # An error beside `unjudged` counts like the open trial that it was before: an error never helps.
    return t.open or (t.error and t.unjudged)


def _crashed(t: Trial) -> bool:
    return t.error and t.unjudged and not t.has_outcome  # wrong, as it is in accuracy


def _outcome(worst: Test, best: Test, lack_worst: Amount, lack_best: Amount, crash: int) -> TrialMeasure:
    return TrialMeasure(
        lambda t: t.has_outcome,
        _open,
        worst,
        best,
        lack_worst,
        lack_best,
        unknown=lambda t: (t.has_outcome and not t.outcome_known) or _no_outcome(t),
        crash=crash,
    )


def _not_error(t: Trial) -> int:
    return not t.error


def _expects(t: Trial) -> bool:
    return t.expected > 0


JUDGED: Mapping[str, TrialMeasure] = {
    PASSED: _every(lambda t: t.passed, lambda t: not t.failed, lambda t: not t.passed and not t.failed),
    "error": _every(lambda t: t.error or t.lost, lambda t: t.error, lambda t: t.lost),
    VIOLATED: _every(
        lambda t: t.violated or not t.violation_known, lambda t: t.violated, lambda t: not t.violation_known
    ),
    "unjudged": _every(lambda t: t.unjudged, lambda t: t.unjudged, lambda t: t.unjudged and not t.error),
    "correct": TrialMeasure(
        lambda t: t.has_answer,
        _open,
        lambda t: t.correct,
        lambda t: t.correct or (t.has_answer and not t.answer_known) or _no_answer(t),
        lack_best=_not_error,
        unknown=lambda t: (t.has_answer and not t.answer_known) or _no_answer(t),
        crash=0,
        bit=ANSWER,
    ),
    # An unknown prediction counts against both at worst: as a false positive in precision, a false negative in recall.
    "tp": _outcome(
        lambda t: t.true_positive,
        lambda t: t.true_positive or (t.false_negative and not t.outcome_known) or _no_outcome(t),
        nothing,
        _not_error,
        crash=0,
    ),
    "fp": _outcome(
        lambda t: t.false_positive or _no_outcome(t),
        lambda t: t.false_positive and t.outcome_known,
        _not_error,
        nothing,
        crash=0,
    ),
    "fn": _outcome(
        lambda t: t.false_negative or _no_outcome(t) or _crashed(t),
        lambda t: (t.false_negative and t.outcome_known) or _crashed(t),
        lambda _: 1,
        lambda t: t.error,
        crash=1,
    ),
    "observed": TrialMeasure(
        _expects,
        _open,
        lambda t: t.observed,
        lambda t: t.observed + t.unknown,
        lack_best=_not_error,
        unknown=lambda t: t.unknown > 0 or (t.open and not t.expected),
        crash=0,
        bit=BEHAVIORS,
        of_behaviors=True,
    ),
    "expected": TrialMeasure(
        _expects,
        _open,
        lambda t: t.expected,
        lambda t: t.expected,
        lambda _: 1,
        lambda _: 1,
        crash=1,
        bit=BEHAVIORS,
        of_behaviors=True,
    ),
    SCORE: TrialMeasure(
        _expects,
        lambda t: t.violated or _open(t),
        lack_best=_not_error,
        unknown=lambda t: t.score_unknown > 0 or (t.open and not t.expected and not t.violated),
        crash=0,
        bit=BEHAVIORS,
    ),
}
"""The measures that are computed from judgments. What a trial adds to `behavior_score` is a fraction: `scenario.py`."""
ALWAYS = (PASSED, "error", VIOLATED, "unjudged", "correct", SCORE)
"""The measures that every check needs."""


def has_number(place: int) -> Test:
    """Whether a trial has a value in the measured column at this place."""
    return lambda t: t.facts.numbers >> place & 1 == 1


def _unbounded(place: int, scale: int, ends: Ends, *, up: bool) -> TrialMeasure:
    """The sum of a column without bounds: trials without a value count at the end that the policy gives."""
    has = has_number(place)
    worst, best = (int((end or 0) * scale) for end in (ends.worst, ends.best))
    is_known = ends.worst is not None and ends.best is not None
    return TrialMeasure(
        has,
        lambda t: t.error or t.open,
        lambda t: worst if not has(t) and (t.error or t.open) else 0,
        # An error counts at the worse end even at best: it is known to be bad, not undecided.
        lambda t: 0 if has(t) else worst if t.error else best if t.open else 0,
        lambda _: worst,
        lambda _: best,
        unknown=lambda t: t.open and not has(t),
        valueless=lambda t: not has(t),
        numbers=Numbers(place, scale, up, beyond=worst if is_known else None, beyond_below=ends.higher),
    )


def _bounded(place: int, column: Column) -> TrialMeasure:
    """The sum of a column from 0 to 1: a crashed trial counts 0, an undecided one 0 at worst and 1 at best."""
    has, one = has_number(place), column.scale
    return TrialMeasure(
        has,
        lambda t: t.error or t.open,
        best=lambda t: one if t.open and not has(t) else 0,
        lack_best=lambda _: one,
        unknown=lambda t: t.open and not has(t),
        numbers=Numbers(place, one, column.better == "lower", zero_on_error=True),
    )


def _pair(places: Mapping[str, int]) -> tuple[Test, Test, Test]:
    quality, tokens = has_number(places["quality_score"]), has_number(places["tokens_used"])
    return quality, tokens, lambda t: quality(t) and tokens(t) and not t.error


def _quality_both(places: Mapping[str, int]) -> TrialMeasure:
    """The quality of trials that have tokens too."""
    quality, tokens, both = _pair(places)
    one = BY_NAME["quality_score"].scale
    return TrialMeasure(
        both,
        lambda t: t.error or t.open,
        best=lambda t: one if t.open and not quality(t) else 0,
        lack_best=lambda t: 0 if quality(t) else one,
        unknown=lambda t: t.open and not both(t),
        given_separately=(quality, tokens),
        numbers=Numbers(places["quality_score"], one, zero_on_error=True, if_not_given=lambda t: t.open),
    )


def _tokens_both(places: Mapping[str, int], ends: Ends) -> TrialMeasure:
    """The tokens of trials that have a quality too; the tokens of a crashed trial count although it has no quality."""
    quality, tokens, both = _pair(places)
    worst = int(ends.worst or 0)
    return TrialMeasure(
        both,
        lambda t: t.error or t.open,
        lambda t: worst if not tokens(t) and (t.error or t.open) else 0,
        lambda t: worst if not tokens(t) and t.error else 0,
        lambda t: 0 if tokens(t) else worst,
        unknown=lambda t: t.open and not tokens(t),
        valueless=lambda t: not tokens(t),
        given_separately=(quality, tokens),
        numbers=Numbers(
            places["tokens_used"],
            beyond=None if ends.worst is None else worst,
            if_not_given=lambda t: t.error or t.open,
        ),
    )


def measures_for(
    named: Collection[str], extras: Sequence[str], ends: Mapping[str, Ends], places: Mapping[str, int]
) -> dict[str, TrialMeasure]:
    """The measures that a request names, and those that every check needs; `places` are those of measured columns."""
    found = {name: measure for name, measure in JUDGED.items() if name in named or name in ALWAYS}
    if "quality_both" in named:
        found["quality_both"] = _quality_both(places)
    if "tokens_both" in named:
        found["tokens_both"] = _tokens_both(places, ends.get("tokens_used", NO_ENDS))
    for column in MEASURED:
        if column.name in named:
            place, of_column = places[column.name], ends.get(column.name, NO_ENDS)
            up = column.better == "lower" and column.form != "whole"
            found[column.name] = (
                _bounded(place, column) if column.bounded else _unbounded(place, column.scale, of_column, up=up)
            )
    for name in extras:
        of_column = ends.get(f"{EXTRA}{name}", NO_ENDS)
        found[f"{EXTRA}{name}"] = _unbounded(places[name], EXTRA_SCALE, of_column, up=not of_column.higher)
    return found


def scaled(number: float, scale: int, *, up: bool) -> int:
    """A number as a whole multiple of 1/scale: exact if it has no more digits, else the next worse multiple.

    The nearest multiple could be better than what was recorded, and reach a threshold that the number misses. A number
    has no more digits exactly if dividing the nearest multiple by the scale gives that float again.
    """
    nearest = round(number * scale)
    back = nearest / scale
    if back == number:
        return nearest
    return nearest + (up and back < number) - (not up and back > number)
