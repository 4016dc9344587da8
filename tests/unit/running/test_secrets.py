"""Keys come from the environment and are in nothing that is kept."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from highbar.running.agents.replies import MalformedReply
from highbar.running.agents.secrets import REDACTED, Redactor, redactor
from highbar.suite import Agent
from tests import faulty_server as faulty
from tests.agent_calls import ask
from tests.faulty_server import serving

SECRET = "CANARY/123+x"  # noqa: S105 - nobody's
ENVIRONMENT = {"KEY": SECRET, "TOKEN": "other-canary-7", "STAGE": "prod", "HOST": "127.0.0.1"}


def forms(secret: str) -> list[str]:
    """The secret in every form in which a server might echo it."""
    data = secret.encode()
    packed = [base64.b64encode(before + data + b"tail").decode() for before in (b"", b"u:", b"me:", b"user:")]
    plain = base64.b64encode(data).decode()
    return [secret, quote(secret, safe=""), quote(secret, safe="").lower(), plain, plain.rstrip("="), *packed]


def leaks(text: str, secret: str = SECRET) -> bool:
    """Whether a text has the secret, or base64 by which it could be had."""
    data = secret.encode()
    inside = [base64.b64encode(b"\0" * n + data + b"\0\0\0").decode()[4:-6] for n in range(3)]
    return any(form in text for form in (secret, quote(secret, safe=""), *inside))


@pytest.mark.hazard("H114")
@pytest.mark.parametrize("echo", forms(SECRET))
@pytest.mark.parametrize(
    "step",
    [
        lambda echo: faulty.answers(f"Your key is {echo}."),
        lambda echo: faulty.answers(faulty.openai(None, (echo, f'{{"{echo}": ["{echo}"]}}'))),
        lambda echo: faulty.answers({"choices": [], "error": {"message": "x" * 50 + echo}}),
        lambda echo: faulty.status(401, text=f"wrong key {echo}"),
        lambda echo: faulty.status(500, text=msgspec.json.encode({"error": {"message": "x" * 190 + echo}}).decode()),
        lambda echo: faulty.sends(f'{{"choices": "{echo}'.encode()),
        lambda echo: faulty.sends(f"HTTP {echo}".encode(), Content_Encoding="identity"),
        lambda echo: faulty.redirects(f"http://elsewhere.invalid/?key={quote(echo)}"),
    ],
)
def test_a_key_that_the_server_echoes_is_in_nothing_that_is_kept(echo: str, step: Any) -> None:
    with serving([step(echo)]) as server:
        attempt = ask(Agent("http", server.address, format="openai", key="${KEY}"), environment=ENVIRONMENT)
    assert server.calls[0].headers["Authorization"] == f"Bearer {SECRET}"
    assert not leaks(msgspec.json.encode(attempt).decode())
    assert "CANARY" not in repr(attempt)


@pytest.mark.hazard("H114")
def test_a_key_that_is_hidden_by_escapes_of_json_is_found() -> None:
    escaped = "".join(f"\\u{ord(character):04x}" for character in SECRET)
    body = f'{{"choices": [{{"message": {{"content": "it is {escaped}"}}}}]}}'
    with serving([faulty.sends(body.encode())]) as server:
        attempt = ask(Agent("http", server.address, format="openai", key="${KEY}"), environment=ENVIRONMENT)
    assert attempt.reply is not None
    assert attempt.reply.output == f"it is {REDACTED}"


@pytest.mark.hazard("H114")
@pytest.mark.parametrize(
    "keys",
    [
        {"headers": {"Authorization": "Bearer ${KEY}"}},
        {"headers": {"X-Whatever": "${KEY}"}},
        {"target": "http://me:${KEY}@host/"},
        {"target": "http://host/?key=${KEY}"},
        {"target": "${WHOLE}", "environment": {"WHOLE": "http://me:canary-9@host/", "KEY": "canary-9"}},
        {"target": "http://host/hooks/${KEY}", "environment": {"KEY": "a-token-of-more-than-16"}},
    ],
)
def test_every_secret_of_the_settings_is_known(keys: dict[str, Any]) -> None:
    environment = {**ENVIRONMENT, **keys.pop("environment", {})}
    agent = Agent("http", **{"target": "http://host/", **keys})
    assert redactor(agent, environment).text(f"a {environment['KEY']} b") == f"a {REDACTED} b"


def test_what_is_no_secret_stays() -> None:
    agent = Agent("http", "http://${HOST}:80/${STAGE}", headers={"X-Stage": "${STAGE}"})
    found = redactor(agent, ENVIRONMENT)
    assert found.text("prod at 127.0.0.1") == "prod at 127.0.0.1"


def test_keys_that_become_the_same_keep_all_their_values() -> None:
    found = Redactor(["sesame"]).value({"sesame": 1, "[redacted]": 2, "sesame[redacted]": 3, "sesame ": 4})
    assert sorted(found.values()) == [1, 2, 3, 4]
    assert not any("sesame" in key for key in found)


def test_keys_of_mappings_are_looked_at_too_and_other_values_are_left() -> None:
    found = Redactor([SECRET])
    assert found.value({SECRET: [1, None, True, 2.5, f"x{SECRET}"]}) == {REDACTED: [1, None, True, 2.5, f"x{REDACTED}"]}
    deep: list[Any] = []
    for _ in range(500):
        deep = [deep]
    with pytest.raises(MalformedReply):
        found.value(deep)


@given(st.text(min_size=8), st.text(), st.text())
def test_no_secret_survives(secret: str, before: str, after: str) -> None:
    found = Redactor([secret])
    assert REDACTED in found.text(before + secret + after)
    assert found.text(f"[{secret}]") == f"[{REDACTED}]"
    encoded = quote(secret, safe="")
    assert encoded not in found.text(f"?key={encoded}&")
    packed = base64.b64encode(secret.encode()).decode().rstrip("=")
    assert packed not in found.text(f"Basic {packed}")
