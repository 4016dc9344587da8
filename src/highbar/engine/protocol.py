"""The contract of an engine: a request goes in, sums come out.

An engine that speaks SQL needs to offer only `Database`: the rest of the package does the work.
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
        """The names of the results' columns; tags inside `tags` are not listed."""

    def reduce(self, request: Request) -> Reduction:
        """Score, sum and group the trials. Raises InputError if a row cannot be judged."""

    def records(self, request: Request) -> Records:
        """A record of every scenario, with the request's slice columns; for a baseline or a comparison.

        Call `reduce` first, which refuses what cannot be judged.
        """

    def watched(self, progress: Callable[[float], None] | None) -> AbstractContextManager[None]:
        """While the context is open, report the finished share of the running query to `progress`, from 0 to 1."""


class FileEngine(Engine, Protocol):
    """An engine that reads the files that it is given."""

    def rows_of(self, file: ResultsFile) -> int:
        """The number of rows that are read from one file, to name the file if the totals differ."""


class PathEngine(Engine, Protocol):
    """An engine that finds and reads the files itself, possibly files that this process cannot read."""

    format: str

    def addresses(self) -> tuple[str, ...]:
        """The addresses of all files that the engine reads."""

    def count(self) -> int:
        """The number of results, counted by a separate query."""


Sizes = Mapping[str, int]
"""By group: how many numbers it has."""
Wanted = Mapping[str, Sequence[int]]
"""By group: the ranks to look up; the smallest number has rank 1."""
Found = Mapping[str, Mapping[int, float]]
"""By group and rank: the number at that rank."""


class LargeNumbers(Struct, frozen=True):
    """Columns whose whole numbers may need more than 64 bits.

    DuckDB has a type for these, and widens sums. An engine without such a type, or with a slow one, needs to know which
    columns of `trials` have such `values`, and which columns of `scenarios` fit 64 bits but have `sums` that may not.
    """

    values: frozenset[str] = frozenset()
    sums: frozenset[str] = frozenset()


NO_LARGE_NUMBERS = LargeNumbers()


class Query(Struct, frozen=True):
    """SQL in DuckDB's dialect, with hints for an engine that compiles queries and distributes their rows.

    DuckDB ignores the hints. They name subqueries by their aliases.
    """

    sql: str
    stages: tuple[str, ...] = ()  # subqueries that build large expressions on each other: compile each separately
    spread: tuple[str, ...] = ()  # subqueries whose rows are nearly all distinct: distribute them by value
    of_profile: bool = False  # whether it reads only the relation `profile`, which may be small enough to fetch
    large: LargeNumbers = NO_LARGE_NUMBERS  # the large columns of the relation that it defines; later queries sum them


Rows = Callable[[str | Query], list[Any]]
"""Runs a query and returns all rows."""


def as_query(query: str | Query) -> Query:
    """The query as a `Query`; plain SQL becomes one without hints."""
    return Query(query) if isinstance(query, str) else query


class Database(Protocol):
    """Runs queries in DuckDB's dialect over named relations."""

    @property
    def has_smallest(self) -> bool:
        """Whether it has the aggregate `arg_min(value, by, count)`: the `count` values with the smallest `by`."""

    def rows(self, query: str | Query) -> list[Any]:
        """All rows of a query, each a tuple; whole numbers as int, however large."""

    def define(self, name: str, query: str | Query, *, materialized: bool) -> None:
        """Name a query; a `materialized` one runs once, and later queries read its stored rows."""

    def list_texts(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
        """Name a table of texts, passed as data: a query that contains them would be slow to parse."""

    # Not SQL: every engine has its own way to find exact quantiles in bounded memory.
    def values_at(self, ranked: str, wanted: Wanted, sizes: Sizes) -> Found:
        """The exact numbers at the wanted ranks of each group; `ranked` selects `group_name`, `number` and `id`."""
