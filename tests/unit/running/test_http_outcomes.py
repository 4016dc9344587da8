"""A server that fails in every way, and what a call comes to: by status codes and what was sent, never by messages."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import resource
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey

from highbar.errors import InputError
from highbar.running.agents import opened
from highbar.running.agents.http_outcomes import busy_attempt, failed_attempt
from highbar.running.calls import EMPTY_REPLY, Attempt
from highbar.suite import Agent
from tests import faulty_server as faulty
from tests.agent_calls import ask, question
from tests.faulty_server import FaultyServer, Step, serving
from tests.patience import PATIENCE, wait_for

SHORT = 0.3
"""Seconds of a call that must time out."""


def agent_at(address: str, **keys: Any) -> Agent:
    return Agent("http", address, format="openai", **keys)


def asked(*steps: Step, seconds: float = PATIENCE, **keys: Any) -> tuple[Attempt, FaultyServer]:
    """What one call comes to if the server does these things."""
    with serving(steps) as server:
        return ask(agent_at(server.address, **keys), question(seconds=seconds)), server


def test_an_answer_is_an_answer_with_its_latency() -> None:
    attempt, server = asked(faulty.waits(0.05, faulty.answers("at ten")))
    assert (attempt.outcome, attempt.reason) == ("answered", None)
    assert attempt.reply is not None
    assert attempt.reply.output == "at ten"
    assert (attempt.latency_ms or 0) >= 50
    assert len(server.calls) == 1


@pytest.mark.parametrize(("code", "limited"), [(429, True), (503, False), (529, True)])
def test_a_busy_server_is_the_infrastructure(code: int, limited: bool) -> None:
    attempt, server = asked(faulty.status(code, retry_after="7"))
    assert (attempt.outcome, attempt.limited, attempt.retry_after) == ("infrastructure", limited, 7.0)
    assert (attempt.reason or "").startswith(f"HTTP {code}")
    assert attempt.refusal is None
    assert len(server.calls) == 1, "whoever schedules tries again, not the agent"


@pytest.mark.hazard("H87")
@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-1", 0.0),
        ("999999999", 60.0),
        ("9" * 4000, 60.0),
        ("-" + "9" * 4000, 0.0),
        ("0." + "9" * 4000, 1.0),
        ("Sun, 01 Jan 9999 00:00:00 -2359", 60.0),
        ("5 ", 5.0),
        ("5s", None),
        ("", None),
        ("Wed, 21 Oct 2099 07:28:00 GMT", 60.0),
        ("Wed, 21 Oct 1999 07:28:00 GMT", 0.0),
        ("x", None),
        ("nan", None),
        ("1e400", None),
        ("٧", None),
        ("Wed, 99 Oct 2099 07:28:00 GMT", None),
        ("Wed, 21 Oct 99999 07:28:00 GMT", None),
    ],
)
def test_a_server_cannot_ask_for_any_wait(header: str | None, seconds: float | None) -> None:
    assert busy_attempt(429, header, 1.0).retry_after == seconds


@pytest.mark.parametrize("code", [400, 402, 405, 408, 422, 500, 501, 502, 504, 304])
def test_any_other_status_is_an_error_of_the_agent(code: int) -> None:
    attempt, server = asked(faulty.status(code, retry_after="7", text="no" if code != 304 else ""))
    assert (attempt.outcome, attempt.retry_after, attempt.limited, attempt.refusal) == ("error", None, False, None)
    assert f"HTTP {code}" in (attempt.reason or "")
    assert len(server.calls) == 1


def test_an_error_says_what_the_server_said_on_one_short_line() -> None:
    body = '{"error": {"message": "no such model\\n\\u001b[2J' + "x" * 1000 + '"}}'
    attempt, _ = asked(faulty.status(400, text=body))
    reason = attempt.reason or ""
    assert reason.startswith("HTTP 400 Bad Request: no such model ")
    assert reason.isprintable()
    assert len(reason) < 300
    assert attempt.reply is not None, "must-nots are checked on whatever was received"
    assert "no such model" in (attempt.reply.output or "")


@pytest.mark.parametrize("code", [401, 403, 404])
def test_a_wrong_key_or_address_is_named(code: int) -> None:
    attempt, _ = asked(faulty.status(code))
    assert (attempt.outcome, attempt.refusal) == ("error", f"HTTP {code}")


def test_a_wrong_path_gets_a_hint() -> None:
    with serving([faulty.status(404)]) as server:
        attempt = ask(agent_at(f"http://127.0.0.1:{server.port}/v1"))
    assert "ends with /chat/completions" in (attempt.reason or "")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_refused_connection_is_named(host: str) -> None:
    attempt = ask(agent_at(f"http://{host}:{faulty.closed_port()}/v1"))
    assert (attempt.outcome, attempt.refusal) == ("infrastructure", "connection refused")


def test_a_name_that_does_not_exist_is_the_infrastructure() -> None:
    attempt = ask(agent_at("http://no-such-host.invalid/v1"))
    assert attempt.outcome == "infrastructure"
    assert "could not be resolved" in (attempt.reason or "")
    assert attempt.refusal == attempt.reason


def test_a_server_without_tls_is_the_infrastructure() -> None:
    with serving([faulty.answers("x")]) as server:
        attempt = ask(agent_at(f"https://127.0.0.1:{server.port}/v1"))
    assert (attempt.outcome, attempt.reason) == ("infrastructure", "no connection: TLS failed")


def test_a_certificate_that_is_not_accepted_is_the_infrastructure() -> None:
    key = ConnectionKey("host", 443, True, True, None, None, None)
    attempt = failed_attempt(aiohttp.ClientConnectorCertificateError(key, ssl.CertificateError("self-signed")), 1.0)
    assert attempt.outcome == "infrastructure"
    assert "certificate" in (attempt.reason or "")
    assert attempt.refusal == attempt.reason


def test_a_reset_before_the_first_byte_is_the_infrastructure() -> None:
    for step in (faulty.resets_before_the_first_byte(), faulty.raw(b"")):
        attempt, server = asked(step)
        assert (attempt.outcome, attempt.reason) == ("infrastructure", "the connection broke before the reply")
        assert len(server.calls) == 1


@pytest.mark.parametrize(
    "step",
    [
        faulty.resets_after_the_first_byte(),
        faulty.raw(b"HTTP/1.1 2"),
        faulty.resets_in_the_body(),
        faulty.cuts_the_body(),
    ],
)
def test_a_cut_after_the_first_byte_is_an_error(step: Step) -> None:
    attempt, server = asked(step)
    assert attempt.outcome == "error"
    assert "broke" in (attempt.reason or "")
    assert len(server.calls) == 1


def test_the_first_byte_is_that_of_this_reply_and_not_of_an_earlier_one() -> None:
    with serving([faulty.answers("one"), faulty.resets_before_the_first_byte()]) as server:
        attempt = ask(agent_at(server.address), question(), question())
    assert attempt.outcome == "infrastructure"


@pytest.mark.hazard("H86")
def test_a_body_that_is_cut_without_a_length_is_an_error() -> None:
    attempt, _ = asked(faulty.cuts_without_a_length())
    assert attempt.outcome == "error"
    assert (attempt.reason or "").startswith("malformed reply: it is not JSON")
    assert attempt.reply is not None
    assert "I ref" in (attempt.reply.output or "")


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (faulty.garbage(), "the reply is not HTTP"),
        (faulty.sends(b"<html>"), "malformed reply: it is not JSON"),
        (faulty.sends(b""), EMPTY_REPLY),
        (faulty.sends(b"", 204), EMPTY_REPLY),
        (faulty.sends(b"\xff\xfe"), "malformed reply: it is not UTF-8"),
        (faulty.sends(b'{"choices": [NaN]}'), "malformed reply: NaN is not JSON"),
        (faulty.sends(b"[" * 100_000), "malformed reply: the JSON is nested deeper"),
        (faulty.sends(b'"' + b"1" * 5000), "malformed reply: it is not JSON"),
        (faulty.sends(b"1" * 5000), "malformed reply: "),
        (faulty.answers({}), "malformed reply: there is no choices[0].message; the reply is an empty object"),
        (faulty.answers({"error": {"message": "over quota"}}), "malformed reply: the server reports an error"),
        (faulty.answers({"choices": [{"message": {"content": ""}}]}), EMPTY_REPLY),
        (faulty.sends(b'{"choices": [{"message": {"content": "\\ud800"}}]}'), "malformed reply: output: the text"),
    ],
)
def test_what_is_no_reply_is_an_error(step: Step, reason: str) -> None:
    attempt, _ = asked(step)
    assert attempt.outcome == "error"
    assert reason in (attempt.reason or "")


@pytest.mark.hazard("H84")
@pytest.mark.parametrize("step", [faulty.hangs(), faulty.drips()])
def test_a_deadline_holds_for_the_whole_call(step: Step) -> None:
    attempt, server = asked(step, seconds=SHORT)
    assert (attempt.outcome, attempt.reason) == ("error", "timed out after 0.3 s")
    assert (attempt.latency_ms or 0) >= 290
    assert len(server.calls) <= 1


def test_what_came_before_the_deadline_is_kept() -> None:
    found = (asked(faulty.drips(), seconds=SHORT * 4**more)[0] for more in range(5))
    attempt = next(one for one in found if one.reply is not None)  # a busy machine takes its time to send a byte
    assert attempt.reason is not None
    assert attempt.reason.startswith("timed out after")
    assert attempt.reply is not None
    assert set(attempt.reply.output or "") == {"x"}


@pytest.mark.hazard("H85")
def test_a_reply_has_a_largest_size() -> None:
    most = 2**20
    for step in (
        faulty.floods(),
        faulty.sends(b"x" * (most + 1)),
        faulty.gzip_bomb(100 * most),
        faulty.sends(b"x" * 100, Content_Encoding="br"),
        faulty.sends(b"x" * 100, Content_Encoding="gzip"),
    ):
        attempt, _ = asked(step, max_reply=most)
        assert attempt.outcome == "error"
        assert any(word in (attempt.reason or "") for word in ("larger than 1 MiB", "compressed")), attempt.reason
        assert attempt.reply is None or len(attempt.reply.output or "") <= 2**16


@pytest.mark.hazard("H85")
def test_a_bomb_takes_no_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bomb = faulty.gzip_bomb(60 * 2**20)
    made = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    asked(bomb, max_reply=2**20)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - made < 30 * 1024, f"{before}, {made}, then {after} kB"


def test_a_reply_of_the_largest_size_is_read() -> None:
    text = "x" * 2**20
    attempt, _ = asked(faulty.answers(text), max_reply=2**20 + 500)
    assert attempt.reply is not None
    assert attempt.reply.output == text


def test_a_compressed_reply_is_read_although_none_was_asked_for() -> None:
    packed = gzip.compress(json.dumps(faulty.openai("at ten")).encode())
    attempt, server = asked(faulty.sends(packed, Content_Encoding="gzip"))
    assert attempt.reply is not None
    assert attempt.reply.output == "at ten"
    assert server.calls[0].headers["Accept-Encoding"] == "identity"
    cut, _ = asked(faulty.sends(packed[:-9], Content_Encoding="gzip"))
    assert (cut.outcome, cut.reason) == ("error", "the compressed reply was cut")


@pytest.mark.hazard("H125")
def test_a_redirect_to_another_host_is_not_followed() -> None:
    with serving([faulty.answers("stolen")]) as other:
        for to in (other.address, f"http://localhost:{other.port}/", "//169.254.169.254/latest", "ftp://x/"):
            for code in (307, 308):
                attempt, server = asked(faulty.redirects(to, code))
                assert attempt.outcome == "error"
                assert "redirect to another host was not followed" in (attempt.reason or "")
                assert len(server.calls) == 1
        assert other.calls == []


@pytest.mark.hazard("H125")
@pytest.mark.parametrize("code", [301, 302, 303])
def test_a_redirect_that_drops_the_question_is_not_followed(code: int) -> None:
    attempt, server = asked(faulty.redirects("/elsewhere", code), faulty.answers("x"))
    assert attempt.outcome == "error"
    assert "was not followed" in (attempt.reason or "")
    assert len(server.calls) == 1


def test_a_redirect_on_the_same_host_keeps_the_question() -> None:
    attempt, server = asked(faulty.redirects("/elsewhere?a=1", 308), faulty.answers("at ten"))
    assert attempt.outcome == "answered"
    assert [call.path for call in server.calls] == ["/v1/chat/completions", "/elsewhere?a=1"]
    assert server.calls[0].body == server.calls[1].body


def test_redirects_end() -> None:
    attempt, server = asked(faulty.redirects("/again", 307))
    assert (attempt.outcome, attempt.reason) == ("error", "more than 5 redirects")
    assert len(server.calls) == 6
    lost, _ = asked(faulty.redirects("http://[", 307))
    assert "no usable address" in (lost.reason or "")


def test_proxies_and_cookies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "http_proxy", f"http://127.0.0.1:{faulty.closed_port()}")
    body = faulty.openai("at ten")
    with serving([faulty.sends(json.dumps(body).encode(), Set_Cookie="session=1")]) as server:
        assert ask(agent_at(server.address), question(), question()).outcome == "answered"
    assert "Cookie" not in server.calls[1].headers


def test_calls_run_at_once_and_none_waits_for_another() -> None:
    async def all_at_once(server: FaultyServer) -> list[Attempt]:
        async with opened(agent_at(server.address), folder=Path(), environment={}) as caller:
            assert (caller.start, caller.most, caller.ahead) == (8, 64, False)
            return await asyncio.gather(*(caller.call(question()) for _ in range(200)))

    with serving(lambda number, _body: faulty.answers("x") if number % 2 else faulty.status(500)) as server:
        found = asyncio.run(all_at_once(server))
    assert sum(attempt.outcome == "answered" for attempt in found) == 100
    assert len(server.calls) == 200


def test_a_cancelled_call_ends() -> None:
    async def cancelled(server: FaultyServer) -> None:
        async with opened(agent_at(server.address), folder=Path(), environment={}) as caller:
            task = asyncio.create_task(caller.call(question()))
            await asyncio.to_thread(wait_for, lambda: server.calls, "the server got no request")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with serving([faulty.hangs()]) as server:
        asyncio.run(cancelled(server))


@pytest.mark.parametrize(
    ("keys", "environment", "code", "named"),
    [
        ({"target": "${HOST}"}, {"HOST": "nonsense"}, "agent.bad-address", "the address"),
        ({"target": "${HOST}"}, {"HOST": "ftp://x/y"}, "agent.bad-address", "the address"),
        ({"target": "${HOST}"}, {"HOST": "http://a..b/"}, "agent.bad-address", "the address"),
        ({"target": "${HOST}"}, {"HOST": f"http://{'a' * 64}.com/"}, "agent.bad-address", "the address"),
        ({"target": "${HOST}"}, {"HOST": "http://host:99999/"}, "agent.bad-address", "the address"),
        ({"target": "${HOST}"}, {}, "agent.variable-not-set", "${HOST}"),
        ({"key": "${KEY}"}, {"KEY": ""}, "agent.variable-not-set", "${KEY}"),
        ({"key": "${KEY}"}, {"KEY": "CANARY-123\n"}, "agent.bad-address", "Authorization"),
        ({"headers": {"X-A": "${A}", "X-B": "${B}"}}, {}, "agent.variable-not-set", "${A}"),
    ],
)
def test_an_agent_that_cannot_be_called_at_all_is_refused(
    keys: dict[str, Any], environment: dict[str, str], code: str, named: str
) -> None:
    agent = Agent("http", **{"target": "http://127.0.0.1:1/", **keys})
    with pytest.raises(InputError) as refused:
        ask(agent, environment=environment)
    assert {problem.code for problem in refused.value.problems} == {code}
    assert named in refused.value.problems[0].message
    assert "CANARY" not in str(refused.value)
