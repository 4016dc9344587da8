"""One line of a journal: checksum, checksum of the line before, lines synced so far, length, payload.

    9ae0daaf 1b2c3d4e 0000002a 00000012 {"type":"ended",…}

All numbers are hexadecimal with eight digits. The checksum covers everything after it, including the line end.
"""

from __future__ import annotations

import re
from zlib import crc32

from msgspec import Struct

HEADER = 36
"""Bytes before the payload."""
LONGEST_PAYLOAD = 2**32 - 1
"""Bytes: the largest number that eight hexadecimal digits can express."""
_BLANK = b"00000000 00000000 00000000 00000000 "
_HEADER = re.compile(rb"(?:[0-9a-f]{8} ){4}")


class JournalEnd(Struct, frozen=True):
    """The end of a line: its offset in bytes, the number of lines up to it, and the checksum of the line."""

    size: int
    lines: int
    checksum: bytes


START = JournalEnd(0, 0, b"%08x" % crc32(b"highbar/journal/1"))
"""The start of a journal. The first line follows the checksum of the format's name, so that others are refused."""


def encode_line(payload: bytes, before: bytes, synced: int) -> bytes:
    """The line of a payload; `before` is the checksum of the line before it."""
    body = b"%b %08x %08x %b\n" % (before, synced, len(payload), payload)
    return b"%08x %b" % (crc32(body), body)


def is_whole(line: bytes) -> bool:
    """Whether a line, including its end, is as it was written. The checksum covers its length, too."""
    return _HEADER.match(line) is not None and line[:8] == b"%08x" % crc32(line[9:])


def is_beginning(part: bytes, before: bytes | None) -> bool:
    """Whether bytes are the beginning of a line that was cut short. `before` is the checksum before it, if known."""
    # A short header is completed with a valid one, so that one pattern matches headers of any length.
    if b"\n" in part or not _HEADER.match(part[:HEADER] + _BLANK[len(part) :]):
        return False
    if before is not None and not before.startswith(part[9:17]):
        return False
    # At most the line end may be missing after the payload.
    return len(part) < HEADER or len(part) <= HEADER + payload_length(part)


def checksum_before(line: bytes) -> bytes:
    """The checksum of the line before."""
    return line[9:17]


def synced_lines(line: bytes) -> int:
    """How many lines were synced when the line was written."""
    return int(line[18:26], 16)


def payload_length(line: bytes) -> int:
    """The length of the payload according to the header."""
    return int(line[27:35], 16)
