"""Keys and passwords in a suite: only a `${NAME}` may stand for one, and no message repeats one."""

from __future__ import annotations

from pathlib import Path

import pytest

from highbar import suite
from highbar.errors import InputError

SCENARIOS = "scenarios: [{id: A, input: a, answer: x}]\n"


def problems(folder: Path, text: str) -> tuple[str, ...]:
    (folder / "suite.yaml").write_text(text + SCENARIOS, "utf-8")
    try:
        suite.read(folder / "suite.yaml")
    except InputError as error:
        found = error.problems
    else:
        return ()
    assert "CANARY" not in str([(problem.message, problem.hint, problem.excerpt) for problem in found])
    return tuple(problem.message for problem in found)


@pytest.mark.parametrize(
    "address",
    [
        "https://me:CANARY@h/v1",
        "https://me:CAN/ARY-CANARY@h/v1",
        "https://me:CAN#ARY-CANARY@h/v1",
        "https://CANARY@h/v1",
        "https://:CANARY@h/v1",
        "https://me:${KEY}CANARY@h:80/v1",
        "https://h/v1?api_key=CANARY",
        "https://h/v1?a=b&api-key=CANARY",
        "https://h/v1?access_token=CANARY#x",
        "https://h/v1?KEY=CANARY",
        "${HOST}/v1?sig=CANARY",
    ],
)
def test_an_address_holds_no_secret(tmp_path, address):
    (told,) = problems(tmp_path, f"agent: {{http: '{address}'}}\n")
    assert told == "agent.http: a key or password does not belong in a file"
    (told,) = problems(tmp_path, f"judge: {{model: m, base_url: '{address}'}}\n")
    assert told == "judge.base_url: a key or password does not belong in a file"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Authorization", "Bearer CANARY"),
        ("proxy-authorization", "Basic CANARY"),
        ("Cookie", "session=CANARY"),
        ("X-Api-Key", "CANARY"),
        ("api_key", "CANARY"),
        ("apikey", "CANARY"),
        ("Ocp-Apim-Subscription-Key", "CANARY"),
        ("X-Auth-Token", "CANARY"),
        ("x-auth", "CANARY"),
        ("Client-Secret", "CANARY"),
        ("X-Password", "CANARY"),
    ],
)
def test_a_header_holds_no_secret(tmp_path, name, value):
    (told,) = problems(tmp_path, f"agent: {{http: 'https://h/', headers: {{{name}: '{value}'}}}}\n")
    assert told == f"agent.headers.{name}: a key or password does not belong in a file"


@pytest.mark.parametrize(
    "agent",
    [
        "{http: 'https://me:${KEY}@h:80/v1'}",
        "{http: 'https://${KEY}@h/v1'}",
        "{http: 'https://h:8080/v1/me@example.org?top_k=1&max_tokens=5&api-version=2&key=${KEY}&token='}",
        "{http: 'http://[::1]:8080/a:b@c'}",
        "{http: '${HOST}/v1', headers: {Authorization: 'Bearer ${KEY}', X-Api-Key: '${KEY}', Cookie: 'a=${KEY}; b=c'}}",
        "{http: 'https://h/', headers: {Anthropic-Version: x, X-Max-Tokens: 5, X-Tenant: a, Idempotency-Key: a}}",
    ],
)
def test_variables_and_what_is_no_secret_are_read(tmp_path, agent):
    assert problems(tmp_path, f"agent: {agent}\n") == ()


def test_another_problem_on_the_line_of_a_secret_does_not_show_it(tmp_path):
    told = problems(tmp_path, "agent: {http: 'https://h/', key: CANARY, modle: m, body: 1}\n")
    assert len(told) == 4
