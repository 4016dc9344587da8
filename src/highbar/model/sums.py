"""Which files are read, and which sums over which scenarios the engine computes."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from msgspec import Struct

from highbar.model.judging import Judging
from highbar.model.literals import Format, Where


class ResultsFile(Struct, frozen=True):
    """A file to read: its path, its name in messages, and its format."""

    path: str
    name: str
    format: Format
    compression: str | None = None
    original: str | None = None  # the original path, if `path` is a copy
    imported: str | None = None  # a summary of what was read, if the rows were made from another tool's file
    notes: tuple[str, ...] = ()  # what the import warns of
    urgent: tuple[str, ...] = ()  # the notes that no option hides
    judging: Judging | None = None  # who judged, if the rows were made from another tool's file
    columns: tuple[str, ...] = ()  # of all its rows, if an importer wrote them and no key occurs twice
    recorded: str | None = None  # the digest that the file must have, if it belongs to a run folder
    is_part: bool = False  # the results of a run of some scenarios of its suite, judged as such
    partitions: tuple[tuple[str, str | None], ...] = ()  # columns from the names of its folders (`day=2026-11-14`)
    has_known_units: bool = False  # made from the file of a tool whose format defines the unit of its times


class Term(Struct, frozen=True):
    """A sum over scenarios: of their value of `column`, or of how many have one; with their weights if `weighted`."""

    column: str
    of: Literal["sum", "count"] = "sum"
    where: Where = ()
    weighted: bool = False


class Percentile(Struct, frozen=True):
    """The ⌈share·n⌉-th smallest value of `column` over all trials that have one."""

    column: str
    share: Fraction
    where: Where = ()


class Ends(Struct, frozen=True):
    """The values that a trial without a value counts as, at its worst and best; None if the policy gives none."""

    worst: Fraction | None = None
    best: Fraction | None = None
    higher: bool = False  # whether higher values are better


class Undecided(Struct, frozen=True):
    """Asks which trials are undecided in any (column, where) of `parts`, among scenarios whose id matches `pattern`."""

    parts: tuple[tuple[str, Where], ...]
    pattern: str | None = None


Trial = tuple[str, int | None]
"""A scenario's id, and the number of one of its trials."""

Linear = tuple[tuple[Term, Fraction], ...]
"""A weighted sum of terms."""


class Ratio(Struct, frozen=True, cache_hash=True):  # looked up thousands of times, and a fraction's hash is slow
    """One sum divided by another, over the same scenarios: most metrics are one, and bounds are computed for it."""

    z: Linear
    d: Linear
