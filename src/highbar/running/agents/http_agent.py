"""An agent behind HTTP: one POST for each call, in one of three wire formats.

Redirects are followed to the same host only, and only those that keep method and body (307, 308). Proxies and `.netrc`
of the environment are not used, and no cookie is kept from one call to the next: trials must not know each other.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Mapping
from functools import lru_cache
from typing import Self

import aiohttp
import msgspec
from msgspec.structs import replace
from multidict import CIMultiDict
from yarl import URL

import highbar
from highbar.errors import InputError, Problem
from highbar.running.agents.environment import filled
from highbar.running.agents.http_bodies import BodyError, read_body
from highbar.running.agents.http_connection import MarkingConnector
from highbar.running.agents.http_outcomes import BUSY, REFUSALS, busy, failed, message_in, named, short
from highbar.running.agents.json_text import decoded
from highbar.running.agents.replies import EMPTY, MalformedReply, read_attempt
from highbar.running.agents.secrets import redactor
from highbar.running.agents.wire_formats import FORMATS, WireFormat
from highbar.running.calls import AgentCall, Attempt, Reply
from highbar.suite.parts import Agent

_MOST_REDIRECTS = 5
_KEEPING = frozenset({307, 308})
"""Redirects after which the same is sent again; the others turn a POST into a GET."""
_REDIRECTS = frozenset({301, 302, 303}) | _KEEPING
_MOST_OF_AN_ERROR = 64 * 2**10
"""Bytes that are read of an error, and kept of a reply that cannot be used."""
_CONNECT = 30.0
"""Seconds to connect: after that, or nearly all of the call's own time, there is no connection."""
_encode = msgspec.json.Encoder(decimal_format="number").encode


class HttpAgent:
    """Calls an agent behind HTTP. `connections` is how many calls it takes at once."""

    start = 8
    ahead = False

    def __init__(self, agent: Agent, environment: Mapping[str, str], connections: int) -> None:
        self.agent = agent
        self.most = connections
        self._redactor = redactor(agent, environment)
        self._format: WireFormat = FORMATS[agent.format or "openai"]
        self._address, self._headers = _destination(filled(agent, environment))
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        # Whoever calls limits how many calls run at once: a queue here would count as the agent's latency.
        self._session = aiohttp.ClientSession(
            connector=MarkingConnector(limit=0),
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    def allow(self, at_once: int) -> None:
        """Nothing is handed over in advance, so there is nothing to limit."""

    async def call(self, call: AgentCall) -> Attempt:
        """One attempt, by a deadline over all of it: a server that sends a byte now and then gains no time."""
        exchange = _Exchange()
        try:
            async with asyncio.timeout(call.timeout):
                return await self._answer(exchange, call)
        except TimeoutError:
            return self._error(exchange, f"timed out after {call.timeout:g} s")

    async def _answer(self, exchange: _Exchange, call: AgentCall) -> Attempt:
        body = _encode(self._format.body(call, self.agent))
        try:
            response = await self._sent(body, call.timeout)
        except (aiohttp.ClientError, OSError) as error:
            return failed(error, exchange.latency_ms)
        except _NotFollowed as error:
            return self._error(exchange, str(error))
        async with response:
            if response.status in BUSY:
                return busy(response.status, response.headers.get("Retry-After"), exchange.latency_ms)
            return await self._received(response, exchange)

    async def _sent(self, body: bytes, timeout: float) -> aiohttp.ClientResponse:  # noqa: ASYNC109 - to connect only
        """The response to the request, after redirects."""
        if self._session is None:
            raise RuntimeError("the agent is not open")
        address, limits = self._address, _limits(timeout)
        for _ in range(1 + _MOST_REDIRECTS):
            response = await self._session.post(address, data=body, allow_redirects=False, timeout=limits)
            if response.status not in _REDIRECTS:
                return response
            response.close()
            address = _target(response, address)
        raise _NotFollowed(f"more than {_MOST_REDIRECTS} redirects")

    async def _received(self, response: aiohttp.ClientResponse, exchange: _Exchange) -> Attempt:
        is_ok = 200 <= response.status < 300
        problem: str | None = None
        try:
            await read_body(response, exchange.received, self.agent.max_reply if is_ok else _MOST_OF_AN_ERROR)
        except BodyError as error:
            problem = str(error)
            response.close()  # what is left of the body is not waited for
        except (aiohttp.ClientError, OSError):
            problem = "the reply was cut: the connection broke before its end"
        if not is_ok:
            return self._failure(response.status, exchange)
        return self._read(exchange) if problem is None else self._error(exchange, problem)

    def _read(self, exchange: _Exchange) -> Attempt:
        if not exchange.received.strip():
            return self._error(exchange, EMPTY)
        try:
            # Before anything is quoted or cut: no part of a secret is left.
            document = self._redactor.value(decoded(bytes(exchange.received)))
            # Arguments of calls are JSON inside of JSON, in which a secret may be escaped once more.
            fields = self._redactor.value(self._format.fields(document, self.agent))
        except MalformedReply as error:
            return self._error(exchange, f"malformed reply: {error}")
        return read_attempt(fields, self.agent, exchange.latency_ms)

    def _failure(self, status: int, exchange: _Exchange) -> Attempt:
        message = short(self._redactor.text(message_in(bytes(exchange.received))))
        reason = named(status) + (f": {message}" if message else "")
        ending = self._format.PATH
        if status == 404 and ending and not self._address.path.endswith(ending):
            reason += f" (the address is used as it is; of {self.agent.format} it ends with {ending})"
        attempt = self._error(exchange, reason)
        return replace(attempt, refusal=f"HTTP {status}") if status in REFUSALS else attempt

    def _error(self, exchange: _Exchange, reason: str) -> Attempt:
        """An error of the agent, with what was received of its reply."""
        text = self._redactor.text(exchange.received[: 2 * _MOST_OF_AN_ERROR].decode("utf-8", "replace"))
        reply = Reply(output=text[:_MOST_OF_AN_ERROR]) if text.strip() else None
        return Attempt("error", reply, reason, exchange.latency_ms)


class _NotFollowed(Exception):
    """A redirect that is not followed; the message says why."""


class _Exchange:
    """One call: when it began, and what was received so far."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.received = bytearray()

    @property
    def latency_ms(self) -> float:
        """How long it took until now."""
        return (time.perf_counter() - self.began) * 1000


def _target(response: aiohttp.ClientResponse, address: URL) -> URL:
    """Where a redirect leads, if it leads to the same host and keeps the question."""
    if response.status not in _KEEPING:
        raise _NotFollowed(
            f"{named(response.status)}: this redirect was not followed, since it would drop the question"
        )
    try:
        target = address.join(URL(response.headers.get("Location", "")))
        same = target.origin() == address.origin()
    except ValueError:
        raise _NotFollowed(f"{named(response.status)}: the redirect has no usable address") from None
    if not same:
        raise _NotFollowed(f"{named(response.status)}: redirect to another host was not followed")
    return target.with_user(None)


@lru_cache(maxsize=256)
def _limits(timeout: float) -> aiohttp.ClientTimeout:
    """Only the time to connect is limited here; the call has a deadline of its own."""
    return aiohttp.ClientTimeout(total=None, sock_connect=min(_CONNECT, 0.9 * timeout), ceil_threshold=_CONNECT)


def _destination(agent: Agent) -> tuple[URL, CIMultiDict[str]]:
    """The address and the headers of every request. Raises InputError if they cannot be sent; no value is shown."""
    try:
        address = URL(str(agent.target))
        origin = address.origin()  # fails without scheme and host
        (origin.raw_host or "").encode("idna")  # as the system's resolver wants it
    except ValueError:
        origin = URL()
    if origin.scheme not in ("http", "https"):
        hint = "it begins with http:// or https://, also after variables are replaced"
        raise InputError(Problem("the address of the agent is none", hint=hint))
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
    headers.update(FORMATS[agent.format or "openai"].headers(agent.key))
    headers.update(agent.headers)
    for name, value in headers.items():
        if not value.isprintable():
            hint = "look at the variable of the environment that it has"
            raise InputError(Problem(f"the header {name} has a line break or a control character", hint=hint))
    return address.with_user(None), headers
