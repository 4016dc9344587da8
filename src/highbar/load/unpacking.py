"""Packed bytes in, unpacked bytes out; a stream that is damaged, cut off or followed by anything else is refused."""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any

from highbar.errors import InputError, Problem

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BLOCK = 1 << 20
_MOST = 4096
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
HINT = "is the file complete, and compressed as its name says?"


class Damaged(InputError):
    """A compressed stream that does not unpack to its end; `of_file` adds the name of the file."""

    def __init__(self, message: str, hint: str = HINT) -> None:
        super().__init__(Problem("file.damaged", message, hint=hint))
        self.message = message
        self.hint = hint

    def of_file(self, name: str) -> Problem:
        """The problem with the name of the file."""
        return Problem("file.damaged", self.message, file=name, hint=self.hint)


def kind_of(start: bytes) -> str | None:
    """The compression of data that starts with these bytes; None if it is not compressed."""
    return "gzip" if start.startswith(_GZIP) else "zstd" if start.startswith(_ZSTD) else None


def first_bytes(start: bytes, compression: str) -> bytes:
    """What the start of a file unpacks to; empty if it is damaged."""
    unpacker, error = _unpacker(compression)
    try:
        return bytes(unpacker.decompress(start, _MOST))
    except error:
        return b""


def blocks_of(path: str) -> Iterator[bytes]:
    """The bytes of a file, as they are."""
    # Unbuffered: the blocks are larger than Python's own buffer, which would only copy them.
    with open(path, "rb", buffering=0) as stream:
        while block := stream.read(BLOCK):
            yield block


def unpack(blocks: Iterable[bytes], compression: str | None) -> Iterator[bytes]:
    """The unpacked bytes of a file in blocks of bounded size.

    A file may have several streams in a row. zlib and libzstd compare the checksums.
    """
    if compression is None:
        yield from blocks
        return
    unpacker, error = _unpacker(compression)
    ended = False  # whether a stream has ended and no other has begun
    try:
        for block in blocks:
            rest = block
            # `cat a.gz b.gz` is a valid file: after the end of one stream the next begins, with a new unpacker.
            while rest:
                if ended:
                    unpacker, ended = _unpacker(compression)[0], False
                yield from _outputs(unpacker, rest)
                rest, ended = unpacker.unused_data, unpacker.eof
    except error as reason:
        raise Damaged(f"the {compression} data is damaged: {_last_words(reason)}") from reason
    if not ended:
        raise Damaged(f"the {compression} data is cut off")


def open_unpacked(path: str, compression: str | None) -> IO[bytes]:
    """A stream of the unpacked file; reading from it raises Damaged if the file is damaged."""
    if compression is None:
        return open(path, "rb")
    return io.BufferedReader(_BlockReader(unpack(blocks_of(path), compression)), BLOCK)


class _BlockReader(io.RawIOBase):
    """Blocks as a raw stream."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._rest = b""

    def readable(self) -> bool:
        """Return True: the stream can be read from."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer with up to its size of the remaining bytes; return how many, 0 at the end."""
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = block
        view = memoryview(buffer).cast("B")
        size = min(len(view), len(self._rest))
        view[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def _outputs(unpacker: Any, data: bytes) -> Iterator[bytes]:
    """What more data of a stream unpacks to, in blocks of bounded size: a zip bomb does not fill the memory."""
    while not unpacker.eof:
        yield unpacker.decompress(data, BLOCK)
        data = getattr(unpacker, "unconsumed_tail", b"")  # zlib returns what it did not consume, zstd keeps it
        if not data and getattr(unpacker, "needs_input", True):
            return


def _unpacker(compression: str) -> tuple[Any, type[Exception]]:
    """An unpacker for one stream, and the exception that it raises."""
    if compression == "gzip":
        return zlib.decompressobj(zlib.MAX_WBITS | 16), zlib.error
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdDecompressor, ZstdError  # only for a file that needs it
    else:
        from backports.zstd import ZstdDecompressor, ZstdError  # only for a file that needs it
    return ZstdDecompressor(), ZstdError


def _last_words(reason: Exception) -> str:
    """`incorrect data check` of `Error -3 while decompressing data: incorrect data check`."""
    return str(reason).rpartition(": ")[2].rstrip(".")
