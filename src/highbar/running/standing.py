"""What is known of the verdict of a run while it goes on."""

from __future__ import annotations

from msgspec import Struct

from highbar.model import Decision, RuleResult, Verdict


class Standing(Struct, frozen=True, eq=False):
    """The verdict so far and the open rules that can still change it, or the problem why there is no verdict yet."""

    verdict: Verdict | None = None
    open: tuple[RuleResult, ...] = ()
    problem: str | None = None

    @property
    def decision(self) -> Decision | None:
        """The verdict in one word; None if nothing can be judged so far."""
        return None if self.verdict is None else self.verdict.verdict

    @property
    def is_decided(self) -> bool:
        """Whether the rest of the run cannot change the verdict."""
        return self.decision is not None and not self.open
