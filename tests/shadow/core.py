"""The row core in the place of the SQL engine, so that both can be compared and tests can run on either."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from msgspec.structs import replace

from highbar.core.rows.jsonl import Unread
from highbar.core.rows.reading import Reader
from highbar.core.score.asked import WHY, asked_of
from highbar.core.score.records import digests, records, widen
from highbar.core.score.reduce import reduce
from highbar.core.score.scores import Scores
from highbar.engine.opening import ENGINES, EngineKind
from highbar.errors import InputError, Problem
from highbar.load.results import Results
from highbar.model import ResultsFile
from highbar.model.reduction import Records, Reduction
from highbar.model.requests import Request


class CoreEngine:
    """The core behind the protocol of an engine."""

    def __init__(self, results: Results) -> None:
        self.results, self.reader = results, Reader(results.files)
        self._columns: tuple[str, ...] | None = None

    def columns(self) -> tuple[str, ...]:
        if self._columns is None:
            self._columns = _sound(self.reader.columns)
        return self._columns

    def scores(self, request: Request) -> Scores:
        scores = Scores(asked_of(request if request.record_by is None else widen(request)))
        _sound(lambda: self.reader.fill(scores))
        return scores

    def reduce(self, request: Request) -> Reduction:
        return reduce(self.scores(request), request, lambda places: self.reader.again(places, WHY))

    def records(self, request: Request) -> Records:
        found = records(self.scores(request), request)
        return replace(found, texts=digests(self.reader.rows())) if request.record_texts else found

    def watched(self, _progress: object) -> AbstractContextManager[None]:
        return nullcontext()

    def rows_of(self, file: ResultsFile) -> int:
        return sum(1 for _ in Reader([file]).rows())


def _sound(call: Callable[[], Any]) -> Any:
    """What a call returns; a problem without a place if some row is wrong, so that the lines are looked at."""
    try:
        return call()
    except Unread:
        raise InputError(Problem("results.unreadable", "a row is wrong")) from None


@contextmanager
def _over(results: Results) -> Iterator[Any]:
    if results.table is None:
        yield CoreEngine(results)
    else:
        with ENGINES["duckdb"].open(results) as engine:
            yield engine


ON_CORE: Mapping[str, EngineKind] = {**ENGINES, "duckdb": EngineKind(_over)}
"""The table of engines with the core in the place of DuckDB, where it reads files."""
