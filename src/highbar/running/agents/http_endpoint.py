"""One HTTP address: post bytes there, and get an exchange back.

Redirects are followed only to the same host, and only if they keep method and body (307, 308). Proxies and `.netrc` of
the environment are not used. Cookies are not kept between calls, because trials must not know of each other.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol, Self

import aiohttp
from multidict import CIMultiDict
from yarl import URL

import highbar
from highbar.errors import InputError, Problem
from highbar.running.agents.http_outcomes import (
    BUSY,
    NEEDS_TLS,
    MarkingConnector,
    busy_attempt,
    failed_attempt,
    status_in_words,
    without_quota,
)
from highbar.running.agents.replies import MOST_OF_AN_ERROR, too_large
from highbar.running.calls import Attempt
from highbar.running.standing_still import StandingStill

_MOST_REDIRECTS = 5
"""Redirects of one call: more are a loop."""
_KEEPING = frozenset({307, 308})
"""Redirects that keep method and body; the others turn a POST into a GET."""
_REDIRECTS = frozenset({301, 302, 303}) | _KEEPING
_CONNECT = 30.0
"""Seconds to connect, but at most 90 % of the call's timeout: a failed connection must not look like a slow agent."""
_HANDSHAKE = 5.0
"""Seconds to find out whether a port speaks TLS."""
_GZIP = 16 + zlib.MAX_WBITS
_ENCODINGS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": zlib.MAX_WBITS}


class Exchange:
    """One request and its response.

    `failure` is set if there was no usable response: the server was busy, or the connection broke. Otherwise `status`
    and `received` are those of the response, and `problem` says why it cannot be used, if so. `is_late`: the problem is
    a timeout. `is_cut`: the connection broke. `is_unread`: what was sent got no response that is HTTP. `stood_still`:
    this process did not run for a part of the time, so that the latency is not known.
    """

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.received = bytearray()
        self.status = 0
        self.failure: Attempt | None = None
        self.problem: str | None = None
        self.is_late = self.is_cut = self.is_unread = self.stood_still = False

    @property
    def latency_ms(self) -> float | None:
        """Milliseconds since the request began; None if that is not known."""
        return None if self.stood_still else (time.perf_counter() - self.began) * 1000

    @property
    def is_ok(self) -> bool:
        """Whether the status is a success (2xx)."""
        return 200 <= self.status < 300


class HttpEndpoint:
    """An address with the headers of every request; later mappings override earlier ones. Use it with `async with`.

    `who` names it in messages. Raises InputError if the address or a header cannot be sent, without showing any value.
    """

    def __init__(self, address: str, who: str, *headers: Mapping[str, str]) -> None:
        self.address, self._headers = _destination(address, who)
        for more in headers:
            self._headers.update(more)
        _refuse_control_characters(self._headers)
        self._who = who
        self._is_unknown = self.address.scheme == "http"  # whether the address may be of a port that speaks TLS
        self._tls: asyncio.Future[bool] | None = None
        self._session: aiohttp.ClientSession | None = None
        self._still = StandingStill()

    async def __aenter__(self) -> Self:
        await self._still.__aenter__()
        # No limit here: the caller limits how many calls run at once, and a queue would count as latency.
        self._session = aiohttp.ClientSession(
            connector=MarkingConnector(limit=0),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._still.__aexit__()
        if self._tls is not None:
            self._tls.cancel()
        if self._session is not None:
            await self._session.close()

    async def post(self, body: bytes, timeout: float, most: int) -> Exchange:  # noqa: ASYNC109 - see below
        """Post the body, and read at most `most` bytes of the response.

        The timeout covers everything: a server that sends a byte now and then gains no time.
        """
        exchange, began = Exchange(), time.monotonic()
        try:
            async with self._still.timeout(timeout):
                await self._post(exchange, body, timeout, most)
        except TimeoutError:
            if exchange.failure is None:  # otherwise only the body of a refusal did not come
                exchange.problem = f"timed out after {timeout:g} s"
                exchange.is_late = True
        exchange.stood_still = self._still.has_since(began)
        if exchange.stood_still and exchange.is_cut:  # perhaps because nobody read the reply
            reason = "the connection broke while Highbar was stopped"
            exchange.failure = Attempt("infrastructure", reason=reason)
        elif self._is_unknown and await self._is_wrong_protocol(exchange):
            exchange.failure = Attempt("infrastructure", reason=NEEDS_TLS, refusal=NEEDS_TLS)
        return exchange

    async def _is_wrong_protocol(self, exchange: Exchange) -> bool:
        """Whether plain HTTP was sent to a port that speaks TLS. Some servers say nothing then, others 400."""
        if exchange.status != HTTPStatus.BAD_REQUEST and not exchange.is_unread:
            self._is_unknown = self._is_unknown and exchange.failure is not None
            return False
        if self._tls is None:
            self._tls = asyncio.ensure_future(_speaks_tls(self.address))
        return await asyncio.shield(self._tls)

    async def _post(self, exchange: Exchange, body: bytes, timeout: float, most: int) -> None:  # noqa: ASYNC109 - as above
        try:
            response = await self._send(body, timeout)
        except (aiohttp.ClientError, OSError) as error:
            exchange.failure = failed_attempt(error, exchange.latency_ms)
            exchange.is_cut = not isinstance(error, aiohttp.ClientResponseError)
            exchange.is_unread = not isinstance(error, aiohttp.ClientConnectorError)
            return
        except _NotFollowed as error:
            exchange.problem = str(error)
            return
        async with response:
            if response.status in BUSY:
                retry_after = response.headers.get("Retry-After")
                exchange.failure = busy_attempt(response.status, retry_after, exchange.latency_ms)
                await _receive(response, exchange, most)
                exchange.failure = without_quota(exchange.failure, response.status, bytes(exchange.received))
            else:
                exchange.status = response.status
                await _receive(response, exchange, most)

    async def _send(self, body: bytes, timeout: float) -> aiohttp.ClientResponse:  # noqa: ASYNC109 - to connect only
        """Send the request, follow redirects, and return the response."""
        if self._session is None:
            raise RuntimeError(f"the {self._who} is not open")
        address, limits = self.address, _limits(timeout)
        for _ in range(1 + _MOST_REDIRECTS):
            response = await self._session.post(address, data=body, allow_redirects=False, timeout=limits)
            if response.status not in _REDIRECTS:
                return response
            response.close()
            address = _redirect_target(response, address)
        raise _NotFollowed(f"more than {_MOST_REDIRECTS} redirects")


async def _speaks_tls(address: URL) -> bool:
    """Whether something at this host and port shakes hands by TLS. Nothing is sent, so the certificate is no matter."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(_HANDSHAKE):
            _, writer = await asyncio.open_connection(address.host, address.port, ssl=context)
            writer.transport.abort()  # a proper end of TLS takes another round trip
            await asyncio.sleep(0)
            return True
    return False


async def _receive(response: aiohttp.ClientResponse, exchange: Exchange, most: int) -> None:
    problem: str | None = None
    try:
        await _read_body(response, exchange.received, most if exchange.is_ok else MOST_OF_AN_ERROR)
    except _BodyError as error:
        problem = str(error)
        response.close()  # does not wait for the rest of the body
    except (aiohttp.ClientError, OSError):
        problem = "the reply was cut: the connection broke before its end"
        exchange.is_cut = True
    if exchange.is_ok:  # otherwise the status says more
        exchange.problem = problem


class _NotFollowed(Exception):
    """A redirect must not be followed; the message says why."""


def _redirect_target(response: aiohttp.ClientResponse, address: URL) -> URL:
    """The address of a redirect. Raises _NotFollowed if it leads to another host or would drop the question."""
    if response.status not in _KEEPING:
        raise _NotFollowed(
            f"{status_in_words(response.status)}: this redirect was not followed, since it would drop the question"
        )
    try:
        target = address.join(URL(response.headers.get("Location", "")))
        same = target.origin() == address.origin()
    except ValueError:
        raise _NotFollowed(f"{status_in_words(response.status)}: the redirect has no usable address") from None
    if not same:
        raise _NotFollowed(f"{status_in_words(response.status)}: redirect to another host was not followed")
    return target.with_user(None)


@lru_cache(maxsize=256)
def _limits(timeout: float) -> aiohttp.ClientTimeout:
    """Limits for aiohttp: only the time to connect, because `post` limits the whole call."""
    # aiohttp rounds timeouts above `ceil_threshold` up to whole seconds.
    return aiohttp.ClientTimeout(total=None, sock_connect=min(_CONNECT, 0.9 * timeout), ceil_threshold=_CONNECT)


def _destination(text: str, who: str) -> tuple[URL, CIMultiDict[str]]:
    """The address without user and password, and the headers of every request. Raises InputError if it is invalid."""
    try:
        address = URL(text)
        origin = address.origin()  # fails without scheme and host
        (origin.raw_host or "").encode("idna")  # as the system's resolver wants it
    except ValueError:
        origin = URL()
    if origin.scheme not in ("http", "https"):
        hint = "it begins with http:// or https://, also after variables are replaced"
        raise InputError(Problem("agent.bad-address", f"the address of the {who} is none", hint=hint))
    headers = CIMultiDict(
        {
            "User-Agent": f"highbar/{highbar.__version__}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
    )
    if address.user is not None:
        both = f"{address.user}:{address.password or ''}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(both).decode()}"
    return address.with_user(None), headers


def _refuse_control_characters(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not value.isprintable():
            hint = "look at the variable of the environment that it has"
            raise InputError(
                Problem("agent.bad-address", f"the header {name} has a line break or a control character", hint=hint)
            )


# --- the body of a response -------------------------------------------------------------------


class _BodyError(Exception):
    """The body cannot be used; the message says why."""


class _Decompressor(Protocol):
    """The zlib object that decompresses one body."""

    @property
    def eof(self) -> bool:
        """Whether the end of the compressed data was reached."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """The next decompressed bytes, at most `max_length`."""


async def _read_body(response: aiohttp.ClientResponse, received: bytearray, most: int) -> None:
    """Read the body into `received`. Raises _BodyError if it has more than `most` bytes, or cannot be decoded.

    On any failure `received` has what came before it. aiohttp itself raises if the body is cut.
    """
    if (response.content_length or 0) > most:
        raise _BodyError(too_large(most))
    decompressor = _decompressor(response)
    raw = 0
    while chunk := await response.content.readany():
        raw += len(chunk)
        # One byte more than allowed shows that the limit is exceeded, without decompressing a bomb.
        received += chunk if decompressor is None else _decompressed(decompressor, chunk, most + 1 - len(received))
        if len(received) > most or raw > most:
            del received[most:]
            raise _BodyError(too_large(most))
    if decompressor is not None and not decompressor.eof:
        raise _BodyError("the compressed reply was cut")


def _decompressor(response: aiohttp.ClientResponse) -> _Decompressor | None:
    """The decompressor; None if the response is plain. Plain bytes were requested, but servers may still compress."""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        return None
    if encoding not in _ENCODINGS:
        raise _BodyError("the reply is compressed in a way that was not asked for")
    return zlib.decompressobj(_ENCODINGS[encoding])


def _decompressed(decompressor: _Decompressor, chunk: bytes, most: int) -> bytes:
    try:
        return decompressor.decompress(chunk, most)
    except zlib.error:
        raise _BodyError("the compressed reply is damaged") from None
