"""One judge behind HTTP: a question → its judgments, with as many requests as that takes.

After a network failure the request is repeated later. If the endpoint does not understand a form of structured output,
the next form is tried, and remembered for all questions. If an answer was cut, the question is asked once more with
twice the tokens; if an answer cannot be used, the question is asked once more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Self

import msgspec

from highbar.model.judgments import JudgeAnswer, JudgeQuestion, StatementJudgment
from highbar.running.agents.environment import filled_agent
from highbar.running.agents.http_endpoint import Exchange, HttpEndpoint
from highbar.running.agents.http_outcomes import REFUSALS, message_in, status_in_words
from highbar.running.agents.json_text import decode_reply
from highbar.running.agents.replies import MalformedReply, short
from highbar.running.agents.secrets import redactor
from highbar.running.agents.wire_formats import FORMATS
from highbar.running.calls import Attempt
from highbar.running.judging import sum_if_known, wire
from highbar.running.judging.call_slots import CallSlots
from highbar.running.judging.prompt import TOOL, prompt
from highbar.running.judging.reply import Unusable, read_calls, read_text
from highbar.running.pacing import AllowedRate
from highbar.running.retries import Backoff, RetryRule, Tries
from highbar.running.stopping import ENOUGH_REFUSALS
from highbar.running.watched import Fact
from highbar.suite.parts import Agent, Judge

LEAST_CAP = 4096
"""Tokens that an answer may have, unless the suite allows more: models that think first need them."""
_LARGEST = 8 * 2**20
"""Bytes that a reply may have."""
_START, _MOST = 8, 64
_TROUBLE = frozenset({408, 500, 502, 504})
"""The server itself failed. A judge is not under test, so these requests are retried."""
_COMPLAINTS = frozenset({400, 404, 422})
"""Responses of endpoints to a form of structured output that they do not know."""
_OBJECTIONS = frozenset({400, 413, 422})
"""Responses of endpoints to a conversation that is too long, or that their filter blocks."""
_TROUBLED = Attempt("infrastructure")
"""An attempt without a usable response, which is not the question's fault."""
_encode = msgspec.json.Encoder().encode


class _Inquiry:
    """One question in progress: how it is asked now, and what its replies have cost so far."""

    def __init__(self, question: JudgeQuestion, form: int, cap_name: wire.CapName, cap: int) -> None:
        self.question, self.form, self.cap_name, self.cap = question, form, cap_name, cap
        self.tries = Tries()
        self.began = 0.0  # when the last request began
        self.is_doubled = self.is_again = False
        self.model: str | None = None
        self.tokens: int | None = 0
        self.cost: Decimal | None = Decimal(0)

    def spend(self, tokens: int | None, cost: Decimal | None) -> None:
        """Add tokens and cost of a reply. None, if one is not known, makes the sum unknown."""
        self.tokens = sum_if_known(self.tokens, tokens)
        self.cost = sum_if_known(self.cost, cost)


class HttpJudge:
    """A judge at an HTTP address. Use it with `async with`. Raises InputError if nothing can be sent there."""

    def __init__(self, judge: Judge, environment: Mapping[str, str], backoff: Backoff) -> None:
        self._judge, self._backoff = judge, backoff
        self._rule: RetryRule | None = None  # from the first question on
        self._refused = 0  # calls before anything was answered that a wrong key or address may have caused
        self._wrong = ("", "")  # how the last of them failed, and what that is called
        self._timeout = float(judge.timeout)
        agent = Agent("http", judge.base_url or "", key=judge.key)
        self._redactor = redactor(agent, environment)
        known = filled_agent(agent, environment)
        headers = FORMATS[judge.format].headers(known.key)
        self._endpoint = HttpEndpoint(wire.address(str(known.target), judge.format), "judge", headers)
        self._slots = CallSlots(judge.concurrency, _START, _MOST)
        self._forms = wire.FORMS[judge.format]
        self._form = 0
        self._is_reached = False  # whether it has answered anything
        self._is_proven = False  # whether the endpoint has accepted this form
        self._cap_name: wire.CapName = "max_tokens"
        self._cap = max(LEAST_CAP, judge.max_tokens or 0)

    async def __aenter__(self) -> Self:
        await self._endpoint.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._endpoint.__aexit__()

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Return what the judge found, or why it found nothing."""
        if self._rule is None:
            now = asyncio.get_running_loop().time()
            self._rule = RetryRule(self._judge.retries, float(self._judge.patience), self._backoff, now)
        asked = _Inquiry(question, self._form, self._cap_name, self._cap)
        while self._refused < ENOUGH_REFUSALS:  # nobody should wait for retries at a wrong address
            found = self._next_step(asked, await self._post(asked))
            if not isinstance(found, float):
                return found
            await asyncio.sleep(found)  # occupies no slot
        return self._failure(asked, *self._wrong)

    @property
    def allowance(self) -> AllowedRate | None:
        """What its server allowed; None if that is not known."""
        return self._slots.pace.allowance

    def take_facts(self) -> list[Fact]:
        """Nothing: it runs elsewhere."""
        return []

    async def _post(self, asked: _Inquiry) -> Exchange:
        text = prompt(asked.question, again=asked.is_again)
        body = _encode(wire.request_body(self._judge, text, self._forms[asked.form], asked.cap_name, asked.cap))
        slot = await self._slots.take(self._is_hopeful)
        asked.began = slot.began
        attempt: Attempt | None = None
        try:
            asked.tries.attempts += 1
            exchange = await self._endpoint.post(body, self._timeout, _LARGEST)
            attempt = exchange.failure or Attempt(
                "infrastructure" if exchange.is_late else "answered", latency_ms=exchange.latency_ms
            )
        finally:
            self._slots.give_back(slot, attempt)
        return exchange

    def _is_hopeful(self, now: float) -> bool:
        return self._rule is not None and self._rule.is_hopeful(now)

    # --- after a request -----------------------------------------------------------------------

    def _next_step(self, asked: _Inquiry, exchange: Exchange) -> JudgeAnswer | float:
        """The answer, or the seconds to wait before the next request."""
        if (failure := exchange.failure) is not None:
            if failure.outcome == "error":  # the reply broke off, and may have cost something
                asked.spend(None, None)
            return self._retry_later(asked, failure.reason or "no answer", failure)
        if exchange.problem is not None:
            asked.spend(None, None)
            if not exchange.status and not exchange.is_late:  # a redirect that is not followed
                return self._failure(asked, exchange.problem)
            return self._retry_later(asked, exchange.problem)
        self._note_answer()
        if exchange.is_ok:
            return self._read(asked, exchange)
        if exchange.status in _TROUBLE:
            return self._retry_later(asked, self._status(exchange))
        return 0.0 if self._change_form(asked, exchange) else self._refusal(asked, exchange)

    def _retry_later(self, asked: _Inquiry, reason: str, attempt: Attempt = _TROUBLED) -> JudgeAnswer | float:
        if attempt.refusal is None:
            self._is_reached, self._refused = True, 0
        elif not self._is_reached:
            self._refused += 1
            self._wrong = (reason, attempt.refusal)
        now = asyncio.get_running_loop().time()
        wait = None if self._rule is None else self._rule.wait(asked.tries, attempt, asked.began, now)
        return self._failure(asked, reason, attempt.refusal) if wait is None else wait

    def _note_answer(self) -> None:
        """Note that the endpoint answers, whatever it says."""
        self._is_reached, self._refused = True, 0
        if self._rule is not None:
            self._rule.answered(asyncio.get_running_loop().time())

    def _change_form(self, asked: _Inquiry, exchange: Exchange) -> bool:
        """Switch to another form of the request, and return whether there is one to try.

        It is the form that worked for other questions, or else the next one. A form that has worked is not given up:
        then the endpoint complains about something else.
        """
        if exchange.status not in _COMPLAINTS or asked.is_doubled:
            return False
        known = self._form if self._is_proven else asked.form
        if (asked.form, asked.cap_name) != (known, self._cap_name):
            asked.form, asked.cap_name = known, self._cap_name
            return True
        if self._is_proven:
            return False
        if self._cap_name == "max_tokens" and b"max_completion_tokens" in exchange.received:
            self._cap_name = asked.cap_name = "max_completion_tokens"
            return True
        asked.form += 1
        return asked.form < len(self._forms)

    def _refusal(self, asked: _Inquiry, exchange: Exchange) -> JudgeAnswer:
        asked.form = min(asked.form, len(self._forms) - 1)
        reason = self._status(exchange)
        if asked.is_doubled:
            reason = f"its answer was cut at {asked.cap // 2} tokens, and it takes no higher limit ({reason})"
        if exchange.status == 404:
            reason += f" (asked at base_url and {FORMATS[self._judge.format].PATH})"
        if exchange.status in REFUSALS:
            return self._failure(asked, reason, f"HTTP {exchange.status}")
        # If it accepts other questions, it objects to something in this conversation.
        is_about_this = self._is_proven and exchange.status in _OBJECTIONS
        return self._failure(asked, reason, unusable=is_about_this)

    def _status(self, exchange: Exchange) -> str:
        message = short(self._redactor.text(message_in(bytes(exchange.received))))
        return status_in_words(exchange.status) + (f": {message}" if message else "")

    # --- reading a reply -----------------------------------------------------------------------

    def _read(self, asked: _Inquiry, exchange: Exchange) -> JudgeAnswer | float:
        if not self._is_proven:
            self._is_proven, self._form = True, asked.form
        try:
            document = self._redactor.value(decode_reply(bytes(exchange.received)))
            reply = wire.read_judge_reply(self._judge.format, document)
        except MalformedReply as error:
            asked.spend(None, None)
            return self._ask_again(asked, f"malformed reply: {short(str(error))}")
        asked.spend(reply.tokens, reply.cost)
        asked.model = reply.model or asked.model
        if reply.is_cut:
            return self._ask_longer(asked)
        if reply.declined is not None:
            return self._ask_again(asked, f"it declined to answer: {reply.declined}")
        try:
            return self._answer(asked, self._judgments(reply, asked.question))
        except (Unusable, MalformedReply) as error:
            return self._ask_again(asked, f"its answer cannot be used: {error}")

    def _judgments(self, reply: wire.JudgeReply, question: JudgeQuestion) -> dict[str, StatementJudgment]:
        if reply.calls:
            # Again after decoding: arguments are JSON inside of JSON, where a secret may be escaped twice.
            return read_calls([self._redactor.value(dict(call)) for call in reply.calls], TOOL, question)
        return read_text(self._redactor.text(reply.text or ""), question)

    def _ask_longer(self, asked: _Inquiry) -> JudgeAnswer | float:
        if asked.is_doubled:
            return self._failure(asked, f"its answer was cut at {asked.cap} tokens", unusable=True)
        asked.is_doubled = True
        asked.cap *= 2
        return 0.0

    def _ask_again(self, asked: _Inquiry, reason: str) -> JudgeAnswer | float:
        if asked.is_again:
            return self._failure(asked, reason, unusable=True)
        asked.is_again = True
        return 0.0

    def _answer(self, asked: _Inquiry, found: Mapping[str, StatementJudgment]) -> JudgeAnswer:
        return JudgeAnswer(
            found,
            asked.model or self._judge.model,
            attempts=asked.tries.attempts,
            tokens_used=asked.tokens,
            cost_usd=asked.cost,
            form=self._forms[asked.form],
        )

    def _failure(
        self, asked: _Inquiry, reason: str, refusal: str | None = None, *, unusable: bool = False
    ) -> JudgeAnswer:
        return JudgeAnswer(
            model=asked.model,
            failure=reason,
            refusal=refusal,
            unusable=unusable,
            attempts=asked.tries.attempts,
            tokens_used=asked.tokens,
            cost_usd=asked.cost,
            form=self._forms[asked.form],
        )
