"""Waiting in tests: for what is awaited, so that nothing fails because the machine is busy.

The limits here end a test that would never end; none of them is a measure of speed. What must be fast is measured by
the processor time of this process, which other processes do not add to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 600.0
"""Seconds after which it is certain that nothing will come."""
PATIENCE_OF_PAGES = PATIENCE * 1000
"""The same in milliseconds, as Playwright wants it."""


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Wait until the condition is true; `what` says what did not happen if it never is."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what}, after {PATIENCE:.0f} seconds"
        time.sleep(0.02)


def is_waiting(process: int) -> bool:
    """If the main thread of a process sleeps, as it does while it reads an empty pipe."""
    state = Path(f"/proc/{process}/stat")
    if not state.exists():  # not Linux: there is no way to ask
        time.sleep(1)
        return True
    return state.read_text("utf-8", "replace").rpartition(")")[2].split()[0] == "S"


@contextmanager
def processor_time(below: float) -> Iterator[None]:
    """Fails if what is inside takes more seconds of this process's processor time."""
    start = time.process_time()
    yield
    took = time.process_time() - start
    assert took < below, f"{took:.1f} seconds of processor time, wanted less than {below:g}"
