"""What an engine is asked for and what it gives back: the whole contract.

An engine that speaks SQL needs less: `Database` is all that it has to offer, and the rest of the package does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from msgspec import Struct

from highbar.model import ResultsFile
from highbar.model.reduction import Records, Reduction
from highbar.model.requests import Request as Request  # noqa: PLC0414 - what goes in is part of this contract


class Engine(Protocol):
    """Anything that can reduce trials to sums."""

    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the results, tags as `tags.name` not included."""

    def reduce(self, request: Request) -> Reduction:
        """Score, sum and group the trials. Raises InputError if a row cannot be judged."""

    def records(self, request: Request) -> Records:
        """A record of every scenario, with the request's slice columns; for a baseline or a comparison.

        Call `reduce` first, which refuses what cannot be judged.
        """

    def watched(self, progress: Callable[[float], None] | None) -> AbstractContextManager[None]:
        """Tell `progress` now and then how much of the running query is done, from 0 to 1."""


class FileEngine(Engine, Protocol):
    """An engine that reads the files that it is given."""

    def rows_of(self, file: ResultsFile) -> int:
        """How many rows of one file are read; for a message, if the total is not what the files hold."""


class PathEngine(Engine, Protocol):
    """An engine that finds and reads the files itself, maybe where this process cannot."""

    format: str

    def addresses(self) -> tuple[str, ...]:
        """Of all files that are read."""

    def count(self) -> int:
        """How many results there are, by a separate query."""


Sizes = Mapping[str, int]
"""By group, how many numbers it has."""
Wanted = Mapping[str, Sequence[int]]
"""By group, the ranks that are asked for, the smallest number having rank 1."""
Found = Mapping[str, Mapping[int, float]]


class LargeNumbers(Struct, frozen=True):
    """Columns whose whole numbers may need more than 64 bits.

    DuckDB has a type for those, and widens sums. For an engine that has none, or a slow one: which columns of `trials`
    have such `values`, and which columns of `scenarios` fit 64 bits but have `sums` that may not.
    """

    values: frozenset[str] = frozenset()
    sums: frozenset[str] = frozenset()


NO_LARGE_NUMBERS = LargeNumbers()


class Query(Struct, frozen=True):
    """SQL in DuckDB's dialect, and what an engine that compiles queries and spreads their rows should know about it.

    DuckDB needs none of the hints. Subqueries are named by their aliases.
    """

    sql: str
    stages: tuple[str, ...] = ()  # subqueries whose rows are large expressions of each other: compile each apart
    spread: tuple[str, ...] = ()  # subqueries whose rows are nearly all different: spread them by their values
    of_profile: bool = False  # whether it reads the relation `profile` alone, which may be small enough to fetch
    large: LargeNumbers = NO_LARGE_NUMBERS  # what the columns of this relation hold; later queries sum them


Rows = Callable[[str | Query], list[Any]]
"""Runs a query and returns all rows."""


def as_query(query: str | Query) -> Query:
    """The query; plain SQL is one without hints."""
    return Query(query) if isinstance(query, str) else query


class Database(Protocol):
    """Runs queries in DuckDB's dialect over the relations that it has been given."""

    @property
    def has_smallest(self) -> bool:
        """Whether it has the aggregate `arg_min(value, by, count)`: the smallest values, a list of bounded length."""

    def rows(self, query: str | Query) -> list[Any]:
        """All rows of a query, each a tuple; whole numbers as int, however large."""

    def define(self, name: str, query: str | Query, *, materialized: bool) -> None:
        """Name a query; a `materialized` one runs once, and later queries read its stored rows."""

    def list_texts(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
        """Name a table of texts from this process: passed as data, since a query that contains them parses slowly."""

    # Not SQL: every engine has its own way to find exact quantiles in bounded memory.
    def values_at(self, ranked: str, wanted: Wanted, sizes: Sizes) -> Found:
        """The numbers at the wanted ranks of each group, exact; `ranked` selects `group_name`, `number` and `id`."""
