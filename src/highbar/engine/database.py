"""What runs the SQL of the reduction: all that an engine which speaks SQL has to bring along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Wanted = Mapping[str | None, Sequence[int]]
"""By group, the ranks that are asked for, the smallest value having rank 1."""
Found = Mapping[str | None, Mapping[int, float]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """What is ranked: a column of the trials that a condition lets through, in the groups that `by` makes (SQL)."""

    by: str
    let_through: str
    column: str


class Database(Protocol):
    """Runs queries in DuckDB's dialect over relations that it is told to name."""

    @property
    def has_smallest(self) -> bool:
        """Whether the aggregate `arg_min(value, by, count)` is there: the smallest values, a list of bounded length."""

    def rows(self, sql: str) -> list[Any]:
        """All rows of a query, each a tuple; whole numbers as int, however large."""

    def define(self, name: str, sql: str, *, kept: bool) -> None:
        """Name a query; `kept` means that it is run once, and its rows are kept for the queries to come."""

    def values_at(self, ranked: Ranked, wanted: Wanted, sizes: Mapping[str | None, int]) -> Found:
        """The values at the wanted ranks of each group, exact; `sizes` has how many values each group has."""
