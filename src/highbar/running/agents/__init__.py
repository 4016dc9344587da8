"""An agent of a suite → something that can be called, one attempt at a time.

    opened(agent, folder=…, environment=…)    -> an async context manager that returns a Caller

    python          a function in a separate process (python_process); `inside` calls one of this process
    command_agent   a program, run once for each call by a process that ends what it leaves behind (keeper)
    http_agent      an address (http_endpoint, http_outcomes), in one of the wire_formats (openai, anthropic,
                    json_template)

`replies` defines what an agent may return. `secrets` keeps keys out of everything that is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from highbar.running.calls import Caller
from highbar.suite.parts import Agent

Opening = AbstractAsyncContextManager[Caller]


def opened(agent: Agent, *, folder: Path, environment: Mapping[str, str]) -> AbstractAsyncContextManager[Caller]:
    """The agent, to be called inside `async with`, which at its end stops everything that was started for the agent.

    `folder` is that of the suite: Python modules and programs are searched there. `${NAME}` is replaced from
    `environment`, which commands inherit. Raises InputError, here or on entry, if the agent cannot be called at all,
    for example because a variable is not set.
    """
    return _KINDS[agent.kind](agent, folder, environment)


def _python(agent: Agent, folder: Path, _environment: Mapping[str, str]) -> Opening:
    from highbar.running.agents.python import PythonAgent  # each kind loads what only it needs

    return PythonAgent(agent, folder)


def _http(agent: Agent, _folder: Path, environment: Mapping[str, str]) -> Opening:
    from highbar.running.agents.http_agent import HttpAgent  # aiohttp takes 0.4 s to load

    return HttpAgent(agent, environment)


def _command(agent: Agent, folder: Path, environment: Mapping[str, str]) -> Opening:
    from highbar.running.agents.command_agent import CommandAgent  # see _python

    return CommandAgent(agent, folder, environment)


_KINDS: Mapping[str, Callable[[Agent, Path, Mapping[str, str]], Opening]] = {
    "python": _python,
    "http": _http,
    "command": _command,
}
