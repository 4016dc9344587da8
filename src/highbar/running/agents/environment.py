"""`${NAME}` in the settings of an agent → the value of that environment variable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from highbar.errors import InputError, Problem
from highbar.suite.parts import Agent

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def filled_agent(agent: Agent, environment: Mapping[str, str]) -> Agent:
    """The agent with the variables in its address, key and headers replaced. Raises InputError if one is not set.

    The result contains secrets: it is only for making calls, and must never be written anywhere.
    """
    missing = [name for name in variables_of(agent) if not environment.get(name)]
    if missing:
        raise InputError(
            *(
                Problem(
                    "agent.variable-not-set",
                    f"${{{name}}} is not set",
                    hint=f"set it in the environment: export {name}=…",
                )
                for name in missing
            )
        )
    target = agent.target
    return replace(
        agent,
        target=fill_in_variables(target, environment) if isinstance(target, str) and agent.kind == "http" else target,
        key=None if agent.key is None else fill_in_variables(agent.key, environment),
        headers={name: fill_in_variables(value, environment) for name, value in agent.headers.items()},
    )


def variables_of(agent: Agent) -> list[str]:
    """The names of all variables in an agent's address, key and headers, each once."""
    return list(dict.fromkeys(name for text in _texts(agent) for name in variables(text)))


def variables(text: str) -> list[str]:
    """The names of all variables in a text."""
    return _VARIABLE.findall(text)


def fill_in_variables(text: str, environment: Mapping[str, str]) -> str:
    """A text with its variables replaced, in one pass: `${…}` inside of a value is not replaced."""
    return _VARIABLE.sub(lambda found: environment.get(found[1], ""), text)


def _texts(agent: Agent) -> Iterator[str]:
    if isinstance(agent.target, str) and agent.kind == "http":
        yield agent.target
    if agent.key is not None:
        yield agent.key
    yield from agent.headers.values()
