"""The chances of each outcome of a run that is yet to come."""

from __future__ import annotations

from msgspec import Struct


class Outlook(Struct, frozen=True):
    """The probabilities of each outcome of a rule, or of the whole verdict, in a run that is yet to come."""

    passes: float
    inconclusive: float
    fails: float

    def of(self, outcome: str) -> float:
        """The probability of one outcome; undefined counts as a fail."""
        return {"pass": self.passes, "inconclusive": self.inconclusive}.get(outcome, self.fails)
