"""Write messages to the other process, many in one write."""

from __future__ import annotations

import os
import threading
from collections import deque


class ThreadWriter:
    """Writes from many threads. While one of them writes, the others leave their messages for its next write."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._waiting: deque[bytes] = deque()  # its methods are atomic; swapping a list for an empty one is not
        self._writing = threading.Lock()

    def write(self, message: bytes) -> None:
        """Write a message, or leave it to the thread that is writing."""
        self._waiting.append(message)
        # A loop: another thread may add a message after the writer's last look, but before it releases the lock.
        while self._waiting and self._writing.acquire(blocking=False):
            try:
                self._write_all()
            finally:
                self._writing.release()

    def _write_all(self) -> None:
        while self._waiting:
            data = memoryview(b"".join([self._waiting.popleft() for _ in range(len(self._waiting))]))
            while data:
                try:
                    data = data[os.write(self._file, data) :]
                except BrokenPipeError:  # the parent was killed; `requests` will end, and this process with it
                    return
