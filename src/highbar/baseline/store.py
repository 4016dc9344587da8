"""Where a baseline lies: written beside and renamed, one writer at a time, and only over what the writer has seen."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from highbar.errors import InputError, Problem, ReportError

_PATIENCE = 10.0
_EVERY = 0.05


def digest(path: Path) -> str | None:
    """The digest of what lies there now; None where nothing does. Raises InputError where it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(Problem(f"cannot be read: {error.strerror or error}", str(path))) from None


def write(path: Path, text: str, *, seen: str | None) -> None:
    """Put `text` in the place of what had the digest `seen`; a reader finds the one or the other, never half of it.

    Raises InputError where something else lies there by now: of two writers at once one wins, and the other is told.
    """
    target = Path(os.path.realpath(path))
    try:
        with alone(target):
            if digest(target) != seen:
                message = "the baseline was changed by someone else in the meantime, and is left as it is"
                raise InputError(Problem(message, str(path), hint="look at it, and record again"))
            put(target, text.encode("ascii"))
    except OSError as error:
        raise ReportError(f"{path} could not be written: {error.strerror or error}") from error


def put(target: Path, data: bytes, mode: int | None = None) -> None:
    """Write beside and rename; whoever calls is `alone`. `mode` is the new file's, where it must be a certain one."""
    prefix = f".{target.name[:100]}."
    for left in target.parent.glob(f"{_escaped(prefix)}*.tmp"):  # by a writer that was killed: nobody else is here now
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
    """Where folders cannot be locked: a file that only one writer can make."""
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
