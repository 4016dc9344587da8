"""What an engine is asked for and what it gives back: this page is the whole contract."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

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
