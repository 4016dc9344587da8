"""What is read, what the engine is asked to sum, and over which scenarios."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from highbar.model.words import Format, Where

if TYPE_CHECKING:  # of files of other tools
    from highbar.model.judging import Judging


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A file to read: where its bytes are, what to call it in messages, and how it is written."""

    path: str
    name: str
    format: Format
    compression: str | None = None
    original: str | None = None  # where the bytes came from, if `path` is a copy
    imported: str | None = None  # what was read, in words, if the rows were made from another tool's file
    notes: tuple[str, ...] = ()  # what the import warns of
    urgent: tuple[str, ...] = ()  # of these, what no option hides
    judging: Judging | None = None  # who judged, if the rows were made from another tool's file
    columns: tuple[str, ...] = ()  # all that its rows have, if we wrote them and none says anything twice
    partitions: tuple[tuple[str, str | None], ...] = ()  # columns that the names of its folders give (`day=2026-11-14`)


@dataclass(frozen=True, slots=True)
class Term:
    """A sum over scenarios: of their value of `column`, or of how many have one; with their weights if `weighted`."""

    column: str
    of: Literal["sum", "count"] = "sum"
    where: Where = ()
    weighted: bool = False


@dataclass(frozen=True, slots=True)
class Percentile:
    """The ⌈share·n⌉-th smallest value of `column` over all trials that have one."""

    column: str
    share: Fraction
    where: Where = ()


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of a column at which a trial without a value counts; None where the policy gives none."""

    worst: Fraction | None = None
    best: Fraction | None = None
    higher: bool = False  # whether higher values are better


@dataclass(frozen=True, slots=True)
class Undecided:
    """Which trials are undecided for any of some columns, each over some scenarios; of ids that match a pattern."""

    parts: tuple[tuple[str, Where], ...]
    pattern: str | None = None


Trial = tuple[str, int | None]
"""A scenario's id, and which of its trials."""

Linear = tuple[tuple[Term, Fraction], ...]
"""A weighted sum of terms."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """One sum over another, both over the same scenarios: what nearly every metric is, and what bounds are made of."""

    z: Linear
    d: Linear
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Hash once: ratios are looked up thousands of times in a check, and the hash of a fraction is slow."""
        object.__setattr__(self, "_hash", hash((self.z, self.d)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Ratio], tuple[Linear, Linear]]:
        return Ratio, (self.z, self.d)  # another process hashes text differently
