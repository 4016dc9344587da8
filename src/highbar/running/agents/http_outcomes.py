"""Status codes and failed connections → the outcome of an attempt. Codes and classes decide it, never messages."""

from __future__ import annotations

import errno
import os
import re
import socket
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from typing import Any

import aiohttp
from aiohttp.abc import ResolveResult
from aiohttp.client_proto import ResponseHandler

from highbar.running.agents.json_text import decode_reply
from highbar.running.agents.replies import MalformedReply
from highbar.running.calls import Attempt
from highbar.scarcity import NO_THREAD, SCARCE

BUSY = frozenset({429, 503, 529})
"""The server cannot take the call now. That is infrastructure, not an error of the agent."""
LIMITED = frozenset({429, 529})
"""The server wants fewer calls at once."""
REFUSALS = frozenset({401, 403, 404})
"""Responses that a wrong key or address causes."""
LONGEST_WAIT = 60.0
"""Seconds that a server may ask to wait."""
_SECONDS = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?", re.ASCII)
_NOT_LOOKED_UP = frozenset(getattr(socket, name, None) for name in ("EAI_MEMORY", "EAI_SYSTEM")) - {None}
_WORDS = {529: "Overloaded"}
NOT_HTTP = "the reply is not HTTP"
NEEDS_TLS = "this port speaks TLS, so the address begins with https://"
_NO_QUOTA = "insufficient_quota"
_MARK = "highbar_answering"


def busy_attempt(status: int, retry_after: str | None, latency_ms: float | None) -> Attempt:
    """The attempt of a call for which the server has no room now."""
    return Attempt(
        "infrastructure",
        reason=status_in_words(status),
        latency_ms=latency_ms,
        retry_after=wait(retry_after, datetime.now(UTC)),
        busy=True,
        limited=status in LIMITED,
    )


def without_quota(attempt: Attempt, status: int, data: bytes) -> Attempt:
    """The attempt as a wrong key, if the body of a 429 says that the key may make no calls at all; else unchanged."""
    try:
        document = decode_reply(data) if status == HTTPStatus.TOO_MANY_REQUESTS else None
    except MalformedReply:
        return attempt
    error = document.get("error") if isinstance(document, dict) else None
    if not isinstance(error, dict) or error.get("code") != _NO_QUOTA:
        return attempt
    reason = f"{attempt.reason}: {_NO_QUOTA}"
    return Attempt("infrastructure", reason=reason, latency_ms=attempt.latency_ms, refusal=reason)


def status_in_words(status: int) -> str:
    """A status in words: the standard phrase, not that of the server.

    >>> status_in_words(503), status_in_words(529), status_in_words(299)
    ('HTTP 503 Service Unavailable', 'HTTP 529 Overloaded', 'HTTP 299')
    """
    try:
        words = _WORDS.get(status) or HTTPStatus(status).phrase
    except ValueError:
        return f"HTTP {status}"
    return f"HTTP {status} {words}"


def wait(retry_after: str | None, now: datetime) -> float | None:
    """The seconds that a `Retry-After` header asks for, from 0 to 60; None if it is absent or cannot be understood.

    >>> now = datetime(2026, 1, 1, tzinfo=UTC)
    >>> [wait(text, now) for text in ("7", "-1", "999999999", "Wed, 21 Oct 2099 07:28:00 GMT", "x", None)]
    [7.0, 0.0, 60.0, 60.0, None, None]
    """
    if retry_after is None:
        return None
    text = retry_after.strip()
    if _SECONDS.fullmatch(text):
        seconds = float(text)
    else:
        try:
            date = parsedate_to_datetime(text)
            seconds = (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now.timestamp()
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
    return min(max(seconds, 0.0), LONGEST_WAIT)


def message_in(data: bytes) -> str:
    """The message in the body of an error response; empty if there is none. It may still contain secrets."""
    try:
        return _message(decode_reply(data))
    except MalformedReply:
        return data[:4096].decode("utf-8", "replace")


def _message(document: Any) -> str:
    # A loop, not a recursion: the server decides how deeply it nests them.
    while isinstance(document, dict):
        document = next((found for key in ("error", "message", "detail") if (found := document.get(key))), None)
    return document if isinstance(document, str) else ""


def failed_attempt(error: aiohttp.ClientError | OSError, latency_ms: float | None) -> Attempt:
    """The attempt of a request that got no response."""
    if isinstance(error, aiohttp.ClientResponseError):
        return Attempt("error", reason=NOT_HTTP, latency_ms=latency_ms, refusal=NOT_HTTP)
    if _had_begun(error):
        return Attempt("error", reason="the connection broke during the reply", latency_ms=latency_ms)
    number = _system_number(error)
    reason = "connection refused" if number == errno.ECONNREFUSED else _connection_failure(error, number)
    refusal = reason if number == errno.ECONNREFUSED or _is_of_a_wrong_address(error) else None
    return Attempt("infrastructure", reason=reason, latency_ms=latency_ms, refusal=refusal)


def _is_of_a_wrong_address(error: aiohttp.ClientError | OSError) -> bool:
    """Whether a name does not resolve, a certificate is not accepted, or there is no TLS."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return not _is_of_this_machine(error.os_error)
    return isinstance(error, aiohttp.ClientSSLError)


def _system_number(error: aiohttp.ClientError | OSError) -> int | None:
    """The errno of a failed connection; None if the operating system is not the cause."""
    if not isinstance(error, aiohttp.ClientConnectorError) or isinstance(error, aiohttp.ClientSSLError):
        return None
    return error.os_error.errno


def _connection_failure(error: aiohttp.ClientError | OSError, number: int | None) -> str:
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        cause = error.os_error
        if _is_of_this_machine(cause):
            return f"the name of the host could not be looked up: {cause.strerror or cause}"
        return "the name of the host could not be resolved"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "no connection: the certificate of the host was not accepted"
    if isinstance(error, aiohttp.ClientSSLError):
        return "no connection: TLS failed"
    if isinstance(error, aiohttp.ServerTimeoutError):
        return "no connection: the host did not answer in time"
    if isinstance(error, aiohttp.ClientConnectorError):
        return f"no connection: {os.strerror(number)}" if number else "no connection"
    return "the connection broke before the reply"


def _is_of_this_machine(error: OSError) -> bool:
    """Whether a name was not looked up at all, because this machine has too little of something."""
    if isinstance(error, socket.gaierror):
        return error.errno in _NOT_LOOKED_UP
    return error.errno in SCARCE


# --- connections that know whether a byte of the response had arrived --------------------------


class MarkingConnector(aiohttp.TCPConnector):
    """A connector whose connections mark on their exceptions whether a byte of the response had arrived before.

    Before the first byte nobody knows what became of the request: that is infrastructure. After it the agent has begun
    to answer, and a cut is its error. aiohttp raises the same exceptions for both.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, resolver=_Resolver())
        # A private attribute: aiohttp has no public setting for the class of its protocol.
        self._factory = partial(_MarkingResponse, loop=self._loop)  # type: ignore[assignment]  # of a subclass


class _Resolver(aiohttp.ThreadedResolver):
    """Resolves names in threads. That this system allows none says nothing about the name."""

    async def resolve(self, *arguments: Any, **keywords: Any) -> list[ResolveResult]:
        try:
            return await super().resolve(*arguments, **keywords)
        except RuntimeError as error:  # no thread could be started
            raise OSError(errno.EAGAIN, NO_THREAD) from error


class _MarkingResponse(ResponseHandler):
    """A connection that remembers whether any byte has arrived since the last request."""

    _answering = False

    def set_response_params(self, **settings: Any) -> None:
        self._answering = False  # a connection is reused for the next request
        super().set_response_params(**settings)

    def data_received(self, data: bytes) -> None:
        self._answering = self._answering or bool(data)
        super().data_received(data)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        setattr(exc, _MARK, self._answering)
        super().set_exception(exc, *cause)


def _had_begun(error: aiohttp.ClientError | OSError) -> bool:
    """Whether the agent had begun to answer when this error happened."""
    return bool(getattr(error, _MARK, False))
