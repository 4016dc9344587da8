"""Archives that unpack to far more than they hold, made without packing all of it."""

from __future__ import annotations

import struct
import zipfile
import zlib
from pathlib import Path

GIGABYTE = 1024 * 1024 * 1024


def a_gigabyte_of_spaces(path: Path) -> Path:
    """An archive with one member: a packed megabyte, a thousand times. Its checksum is left out."""
    packer = zlib.compressobj(wbits=-15)
    spaces = packer.compress(b" " * 1024 * 1024) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = spaces * 1024 + packer.flush()
    name = b"header.json"
    entry = struct.pack("<HHHHHLLLHH", 20, 0, zipfile.ZIP_DEFLATED, 0, 0, 0, len(packed), GIGABYTE, len(name), 0)
    member = b"PK\x03\x04" + entry + name + packed
    listed = b"PK\x01\x02" + struct.pack("<H", 20) + entry + struct.pack("<HHHLL", 0, 0, 0, 0, 0) + name
    path.write_bytes(member + listed + b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, 1, 1, len(listed), len(member), 0))
    with zipfile.ZipFile(path) as read:
        assert [(one.filename, one.file_size) for one in read.infolist()] == [(name.decode(), GIGABYTE)]
    return path
