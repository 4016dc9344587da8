"""Columns that the names of folders give, as Spark and others write tables: `day=2026-11-14/part-0.parquet`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from highbar.model import ResultsFile

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What those who write such folders call an absent value."""


def read(folder: str, files: Iterable[ResultsFile]) -> Iterator[ResultsFile]:
    """The files of a folder that was named, with the columns of the folders in it; those above it say nothing."""
    for file in files:
        if file.format != "parquet" or not Path(folder).is_dir():
            yield file
            continue
        between = Path(file.name).relative_to(folder).parts[:-1]
        yield replace(file, partitions=tuple(_column(part) for part in between if "=" in part.strip("=")))


def _column(part: str) -> tuple[str, str | None]:
    name, _, value = part.partition("=")
    return unquote(name), None if value == NOTHING else unquote(value)
