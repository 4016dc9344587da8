"""What a signal must stop besides Python: work of a library that goes on in threads of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_running: list[Callable[[], object]] = []


@contextmanager
def interrupted_by_signals(interrupt: Callable[[], object]) -> Iterator[None]:
    """While the context is open, a signal that ends the command calls `interrupt`, which must not wait."""
    _running.append(interrupt)
    try:
        yield
    finally:
        _running.remove(interrupt)


def interrupt_all() -> None:
    """Interrupt whatever runs. A failure does not matter: it has ended already."""
    for interrupt in tuple(_running):
        with suppress(Exception):
            interrupt()
