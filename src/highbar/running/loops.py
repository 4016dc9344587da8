"""An event loop for one coroutine, also in a thread in which another loop is running, as in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


def run_in_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine comes to, in a loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:  # none is running here
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1, "highbar-loop") as thread:
        return thread.submit(asyncio.run, coroutine).result()
