"""A field of a foreign file, the ways to feed a column from it, and the resulting guess."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from highbar.columns import COLUMN_NAMES

DEEPEST = 3
"""Keys of a path: a field that is nested deeper is rarely a verdict."""
MOST_FIELDS = 20_000
"""Distinct fields of a sample: an object whose keys are data could have millions."""
_ONLY_SHOWN = ("input", "output")


class RowField(Struct, frozen=True):
    """A field of the rows: the keys that lead to it, and its value in every row of the sample, None if absent."""

    path: tuple[str, ...]
    values: tuple[Any, ...]

    @property
    def given(self) -> list[Any]:
        """The values that are not absent."""
        return [value for value in self.values if value is not None]


class Candidate(Struct, frozen=True):
    """One way to feed a column: from a field, or from a `special` path such as `@key`.

    `options` are the keys of the feed other than its path. With a `constant`, the column is that text if the field is
    present at all.
    """

    field: RowField | None = None
    options: tuple[tuple[str, Any], ...] = ()
    special: str | None = None
    constant: str | None = None
    doubt: str | None = None
    group: int = 1  # how clear the name is, see `names.meanings`


class ColumnGuess(Struct, frozen=True):
    """What one of our columns could be fed from.

    If it is `settled`, the first candidate is the guess and the others are alternatives; or all of them `together` are
    the guess, and the first that gives a value counts. If it is not settled, the user must choose, and if it `blocks`,
    nothing may be judged before that.
    """

    column: str
    candidates: tuple[Candidate, ...]
    settled: bool
    note: str | None = None
    blocks: bool = False
    together: bool = False


class Guess(Struct, frozen=True):
    """A whole mapping: a guess for each column, and the fields that no column uses."""

    columns: tuple[ColumnGuess, ...]
    unused: tuple[RowField, ...]

    @property
    def settled(self) -> dict[str, Candidate]:
        """By column, the candidate of every column that needs no choice."""
        return {one.column: one.candidates[0] for one in self.columns if one.settled}

    @property
    def is_needed(self) -> bool:
        """Whether only a mapping can read the file: a column has another name or form, or must be chosen."""
        return any(one.blocks or (one.settled and not _is_ours(one)) for one in self.columns)


def _is_ours(one: ColumnGuess) -> bool:
    """Whether a column is read without a mapping, or does not matter for the verdict."""
    first = one.candidates[0]
    if one.together:
        return False
    if one.column.startswith("tags.") or one.column in _ONLY_SHOWN:
        return True
    return first.field is not None and first.field.path == (one.column,) and not first.options and not first.constant


def read_fields(rows: Sequence[Mapping[str, Any]]) -> list[RowField]:
    """Every field of the rows, in the order of the file, including those inside objects."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for number, row in enumerate(rows):
        for path, value in _members(row, ()):
            if path in found or len(found) < MOST_FIELDS:
                values = found.setdefault(path, [])
                values += [None] * (number - len(values))
                values.append(value)
    return [RowField(path, (*values, *[None] * (len(rows) - len(values)))) for path, values in found.items()]


def _members(row: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in row.items():
        here = (*path, str(key))
        yield here, value
        if isinstance(value, Mapping) and len(here) < DEEPEST and here[-1] not in COLUMN_NAMES:
            yield from _members(value, here)
