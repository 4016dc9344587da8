"""The body of a response, read as far as it may go: neither the raw nor the decoded bytes exceed the limit."""

from __future__ import annotations

import zlib
from typing import Protocol

from aiohttp import ClientResponse

_GZIP = 16 + zlib.MAX_WBITS
_ENCODINGS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}


class BodyError(Exception):
    """The body cannot be used; the message says why."""


class _Decompressor(Protocol):
    """What zlib gives for one body."""

    @property
    def eof(self) -> bool:
        """If the end of the data was there."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """The next bytes, at most that many."""


async def read_body(response: ClientResponse, received: bytearray, most: int) -> None:
    """Read the body into `received`. Raises BodyError if it has more bytes than that, or cannot be decoded.

    What has come before anything goes wrong is in `received`: aiohttp raises on its own if the body is cut.
    """
    if (response.content_length or 0) > most:
        raise too_large(most)
    decompressor = _decompressor(response)
    raw = 0
    while chunk := await response.content.readany():
        raw += len(chunk)
        received += chunk if decompressor is None else _decompressed(decompressor, chunk, most + 1 - len(received))
        if len(received) > most or raw > most:
            del received[most:]
            raise too_large(most)
    if decompressor is not None and not decompressor.eof:
        raise BodyError("the compressed reply was cut")


def too_large(most: int) -> BodyError:
    """The reply has more bytes than it may have."""
    size = f"{most // 2**20} MiB" if most % 2**20 == 0 else f"{most} bytes"
    return BodyError(f"the reply is larger than {size} (max_reply)")


def _decompressor(response: ClientResponse) -> _Decompressor | None:
    """Only plain bytes were asked for; a server may compress all the same."""
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
