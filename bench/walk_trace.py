"""Traces one run of the command line: `python bench/walk_trace.py PACKAGE ARGUMENTS…` prints what was entered, as JSON.

`walk.py` starts it as a process of its own, with the package to trace on PYTHONPATH, so it imports nothing but the
standard library, that package and msgspec.
"""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType

import msgspec


class Walk:
    """What a profile function sees. It counts calls of Python functions whose code is below `package`.

    The body of a module or a class is a call too for the interpreter, but start-up is another measure: neither counts.
    A generator counts once for every time it is resumed, a comprehension as a call, as Python 3.11 has it.
    """

    def __init__(self, package: Path) -> None:
        self._package = f"{package}/"
        self._calls: Counter[str] = Counter()
        self._kinds: set[type] = set()

    def see(self, frame: FrameType, event: str, _argument: object) -> None:
        """Take note of one event of `sys.setprofile`."""
        if event != "call":
            return
        code = frame.f_code
        if code.co_name in ("__init__", "__post_init__") and "self" in frame.f_locals:
            # A dataclass's generated __init__ has no file, so its object tells what it is.
            kind = type(frame.f_locals["self"])
            fields = hasattr(kind, "__dataclass_fields__") or hasattr(kind, "__struct_fields__")
            if fields and kind.__module__.partition(".")[0] == "highbar":
                self._kinds.add(kind)
        if code.co_filename.startswith(self._package) and code.co_flags & _OPTIMIZED:
            self._calls[code.co_filename] += 1

    def document(self) -> dict[str, object]:
        """The counts, and the names behind them."""
        return {
            "calls": self._calls.total(),
            "modules": {name.removeprefix(self._package): count for name, count in self._calls.most_common()},
            "dataclasses": sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in self._kinds),
        }


class SeenStruct(msgspec.Struct):
    """The base of every struct while it is traced: without a function of Python, a tracer sees none of them made."""

    def __post_init__(self) -> None:
        """Seen by the tracer."""


_OPTIMIZED = 1  # inspect.CO_OPTIMIZED: the code of functions, not of modules and classes


def main() -> None:
    """Run the command line under the tracer."""
    package, arguments = Path(sys.argv[1]), sys.argv[2:]
    setattr(msgspec, "Struct", SeenStruct)  # noqa: B010 - before the package defines its structs; mypy forbids it written out
    from highbar import cli  # before the tracer, which leaves start-up out

    # Earlier versions have `main` alone, which took the arguments.
    name = "run_guarded" if hasattr(cli, "run_guarded") else "main"
    command_line: Callable[[Sequence[str]], int] = getattr(cli, name)
    walk = Walk(package)
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        sys.setprofile(walk.see)
        try:
            code = command_line(arguments)
        finally:
            sys.setprofile(None)
    if code not in (0, 1, 3):
        sys.exit(f"no verdict, exit {code}: {err.getvalue()}")
    json.dump(walk.document(), sys.stdout)


if __name__ == "__main__":
    main()
