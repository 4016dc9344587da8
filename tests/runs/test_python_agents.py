"""Agents in Python that behave badly, through the command line: what they do is theirs, and the verdict is ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.projects import python_project, scenarios

pytestmark = pytest.mark.process


def test_a_loop_may_clean_up_after_the_last_call(tmp_path: Path) -> None:
    """Tasks that the agent left behind are cancelled, and may take some turns of the loop to end."""
    code = """
import asyncio

async def background():
    try:
        await asyncio.sleep(600)
    finally:
        for _ in range(20):
            await asyncio.sleep(0.01)
        note("clean")

kept = []

async def answer(said):
    kept.append(asyncio.create_task(background()))
    await asyncio.sleep(0)
    return "yes"
"""
    project = python_project(tmp_path, code, scenarios(1))
    done = project.run(process=True)
    assert done.exit == 0, done.err
    assert "Traceback" not in done.err
    assert project.counts() == {"clean": 1}
