"""Answers and checks, written short."""

from __future__ import annotations

from typing import Any

from highbar import checks
from highbar.documents.problems import ValueProblem
from highbar.model.answer import Answer, ToolCall


def said(*replies: str | None) -> Answer:
    """An answer of these replies, one per turn."""
    return Answer(replies)


def called(*calls: tuple[str, Any] | str) -> Answer:
    """An answer that is nothing but calls of tools."""
    made = [ToolCall(call, {}) if isinstance(call, str) else ToolCall(*call) for call in calls]
    return Answer((None,), (tuple(made),))


def read(value: Any, **options: Any) -> checks.Check:
    """The check, which has no problem."""
    reading = checks.read(value, **options)
    assert reading.problems == ()
    assert reading.check is not None
    return reading.check


def applied(value: Any, answer: Answer | str | None, **options: Any) -> checks.Finding:
    """What a check as a suite writes it comes to."""
    given = answer if isinstance(answer, Answer) else said(answer)
    return checks.apply(read(value), given, **options)


def observed(value: Any, answer: Answer | str | None, **options: Any) -> bool | None:
    return applied(value, answer, **options).observed


def faults(value: Any, **options: Any) -> tuple[ValueProblem, ...]:
    """What is wrong with a check as a suite writes it."""
    reading = checks.read(value, **options)
    assert (reading.check is None) == bool(reading.problems)
    return reading.problems
