"""Read the body of a response, up to a limit for both the raw and the decoded bytes."""

from __future__ import annotations

import zlib
from typing import Protocol

from aiohttp import ClientResponse

from highbar.running.agents.replies import too_large

_GZIP = 16 + zlib.MAX_WBITS
_ENCODINGS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}


class BodyError(Exception):
    """The body cannot be used; the message says why."""


class _Decompressor(Protocol):
    """The zlib object that decompresses one body."""

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed data was reached."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """The next decompressed bytes, at most `max_length`."""


async def read_body(response: ClientResponse, received: bytearray, most: int) -> None:
    """Read the body into `received`. Raises BodyError if it has more than `most` bytes, or cannot be decoded.

    On any failure `received` has what came before it. aiohttp itself raises if the body is cut.
    """
    if (response.content_length or 0) > most:
        raise BodyError(too_large(most))
    decompressor = _decompressor(response)
    raw = 0
    while chunk := await response.content.readany():
        raw += len(chunk)
        # One byte more than allowed shows that the limit is exceeded, without decompressing a bomb.
        received += chunk if decompressor is None else _decompressed(decompressor, chunk, most + 1 - len(received))
        if len(received) > most or raw > most:
            del received[most:]
            raise BodyError(too_large(most))
    if decompressor is not None and not decompressor.eof:
        raise BodyError("the compressed reply was cut")


def _decompressor(response: ClientResponse) -> _Decompressor | None:
    """The decompressor; None if the response is plain. Plain bytes were requested, but servers may still compress."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding not in _ENCODINGS:
        raise BodyError("the reply is compressed in a way that was not asked for")
    return zlib.decompressobj(_ENCODINGS[encoding])


def _decompressed(decompressor: _Decompressor, chunk: bytes, most: int) -> bytes:
    try:
        return decompressor.decompress(chunk, most)
    except zlib.error:
        raise BodyError("the compressed reply is damaged") from None
