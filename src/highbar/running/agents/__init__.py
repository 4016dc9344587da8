"""An agent of a suite → something that can be called, one attempt at a time.

    opened(agent, folder=…, environment=…)    -> an async context manager that gives a Caller

`replies` says what an agent may give back. `secrets` keeps keys out of everything that is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from highbar.running.calls import Caller
from highbar.suite.parts import Agent

Opening = AbstractAsyncContextManager[Caller]


def opened(
    agent: Agent, *, folder: Path, environment: Mapping[str, str], connections: int = 64
) -> AbstractAsyncContextManager[Caller]:
    """The agent, to be called inside of `async with`, which ends everything that was started for it.

    `folder` is the suite's: Python modules and programs are found there. `${NAME}` is replaced from `environment`,
    which commands inherit. An agent behind HTTP takes at most `connections` calls at once. Raises InputError, here or
    when it is entered, if the agent cannot be called at all, such as for a variable that is not set.
    """
    return _KINDS[agent.kind](agent, folder, environment, connections)


def _python(agent: Agent, folder: Path, _environment: Mapping[str, str], _connections: int) -> Opening:
    from highbar.running.agents.python import PythonAgent  # each kind loads what only it needs

    return PythonAgent(agent, folder)


def _http(agent: Agent, _folder: Path, environment: Mapping[str, str], connections: int) -> Opening:
    from highbar.running.agents.http_agent import HttpAgent  # aiohttp takes 0.4 s to load

    return HttpAgent(agent, environment, connections)


def _command(agent: Agent, folder: Path, environment: Mapping[str, str], _connections: int) -> Opening:
    from highbar.running.agents.command_agent import CommandAgent  # see _python

    return CommandAgent(agent, folder, environment)


_KINDS: Mapping[str, Callable[[Agent, Path, Mapping[str, str], int], Opening]] = {
    "python": _python,
    "http": _http,
    "command": _command,
}
