"""Writers that are killed, each at a moment of its own, by a small process: to copy one of the tests takes far longer.

    python -m tests.killed_writers MODULE FUNCTION FOLDER

The function gets the folder and a function `kill`, which starts a writer, ends it after so many seconds, and returns.
"""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
Kill = Callable[[Callable[[], object], float], None]


def run_killing(function: Callable[[Path, Kill], object], folder: Path) -> None:
    """Run a function of a module of tests in a process that can kill writers; it fails with what that one says."""
    code: Any = function.__code__
    module = ".".join(Path(code.co_filename).resolve().relative_to(ROOT).with_suffix("").parts)
    done = subprocess.run(
        [sys.executable, "-m", "tests.killed_writers", module, function.__name__, str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def kill(write: Callable[[], object], seconds: float) -> None:
    """Start a process that writes without an end, and kill it after so many seconds."""
    child = os.fork()
    if child == 0:
        try:
            write()
        finally:
            os._exit(1)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


if __name__ == "__main__":
    getattr(importlib.import_module(sys.argv[1]), sys.argv[2])(Path(sys.argv[3]), kill)
