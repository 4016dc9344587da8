"""The results file of a session. No check accepts it before the session has ended, or if it is incomplete."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from highbar.running.rows import line
from highbar.store.writing import replace_file

ENDING = ".jsonl"
UNFINISHED = "the pytest session has not ended"
LONGEST_REASON = 45
"""Characters of the reason why results are incomplete: messages show no more of a value."""


def problem_of(path: str) -> str | None:
    """Why results cannot be written to a path; None if they can."""
    if not path.lower().endswith(ENDING):
        return f"found {path!r}, wanted the name of a file that ends in {ENDING}"
    file = Path(path)
    if file.exists() and not file.is_file():
        return f"{path} is no file"
    return None if file.parent.is_dir() else f"there is no folder {file.parent}"


def begin_results(path: Path) -> None:
    """Mark the file as unfinished, so that results of an earlier session do not survive a crash of this one."""
    write_results(path, (), UNFINISHED)


def write_results(path: Path, rows: Iterable[Mapping[str, Any]], incomplete: str | None = None) -> None:
    """Write the rows, whole or not at all. `incomplete` says why rows are missing.

    If it is set, the last line is a text instead of a row, so that every reader refuses the file and shows the reason.
    """
    lines = [line(row) for row in rows]
    if incomplete is not None:
        lines.append(json.dumps(f"incomplete: {incomplete[:LONGEST_REASON]}").encode() + b"\n")
    replace_file(path, b"".join(lines))


def withdraw_results(path: str) -> None:
    """Mark the results of an earlier session as unfinished, if there are any."""
    if problem_of(path) is None and Path(path).is_file():
        with suppress(OSError):
            begin_results(Path(path))
