"""The order in which sequential rules look at the scenarios of a run; it is recorded before the first call."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

NO_ORDER = "the rows have no recorded order"
"""A reason why there is no RunOrder; rows without one are judged only when all of them are there."""


class RunOrder(Struct, frozen=True):
    """A random permutation of all planned scenarios, and which of them have finished all their planned trials.

    A trial has finished once it ended in any way: with an answer, an error, or without an answer after all retries.
    """

    ids: tuple[str, ...]
    trials: Mapping[str, int]  # planned, by id
    finished: frozenset[str]
    ended: int  # how many trials have ended, including those of unfinished scenarios
    seed: int
    decided_by: str | None = None  # the digest of the policy that was to decide the run, if it is known

    @property
    def planned(self) -> int:
        """How many trials are planned."""
        return sum(self.trials.values())
