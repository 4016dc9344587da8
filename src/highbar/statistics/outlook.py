"""The chances of a second run."""

from __future__ import annotations

from msgspec import Struct


class Outlook(Struct, frozen=True):
    """How likely a second run on the same scenarios passes, leaves open and fails a rule or a whole verdict."""

    passes: float
    inconclusive: float
    fails: float

    def of(self, outcome: str) -> float:
        """The chance of one outcome; an undefined one counts as failed."""
        return {"pass": self.passes, "inconclusive": self.inconclusive}.get(outcome, self.fails)
