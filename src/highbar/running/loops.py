"""An event loop for one coroutine, also in a thread in which another loop is running, as in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from highbar.scarcity import is_no_thread

T = TypeVar("T")


def run_in_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a new event loop, and return its result."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # no loop is running in this thread
        return _run(coroutine)
    # asyncio refuses a second loop in a thread that runs one.
    with ThreadPoolExecutor(1, "highbar-loop") as thread:
        return thread.submit(_run, coroutine).result()


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    found: list[T] = []

    async def run() -> None:
        found.append(await coroutine)

    try:
        asyncio.run(run())
    except RuntimeError as error:
        # To close the loop takes a thread, if names were to be looked up in threads.
        if not found or not is_no_thread(error):
            raise
    return found[0]
