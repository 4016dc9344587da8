"""The text that names an agent outside of a suite, in `--agent` or from Python → the agent.

python:module:function          a function
https://host/v1/chat/completions    the address of a chat completions endpoint
command: ./agent --json         a command, in words as a shell would split them
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from highbar.documents.problems import ValueCursor, shown
from highbar.documents.python_values import plain_suite
from highbar.errors import InputError, Problem
from highbar.suite.parts import Agent
from highbar.suite.settings import read_agent, variables_in_settings

_FORMS = "write python:module:function, an address that begins with http:// or https://, or 'command: words'"


def read_agent_text(text: str) -> Agent:
    """The agent that a text names. Raises InputError if the text does not name one.

    >>> read_agent_text("python:library_agent:answer").target
    'library_agent:answer'
    >>> read_agent_text("command: ./agent 'two words'").target
    ('./agent', 'two words')
    """
    given = text.strip()
    kind, _, rest = given.partition(":")
    if kind == "python":
        return _read({"python": _function(rest.strip())})
    if kind == "command":
        return _read({"command": _words(rest)})
    if re.match(r"https?://|\$\{", given):
        return _read({"http": given})
    raise InputError(
        Problem("agent.unreadable", f"{shown(text)} does not say what kind of agent it is", hint=_hint(given))
    )


def read_agent_values(values: Mapping[str, Any]) -> Agent:
    """The agent that a mapping describes, with the keys of a suite's `agent`. Raises InputError with all problems."""
    return _read(plain_suite(values))


def _read(fields: Mapping[str, Any]) -> Agent:
    place = ValueCursor(("agent",), [])
    agent = read_agent(fields, place)
    list(variables_in_settings({"agent": fields}, place))  # only to note every ${…} that is not a variable's name
    if place.problems or agent is None:
        raise InputError(*(Problem(one.code, f"the agent: {one.text}", hint=one.hint) for one in place.problems))
    return agent


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(
            Problem("agent.unreadable", f"the agent: {error} in {shown(text.strip())}", hint="close the quotes")
        ) from None
    if not words:
        raise InputError(
            Problem(
                "agent.unreadable", "the agent: 'command:' without a command", hint="write 'command: ./agent --json'"
            )
        )
    return words


def _function(name: str) -> str:
    """The name of a function; the path of a file is refused, with a hint."""
    path, _, function = name.partition(":")
    if path.endswith(".py"):
        module = path.removesuffix(".py").lstrip("./").replace("/", ".")
        hint = f"write python:{module}:{function or 'function'}"
        raise InputError(
            Problem(
                "agent.unreadable", f"the agent: found the file {shown(path)}, wanted the name of a module", hint=hint
            )
        )
    return name


def _hint(text: str) -> str:
    if re.fullmatch(r"[\w.]+:\w+", text):
        return f"did you mean python:{text}?"
    return f"did you mean 'command: {text}'?" if text.startswith(("./", "/")) else _FORMS
