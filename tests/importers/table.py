"""Prints what becomes of every real file below ../shared/samples, or of the files and folders that are named.

    python -m tests.importers.table [PATH…]

For each: the tool that it is recognized as, rows, errors, unscored, skipped, left out, and seconds; or why it is
refused. Exits with 1 if a file crashes its reader or is read as nothing.
"""

from __future__ import annotations

import io
import sys
import time
from collections import Counter
from pathlib import Path

import highbar
from highbar import importers
from highbar.errors import InputError
from highbar.importers.writing import convert
from tests.importers.imported import SAMPLES, recognized

POLICY = {"thresholds": {"blocking": {"pass_rate": "≥ 1%"}}}
WIDTH = 60
NOT_RESULTS = ("SOURCES.md", "README.md")


def outcome(path: Path) -> tuple[str, str]:
    """(tool or -, what became of the file) in one line."""
    tool = recognized(path)
    started = time.perf_counter()
    if tool is None:
        return "-", refused_as_rows(path)
    try:
        report = convert(importers.importer_named(tool), str(path), path.name, io.BytesIO())
    except InputError as error:
        return tool, f"refused: {one_line(error)}"
    counts = (report.rows, report.errors, report.unscored, report.skipped, report.left_out.total())
    seconds = time.perf_counter() - started
    return tool, "".join(f"{count:>9}" for count in counts) + f"{seconds:>9.3f}" + ("" if report.rows else "  empty")


def refused_as_rows(path: Path) -> str:
    """What a check says of a file that no tool claims."""
    try:
        highbar.check(path, POLICY)
    except InputError as error:
        return f"refused: {one_line(error)}"
    return "READ AS ROWS OF OURS"


def one_line(error: InputError) -> str:
    problem = error.problems[0]
    return f"{problem.message} ({problem.hint})" if problem.hint else problem.message


def files(arguments: list[str]) -> list[Path]:
    """Every file that is meant, folders with all that is in them."""
    named = [Path(argument) for argument in arguments] or [SAMPLES]
    found = [path for one in named for path in (sorted(one.rglob("*")) if one.is_dir() else [one])]
    return [path for path in found if path.is_file() and path.name not in NOT_RESULTS]


def main(arguments: list[str]) -> int:
    """Print the table; 1 if something went wrong in it."""
    found = files(arguments)
    if not found:
        print(f"no sample files at {SAMPLES}", file=sys.stderr)
        return 0
    header = "".join(f"{name:>9}" for name in ("rows", "errors", "unscored", "skipped", "left out"))
    print(f"{'file':{WIDTH}} {'tool':15}{header}{'seconds':>9}")
    tally: Counter[str] = Counter()
    for path in found:
        try:
            tool, told = outcome(path)
        except Exception as error:  # noqa: BLE001 - a crash is what this table is to show
            tool, told = "-", f"CRASHED: {type(error).__name__}: {error}"
        kind = "refused" if told.startswith("refused") else "read" if tool != "-" else told.split(":")[0]
        tally[kind] += 1
        print(f"{path.name[-WIDTH:]:{WIDTH}} {tool:15}{told}")
    print(", ".join(f"{number} {kind}" for kind, number in sorted(tally.items())))
    return int(set(tally) > {"read", "refused"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
