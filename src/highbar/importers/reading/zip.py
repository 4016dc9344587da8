"""An untrusted zip archive: members are read into memory one at a time, and never written to disk.

Names, counts and sizes are checked before anything is unpacked, and unpacking stops at the size that the archive
declares, so that a bomb costs no more than it announces. Methods: stored, deflate, zstd.

`zipfile` reads only the table of contents here. Python 3.14 and `backports.zstd.zipfile` can also unpack zstd, but stop
at the end of the first frame of a member and then report a wrong checksum (seen with backports.zstd 1.8.0 on a member
of two frames); Inspect AI starts a new frame every 200 MiB.
"""

from __future__ import annotations

import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from highbar.importers.limits import (
    LARGEST_ARCHIVE,
    LARGEST_MEMBER,
    LARGEST_RATIO,
    LARGEST_STEP,
    MOST_MEMBERS,
    SMALL_MEMBER,
)
from highbar.importers.reading.json import Bytes, refuse_pointer
from highbar.importers.record import refuse

_WHOLE = "is it complete? A log is whole once its run has ended"
_ZSTD = 93
_CHUNK = 1024 * 1024
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTD)
_ENCRYPTED = 0x1
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_ODD_NAME = re.compile(r"^[/\\]|(^|[/\\])\.\.([/\\]|$)|^[A-Za-z]:[/\\]|[\x00-\x1f\x7f]")


class Archive:
    """The members of an archive by name, in the order of the file.

    Of two members with the same name the later one counts: that is how an archive is updated by appending.
    `replaced` is the number of earlier ones.
    """

    def __init__(self, stream: IO[bytes], members: list[zipfile.ZipInfo]) -> None:
        self._stream = stream
        self._members = {info.filename: info for info in members}
        self.replaced = len(members) - len(self._members)

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def read(self, name: str) -> Bytes:
        """A member, unpacked and checked against its checksum."""
        info = self._members[name]
        data = bytearray()
        checksum = 0
        try:
            for part in _unpack(info, self._packed(info)):
                data += part
                checksum = zlib.crc32(part, checksum)
                # A bomb unpacks to more than it declares: stop as soon as that shows.
                if len(data) > info.file_size:
                    break
        except (zlib.error, EOFError, _BrokenZstd) as error:
            refuse("file.damaged", f"{name}: damaged: {error}")
        if len(data) != info.file_size or checksum != info.CRC:
            refuse("file.damaged", f"{name}: damaged: it does not unpack to what the archive says of it")
        return memoryview(data)

    def _packed(self, info: zipfile.ZipInfo) -> Iterator[bytes]:
        """The packed bytes of a member."""
        self._stream.seek(info.header_offset)
        header = self._stream.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
            refuse("file.damaged", f"{info.filename}: damaged: it is not where the archive says")
        # Only the local header has these lengths: its extra field may differ from the one in the table of contents.
        *_, name_length, extra_length = _LOCAL_HEADER.unpack(header)
        self._stream.seek(name_length + extra_length, 1)
        left = info.compress_size
        while left:
            chunk = self._stream.read(min(left, _CHUNK))
            if not chunk:
                refuse("file.damaged", f"{info.filename}: cut off")
            left -= len(chunk)
            yield chunk


@contextmanager
def open_archive(path: str) -> Iterator[Archive]:
    """Open the archive, after all checks that need no unpacking."""
    with Path(path).open("rb") as stream:
        _refuse_other_files(stream)
        _refuse_many_members(stream)
        try:
            with zipfile.ZipFile(stream) as archive:
                members = archive.infolist()
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, struct.error) as error:
            refuse("file.damaged", f"this zip archive cannot be read: {error}", hint=_WHOLE)
        size = stream.seek(0, 2)
        _refuse_bad_members(members, size)
        yield Archive(stream, members)


def _refuse_other_files(stream: IO[bytes]) -> None:
    start = stream.read(64)
    if not start:
        refuse("file.empty", "the file is empty")
    refuse_pointer(start)
    if not start.startswith(b"PK"):
        refuse("file.damaged", "this is not a zip archive")


def _refuse_many_members(stream: IO[bytes]) -> None:
    """Refuse a huge table of contents before `zipfile` makes an object of each of its entries."""
    size = stream.seek(0, 2)
    # The record at the end has 22 bytes and a comment of up to 65,535.
    stream.seek(max(0, size - 22 - 65_535))
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + 22 > len(tail):
        refuse("file.damaged", "this zip archive is cut off: its table of contents is missing", hint=_WHOLE)
    directory = struct.unpack("<L", tail[at + 12 : at + 16])[0]
    wide = tail.rfind(b"PK\x06\x06", 0, at)
    if directory == 0xFFFFFFFF and wide >= 0 and wide + 48 <= len(tail):
        directory = struct.unpack("<Q", tail[wide + 40 : wide + 48])[0]
    # An entry takes at least 46 bytes, so the size of the table bounds their number; the declared number may be false.
    if directory > size or directory > MOST_MEMBERS * 400:
        refuse(
            "file.not-allowed", f"this zip archive claims a table of contents of {directory:,} bytes, more than is read"
        )


def _refuse_bad_members(members: list[zipfile.ZipInfo], size: int) -> None:
    if len(members) > MOST_MEMBERS:
        refuse("file.not-allowed", f"this zip archive has {len(members):,} members; at most {MOST_MEMBERS:,} are read")
    # A bomb can refer to the same packed bytes from many members: their sizes then add up to more than the file has.
    if sum(info.compress_size for info in members) > size:
        refuse("file.damaged", "this zip archive is not sound: its members overlap")
    if sum(info.file_size for info in members) > LARGEST_ARCHIVE:
        refuse("file.not-allowed", f"this zip archive claims to unpack to more than {LARGEST_ARCHIVE >> 30} GiB")
    for info in members:
        _refuse_odd_member(info)


def _refuse_odd_member(info: zipfile.ZipInfo) -> None:
    name = info.filename
    # `zipfile` cuts a name at its first null byte; `orig_filename` has the whole name.
    if _ODD_NAME.search(info.orig_filename) or _ODD_NAME.search(name):
        refuse("file.not-allowed", f"the member name {info.orig_filename!r} is not allowed in a log")
    if info.flag_bits & _ENCRYPTED:
        refuse("file.not-allowed", f"{name}: encrypted")
    if info.compress_type not in _METHODS:
        refuse("file.not-allowed", f"{name}: packed with method {info.compress_type}; wanted stored, deflate or zstd")
    if info.file_size > LARGEST_MEMBER:
        refuse(
            "file.not-allowed",
            f"{name}: claims to unpack to {info.file_size:,} bytes; at most {LARGEST_MEMBER:,} are read",
        )
    if info.file_size > SMALL_MEMBER and info.file_size > LARGEST_RATIO * max(info.compress_size, 1):
        refuse(
            "file.not-allowed",
            f"{name}: claims to unpack to {info.file_size // max(info.compress_size, 1):,} times its size",
        )


def _unpack(info: zipfile.ZipInfo, packed: Iterator[bytes]) -> Iterator[bytes]:
    """The unpacked member in parts, none larger than LARGEST_STEP or one read of the file."""
    if info.compress_type == zipfile.ZIP_STORED:
        return packed
    return _inflate(packed) if info.compress_type == zipfile.ZIP_DEFLATED else _unpack_zstd(packed)


def _inflate(packed: Iterator[bytes]) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    for chunk in packed:
        left = chunk
        while left:
            yield unpacker.decompress(left, LARGEST_STEP)
            left = unpacker.unconsumed_tail
    yield unpacker.flush(LARGEST_STEP)


class _BrokenZstd(ValueError):
    """zstd cannot unpack the data. The library's own exception is imported only if zstd is used."""


def _unpack_zstd(packed: Iterator[bytes]) -> Iterator[bytes]:
    """All frames of a member, one after the other."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor, ZstdError  # only for archives that use it
    else:
        from backports.zstd import ZstdDecompressor, ZstdError  # only for archives that use it
    frame = ZstdDecompressor()
    try:
        for chunk in packed:
            left = chunk
            while left or not (frame.needs_input or frame.eof):
                if frame.eof:
                    frame = ZstdDecompressor()
                yield frame.decompress(left, LARGEST_STEP)
                left = frame.unused_data if frame.eof else b""
    except ZstdError as error:
        raise _BrokenZstd(error) from error
