"""Values of another tool's suite → a suite, by way of our keys; problems have paths in the tool's own file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from highbar.documents.problems import ValueCursor, ValuePath
from highbar.suite.decoding import format_of
from highbar.suite.located import Located, Position, locate
from highbar.suite.parts import Suite
from highbar.suite.tools import rewrite
from highbar.suite.tools.linked import file_text

T = TypeVar("T")


def build_rewritten(
    tool: str, values: Any, place: ValueCursor, path: Path, build: Callable[[Any, ValueCursor], T | None]
) -> T | None:
    """The result of `build` for the suite in our keys; None after noting all problems with paths in the tool's file."""
    rewritten = rewrite(tool, values, place, path)
    # A list of its own: these problems have paths in our keys, which are translated below.
    ours = ValueCursor(problems=[])
    found = build(rewritten.values, ours) if rewritten.values["scenarios"] else None
    for problem in ours.problems:
        first = None if problem.first is None else rewritten.origin(problem.first)
        place.problems.append(replace(problem, path=rewritten.origin(problem.path), first=first))
    place.problems[:] = dict.fromkeys(place.problems)  # every test repeats the problems of its defaults
    if place.problems or found is None:
        if not place.problems:
            place.refuse("suite.no-scenario", f"this suite of {tool} has no test")
        return None
    if not isinstance(found, Suite):
        return found
    return cast("T", replace(found, rewritten=rewritten))


def located_elsewhere(path: Path) -> Located:
    """The positions in a file that a suite of another tool names."""
    text = file_text(path)
    if path.suffix != ".csv":
        return locate(text, format_of(path.name), str(path))
    from highbar.suite.tools.promptfoo_csv import read_csv_rows  # few suites have one

    lines = [line for line, _ in read_csv_rows(text, str(path))]

    def position(inside: ValuePath, _key: bool) -> Position:  # noqa: FBT001  # as the field of Located has it
        first = inside[0] if inside else None
        return (lines[first] if isinstance(first, int) and first < len(lines) else 1), None

    return Located(None, position)
