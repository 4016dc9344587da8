"""Calls of agents in tests: opens an agent, asks it once or several times, and closes it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from highbar.running.agents import opened
from highbar.running.calls import AgentCall, Attempt
from highbar.suite import Agent
from tests.patience import PATIENCE


def question(text: str = "When do you open?", *, seconds: float = PATIENCE, **keys: Any) -> AgentCall:
    """A call with one message."""
    says = {"role": "user", "content": text}
    whole = {"id": "A", "trial": 1, "messages": (says,), "text": text, "scenario": {"id": "A"}, "timeout": seconds}
    return AgentCall(**{**whole, **keys})


def ask(
    agent: Agent, *calls: AgentCall, folder: Path = Path(), environment: Mapping[str, str] | None = None
) -> Attempt:
    """What the last of the calls came to, one after the other; one plain question unless any is given."""

    async def asked() -> Attempt:
        async with opened(agent, folder=folder, environment=environment or {}) as caller:
            return [await caller.call(call) for call in calls or (question(),)][-1]

    return asyncio.run(asked())
