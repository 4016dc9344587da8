"""What every kind of judge offers."""

from __future__ import annotations

from decimal import Decimal
from typing import Protocol, TypeVar

from highbar.model.judgments import JudgeAnswer, JudgeQuestion

_Number = TypeVar("_Number", int, Decimal)


class Asker(Protocol):
    """One judge, or several that vote. It limits how many questions are in flight, and retries."""

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Return what the judge found, or why it found nothing. Raises nothing but CancelledError."""


def sum_if_known(first: _Number | None, *others: _Number | None) -> _Number | None:
    """The sum of tokens or costs; None if one of them is not known."""
    for other in others:
        first = None if first is None or other is None else first + other
    return first
