"""Packed files, of which only the start is wanted."""

from __future__ import annotations

import sys
import zlib

_MOST = 4096


def first_bytes(start: bytes, compression: str) -> bytes:
    """What the start of a packed file unpacks to; nothing where it is damaged."""
    return _gzip(start) if compression == "gzip" else _zstd(start)


def _gzip(start: bytes) -> bytes:
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(start, _MOST)
    except zlib.error:
        return b""


def _zstd(start: bytes) -> bytes:
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor, ZstdError  # only for a file that needs it
    else:
        from backports.zstd import ZstdDecompressor, ZstdError  # likewise
    try:
        return ZstdDecompressor().decompress(start, _MOST)
    except ZstdError:
        return b""
