"""Agents in Python for tests: what they are asked, and what that came to."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from highbar.running.agents.python import PythonAgent
from highbar.running.calls import AgentCall, Attempt
from highbar.suite.parts import Agent
from tests.patience import PATIENCE


def python_agent(folder: Path, code: str, function: str = "agent:answer", **settings: Any) -> PythonAgent:
    """An agent with this code beside its suite file."""
    module = folder / f"{function.partition(':')[0].replace('.', '/')}.py"
    module.write_text(code, "utf-8")
    return PythonAgent(Agent("python", function, **settings), folder)


def asked(question: str, timeout: float = PATIENCE, **fields: Any) -> AgentCall:
    """A call with one question."""
    messages = ({"role": "user", "content": question},)
    given = {"text": question, "scenario": {"id": "A", "input": question}, "messages": messages, **fields}
    return AgentCall(id="A", trial=1, timeout=timeout, **given)


def answers(agent: PythonAgent, *calls: AgentCall | str, at_once: int = 8) -> list[Attempt]:
    """What the calls come to that are all made at the same time."""

    async def run() -> list[Attempt]:
        async with agent:
            agent.allow(at_once)
            return await called(agent, *calls)

    return asyncio.run(run())


async def called(agent: PythonAgent, *calls: AgentCall | str) -> list[Attempt]:
    """Likewise, of an agent that is open."""
    made: Sequence[AgentCall] = [asked(call) if isinstance(call, str) else call for call in calls]
    return await asyncio.gather(*(agent.call(call) for call in made))


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait until the condition is true; `what` says what did not happen if it never is."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        await asyncio.sleep(0.01)


def noted(file: Path, text: str) -> Callable[[], bool]:
    """Whether the file has the text."""
    return lambda: file.exists() and text in file.read_text("utf-8")


def output(attempt: Attempt) -> str | None:
    """The text of an answer; fails if it is none."""
    assert attempt.outcome == "answered", attempt
    assert attempt.reply is not None
    return attempt.reply.output


def is_running(process: int) -> bool:
    """Whether a process has not ended."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
