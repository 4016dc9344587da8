"""Runs for a history that nobody ran, as the benchmark makes them too."""

from __future__ import annotations

from pathlib import Path

from bench.history_runs import DIGEST, add, counts, new_run

from highbar.model.history import NewRun
from highbar.store import history as store

__all__ = ["DIGEST", "add", "add_unchecked", "counts", "new_run"]


def add_unchecked(folder: Path, new: NewRun) -> Path:
    """Write a run as somebody else's program might, without a check that it can be read; return its file."""
    (file,) = store.paths(str(folder), [new.run])
    store._write_with_digest(file, new)
    return file
