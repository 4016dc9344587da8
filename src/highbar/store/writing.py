"""Writing a document to a file, whole or not at all."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from highbar.errors import ReportError


def write(path: str | PathLike[str], text: str) -> None:
    """Write a document. Raises ReportError if that fails; then an existing file stays as it is."""
    file = os.fspath(path)
    try:
        replace(Path(os.path.realpath(file)), text.encode("ascii"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ReportError(f"{file} could not be written: {reason}") from error


def replace(target: Path, data: bytes, *, sync: bool = True) -> None:
    """Write a temporary file and rename it: a reader sees the old bytes or the new ones, never half of either."""
    beside = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}")
    try:
        with beside.open("xb") as stream:
            stream.write(data)
            if sync:
                stream.flush()
                os.fsync(stream.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
