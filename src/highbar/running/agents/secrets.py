"""Secrets out of everything that is kept: one choke point between what was received and what is recorded."""

from __future__ import annotations

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

from highbar.running.agents.environment import fill_in_variables, variables
from highbar.running.agents.replies import DEEPEST_VALUE, MalformedReply
from highbar.suite.parts import Agent

REDACTED = "[redacted]"
_SHORTEST_SECRET = 4
"""Characters of a key. A shorter one would be found in every other answer."""
_SHORTEST_SETTING = 8
"""Characters of another value of the environment: `prod` or `true` in a header is no secret, and is part of answers."""
_SECRET_HEADER = re.compile("auth|cookie|key|pass|secret|token", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,}")
"""A part of an address that no one would read aloud."""
_SHORTEST_ENCODED = 8
"""Characters of base64 by which a secret is recognized inside of a longer encoded text."""
_DEEPEST = 2 * DEEPEST_VALUE
"""Levels of a document, in which the parts of a reply are a few levels down."""


class Redactor:
    """Replaces secrets in texts and values, as they are and in the forms in which a server may echo them.

    Those are base64, also of a longer text with the secret inside (as in `Authorization: Basic`), and percent
    encoding. A text is redacted before it is cut or quoted, so that no part of a secret is left.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        # Longest first: if one form begins with another, it is replaced as a whole.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(re.escape(form) for form in ordered)) if ordered else None

    def __bool__(self) -> bool:
        return self._pattern is not None

    def text(self, text: str) -> str:
        """The text without secrets."""
        return text if self._pattern is None else self._pattern.sub(REDACTED, text)

    def value(self, value: Any) -> Any:
        """A JSON value without secrets, in keys too. Raises MalformedReply if it is nested too deeply to be read."""
        return value if self._pattern is None else self._value(value, 0)

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, dict | list):
            return value
        if depth > _DEEPEST:
            raise MalformedReply(f"it is nested deeper than {DEEPEST_VALUE} levels")
        if isinstance(value, dict):
            return {self.text(key): self._value(inner, depth + 1) for key, inner in value.items()}
        return [self._value(inner, depth + 1) for inner in value]


def redactor(agent: Agent, environment: Mapping[str, str]) -> Redactor:
    """The redactor for the secrets that an agent's settings take from the environment."""
    return Redactor(_secrets(agent, environment))


def _secrets(agent: Agent, environment: Mapping[str, str]) -> Iterator[str]:
    """A key always; what a header has from the environment, unless it is short; in an address what looks secret."""
    for name in variables(agent.key or ""):
        yield from _at_least(_SHORTEST_SECRET, environment.get(name, ""))
    for header, text in agent.headers.items():
        least = _SHORTEST_SECRET if _SECRET_HEADER.search(header) else _SHORTEST_SETTING
        for name in variables(text):
            yield from _at_least(least, environment.get(name, ""))
    if agent.kind == "http" and isinstance(agent.target, str):
        yield from _in_address(agent.target, environment)


def _in_address(address: str, environment: Mapping[str, str]) -> Iterator[str]:
    """User and password, what a variable puts into the query, and long tokens.

    Another variable is a host or a port, which is no secret and may well be part of an answer.
    """
    with suppress(ValueError):  # no address; those who open the agent refuse it
        yield from _at_least(_SHORTEST_SECRET, urlsplit(fill_in_variables(address, environment)).password or "")
    before, at, _ = address.partition("@")
    hidden = {*variables(before if at else ""), *variables(address.partition("?")[2])}
    for name in variables(address):
        value = environment.get(name, "")
        if name in hidden or _TOKEN.fullmatch(value):
            yield from _at_least(_SHORTEST_SECRET, value)


def _at_least(length: int, value: str) -> Iterator[str]:
    if len(value.strip()) >= length:
        yield value.strip()


def _forms(secret: str) -> Iterator[str]:
    yield secret
    escaped = json.dumps(secret, ensure_ascii=False)[1:-1]  # in JSON that cannot be decoded
    yield from (escaped, escaped.replace("/", r"\/"))
    for safe in ("", "/"):
        encoded = quote(secret, safe=safe, errors="replace")
        yield encoded
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), encoded)
    yield quote_plus(secret, errors="replace")
    data = secret.encode("utf-8", "replace")
    for encode in (b64encode, urlsafe_b64encode):
        yield encode(data).decode().rstrip("=")
        yield from (form for form in _inside(data, encode) if len(form) >= _SHORTEST_ENCODED)


def _inside(data: bytes, encode: Any) -> Iterator[str]:
    """The characters of base64 that depend on the secret alone, for each of its three places in groups of bytes."""
    for before in range(3):
        bits = 8 * before, 8 * (before + len(data))
        first, last = -(-bits[0] // 6), bits[1] // 6
        yield encode(b"\0" * before + data + b"\0\0").decode()[first:last]
