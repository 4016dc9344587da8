"""How the verdict of a run stands while it goes on."""

from __future__ import annotations

from msgspec import Struct

from highbar.model import Decision, RuleResult, Verdict


class Standing(Struct, frozen=True, eq=False):
    """What is known at one moment: the verdict so far, the rules on which it still depends, or why there is none."""

    verdict: Verdict | None = None
    open: tuple[RuleResult, ...] = ()
    problem: str | None = None

    @property
    def decision(self) -> Decision | None:
        """The verdict in one word; None if nothing can be judged so far."""
        return None if self.verdict is None else self.verdict.verdict

    @property
    def is_decided(self) -> bool:
        """Whether the verdict is certain, whatever the rest of the run comes to."""
        return self.decision is not None and not self.open
