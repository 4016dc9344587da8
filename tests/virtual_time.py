"""An event loop whose clock jumps to what happens next, so that a test of minutes takes milliseconds."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Waits for nothing: the time goes on at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "everything waits for something that never happens"
        self.now += max(timeout, 0.0)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop of tasks and timers alone. What comes from outside, such as a thread or a socket, it does not wait for."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def in_virtual_time(make: Callable[[VirtualLoop], Coroutine[Any, Any, T]]) -> T:
    """What comes of this coroutine."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(make(loop))
    finally:
        loop.close()
