"""Writing a file whole or not at all: by a temporary file and a rename, if need be by one writer at a time."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from highbar.errors import InputError, Problem, ReportError

_PATIENCE = 10.0
_EVERY = 0.05


def encode(document: Mapping[str, Any] | Sequence[Any]) -> str:
    r"""A document as JSON that neither an HTML page nor a CI log interprets: ASCII only, without `<` and `##`.

    The escapes `\u003c` and `#\u0023` replace these. Raises ValueError for NaN and infinities, which only a bug can
    put there.
    """
    text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
    # Both occur only inside of strings, where the escapes mean the same. `##[` begins a command to a CI runner.
    return text.replace("<", r"\u003c").replace("##", r"#\u0023") + "\n"


def write(path: str | PathLike[str], text: str) -> None:
    """Write a document. Raises ReportError if that fails; then an existing file stays as it is."""
    try:
        replace_file(path, text.encode("ascii"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ReportError(f"{os.fspath(path)} could not be written: {reason}") from error


def replace_file(path: str | PathLike[str], data: bytes, *, mode: int | None = None, sync: bool = True) -> None:
    """Write a temporary file and rename it: a reader sees the old bytes or the new ones, never half of either.

    A link stays a link. Without a `mode` it is the default. Raises OSError.
    """
    target = Path(os.path.realpath(path))
    # In the folder of the target, so that the rename stays within one file system and is atomic.
    beside = target.with_name(f"{_hidden(target)}{os.urandom(6).hex()}.tmp")
    try:
        with beside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            # Before the rename, so that the target never has another mode.
            if mode is not None:
                beside.chmod(mode)
            if sync:
                os.fsync(stream.fileno())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def _hidden(target: Path) -> str:
    """How the names of the temporary files and of the lock of a file begin."""
    return f".{target.name[:100]}."


# --- files that several writers change -------------------------------------------------------


def digest(path: Path) -> str | None:
    """The digest of the current file; None if it does not exist. Raises InputError if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(Problem("file.unreadable", f"cannot be read: {error.strerror or error}", str(path))) from None


def replace_baseline(path: Path, text: str, *, expected_digest: str | None) -> None:
    """Replace a baseline that had this digest; None if there was no file.

    Raises InputError if the file has changed since: of two writers at once one wins, and the other gets this error.
    """
    with exclusive(path) as target:
        if digest(target) != expected_digest:
            message = "the baseline was changed by someone else in the meantime, and is left as it is"
            raise InputError(Problem("file.changed", message, str(path), hint="look at it, and record again"))
        replace_file(target, text.encode("ascii"))


def replace_policy(path: Path, before: bytes, after: bytes) -> None:
    """Replace a policy, which keeps its mode. Raises InputError if it no longer has the bytes `before`."""
    with exclusive(path) as target:
        if target.read_bytes() != before:
            raise InputError(Problem("file.changed", "changed while it was read", str(path), hint="run it again"))
        replace_file(target, after, mode=stat.S_IMODE(target.stat().st_mode))


@contextmanager
def exclusive(path: Path) -> Iterator[Path]:
    """Lock out every other writer of a file, and get the file that a link points to.

    An OSError inside becomes a ReportError.
    """
    target = Path(os.path.realpath(path))
    try:
        with _locked(target):
            # These are left over from writers that were killed: the lock excludes a writer that is still at work.
            # Exactly our names: `*` would also match the file that a writer of a longer name is writing.
            for left in target.parent.glob(f"{glob.escape(_hidden(target))}{'[0-9a-f]' * 12}.tmp"):
                left.unlink(missing_ok=True)
            yield target
    except OSError as error:
        raise ReportError(f"{path} could not be written: {error.strerror or error}") from error


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Lock the folder of the file. This lock leaves nothing behind, even if the process is killed."""
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
    lock = target.with_name(f"{_hidden(target)}lock")
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            if time.monotonic() > deadline:
                hint = f"if no other writer is at work, remove {lock.name}"
                raise InputError(
                    Problem("baseline.locked", "another writer holds the baseline", str(target), hint=hint)
                ) from None
            time.sleep(_EVERY)
    try:
        yield
    finally:
        with suppress(OSError):
            lock.unlink()
