"""An agent behind HTTP: one POST for each call, in one of three wire formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import msgspec
from msgspec.structs import replace

from highbar.running.agents.environment import filled_agent
from highbar.running.agents.http_endpoint import Exchange, HttpEndpoint
from highbar.running.agents.http_outcomes import REFUSALS, message_in, status_in_words
from highbar.running.agents.json_text import decode_reply
from highbar.running.agents.replies import MOST_OF_AN_ERROR, MalformedReply, read_attempt, short
from highbar.running.agents.secrets import redactor
from highbar.running.agents.wire_formats import FORMATS, WireFormat
from highbar.running.calls import EMPTY_REPLY, AgentCall, Attempt, Reply
from highbar.suite.parts import Agent

_encode = msgspec.json.Encoder(decimal_format="number").encode


class HttpAgent:
    """Calls an agent behind HTTP."""

    start = 8
    most = 64
    ahead = False

    def __init__(self, agent: Agent, environment: Mapping[str, str]) -> None:
        self.agent = agent
        self._redactor = redactor(agent, environment)
        self._format: WireFormat = FORMATS[agent.format or "openai"]
        known = filled_agent(agent, environment)
        self._endpoint = HttpEndpoint(str(known.target), "agent", self._format.headers(known.key), known.headers)

    async def __aenter__(self) -> Self:
        await self._endpoint.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._endpoint.__aexit__()

    def allow(self, at_once: int) -> None:
        """Do nothing: no question is handed over ahead."""

    async def call(self, call: AgentCall) -> Attempt:
        """Make one attempt."""
        body = _encode(self._format.body(call, self.agent))
        exchange = await self._endpoint.post(body, call.timeout, self.agent.max_reply)
        if exchange.failure is not None:
            return exchange.failure
        if exchange.problem is not None:
            return self._error(exchange, exchange.problem)
        return self._read(exchange) if exchange.is_ok else self._failure(exchange)

    def _read(self, exchange: Exchange) -> Attempt:
        if not exchange.received.strip():
            return self._error(exchange, EMPTY_REPLY)
        try:
            # Redact before anything is quoted or cut, so that no part of a secret is left.
            document = self._redactor.value(decode_reply(bytes(exchange.received)))
            # Again after decoding: arguments of calls are JSON inside of JSON, where a secret may be escaped twice.
            fields = self._redactor.value(self._format.fields(document, self.agent))
        except MalformedReply as error:
            return self._error(exchange, f"malformed reply: {error}")
        return read_attempt(fields, self.agent, exchange.latency_ms)

    def _failure(self, exchange: Exchange) -> Attempt:
        status = exchange.status
        message = short(self._redactor.text(message_in(bytes(exchange.received))))
        reason = status_in_words(status) + (f": {message}" if message else "")
        ending = self._format.PATH
        if status == 404 and ending and not self._endpoint.address.path.endswith(ending):
            reason += f" (the address is used as it is; of {self.agent.format} it ends with {ending})"
        attempt = self._error(exchange, reason)
        return replace(attempt, refusal=f"HTTP {status}") if status in REFUSALS else attempt

    def _error(self, exchange: Exchange, reason: str) -> Attempt:
        """An error of the agent, with what was received of its reply."""
        # Twice as much is redacted as is recorded: a secret at the cut must be whole to be found.
        text = self._redactor.text(exchange.received[: 2 * MOST_OF_AN_ERROR].decode("utf-8", "replace"))
        reply = Reply(output=text[:MOST_OF_AN_ERROR]) if text.strip() else None
        return Attempt("error", reply, reason, exchange.latency_ms)
