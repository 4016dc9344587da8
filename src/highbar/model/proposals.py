"""What a ratchet proposes: raise thresholds to the level of a baseline, each with a reason."""

from __future__ import annotations

from msgspec import Struct

from highbar.model.history import DamagedRecord
from highbar.model.rules import Place, Threshold


class Proposal(Struct, frozen=True):
    """One threshold of the policy: its new value (`after`), or None if it stays, and why."""

    rule: str
    metric: str
    before: Threshold
    after: Threshold | None
    reason: str
    place: Place


class PooledRuns(Struct, frozen=True):
    """The runs of a history that were pooled, by the names of their records, and how many were left out by reason."""

    folder: str
    records: tuple[str, ...]
    left_out: tuple[tuple[str, int], ...] = ()
    damaged: tuple[DamagedRecord, ...] = ()


class Ratchet(Struct, frozen=True):
    """A proposal for every threshold of a policy."""

    policy: str
    baseline: str
    forced: str | None  # the --force reason of the baseline, if its run did not pass
    proposals: tuple[Proposal, ...]
    written: bool = False
    notes: tuple[str, ...] = ()  # to read before it is written
    pooled: PooledRuns | None = None  # the runs of a history, if thresholds are raised to those

    @property
    def raised(self) -> tuple[Proposal, ...]:
        """The thresholds that rise."""
        return tuple(proposal for proposal in self.proposals if proposal.after is not None)
