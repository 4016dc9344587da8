"""Replacing a file: by a temporary file and a rename, by one writer at a time, and only if nobody else changed it."""

from __future__ import annotations

import glob
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from highbar.errors import InputError, Problem, ReportError

_PATIENCE = 10.0
_EVERY = 0.05


def digest(path: Path) -> str | None:
    """The digest of the current file; None if it does not exist. Raises InputError if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror or error}", str(path))) from None


def write(path: Path, text: str, *, seen: str | None) -> None:
    """Replace a baseline that had the digest `seen`; readers find the old text or the new one, never half of it.

    Raises InputError if the file has changed since: of two writers at once one wins, and the other gets this error.
    """
    target = Path(os.path.realpath(path))
    try:
        with locked(target):
            if digest(target) != seen:
                message = "the baseline was changed by someone else in the meantime, and is left as it is"
                raise InputError(Problem(message, str(path), hint="look at it, and record again"))
            replace_file(target, text.encode("ascii"))
    except OSError as error:
        raise ReportError(f"{path} could not be written: {error.strerror or error}") from error


def rewrite_policy(path: Path, before: bytes, after: bytes) -> None:
    """Replace a policy. Raises InputError if it no longer has the bytes `before`, ReportError if it cannot be written.

    Readers find the old bytes or the new ones, even if the writer is killed. A link stays a link, and the file keeps
    its mode.
    """
    target = Path(os.path.realpath(path))
    try:
        with locked(target):
            if target.read_bytes() != before:
                raise InputError(Problem("changed while it was read", str(path), hint="run it again"))
            replace_file(target, after, stat.S_IMODE(target.stat().st_mode))
    except OSError as error:
        raise ReportError(f"{path} could not be written: {error.strerror or error}") from error


def replace_file(target: Path, data: bytes, mode: int | None = None) -> None:
    """Write a temporary file and rename it; the caller holds the lock. Without a `mode` it is the default."""
    # In the folder of the target, so that the rename stays within one file system and is atomic.
    prefix = f".{target.name[:100]}."
    # These are left over from writers that were killed: the lock excludes a writer that is still at work.
    # Exactly our names: `*` would also match the file that a writer of a longer name is writing under its own lock.
    for left in target.parent.glob(f"{glob.escape(prefix)}{'[0-9a-f]' * 12}.tmp"):
        left.unlink(missing_ok=True)
    beside = target.with_name(f"{prefix}{os.urandom(6).hex()}.tmp")
    try:
        with beside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            # Before the rename, so that the target never has another mode.
            if mode is not None:
                beside.chmod(mode)
            os.fsync(stream.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """Lock out every other writer of the folder. This lock leaves nothing behind, even if the process is killed."""
    try:
        import fcntl  # not on every system
    except ImportError:
        with _lock_file(target):
            yield
        return
    # The system releases the lock when the folder is closed, or when the process ends in any way.
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@contextmanager
def _lock_file(target: Path) -> Iterator[None]:
    """The lock on systems without `fcntl`: a file that only one writer can create."""
    lock = target.with_name(f".{target.name[:100]}.lock")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            if time.monotonic() > deadline:
                hint = f"if no other writer is at work, remove {lock.name}"
                raise InputError(Problem("another writer holds the baseline", str(target), hint=hint)) from None
            time.sleep(_EVERY)
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()
