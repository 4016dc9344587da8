"""The folder of a run: it appears complete, by a rename; one process at a time writes it, and anyone may read it.

journal         the plan, and every answer as it came
results.jsonl   the rows, made from the journal when the run ends
run.json        what was planned and done, with the lengths and checksums of the other two files
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO, Self, TypeVar

import msgspec

from highbar.errors import HighbarError, InputError, Problem, ReportError
from highbar.running.journal import Journal, JournalEnd, JournalReader, open_journal, payload_at
from highbar.running.journal_state import JournalState
from highbar.running.records import (
    Began,
    CanaryJudged,
    Finished,
    JudgeRead,
    Resumed,
    RunPlan,
    TrialEnded,
    TrialJudged,
    encode,
)
from highbar.store import run_document
from highbar.store.run_document import DOCUMENT, JOURNAL, RESULTS, RunDocument, RunEnd, StoredRows, is_run_folder

_Record = TypeVar("_Record")
_LONGEST_NAME = 60
"""Characters of the suite's name in the name of its run folder."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_EXISTS = {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}
_decode_ended = msgspec.json.Decoder(TrialEnded).decode
_decode_judged = msgspec.json.Decoder(TrialJudged).decode


class RunFolder:
    """A run folder that is open for writing. `history` always agrees with the journal."""

    def __init__(self, path: Path, journal: Journal, history: JournalState) -> None:
        self.path = path
        self.journal = journal
        self.history = history

    def append(self, record: Began | TrialEnded | TrialJudged | JudgeRead | CanaryJudged | Resumed) -> int:
        """Record what happened, and return the offset of its line. Raises ReportError if it cannot be written."""
        payload = encode(record)
        # Before the line is written: a record that contradicts the history must not get into the journal.
        self.history.note(self.journal.size, record)
        return self.journal.append(payload)

    async def wait_synced(self, offset: int) -> None:
        """Return when the record at this offset is durable."""
        await self.journal.wait_synced(offset)

    def finish(self, how: RunEnd, at: str) -> None:
        """Record the end of the run. All other records are synced first, and this one says so: none can be lost."""
        self.journal.sync()
        record = Finished(how, at, self.history.ended)
        self.history.note(self.journal.size, record)
        self.journal.append(encode(record))
        self.journal.sync()

    def write_results(self, lines: Iterable[bytes]) -> StoredRows:
        """Replace results.jsonl as a whole by these lines, each with its line end. Raises ReportError on failure."""
        with replacement_for(self.path / RESULTS) as beside, beside.open("xb", buffering=1 << 20) as stream:
            stored = write_lines(lines, stream)
            stream.flush()
            os.fsync(stream.fileno())
        return stored

    def write_document(self, document: RunDocument) -> None:
        """Replace run.json as a whole. Raises ReportError if that fails."""
        run_document.save(document, self.path)
        with suppress(OSError):  # without this, a power failure may bring the old document back, which is then refused
            _sync_folder(self.path)

    def close(self) -> None:
        """Make everything durable, and unlock the folder so that other processes can resume the run."""
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def write_lines(lines: Iterable[bytes], stream: IO[bytes]) -> StoredRows:
    """Write rows, each with its line end, and return their count and digest."""
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
    """Create a folder with the plan in its journal. Raises InputError if that fails, or if the path exists."""
    if os.path.lexists(path):
        raise _exists(path)
    beside = path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}")
    history = JournalState(str(path / JOURNAL))
    history.note(0, plan)
    journal = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir()
        journal = Journal.create(beside / JOURNAL, history.name)
        journal.append(encode(plan))
        journal.sync()
        _rename_into_place(beside, path)
    except BaseException as error:
        if journal is not None:
            with suppress(HighbarError):  # the first error is the one to show
                journal.close()
        shutil.rmtree(beside, ignore_errors=True)
        if isinstance(error, OSError | ReportError | ValueError):
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            hint = "--output DIR names another folder"
            raise InputError(
                Problem("file.unwritable", f"the run folder cannot be made: {reason}", str(path), hint=hint)
            ) from error
        raise
    return RunFolder(path, journal, history)


def _rename_into_place(beside: Path, path: Path) -> None:
    """Give the folder its final name. Raises InputError if that name has been taken in the meantime."""
    _sync_folder(beside)
    # A rename replaces at most an empty folder, so one that appears after this look has nothing to lose.
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
    """A new path such as `runs/NAME-20261116-142530`, with a number at the end if that exists. Any text is a name."""
    safe = _UNSAFE.sub("-", name).strip("-.")[:_LONGEST_NAME].strip("-.") or "run"
    stem = f"{safe}-{now:%Y%m%d-%H%M%S}"
    number = 1
    path = Path("runs", stem)
    while os.path.lexists(path):
        number += 1
        path = Path("runs", f"{stem}-{number}")
    return path


def open_run(path: Path) -> RunFolder:
    """Open the folder of a run that ended or was killed, and lock it, to resume the run.

    Raises InputError if it is not a run folder, if another process has it open, or if its journal is damaged.
    """
    known = _known_end(path)
    history = JournalState(str(path / JOURNAL))
    journal = Journal.reopen(path / JOURNAL, history.read, known)
    try:
        _ = history.plan  # raises if the journal has none
        _remove_leftovers(path)
    except BaseException:
        journal.close()
        raise
    return RunFolder(path, journal, history)


def read_run(path: Path) -> JournalState:
    """Read the history of a run that ended, was killed or goes on, from the journal of its folder. Changes nothing.

    Raises InputError if it is not a run folder, or if its journal is damaged.
    """
    known = _known_end(path)
    history = JournalState(str(path / JOURNAL))
    with open_journal(path / JOURNAL) as descriptor:
        reader = JournalReader(descriptor, history.name)
        for offset, payload in reader:
            history.read(offset, payload)
        reader.refuse_loss(known)
    _ = history.plan  # raises if the journal has none
    return history


@contextmanager
def open_answers(path: Path) -> Iterator[Callable[[int], TrialEnded]]:
    """Open the journal of a folder; the function reads the record of a trial's end at an offset of its history."""
    name = str(path / JOURNAL)
    with open_journal(path / JOURNAL) as descriptor:
        yield lambda offset: _decode_record(_decode_ended, payload_at(descriptor, offset, name), name)


@contextmanager
def open_judgments(path: Path) -> Iterator[Callable[[int], TrialJudged]]:
    """Open the journal of a folder; the function reads the record of a judgment at an offset of its history."""
    name = str(path / JOURNAL)
    with open_journal(path / JOURNAL) as descriptor:
        yield lambda offset: _decode_record(_decode_judged, payload_at(descriptor, offset, name), name)


def _decode_record(decode: Callable[[bytes], _Record], payload: bytes, name: str) -> _Record:
    """Decode a whole record. The history decoded only its head, so this may still find it invalid: InputError."""
    try:
        return decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            Problem("run.damaged", f"not a record of a run: {error}", name, hint="start a new run")
        ) from None


def _known_end(path: Path) -> JournalEnd | None:
    """The end of the journal when the run last ended, according to run.json; None if it never ended."""
    if not is_run_folder(path):
        message = "has no journal, so it is not the folder of a run" if path.is_dir() else "no such folder"
        raise InputError(
            Problem("run.not-a-run", message, str(path), hint="highbar run prints the name of its folder when it ends")
        )
    if not os.path.lexists(path / DOCUMENT):
        return None
    journal = run_document.read_document(path).journal
    return JournalEnd(journal.size, journal.lines, journal.checksum.encode())


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files of results and document that a killed process left behind."""
    for name in (RESULTS, DOCUMENT):
        for left in path.glob(f".{name}.*"):
            with suppress(OSError):
                left.unlink()


def _exists(path: Path) -> InputError:
    hint = f"highbar run --resume {shlex.quote(str(path))} continues a run, --output DIR names another folder"
    return InputError(Problem("file.exists", "exists already, and nothing is overwritten", str(path), hint=hint))


@contextmanager
def replacement_for(target: Path) -> Iterator[Path]:
    """A temporary path beside the target, which replaces the target at the end. Raises ReportError on failure."""
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
    """Make the names in a folder durable, if the file system can."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # EINVAL: this file system cannot sync folders
            raise
    finally:
        os.close(descriptor)
