"""The process of an agent after ours was killed: it says nothing to the user, and ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from highbar.running.child.loop import LoopWriter
from highbar.running.child.threads import ThreadWriter


@pytest.fixture
def unread() -> Iterator[int]:
    """A pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def test_a_thread_writes_to_nobody_without_an_error(unread: int) -> None:
    writer = ThreadWriter(unread)
    writer.write(b"one")
    writer.write(b"two")


def test_a_loop_writes_to_nobody_without_an_error(unread: int) -> None:
    faults = []

    async def write() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, fault: faults.append(fault))
        writer = LoopWriter(unread, loop)
        for message in (b"one", b"two"):
            writer.write(message)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    asyncio.run(write())
    assert faults == []
