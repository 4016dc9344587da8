"""A policy's new bytes into its place: whole or not at all, and only over the bytes that they were made from."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from highbar.errors import InputError, Problem, ReportError


def rewrite(path: Path, before: bytes, after: bytes) -> None:
    """Replace the file. Raises InputError where it no longer holds `before`, ReportError where it cannot be written.

    The new file is written beside the old one and renamed over it: whoever is killed on the way, or reads meanwhile,
    leaves or finds one of the two. A link stays a link; the mode of the file stays what it is.
    """
    target = Path(os.path.realpath(path))
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
        with _beside(target) as copy:
            with copy.open("xb") as stream:
                stream.write(after)
                stream.flush()
                copy.chmod(mode)
                os.fsync(stream.fileno())
            if target.read_bytes() != before:
                raise InputError(Problem("changed while it was read", str(path), hint="run it again"))
            copy.replace(target)
        _settle(target.parent)
    except OSError as error:
        raise ReportError(f"{path} could not be written: {error.strerror or error}") from error


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    copy = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}")
    try:
        yield copy
    finally:
        copy.unlink(missing_ok=True)


def _settle(folder: Path) -> None:
    """Let the new name reach the disk as well, where a folder can be opened for that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
