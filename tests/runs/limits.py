"""A limit of this system for one command: processes and threads together, memory, or open files."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.commandline import Run
from tests.patience import PATIENCE

_LIMITS = {"memory": resource.RLIMIT_AS, "data": resource.RLIMIT_DATA, "files": resource.RLIMIT_NOFILE}
_GROUPS = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup")


def run_limited(folder: Path, kind: str, most: int, *arguments: str, environment: Mapping[str, str] = {}) -> Run:
    """`highbar` with these arguments as a process that may have at most so much."""
    (folder / ".git").mkdir(exist_ok=True)
    with limited(kind, most) as prefix:
        done = subprocess.run(
            [*prefix, sys.executable, "-m", "highbar", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONUTF8": "1", **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    return Run(done.returncode, done.stdout, done.stderr)


@contextmanager
def limited(kind: str, most: int) -> Iterator[list[str]]:
    """The beginning of a command line that limits the rest; skips the test if nobody may set such a limit here."""
    if kind != "processes":
        numbers = f"({most}, {most})"
        yield [sys.executable, "-c", _EXEC.format(f"resource.setrlimit({int(_LIMITS[kind])}, {numbers})")]
    elif (group := _control_group(most)) is not None:
        try:
            yield [sys.executable, "-c", _EXEC.format(f"open('{group}/cgroup.procs', 'w').write(str(os.getpid()))")]
        finally:
            with suppress(OSError):
                group.rmdir()
    elif os.getuid():
        running = sum(_threads(Path(entry)) for entry in os.scandir("/proc") if entry.name.isdigit())
        numbers = f"({most + running}, {most + running})"
        yield [sys.executable, "-c", _EXEC.format(f"resource.setrlimit({int(resource.RLIMIT_NPROC)}, {numbers})")]
    else:
        pytest.skip("no control group can be made here, and no other limit of processes holds for root")


_EXEC = "import os, resource, sys; {}; os.execv(sys.argv[1], sys.argv[1:])"


def _control_group(most: int) -> Path | None:
    for parent in _GROUPS:
        group = Path(parent, f"highbar-{os.getpid()}-{os.urandom(4).hex()}")
        with suppress(OSError):
            group.mkdir()
            try:
                (group / "pids.max").write_text(str(most), "ascii")
            except OSError:
                group.rmdir()
                continue
            return group
    return None


def _threads(process: Path) -> int:
    """How many threads a process of this user has."""
    with suppress(OSError):
        if process.stat().st_uid == os.getuid():
            return len(list((process / "task").iterdir()))
    return 0
