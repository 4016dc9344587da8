"""Keep secrets out of everything that is recorded: the one place between what is received and what is recorded."""

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
"""Characters of a key. A shorter one would match in many answers by chance."""
_SHORTEST_SETTING = 8
"""Characters of another variable's value: `prod` or `true` in a header is not secret, and answers may contain it."""
_SECRET_HEADER = re.compile("auth|cookie|key|pass|secret|token", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,}")
"""A value in an address that looks like a random token."""
_SHORTEST_ENCODED = 8
"""Characters of base64 that are enough to recognize a secret inside of a longer encoded text."""
_DEEPEST = 2 * DEEPEST_VALUE
"""Levels of a whole document: the parts of a reply, with their own limit, are a few levels down in it."""


class Redactor:
    """Replaces secrets in texts and values, plain and in the encodings in which a server may echo them.

    These are JSON escapes, percent encoding, and base64, also of a longer text that contains the secret (as in
    `Authorization: Basic`). Redact a text before it is cut or quoted, so that no part of a secret is left.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        # Longest first, so that a form that begins with another one is replaced as a whole.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(re.escape(form) for form in ordered)) if ordered else None

    def text(self, text: str) -> str:
        """The text without secrets."""
        return text if self._pattern is None else self._pattern.sub(REDACTED, text)

    def value(self, value: Any) -> Any:
        """A JSON value without secrets, also in keys. Raises MalformedReply if it is nested too deeply."""
        return value if self._pattern is None else self._value(value, 0)

    def _value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, dict | list):
            return value
        if depth > _DEEPEST:
            raise MalformedReply(f"it is nested deeper than {DEEPEST_VALUE} levels")
        if isinstance(value, list):
            return [self._value(inner, depth + 1) for inner in value]
        found: dict[str, Any] = {}
        for key, inner in value.items():
            name = self.text(key)
            while name in found:  # no value may disappear: must-nots read them all
                name += REDACTED
            found[name] = self._value(inner, depth + 1)
        return found


def redactor(agent: Agent, environment: Mapping[str, str]) -> Redactor:
    """The redactor for the secrets that an agent's settings take from the environment."""
    return Redactor(_secrets(agent, environment))


def _secrets(agent: Agent, environment: Mapping[str, str]) -> Iterator[str]:
    """The values of variables in the key, in headers unless they are short, and in the address if they look secret."""
    for name in variables(agent.key or ""):
        yield from _at_least(_SHORTEST_SECRET, environment.get(name, ""))
    for header, text in agent.headers.items():
        least = _SHORTEST_SECRET if _SECRET_HEADER.search(header) else _SHORTEST_SETTING
        for name in variables(text):
            yield from _at_least(least, environment.get(name, ""))
    if agent.kind == "http" and isinstance(agent.target, str):
        yield from _in_address(agent.target, environment)


def _in_address(address: str, environment: Mapping[str, str]) -> Iterator[str]:
    """User and password, values of variables in the query, and long tokens.

    Any other variable is a host or a port, which is not secret and may well be part of an answer.
    """
    with suppress(ValueError):  # not an address, which is refused when the agent is opened
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
    escaped = json.dumps(secret, ensure_ascii=False)[1:-1]  # as in JSON that cannot be decoded
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
    """The base64 characters that depend only on the secret, for each of its three possible offsets in a longer text.

    Base64 encodes groups of three bytes, so characters at the ends of the secret also depend on its neighbors.
    """
    for before in range(3):
        bits = 8 * before, 8 * (before + len(data))
        first, last = -(-bits[0] // 6), bits[1] // 6
        yield encode(b"\0" * before + data + b"\0\0").decode()[first:last]
