"""A row and its trial → why it did not pass, in words; and the reasons of several trials, in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from highbar.core.score.limits import LONGEST_REASON, MOST_NAMED, MOST_REASONS
from highbar.core.score.trial import Trial, marks_of, violations_of

LACKS = "undecided: a trial lacks a column by which another trial, or the suite, has this scenario judged"
"""The reason of a scenario whose trials have none of their own."""
WRONG = "wrong answer"
_LOCATION = re.compile(r"[\n\r]\s*at [^\n\r]*\Z", re.ASCII)


def reason(row: Any, trial: Trial) -> str | None:
    """Why a trial did not pass; None if it did."""
    return None if trial.passed else "; ".join(_reasons(row, trial))


def _reasons(row: Any, t: Trial) -> Iterable[str]:
    if t.violated:
        names = violations_of(row)
        yield "violated: " + (", ".join(names[:MOST_NAMED]) if names else f"{row.violations} times")
    if t.error:
        yield "error: " + one_line(row.error)[:LONGEST_REASON]
    elif t.observed + t.unknown < t.expected:
        yield "missing: " + ", ".join(missing_names(row, unjudged=t.unjudged)[:MOST_NAMED])
    if not t.error and t.has_answer and t.answer_known and not t.correct:
        yield WRONG
    alike = t.observed == t.expected and (t.correct or not t.has_answer)
    if t.facts.passed is False and not t.error and not t.violated and alike:
        yield "marked as not passed"
    if not t.failed:
        yield f"undecided: {_undecided(row, t)}"


def missing_names(row: Any, *, unjudged: bool) -> list[str]:
    """The expected behaviors that were not observed; of an unjudged row, those that are marked so."""
    marks = marks_of(row.behaviors)
    wanted = dict.fromkeys(row.expected_behaviors or ())
    return [name for name in wanted if name not in marks.true and (not unjudged or name in marks.false)]


def one_line(error: str) -> str:
    """The message of a stack trace: its last line, as in Python, or its first if the last is a location, as in Java."""
    trimmed = error.rstrip(" \t\n\r\f\v")
    if _LOCATION.search(trimmed):
        return re.split(r"[\n\r]", trimmed, maxsplit=1)[0]
    return re.split(r"[\n\r]", trimmed)[-1].lstrip(" \t\n\r\f\v")


def _undecided(row: Any, t: Trial) -> str:
    """Why a trial is undecided: the first reason that applies."""
    if t.unjudged:
        return str(row.unjudged)[:LONGEST_REASON]
    if t.unknown:
        return "no behaviors say which of the expected ones were observed; if none was, record behaviors: []"
    if t.facts.must_nots and not t.must_nots_checked:
        return "nothing says whether it did what it must not; if it did not, record violations: []"
    if t.facts.must_nots and t.facts.output is False:
        return "the output is blank, and only its must-nots were checked"
    if not t.expected and t.facts.behaviors:
        return (
            "behaviors without expected_behaviors to hold them against;"
            " a suite demands those, but does not fill them in"
        )
    return "nothing in the result says whether it passed; record passed, correct, or behaviors"


def together(reasons: Iterable[str | None]) -> str | None:
    """The first of several reasons, each once; None if there is none."""
    found = sorted({one for one in reasons if one is not None})
    return " / ".join(found[:MOST_REASONS]) or None
