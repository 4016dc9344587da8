"""Columns that the names of folders give, as Spark and others write tables: `day=2026-11-14/part-0.parquet`."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from msgspec.structs import replace

from highbar.model import ResultsFile

NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What those who write such folders call an absent value."""


def read(file: ResultsFile, folder: str | None) -> ResultsFile:
    """A file with the columns of the folders between it and the `folder` that was named; those above it say nothing."""
    if file.format != "parquet" or folder is None:
        return file
    between = Path(file.name).relative_to(folder).parts[:-1]
    return replace(file, partitions=tuple(_column(part) for part in between if "=" in part.strip("=")))


def _column(part: str) -> tuple[str, str | None]:
    name, _, value = part.partition("=")
    return unquote(name), None if value == NOTHING else unquote(value)
