"""One row → what it says (`Facts`) → what that is worth (`Trial`): "Scoring a trial" of the design, in its order.

Millions of rows say few different things, so facts hold no text and no measured number: they are interned, and a trial
is scored once for all rows with the same facts. Amounts that nobody knows are at their worst in a `Trial`;
`measures.py` says what they could be at best.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Any, NamedTuple

from msgspec import Struct

from highbar.core.rows.row import Observed, says, says_raw
from highbar.language.blank import is_blank

ANSWER, BEHAVIORS, MUST_NOTS, OWN, VIOLATIONS = 1, 2, 4, 8, 16
"""Bits for what a trial can be judged by: to pass, every trial of a scenario needs what any of them has."""
IN_SUITE = 32
"""A bit beside those for the demands of a suite: it has the scenario, whether it demands anything or not."""
DEMANDED = {"expected": ANSWER, "answer": ANSWER, "expected_behaviors": BEHAVIORS, "must_not": MUST_NOTS}
"""By key of a suite: the bit of what it demands."""


class Facts(NamedTuple):
    """What one row says by itself. What it leaves open is known with its scenario, or with all rows of its file."""

    error: bool
    unjudged: bool
    violated: bool
    of_run: bool  # `highbar run` wrote the row
    passed: bool | None  # its own judgment
    expected: int  # distinct behaviors that are expected
    seen: int  # those of them that were observed
    unnamed: int  # those of them that are neither named as observed nor marked as not observed
    behaviors: bool  # whether it says what was observed
    unmarked: bool  # whether a behavior is there without a mark
    must_nots: bool  # whether it lists any
    must_not_unmarked: bool  # whether one of those has no mark among the behaviors
    marked: bool  # whether every must-not says if it happened
    violations: bool  # whether it says what did happen
    correct: bool | None
    outcome: str | None
    labeled: bool  # whether it says the expected label
    predicted: bool  # whether it says the predicted one
    equal: bool  # whether the two are the same
    positive: bool | None  # whether the expected label is the positive one; None if that cannot be said
    found: bool  # whether the predicted label is
    agree: bool | None  # whether both are labels and equal; None if they are not both labels
    answer_checked: bool
    output: bool | None  # whether it has a visible output; None without the column, see `with_output_column`
    scored: bool  # whether a score of it judges: its quality, or a number of the user's own
    numbers: int  # a bit for each measured column that has a value


class Trial(Struct, frozen=True, gc=False):
    """What one row's facts are worth."""

    facts: Facts
    error: bool
    violated: bool
    passed: bool
    failed: bool
    unjudged: bool
    blank: bool  # nothing in the row judges anything
    open: bool  # undecided for every rate: blank, or `unjudged` without an error
    lost: bool  # never run, or its answer was lost
    has_answer: bool
    correct: bool
    answer_known: bool
    has_outcome: bool
    outcome_known: bool
    true_positive: bool
    false_positive: bool
    false_negative: bool
    contradicts: bool  # the row says two things about its answer
    must_nots_checked: bool
    violation_known: bool
    expected: int
    observed: int
    unknown: int  # of the expected behaviors, those about which the row says nothing
    score_expected: int  # behavior_score is score_observed / score_expected
    score_observed: int
    score_unknown: int
    asks_known: bool  # the row shows what its scenario asks for: a run wrote it, or it is judged
    given: int  # the bits of what it is judged by
    lacking: int  # the bits that a row which passed by its evidence must not lack if its scenario has them
    looked_at: int  # the bits of a suite's demands of which the row says what became; see LOOKED_AT


LOOKED_AT = {"expected_behaviors": 1, "must_not": 2, "expected": 4, "answer": 8}
"""By key of a suite: the bit in `Trial.looked_at`."""


class MarkedNames(NamedTuple):
    """The names of `behaviors` or `must_not` in any of its forms, by their mark."""

    true: Collection[str]
    false: Collection[str] = ()
    unmarked: Collection[str] = ()
    every: Collection[str] = ()
    plain: bool = True  # a list of names, which marks nothing


NO_MARKS = MarkedNames(())


def marks_of(entries: Any) -> MarkedNames:
    """The marks of a list of names, of {name: bool}, or of a list of objects."""
    if not says(entries):
        return NO_MARKS
    if entries.__class__ is dict:
        pairs = tuple(entries.items())
    elif entries and entries[0].__class__ is not str:
        pairs = tuple((one.name, _mark(one)) for one in entries)
    else:
        return MarkedNames(entries, every=entries)
    return MarkedNames(
        [name for name, mark in pairs if mark],
        [name for name, mark in pairs if mark is False],
        [name for name, mark in pairs if mark is None],
        [name for name, _ in pairs],
        plain=False,
    )


def _mark(entry: Any) -> bool:
    return bool(entry.observed if entry.__class__ is Observed else entry.violated)


def violations_of(row: Any) -> tuple[str, ...]:
    """The names of what happened and must not, from every column that names some, sorted."""
    named = set(row.violations) if row.violations.__class__ is list else set()
    must_nots = marks_of(row.must_not)
    if not must_nots.plain:
        named.update(must_nots.true)
    if must_nots.every and row.behaviors:
        named.update(set(marks_of(row.behaviors).true).intersection(must_nots.every))
    return tuple(sorted(named))


def facts_of(row: Any, positive: str | None, numbers: int, *, own_score: bool) -> Facts:
    """What one row says. `numbers` are the bits of its measured columns; `own_score`: one is the user's own."""
    behaviors, must_nots = marks_of(row.behaviors), marks_of(row.must_not)
    wanted = set(row.expected_behaviors) if row.expected_behaviors else set()
    seen = wanted.intersection(behaviors.true) if wanted and behaviors.true else ()
    happened = bool(must_nots.every and behaviors.true and not set(must_nots.every).isdisjoint(behaviors.true))
    violations = row.violations
    counted = violations > 0 if violations.__class__ is int else bool(violations)
    label, found = row.expected, row.predicted
    both = says(label) and says(found)
    truths = label.__class__ is bool and found.__class__ is bool
    return Facts(
        error=says(row.error) and row.error != "",
        unjudged=says(row.unjudged) and row.unjudged != "",
        violated=counted or (not must_nots.plain and bool(must_nots.true)) or happened,
        of_run=says_raw(row.highbar_run),
        passed=row.passed if says(row.passed) else None,
        expected=len(wanted),
        seen=len(seen),
        unnamed=len(wanted.difference(behaviors.true, behaviors.false)) if wanted else 0,
        behaviors=says(row.behaviors),
        unmarked=bool(behaviors.unmarked),
        must_nots=bool(must_nots.every),
        must_not_unmarked=bool(behaviors.unmarked) and not set(must_nots.every).isdisjoint(behaviors.unmarked),
        marked=not must_nots.plain and not must_nots.unmarked,
        violations=says(violations),
        correct=row.correct if says(row.correct) else None,
        outcome=row.outcome if says(row.outcome) else None,
        labeled=says(label),
        predicted=says(found),
        equal=both and label.__class__ is found.__class__ and label == found,
        positive=_is_positive(label, positive) if says(label) else None,
        found=bool(_is_positive(found, positive)) if says(found) else False,
        agree=label == found if truths else None,  # texts that both are labels: `Scores.settle_labels`
        answer_checked=bool(row.answer_checked),
        output=None if not says(row.output) else not is_blank(row.output),
        scored=says(row.quality_score) or own_score,
        numbers=numbers,
    )


def _is_positive(label: Any, positive: str | None) -> bool | None:
    """Whether a label is the positive one: `true`, or the text that the policy names."""
    if positive is None:
        return label if isinstance(label, bool) else None
    if isinstance(label, bool):
        return positive == ("true" if label else "false")
    return bool(label == positive)


def score(facts: Facts, pass_score: Fraction) -> Trial:
    """What the facts of a row are worth."""
    error, unjudged, violated = facts.error, facts.unjudged, facts.violated
    says_answer = facts.correct is not None or facts.outcome is not None or facts.labeled
    has_answer = says_answer or facts.answer_checked
    marked = facts.must_nots and facts.marked
    # Whether the row says if its must-nots happened; what an unjudged row does not name is unknown.
    checked = facts.violations or marked or (facts.behaviors and not unjudged and not facts.must_not_unmarked)
    silent = not (
        facts.passed is not None or says_answer or facts.behaviors or facts.violations or marked or facts.scored
    )
    blank = silent and not violated and not error
    observed = 0 if error else facts.seen
    unknown = 0 if error else facts.expected if not facts.behaviors else facts.unnamed if unjudged else 0
    outcome_known = not unjudged or error or facts.outcome is not None or facts.predicted
    by_check = error or facts.outcome is not None
    answer = facts.correct is not None or (by_check if facts.answer_checked else outcome_known)
    correct = has_answer and not error and _is_right(facts)
    # Unknown behaviors count as observed here: only a trial that misses `pass_score` even so has failed.
    enough = (observed + unknown) * pass_score.denominator >= pass_score.numerator * facts.expected
    by_evidence = enough and not (has_answer and answer and not correct)
    failed = violated or error or not (by_evidence if facts.passed is None else facts.passed)
    passed = (
        not failed
        and not unjudged
        and _is_proved(facts, has_answer=has_answer, answer_known=answer, checked=checked, unknown=unknown)
    )
    return Trial(
        facts=facts,
        error=error,
        violated=violated,
        passed=passed,
        failed=failed,
        unjudged=unjudged,
        blank=blank,
        open=blank or (unjudged and not error),
        lost=unjudged and not error and not facts.output,
        has_answer=has_answer,
        correct=correct,
        answer_known=answer,
        has_outcome=facts.outcome is not None or facts.positive is not None,
        outcome_known=outcome_known,
        **_outcomes(facts, outcome_known=outcome_known),
        contradicts=_contradicts(facts),
        must_nots_checked=checked,
        violation_known=violated or checked or not (facts.must_nots or blank or unjudged),
        expected=facts.expected,
        observed=observed,
        unknown=unknown,
        # A violation makes the score 0 of 1, whatever else was observed.
        score_expected=facts.expected if facts.expected and not violated else 1,
        score_observed=0 if violated else observed,
        score_unknown=0 if violated else unknown,
        asks_known=not (error or unjudged or silent) or facts.of_run,
        given=has_answer * ANSWER
        | (facts.expected > 0) * BEHAVIORS
        | facts.must_nots * MUST_NOTS
        | (facts.passed is not None) * OWN
        | facts.violations * VIOLATIONS,
        lacking=_lacking(facts, has_answer=has_answer) if passed and facts.passed is None else 0,
        looked_at=_looked_at(facts),
    )


def _is_proved(facts: Facts, *, has_answer: bool, answer_known: bool, checked: bool, unknown: int) -> bool:
    """Whether a row that nothing speaks against passed: by its own judgment, or since all that it demands is known."""
    if facts.passed is not None:
        return facts.passed
    # An agent that answers nothing does nothing forbidden either: a blank output earns no pass by its must-nots alone.
    clean = facts.must_nots and checked and facts.output is not False
    judged = facts.expected > 0 or has_answer or clean
    return judged and not unknown and (checked or not facts.must_nots) and (answer_known or not has_answer)


def _is_right(facts: Facts) -> bool:
    """Whether the answer is right, an error apart; of two statements that contradict each other the worse counts."""
    if facts.correct is not None or facts.outcome is not None:
        return not _is_wrong(facts) and facts.outcome not in ("fp", "fn")
    return not facts.answer_checked and facts.equal  # the check of the answer comes before the label


def _is_wrong(facts: Facts) -> bool:
    """Whether `correct` or the labels say that the answer is wrong."""
    return facts.correct is False or facts.agree is False


def _is_other(facts: Facts) -> bool:
    """Whether the labels agree on positive and `outcome` says negative, or the other way around."""
    return facts.agree is True and facts.outcome == ("tn" if facts.positive else "tp")


def _contradicts(facts: Facts) -> bool:
    right = facts.correct is True or facts.outcome in ("tp", "tn")
    missed = facts.outcome in ("fp", "fn")
    return (right and _is_wrong(facts)) or (missed and (facts.correct or facts.agree) is True) or _is_other(facts)


def _outcomes(facts: Facts, *, outcome_known: bool) -> dict[str, bool]:
    """The cells of precision and recall. An error turns a true positive into a false negative."""
    if facts.outcome is not None:
        wrong, other, outcome = _is_wrong(facts), _is_other(facts), facts.outcome
        return {
            "true_positive": outcome == "tp" and not wrong and not other and not facts.error,
            "false_positive": outcome == "fp" or (outcome == "tn" and wrong),
            "false_negative": outcome == "fn" or (outcome == "tp" and (facts.error or wrong or other)),
        }
    right = facts.found and not facts.error
    return {
        "true_positive": facts.positive is True and right,
        "false_positive": facts.positive is False and (facts.found or not outcome_known),
        "false_negative": facts.positive is True and not right,
    }


def _lacking(facts: Facts, *, has_answer: bool) -> int:
    return (
        (not has_answer) * ANSWER
        | (facts.expected == 0) * BEHAVIORS
        | (not facts.must_nots and not facts.violations) * MUST_NOTS
        | OWN
        | (not facts.violations) * VIOLATIONS
    )


def _looked_at(facts: Facts) -> int:
    checked = facts.behaviors and not facts.unmarked
    return (
        checked * LOOKED_AT["expected_behaviors"]
        | (facts.violations or facts.marked or checked) * LOOKED_AT["must_not"]
        | (facts.predicted or facts.correct is not None or facts.labeled) * LOOKED_AT["expected"]
        | (facts.correct is not None) * LOOKED_AT["answer"]
    )
