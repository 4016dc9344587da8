"""What runs the SQL of the reduction: all that an engine which speaks SQL has to bring along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Sizes = Mapping[str, int]
"""By group, how many numbers it has."""
Wanted = Mapping[str, Sequence[int]]
"""By group, the ranks that are asked for, the smallest number having rank 1."""
Found = Mapping[str, Mapping[int, float]]


class Database(Protocol):
    """Runs queries in DuckDB's dialect over relations that it is told to name."""

    @property
    def has_smallest(self) -> bool:
        """Whether the aggregate `arg_min(value, by, count)` is there: the smallest values, a list of bounded length."""

    def rows(self, sql: str) -> list[Any]:
        """All rows of a query, each a tuple; whole numbers as int, however large."""

    def define(self, name: str, sql: str, *, kept: bool) -> None:
        """Name a query; `kept` means that it is run once, and its rows are kept for the queries to come."""

    def list_texts(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
        """Name a table of texts that are at hand here: as data, since a query that spells them out is slow to read."""

    def values_at(self, ranked: str, wanted: Wanted, sizes: Sizes) -> Found:
        """The numbers at the wanted ranks of each group, exact; `ranked` is a query for `grp`, `number` and `id`."""
