"""Files that outlive a run: written beside and renamed, by one writer at a time, only over what the writer has seen."""

from __future__ import annotations

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
    """Replace the file that had the digest `seen`; a reader finds the old text or the new one, never half of it.

    Raises InputError if the file changed meanwhile: of two writers at once one wins, and the other gets this error.
    """
    target = Path(os.path.realpath(path))
    try:
        with alone(target):
            if digest(target) != seen:
                message = "the baseline was changed by someone else in the meantime, and is left as it is"
                raise InputError(Problem(message, str(path), hint="look at it, and record again"))
            replace_file(target, text.encode("ascii"))
    except OSError as error:
        raise ReportError(f"{path} could not be written: {error.strerror or error}") from error


def rewrite_policy(path: Path, before: bytes, after: bytes) -> None:
    """Replace the bytes `before` of a policy. Raises InputError if it changed, ReportError if it cannot be written.

    A writer that is killed leaves, and a reader finds, the old bytes or the new ones. A link stays a
    link, and the mode of the file stays what it is.
    """
    target = Path(os.path.realpath(path))
    try:
        with alone(target):
            if target.read_bytes() != before:
                raise InputError(Problem("changed while it was read", str(path), hint="run it again"))
            replace_file(target, after, stat.S_IMODE(target.stat().st_mode))
    except OSError as error:
        raise ReportError(f"{path} could not be written: {error.strerror or error}") from error


def replace_file(target: Path, data: bytes, mode: int | None = None) -> None:
    """Write beside and rename; the caller holds the lock (`alone`). `mode` is that of the file it replaces, if any."""
    # Beside the target, so that the rename stays within one file system and is atomic.
    prefix = f".{target.name[:100]}."
    # Left by writers that were killed: the lock excludes all others.
    for left in target.parent.glob(f"{_escaped(prefix)}*.tmp"):
        left.unlink(missing_ok=True)
    beside = target.with_name(f"{prefix}{os.urandom(6).hex()}.tmp")
    try:
        with beside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            if mode is not None:
                beside.chmod(mode)
            os.fsync(stream.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _escaped(name: str) -> str:
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


@contextmanager
def alone(target: Path) -> Iterator[None]:
    """Keep every other writer of this folder out. A lock on the folder leaves nothing behind, even if killed."""
    try:
        import fcntl  # not on every system
    except ImportError:
        with _lock_file(target):
            yield
        return
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


@contextmanager
def _lock_file(target: Path) -> Iterator[None]:
    """For systems that cannot lock folders: a file that only one writer can make."""
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
