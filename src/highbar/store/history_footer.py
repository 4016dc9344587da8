"""The footer of a history record → the run as a list shows it. Only the end of the file is read.

A record is a Parquet file. The run is a JSON text in the key-value metadata of its footer, after everything that comes
from scenarios. Searching for the last occurrence of its key takes a fifth of the time of DuckDB's
`parquet_kv_metadata`, and one damaged file does not affect the others.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterator
from datetime import datetime

import msgspec

from highbar.model.history import SCHEMA, DamagedRecord, RunRecord

SUFFIX = ".parquet"
KEY, VERDICT_KEY = "highbar", "highbar.verdict"
_NAME = re.compile(r"[0-9a-f]{32}")
_MARK, _TAIL = b"PAR1", 8
_AT_ONCE = 16 * 1024
_LARGEST = 64 * 1024 * 1024
"""Bytes of a footer, which includes the verdict document."""
_LARGEST_TEXT = 4 * 1024 * 1024
"""Bytes of the JSON text: a policy of a thousand rules needs a tenth of that."""
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_DAY = 86_400
_RELEASED = 1_794_873_600.0
"""17 November 2026, in seconds since 1970. A clock before that is wrong, and must not make a record look too new."""
_decoded = msgspec.json.Decoder(RunRecord).decode
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # opening a pipe must not block


class DamagedRecordError(ValueError):
    """A file is not a valid record of the history. The message says why."""


def list_records(folder: str) -> tuple[list[RunRecord], list[DamagedRecord]]:
    """Every record of a folder, in any order, and the damaged files. Raises OSError if there is no such folder.

    Files with another ending, and hidden files, are ignored: they may be a README, or a record that is being written.
    """
    runs: list[RunRecord] = []
    damaged: list[DamagedRecord] = []
    for name in _names(folder):
        path = os.path.join(folder, name)  # noqa: PTH118 - ten thousand Path objects take as long as the reading
        try:
            runs.append(read_footer(path))
        except DamagedRecordError as error:
            damaged.append(DamagedRecord(name, str(error)))
        except OSError as error:
            if os.path.lexists(path):  # otherwise it was removed in the meantime
                damaged.append(DamagedRecord(name, f"cannot be read: {error.strerror or error}"))
    return runs, sorted(damaged, key=lambda one: one.file)


def _names(folder: str) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(SUFFIX) and not entry.name.startswith("."):
                yield entry.name


def read_footer(path: str) -> RunRecord:
    """The run in a record. Raises DamagedRecordError, or OSError."""
    return read_footer_of(path, os.path.basename(path).removesuffix(SUFFIX))  # noqa: PTH119 - likewise


def read_footer_of(path: str, name: str) -> RunRecord:
    """The run in the file at `path`, whose record must be called `name`; a file has another name while it is written.

    Raises DamagedRecordError, or OSError.
    """
    if not _NAME.fullmatch(name):
        raise DamagedRecordError("the name is not that of a record: 32 hexadecimal digits")
    descriptor = os.open(path, _OPEN)
    try:
        run = decode_record(_text(descriptor))
    finally:
        os.close(descriptor)
    if run.record != name:
        raise DamagedRecordError(f"has the record {run.record[:40]!r} under another name")
    return run


def _text(descriptor: int) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise DamagedRecordError("not a plain file")
    size = found.st_size
    end = _read(descriptor, min(size, _AT_ONCE), size)
    length = int.from_bytes(end[-_TAIL:-4], "little")
    if end[-4:] != _MARK or not 0 < length <= size - _TAIL:
        raise DamagedRecordError("not a Parquet file, or cut off: there is no footer at its end")
    if length > _LARGEST:
        raise DamagedRecordError(f"the footer is larger than {_LARGEST // 2**20} MiB")
    footer = end[max(0, len(end) - _TAIL - length) : -_TAIL]
    # The run is at the end of the footer, so that this part is nearly always enough.
    text = _value(footer)
    if text is None and len(footer) < length:
        text = _value(_read(descriptor, length + _TAIL, size)[:-_TAIL])
    if text is None:
        raise DamagedRecordError("a Parquet file that is not a record of the history")
    return text


def _read(descriptor: int, length: int, size: int) -> bytes:
    os.lseek(descriptor, size - length, os.SEEK_SET)
    found = os.read(descriptor, length)
    while 0 < len(found) < length and (more := os.read(descriptor, length - len(found))):
        found += more
    return found


_BEFORE = b"\x18" + bytes([len(KEY)]) + KEY.encode() + b"\x18"
"""How our key-value pair begins in Thrift's compact protocol: field 1 with the key, then field 2 of the type text."""


def _value(footer: bytes) -> bytes | None:
    """The text of the last pair with our key; None if there is no such pair, or if it does not end in these bytes."""
    # From the end: ids of scenarios are in the footer as well (statistics of columns), and could imitate our key.
    place = footer.rfind(_BEFORE)
    if place < 0:
        return None
    place += len(_BEFORE)
    length = shift = 0
    for byte in footer[place : place + 5]:
        place += 1
        length |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            break
    whole = footer[place : place + length]
    # A zero byte ends the pair. Without it these are other bytes that only look like our key.
    return whole if length <= _LARGEST_TEXT and footer[place + length : place + length + 1] == b"\0" else None


def decode_record(text: bytes) -> RunRecord:
    """The run in a JSON text. Raises DamagedRecordError if there is none, or if a newer version wrote it."""
    try:
        run = _decoded(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        newer = re.search(rb'"schema":\s*"highbar/history/([0-9]{1,9})"', text)
        if newer and int(newer[1]) > int(SCHEMA.rpartition("/")[2]):
            raise DamagedRecordError("a newer version of Highbar wrote it: update Highbar") from None
        raise DamagedRecordError(f"the footer is not that of a record: {str(error)[:200]}") from None
    _refuse_time(run.time)
    if run.listed is not None and run.rows is None:
        raise DamagedRecordError("the footer has no digest of the rows")
    counted = (run.counts.scenarios, run.counts.trials, run.listed or 0)
    if any(count < 0 for count in counted) or run.listed not in (None, run.counts.scenarios):
        raise DamagedRecordError("the footer contradicts itself: its counts do not fit")
    return run


def latest_time() -> float:
    """The latest time that a record may have, in seconds since 1970: a day after now, because clocks differ."""
    return max(time.time(), _RELEASED) + _DAY


def _refuse_time(text: str) -> None:
    """Raise DamagedRecordError if the text is not a UTC time, or is more than a day in the future."""
    try:
        at = datetime.fromisoformat(text).timestamp() if _TIME.fullmatch(text) else -1.0
    except (ValueError, OverflowError):
        at = -1.0
    if at < 0:
        raise DamagedRecordError("the footer is not that of a record: its time is none, or not in UTC")
    if at > latest_time():
        raise DamagedRecordError(f"the footer says that it is of the future: {text}")
