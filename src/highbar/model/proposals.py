"""What a ratchet proposes: thresholds that rise to what a baseline has shown, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from highbar.model.rules import Place, Threshold


@dataclass(frozen=True, slots=True)
class Proposal:
    """One threshold of the policy: what it becomes, or None where it stays, and why."""

    rule: str
    metric: str
    before: Threshold
    after: Threshold | None
    reason: str
    place: Place
    text_place: Place | None = None  # where the text begins, if the threshold is only a part of it


@dataclass(frozen=True, slots=True)
class Ratchet:
    """Every threshold of a policy held against a baseline; `diff` is the unified diff of the policy's text."""

    policy: str
    baseline: str
    forced: str | None  # why the baseline was recorded although its run did not pass
    proposals: tuple[Proposal, ...]
    diff: str
    written: bool = False
    notes: tuple[str, ...] = ()  # what to know before it is written

    @property
    def raised(self) -> tuple[Proposal, ...]:
        """The thresholds that rise."""
        return tuple(proposal for proposal in self.proposals if proposal.after is not None)
