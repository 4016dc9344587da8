"""A mapping: which part of a foreign record fills which column; read from the policy, used by an importer."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from typing import Literal

from msgspec import Struct

from highbar.columns import JUDGING

Scalar = str | bool | Fraction
"""A value that a mapping compares with or fills in; numbers are exact."""


class Walk(Enum):
    """A step of a path that is neither a key nor an index."""

    EACH = "[]"  # every element of a list
    KEYS = "@keys"  # the keys of an object


class Path(Struct, frozen=True):
    """A way into a record: from the record itself, from the one around it (`^`), or from the whole document (`$`).

    `key`, `number` and `repeat` are not in the record: its key or its position, and the number of its trial
    among the records with the same id.
    """

    text: str
    steps: tuple[str | int | Walk, ...]
    base: Literal["record", "outer", "document", "key", "number", "repeat"] = "record"


class Check(Struct, frozen=True, omit_defaults=True):
    """A condition on a value: one of `values`, none of them, at least or at most the first, or present at all.

    Of a list, `of` says which elements must meet it; a column that judges takes no list without that.
    """

    operator: Literal["is", "is_not", "at_least", "at_most", "exists"]
    values: tuple[Scalar, ...]
    of: Literal["all", "any"] | None = None


class When(Struct, frozen=True):
    """All of these hold: the value at each path passes its check."""

    checks: tuple[tuple[Path, Check], ...]


class Feed(Struct, frozen=True):
    """One way to fill a column: a constant or the value at a path, converted to the type of the column."""

    path: Path | None = None
    value: Scalar | None = None
    check: Check | None = None
    values: Mapping[str, Scalar] | None = None  # translation of each value, by its text
    as_type: Literal["text", "number", "boolean"] | None = None
    times: Fraction | None = None
    default: Scalar | None = None
    when: When | None = None
    each: tuple[tuple[str, Feed], ...] | Feed | None = None  # of every element: an object of these, or one value
    where: When | None = None  # which elements


class RowMap(Struct, frozen=True):
    """The whole mapping. `rows` is the path from the document to the records: keys, then `[]` or `{}`, repeatedly.

    The records of a history have a digest of it, names of fields included: in another form, old runs look different.
    """

    rows: tuple[tuple[tuple[str, ...], Literal["[]", "{}"]], ...]
    columns: tuple[tuple[str, tuple[Feed, ...]], ...]  # of several feeds the first that gives a value
    where: When | None = None
    file: str | None = None

    @property
    def describes(self) -> bool:
        """Whether it fills no judging column and selects no records: only then can it add columns to imported rows."""
        return not self.rows and self.where is None and not JUDGING & {column for column, _ in self.columns}
