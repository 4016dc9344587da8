"""The longest field that `csv` reads: a setting of the whole process, which is changed only while a file is read."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

# The garbage collector may end a reader while the same thread begins another one.
_lock = RLock()
_before: list[int] = []
"""The limit of the process, while one of our readers is open."""
_open: list[int] = []
"""The limits of the readers that are open."""


@contextmanager
def fields_up_to(longest: int) -> Iterator[None]:
    """While the context is open, `csv` reads fields of up to that many characters; at the end, as many as before.

    Several readers may be open, also in several threads. Then the largest of their limits applies, and the last of them
    restores the limit of the process.
    """
    with _lock:
        if not _open:
            _before[:] = [csv.field_size_limit()]
        _open.append(longest)
        csv.field_size_limit(max(_open))
    try:
        yield
    finally:
        with _lock:
            _open.remove(longest)
            csv.field_size_limit(max(_open, default=_before[0]))
