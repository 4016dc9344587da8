"""The bar as it was at a git ref, and the files that a verdict was made from."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from highbar.model.literals import Decision


class Source(Struct, frozen=True):
    """A file that was read, with the digest of its bytes."""

    file: str
    sha256: str | None


class DifferingFile(Struct, frozen=True):
    """A file of the bar that is not as it was at the ref, in short; `now` is None if it was removed."""

    what: str  # the path in the repository
    change: Literal["lowered", "removed", "changed"]  # only the last two are written today
    before: str
    now: str | None = None


class Against(Struct, frozen=True):
    """The bar as it was at a git ref: the verdict by that bar alone, and what differs from it.

    `difference` is a unified diff, and `digest` what it can be accepted by; None if nothing differs. If it was
    `accepted`, the verdict at the ref decides nothing.
    """

    ref: str
    commit: str
    verdict: Decision
    policy: Source
    weakened: tuple[DifferingFile, ...] = ()
    difference: str = ""
    digest: str | None = None
    accepted: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """The warnings for the verdict."""
        if self.digest is None:
            return ()
        what = ", ".join(each.what for each in self.weakened) or "what is not in a file of the bar"
        return (f"differs from {self.ref}: {what}{'; accepted' if self.accepted else ''} (digest {self.digest})",)
