"""The digests of the results files, taken in a thread of their own while the engine reads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from highbar.load.files import sha256
from highbar.model import ResultsFile, Source


@contextmanager
def started(files: Sequence[ResultsFile]) -> Iterator[Callable[[], tuple[Source, ...]]]:
    """Give a function that waits for the digests and returns them; what went wrong is raised there."""
    sources: list[Source] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            sources.extend(Source(file.name, sha256(file)) for file in files)
        except OSError as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def finished() -> tuple[Source, ...]:
        thread.join()
        if failures:
            raise failures[0]
        return tuple(sources)

    yield finished
    thread.join()
