"""Journals made byte by byte, and what is read from them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from highbar.errors import InputError
from highbar.running.journal import JournalReader, open_journal
from highbar.running.journal.lines import START, encode_line


def payloads(count: int) -> list[bytes]:
    """Records of different lengths, each different."""
    return [b'{"id":"S-%d","output":"%b"}' % (index, b"words " * (index * 7 % 11)) for index in range(count)]


def lines_of(records: Sequence[bytes], group: int) -> list[bytes]:
    """The lines of these records, as a process writes them that syncs after every `group` of them."""
    lines: list[bytes] = []
    before = START.checksum
    for index, record in enumerate(records):
        lines.append(encode_line(record, before, index // group * group))
        before = lines[-1][:8]
    return lines


def lines_in(path: Path) -> list[tuple[int, bytes]]:
    """The payloads that are read, each with the offset of its line."""
    with open_journal(path) as descriptor:
        return list(JournalReader(descriptor, str(path)))


def found_in(path: Path) -> list[bytes]:
    """The payloads that are read."""
    return [payload for _, payload in lines_in(path)]


def refusal(path: Path) -> str | None:
    """Why a journal is refused; None if it is not."""
    try:
        found_in(path)
    except InputError as error:
        return str(error)
    return None
