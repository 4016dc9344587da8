"""The results file of a session. Until the session has ended, and if it is not complete, no check accepts it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from highbar.running.rows import line
from highbar.store.writing import replace

ENDING = ".jsonl"
UNFINISHED = "the pytest session has not ended"
LONGEST_REASON = 45
"""Characters of the reason why results are not complete; a message shows no more of a value."""


def problem_of(path: str) -> str | None:
    """Why results cannot be written to a path; None if they can."""
    if not path.lower().endswith(ENDING):
        return f"found {path!r}, wanted the name of a file that ends in {ENDING}"
    file = Path(path)
    if file.exists() and not file.is_file():
        return f"{path} is no file"
    return None if file.parent.is_dir() else f"there is no folder {file.parent}"


def begin_results(path: Path) -> None:
    """Say in the file that there are no results yet: those of an earlier session must not survive a crash."""
    write_results(path, (), UNFINISHED)


def write_results(path: Path, rows: Iterable[Mapping[str, Any]], incomplete: str | None = None) -> None:
    """Put the rows in their place, all at once. `incomplete` says why they are not all that there is to say.

    Then the last line is text and not a row, so that every reader refuses the file and shows the reason.
    """
    lines = [line(row) for row in rows]
    if incomplete is not None:
        lines.append(json.dumps(f"incomplete: {incomplete[:LONGEST_REASON]}").encode() + b"\n")
    replace(Path(os.path.realpath(path)), b"".join(lines))


def withdraw_results(path: str) -> None:
    """If there are results of an earlier session, say that there are none."""
    if problem_of(path) is None and Path(path).is_file():
        with suppress(OSError):
            begin_results(Path(path))
