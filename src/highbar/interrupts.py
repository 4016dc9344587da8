"""What a signal must stop besides Python: work of a library that goes on in threads of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

RUNNING: list[Callable[[], object]] = []
"""Functions to call if a signal ends the command. They must not wait."""


def interrupt_all() -> None:
    """Interrupt whatever runs. A failure does not matter: it has ended already."""
    for interrupt in tuple(RUNNING):
        with suppress(Exception):
            interrupt()
