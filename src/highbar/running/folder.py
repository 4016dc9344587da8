"""The folder of a run: made whole by a rename, written by one process at a time, and read by everyone.

journal         what was planned, and every answer as it came
results.jsonl   the rows, made from the journal when the run ends
run.json        what was planned and done; it says which bytes of the other two it is about
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Self, TypeVar

import msgspec

from highbar.errors import HighbarError, InputError, Problem, ReportError
from highbar.running.history import RunHistory
from highbar.running.journal import Journal, JournalEnd, JournalReader, open_journal, payload_at
from highbar.running.records import Began, CanaryJudged, Finished, Resumed, RunPlan, TrialEnded, TrialJudged, encode
from highbar.store import run_document
from highbar.store.run_document import DOCUMENT, JOURNAL, RESULTS, RunDocument, RunEnd, StoredRows, is_run_folder

_Record = TypeVar("_Record")
_LONGEST_NAME = 60
"""Characters of a suite's name in the name of a folder."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_EXISTS = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}
_decode_ended = msgspec.json.Decoder(TrialEnded).decode
_decode_judged = msgspec.json.Decoder(TrialJudged).decode


class RunFolder:
    """A run that goes on. `history` always says what the journal says."""

    def __init__(self, path: Path, journal: Journal, history: RunHistory) -> None:
        self.path = path
        self.journal = journal
        self.history = history

    def append(self, record: Began | TrialEnded | TrialJudged | CanaryJudged | Resumed) -> int:
        """Record what happened, and return the offset of its line. Raises ReportError if it cannot be written."""
        payload = encode(record)
        self.history.note(self.journal.size, record)
        return self.journal.append(payload)

    async def wait_synced(self, offset: int) -> None:
        """Return when the record at this offset is durable."""
        await self.journal.wait_synced(offset)

    def finish(self, how: RunEnd, at: str) -> None:
        """Record the end of the run. This last record says that all others were synced, so that none can be lost."""
        self.journal.sync()
        record = Finished(how, at, self.history.ended)
        self.history.note(self.journal.size, record)
        self.journal.append(encode(record))
        self.journal.sync()

    def write_results(self, lines: Iterable[bytes]) -> StoredRows:
        """Replace results.jsonl as a whole by these lines, each with its end. Raises ReportError if that fails."""
        with replacement_for(self.path / RESULTS) as beside, beside.open("xb", buffering=1 << 20) as stream:
            stored = write_lines(lines, stream)
            stream.flush()
            os.fsync(stream.fileno())
        return stored

    def write_document(self, document: RunDocument) -> None:
        """Replace run.json as a whole. Raises ReportError if that fails."""
        run_document.save(document, self.path)
        with suppress(OSError):  # without it, a power failure may bring the older document back, which is refused then
            _sync_folder(self.path)

    def close(self) -> None:
        """Make everything durable, and let other processes resume the run."""
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_lines(lines: Iterable[bytes], stream: IO[bytes]) -> StoredRows:
    """Write rows, each with its end, and say what was written."""
    digest = hashlib.sha256()
    rows = 0
    for line in lines:
        if not line or line.find(b"\n") != len(line) - 1:
            raise ValueError("a row is one line")
        digest.update(line)
        stream.write(line)
        rows += 1
    return StoredRows(rows, digest.hexdigest())


def create(path: Path, plan: RunPlan) -> RunFolder:
    """A new folder with the plan in its journal. Raises InputError if it cannot be made, or if the path exists."""
    if os.path.lexists(path):
        raise _exists(path)
    beside = path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}")
    history = RunHistory(str(path / JOURNAL))
    history.note(0, plan)
    journal = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir()
        journal = Journal.create(beside / JOURNAL, history.name)
        journal.append(encode(plan))
        journal.sync()
        _appear(beside, path)
    except BaseException as error:
        if journal is not None:
            with suppress(HighbarError):  # the first error is the one to show
                journal.close()
        shutil.rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError | ReportError | ValueError):
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            hint = "--output DIR names another folder"
            raise InputError(Problem(f"the run folder cannot be made: {reason}", str(path), hint=hint)) from error
        raise
    return RunFolder(path, journal, history)


def _appear(beside: Path, path: Path) -> None:
    """Give the folder its name. Raises InputError if another has it by now."""
    _sync_folder(beside)
    # A rename replaces nothing but an empty folder, and one that appeared since we looked holds nothing to lose.
    if os.path.lexists(path):
        raise _exists(path)
    try:
        beside.rename(path)
    except OSError as error:
        if error.errno in _EXISTS:
            raise _exists(path) from None
        raise
    _sync_folder(path.parent)


def default_path(name: str, now: datetime) -> Path:
    """`runs/NAME-20261116-142530`, with a number behind it if that exists. Any text is a name."""
    safe = _UNSAFE.sub("-", name).strip("-.")[:_LONGEST_NAME].strip("-.") or "run"
    stem = f"{safe}-{now:%Y%m%d-%H%M%S}"
    number = 1
    path = Path("runs", stem)
    while os.path.lexists(path):
        number += 1
        path = Path("runs", f"{stem}-{number}")
    return path


def open_run(path: Path) -> RunFolder:
    """The folder of a run that ended or was killed, to go on with; nobody else may write it then.

    Raises InputError if it is no such folder, if another process has it open, or if its journal is damaged.
    """
    known = _known_end(path)
    history = RunHistory(str(path / JOURNAL))
    journal = Journal.reopen(path / JOURNAL, history.read, known)
    try:
        _ = history.plan
        _clear(path)
    except BaseException:
        journal.close()
        raise
    return RunFolder(path, journal, history)


def read_run(path: Path) -> RunHistory:
    """What the journal of a folder says, of a run that ended, was killed or goes on. Nothing is changed.

    Raises InputError if it is no such folder, or if its journal is damaged.
    """
    known = _known_end(path)
    history = RunHistory(str(path / JOURNAL))
    with open_journal(path / JOURNAL) as descriptor:
        reader = JournalReader(descriptor, history.name)
        for offset, payload in reader:
            history.read(offset, payload)
        reader.refuse_loss(known)
    _ = history.plan
    return history


@contextmanager
def recorded(path: Path) -> Iterator[Callable[[int], TrialEnded]]:
    """Reads the record of the end of a trial at an offset that a history gave, from the journal of a folder."""
    name = str(path / JOURNAL)
    with open_journal(path / JOURNAL) as descriptor:
        yield lambda offset: _decoded(_decode_ended, payload_at(descriptor, offset, name), name)


@contextmanager
def judged(path: Path) -> Iterator[Callable[[int], TrialJudged]]:
    """Reads the record of what a judge said at an offset that a history gave, from the journal of a folder."""
    name = str(path / JOURNAL)
    with open_journal(path / JOURNAL) as descriptor:
        yield lambda offset: _decoded(_decode_judged, payload_at(descriptor, offset, name), name)


def _decoded(decode: Callable[[bytes], _Record], payload: bytes, name: str) -> _Record:
    """The whole of a record, of which the history has read the head. Raises InputError if no run writes it so."""
    try:
        return decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(Problem(f"not a record of a run: {error}", name, hint="start a new run")) from None


def _known_end(path: Path) -> JournalEnd | None:
    """How far the journal was written when the run ended last, as run.json says it."""
    if not is_run_folder(path):
        message = "has no journal, so it is not the folder of a run" if path.is_dir() else "no such folder"
        raise InputError(Problem(message, str(path), hint="highbar run prints the name of its folder when it ends"))
    if not os.path.lexists(path / DOCUMENT):
        return None
    journal = run_document.read_document(path).journal
    return JournalEnd(journal.size, journal.lines, journal.checksum.encode())


def _clear(path: Path) -> None:
    """Remove what was written beside results and document by a process that was killed."""
    for name in (RESULTS, DOCUMENT):
        for left in path.glob(f".{name}.*"):
            with suppress(OSError):
                left.unlink()


def _exists(path: Path) -> InputError:
    hint = f"highbar run --resume {path} continues a run, --output DIR names another folder"
    return InputError(Problem("exists already, and nothing is overwritten", str(path), hint=hint))


@contextmanager
def replacement_for(target: Path) -> Iterator[Path]:
    """A path to write beside the target, which then takes its place. Raises ReportError if something fails."""
    beside = target.with_name(f".{target.name}.{os.urandom(6).hex()}")
    try:
        yield beside
        beside.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        raise ReportError(f"{target} could not be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def _sync_folder(path: Path) -> None:
    """Make the names in a folder durable, if the system can."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)
