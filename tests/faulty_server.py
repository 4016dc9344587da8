"""A real server on 127.0.0.1 that does to each request what a plan says: it answers, refuses, hangs, resets, lies.

    with serving([status(429, retry_after="0"), answers("ten")]) as server:
        … server.address, server.calls

A plan is a list of steps, one for each request and the last one for all that follow, or a function from the number of
the request (from 1) and its JSON body to a step. The server runs in a thread of its own, so that a test may block.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.patience import PATIENCE

Step = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
Plan = Sequence[Step] | Callable[[int, Any], Step]


@dataclass(frozen=True, slots=True)
class Received:
    """One request, as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(slots=True)
class FaultyServer:
    """A server that runs; `calls` has every request in the order in which they came."""

    plan: Plan
    port: int = 0
    calls: list[Received] = field(default_factory=list)

    @property
    def address(self) -> str:
        """Where it is, with the path that chat completions have."""
        return f"http://127.0.0.1:{self.port}/v1/chat/completions"

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        """What the plan says for this request."""
        data = await request.read()
        body = json.loads(data) if data else None
        self.calls.append(Received(request.method, request.path_qs, dict(request.headers), body))
        number = len(self.calls)
        if callable(self.plan):
            return await self.plan(number, body)(request)
        return await self.plan[min(number, len(self.plan)) - 1](request)


@contextmanager
def serving(plan: Plan, tls: ssl.SSLContext | None = None) -> Iterator[FaultyServer]:
    """A server in a thread, on a free port; what it still does is dropped at the end."""
    server = FaultyServer(plan)
    loop = asyncio.new_event_loop()
    started, stop = threading.Event(), asyncio.Event()

    async def run() -> None:
        runner = web.ServerRunner(web.Server(server.respond, access_log=None))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=1024, ssl_context=tls)
        await site.start()
        server.port = runner.addresses[0][1]
        started.set()
        await stop.wait()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()  # or the server waits for those who hang
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), daemon=True)
    thread.start()
    assert started.wait(PATIENCE)
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE)
        loop.close()


def closed_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def self_signed(folder: Path) -> ssl.SSLContext:
    """TLS with a certificate of 127.0.0.1 that nobody trusts; its files are in this folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    data = made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    data += key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file = folder / "certificate.pem"
    file.write_bytes(data)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


# --- answers ---------------------------------------------------------------------------------


def openai(text: str | None, *calls: tuple[str, Any], tokens: int | None = None, **message: Any) -> dict[str, Any]:
    """A chat completion."""
    made = [{"id": name, "type": "function", "function": {"name": name, "arguments": given}} for name, given in calls]
    whole = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {}), **message}
    usage = {} if tokens is None else {"usage": {"total_tokens": tokens}}
    return {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": whole}], **usage}


def anthropic(text: str | None, *calls: tuple[str, Any], **keys: Any) -> dict[str, Any]:
    """A message of Anthropic's."""
    blocks = [] if text is None else [{"type": "text", "text": text}]
    blocks += [{"type": "tool_use", "id": name, "name": name, "input": given} for name, given in calls]
    return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": "end_turn", **keys}


def answers(document: Any) -> Step:
    """Status 200 with this JSON; a text is the text of a chat completion."""

    async def step(_request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response(openai(document) if isinstance(document, str) else document)

    return step


def sends(data: bytes, status: int = 200, **headers: str) -> Step:
    """These bytes as the body, with headers whose names have _ for -."""

    async def step(_request: web.BaseRequest) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=data, status=status, headers=named)

    return step


def status(code: int, retry_after: str | None = None, text: str = "") -> Step:
    """A status, with a `Retry-After` if one is given."""
    return sends(text.encode(), code, **({} if retry_after is None else {"Retry_After": retry_after}))


def redirects(to: str, code: int = 307) -> Step:
    """A redirect to an address or a path."""
    return sends(b"", code, Location=to)


def waits(seconds: float, then: Step) -> Step:
    """Another step, after some time."""

    async def step(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await then(request)

    return step


# --- faults ----------------------------------------------------------------------------------


def raw(data: bytes, *, reset: bool = False) -> Step:
    """These bytes on the wire instead of a response, then the end of the connection, by a reset if wanted."""

    async def step(request: web.BaseRequest) -> web.StreamResponse:
        transport = request.transport
        assert transport is not None
        transport.write(data)
        if data:
            await asyncio.sleep(0.05)  # a reset would overtake them
        if reset:
            # Closing a socket that lingers for 0 seconds sends a reset instead of an end.
            plug = transport.get_extra_info("socket")
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
        return web.Response()  # which goes nowhere

    return step


def resets_before_the_first_byte() -> Step:
    """A reset instead of a response."""
    return raw(b"", reset=True)


def resets_after_the_first_byte() -> Step:
    """A reset in the middle of the first line."""
    return raw(b"HTTP/1.1 2", reset=True)


def resets_in_the_body() -> Step:
    """A reset when half of the body was sent."""
    return raw(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"choices": [', reset=True)


def garbage() -> Step:
    """Bytes that are no HTTP."""
    return raw(b"\x00\x01\x02 nothing that a client knows\r\n\r\n")


def cuts_the_body() -> Step:
    """A body that is shorter than its length says."""
    return raw(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"choices": [{"message": {"content": "I ref')


def cuts_without_a_length() -> Step:
    """Half of some JSON, and the end of the connection as the end of the body."""
    return raw(b'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"choices": [{"message": {"content": "I ref')


def hangs() -> Step:
    """Nothing, for ever."""

    async def step(_request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(PATIENCE)
        raise AssertionError

    return step


def drips(every: float = 0.02) -> Step:
    """A body that goes on byte by byte, for ever."""
    return _streams(b"x", every)


def floods(chunk: int = 2**20) -> Step:
    """A body that goes on as fast as it can, for ever."""
    return _streams(b"x" * chunk, 0)


def _streams(chunk: bytes, every: float) -> Step:
    async def step(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            while True:
                await response.write(chunk)
                await asyncio.sleep(every)
        return response

    return step


def gzip_bomb(size: int = 300 * 2**20) -> Step:
    """A small body that says to be gzip, and is many times as large without."""
    return sends(gzip.compress(b" " * size, 1), Content_Encoding="gzip", Content_Type="application/json")
