"""Addresses at which nobody can answer: a run ends after the first calls, with exit code 2, and says what is wrong."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests import faulty_server as faulty
from tests.commandline import Run, judged, refused
from tests.faulty_server import serving
from tests.runs.judged_projects import asks, judged_project
from tests.runs.projects import Project, scenarios

YES = faulty.answers("yes")
NO_NAME = "http://no-such-host.invalid/v1"
RESOLVED = "resolved"
CERTIFICATE = "certificate"
NO_TLS = "TLS failed"
NEEDS_TLS = "speaks TLS"
NOT_HTTP = "not HTTP"
QUOTA = b'{"error": {"message": "You exceeded your quota", "type": "x", "code": "insufficient_quota"}}'


def project_at(address: str, folder: Path, **run: Any) -> Project:
    return Project(folder, {"http": address, "format": "openai"}, scenarios(20), run=run)


def refused_at(address: str, folder: Path, reason: str) -> None:
    """The run ends at once, and nothing of it counts."""
    project = project_at(address, folder)
    refused(project.run(), reason, code="agent.refused")
    assert project.done() == (0, 0, 20)


def test_a_name_that_does_not_resolve(tmp_path: Path) -> None:
    refused_at(NO_NAME, tmp_path, RESOLVED)


def test_a_wrong_address_of_the_suite_is_corrected_and_the_run_begins_again(tmp_path: Path) -> None:
    """The folder keeps the address, so that going on would call the wrong one again."""
    project = project_at(f"http://127.0.0.1:{faulty.closed_port()}/v1", tmp_path)
    done = project.run()
    refused(done, "highbar run suite.json --output out-2;", "highbar run --resume out", code="agent.refused")
    part = project.run("--limit", "9", name="part")
    refused(part, "--output part-2, with the other options", "--resume part", code="agent.refused")
    with serving([YES]) as server:
        project.write_suite({"http": server.address, "format": "openai"}, scenarios(20))
        judged(project.run(name="out-2"), "pass")


def test_a_wrong_address_of_the_environment_is_corrected_and_the_run_goes_on(tmp_path: Path) -> None:
    project = Project(tmp_path, {"http": "${AGENT}", "format": "openai"}, scenarios(20))
    done = project.run(environment={"AGENT": f"http://127.0.0.1:{faulty.closed_port()}/v1"})
    refused(done, "${AGENT}", "highbar run --resume out", code="agent.refused")
    assert "--output" not in done.problems
    with serving([YES]) as server:
        judged(project.resume(environment={"AGENT": server.address}), "pass")
    project.write_suite({"http": "http://no-such-host.invalid/v1", "format": "openai", "key": "${KEY}"}, scenarios(20))
    done = project.run(name="keyed", environment={"KEY": "x"})
    refused(done, "${KEY}", "highbar run --resume keyed;", "--output keyed-2", code="agent.refused")


def test_a_certificate_that_is_not_accepted(tmp_path: Path) -> None:
    with serving([YES], faulty.self_signed(tmp_path)) as server:
        refused_at(f"https://127.0.0.1:{server.port}/v1", tmp_path, CERTIFICATE)
        assert not server.calls


def test_tls_at_a_port_that_does_not_speak_it(tmp_path: Path) -> None:
    with serving([YES]) as server:
        refused_at(f"https://127.0.0.1:{server.port}/v1", tmp_path, NO_TLS)


def test_plain_http_at_a_port_that_speaks_tls(tmp_path: Path) -> None:
    with serving([YES], faulty.self_signed(tmp_path)) as server:
        refused_at(f"http://127.0.0.1:{server.port}/v1", tmp_path, NEEDS_TLS)


def test_a_port_that_speaks_something_else(tmp_path: Path) -> None:
    with serving([faulty.raw(b"220 mail.example ESMTP\r\n")]) as server:
        refused_at(server.address, tmp_path, NOT_HTTP)
        assert len(server.calls) <= 5 + 8


def test_a_key_without_a_quota_is_a_wrong_key(tmp_path: Path) -> None:
    with serving([faulty.sends(QUOTA, 429)]) as server:
        refused_at(server.address, tmp_path, "HTTP 429 Too Many Requests: insufficient_quota")
        assert len(server.calls) <= 5 + 8


@pytest.mark.parametrize(
    "body",
    [
        b"insufficient_quota",
        b'{"error": {"message": "insufficient_quota", "code": "rate_limit_exceeded"}}',
        b'{"error": {"type": "insufficient_quota"}}',
        b'{"error": "insufficient_quota"}',
        b'{"code": "insufficient_quota"}',
        b'["insufficient_quota"]',
        b'{"error": {"code": ["insufficient_quota"]}}',
        b'{"error": {"code": "insufficient_quota"}',
        b"",
    ],
)
def test_a_limit_that_only_mentions_a_quota_is_a_limit(tmp_path: Path, body: bytes) -> None:
    steps = [faulty.sends(body, 429, Retry_After="0")] * 5
    with serving([*steps, YES]) as server:
        project = project_at(server.address, tmp_path)
        judged(project.run(), "pass")
    assert project.done() == (20, 0, 0)


def test_a_limit_whose_body_never_comes_is_a_limit(tmp_path: Path) -> None:
    head = b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 1000\r\n\r\n{"
    with serving([faulty.raw(head), YES]) as server:
        project = project_at(server.address, tmp_path)
        judged(project.run(), "pass")
        assert len(server.calls) == 21


def test_what_comes_after_an_answer_is_no_wrong_address(tmp_path: Path) -> None:
    """It is an error of the agent, as it was said to be, or of the infrastructure."""
    with serving([YES, faulty.raw(b"220 mail.example ESMTP\r\n")]) as server:
        project = project_at(server.address, tmp_path, concurrency=1)
        judged(project.run(), "fail")
    assert project.done() == (1, 19, 0)


def test_a_400_of_a_server_without_tls_is_an_error_of_the_agent(tmp_path: Path) -> None:
    with serving([faulty.status(400)]) as server:
        project = project_at(server.address, tmp_path)
        judged(project.run(), "fail")
    assert project.done() == (0, 20, 0)


def test_a_400_of_a_port_that_speaks_tls_is_a_wrong_address(tmp_path: Path) -> None:
    """Some servers say so to those who speak plain HTTP there."""
    context = faulty.self_signed(tmp_path)
    bad = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"

    def both(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            if connection.recv(1, socket.MSG_PEEK) == b"\x16":  # the first byte of a TLS handshake
                context.wrap_socket(connection, server_side=True).close()
            elif connection.recv(65536):
                connection.sendall(bad)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener, both), daemon=True).start()
        refused_at(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", tmp_path, NEEDS_TLS)


def _serve(listener: socket.socket, handle: Callable[[socket.socket], None]) -> None:
    with suppress(OSError):  # the listener was closed
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=handle, args=(connection,), daemon=True).start()


# --- settings with which no reply can be read ----------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "reason"),
    [
        (
            {"body": {"q": "{input}"}, "output": "/answer"},
            "there is no text at /answer; the reply has 'reply', 'usage'",
        ),
        ({"format": "openai"}, "there is no choices[0].message; the reply has 'reply', 'usage'"),
        ({"format": "anthropic"}, "there is no content; the reply has 'reply', 'usage'"),
    ],
)
def test_what_a_malformed_reply_has_is_said(tmp_path: Path, agent: dict[str, Any], reason: str) -> None:
    """It is an error of the agent; but if all are the same, the settings may be wrong."""
    note = f"note: every call ended in the same error: malformed reply: {reason}\n"
    with serving([faulty.answers({"reply": "yes", "usage": {}})]) as server:
        project = Project(tmp_path, {"http": server.address, **agent}, scenarios(20))
        done = project.run()
        judged(done, "fail")
        assert reason in project.row("S0")["error"]
        assert note in done.err
        assert "highbar agent try" in done.err
    assert project.done() == (0, 20, 0)


def test_errors_that_differ_are_not_said_to_be_the_same(tmp_path: Path) -> None:
    with serving([faulty.answers({"reply": "yes"}), faulty.answers({"usage": {}})]) as server:
        project = Project(tmp_path, {"http": server.address, "format": "openai"}, scenarios(20))
        done = project.run()
        judged(done, "fail")
        assert "every call" not in done.err


# --- judges --------------------------------------------------------------------------------------


def judged_at(folder: Path, base_url: str) -> Run:
    suite = [asks(f"S{place}", "I cannot.") for place in range(20)]
    with judged_project(folder, suite, judge={"model": "m", "base_url": base_url}) as project:
        start = time.monotonic()
        done = project.run()
        assert time.monotonic() - start < 60, "nobody waits for retries at a wrong address"
        return done


def test_a_judge_whose_name_does_not_resolve(tmp_path: Path) -> None:
    refused(judged_at(tmp_path, NO_NAME), RESOLVED, "--resume out", code="judge.refused")


def test_a_judge_at_which_nobody_listens(tmp_path: Path) -> None:
    done = judged_at(tmp_path, f"http://127.0.0.1:{faulty.closed_port()}/v1")
    refused(done, "connection refused", code="judge.refused")


def test_a_judge_whose_certificate_is_not_accepted(tmp_path: Path) -> None:
    with serving([YES], faulty.self_signed(tmp_path)) as server:
        refused(judged_at(tmp_path, f"https://127.0.0.1:{server.port}/v1"), CERTIFICATE, code="judge.refused")


def test_plain_http_to_a_judge_that_speaks_tls(tmp_path: Path) -> None:
    with serving([YES], faulty.self_signed(tmp_path)) as server:
        refused(judged_at(tmp_path, f"http://127.0.0.1:{server.port}/v1"), NEEDS_TLS, code="judge.refused")


def test_tls_to_a_judge_that_does_not_speak_it(tmp_path: Path) -> None:
    with serving([YES]) as server:
        refused(judged_at(tmp_path, f"https://127.0.0.1:{server.port}/v1"), NO_TLS, code="judge.refused")


def test_a_judge_whose_key_has_no_quota(tmp_path: Path) -> None:
    with serving([faulty.sends(QUOTA, 429)]) as server:
        done = judged_at(tmp_path, f"http://127.0.0.1:{server.port}/v1")
        refused(done, "HTTP 429 Too Many Requests: insufficient_quota", code="judge.refused")
        assert len(server.calls) <= 5 + 4, "five calls, and those that were under way"
