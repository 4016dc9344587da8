"""The bar as it was at a git ref, and the files that a verdict was made from."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from highbar.model.literals import Decision


class Source(Struct, frozen=True):
    """A file that was read, with the digest of its bytes."""

    file: str
    sha256: str | None


class Weakening(Struct, frozen=True):
    """A demand of the policy that was lowered or removed; `now` is None if it was removed."""

    what: str  # the rule or the key, as in the policy
    change: Literal["lowered", "removed", "changed"]
    before: str
    now: str | None = None

    @property
    def sentence(self) -> str:
        """The change in one line: `thresholds.blocking.safety_rate: ≥ 100% → ≥ 60%`."""
        if self.now is None:
            return f"{self.what}: {self.before}, removed"
        return f"{self.what}: {self.before} → {self.now}"


class Against(Struct, frozen=True):
    """The bar as it was at a git ref: the verdict by that bar alone, and what was weakened since."""

    ref: str
    commit: str
    verdict: Decision
    policy: Source
    weakened: tuple[Weakening, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The warnings for the verdict: one for each weakened demand."""
        return tuple(f"weakened since {self.ref}: {each.sentence}" for each in self.weakened)
