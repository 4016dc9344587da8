"""A policy's new bytes into its place: whole or not at all, and only over the bytes that they were made from."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from highbar.baseline.store import alone, put
from highbar.errors import InputError, Problem, ReportError


def rewrite(path: Path, before: bytes, after: bytes) -> None:
    """Replace the file. Raises InputError where it no longer holds `before`, ReportError where it cannot be written.

    Whoever is killed on the way, or reads meanwhile, leaves or finds the old bytes or the new ones. A link stays a
    link, and the mode of the file stays what it is.
    """
    target = Path(os.path.realpath(path))
    try:
        with alone(target):
            if target.read_bytes() != before:
                raise InputError(Problem("changed while it was read", str(path), hint="run it again"))
            put(target, after, stat.S_IMODE(target.stat().st_mode))
    except OSError as error:
        raise ReportError(f"{path} could not be written: {error.strerror or error}") from error
