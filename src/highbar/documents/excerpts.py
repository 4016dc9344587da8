"""Problems of policies and suites in, the same problems with the line that each is about out; at most MOST_PROBLEMS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from highbar.documents.files import decode_text, read_bytes
from highbar.documents.limits import LONGEST_EXCERPT, MOST_PROBLEMS, MOST_SUITE_BYTES
from highbar.errors import InputError, LineExcerpt, Problem


def with_excerpts(error: InputError, given: Mapping[str, bytes] | None = None) -> InputError:
    """The error with the lines that its problems are about; `given` has the bytes of files that must not be read."""
    problems = error.problems[:MOST_PROBLEMS]
    lines = {file: _lines(file, (given or {}).get(file)) for file in {each.file for each in problems} if file}
    shown = [_with_excerpt(each, lines.get(each.file or "", ())) for each in problems]
    rest = len(error.problems) - len(shown)
    more = [
        Problem(
            "problems.more", f"and {rest} more problem{'s' if rest > 1 else ''}, which are not listed", shown[0].file
        )
    ]
    return InputError(*shown, *(more if rest else []))


def _lines(file: str, data: bytes | None) -> Sequence[str]:
    """The lines of a file; empty if it cannot be read, because then a problem already says so."""
    path = Path(file)
    with suppress(InputError, OSError, ValueError):
        return decode_text(read_bytes(path, MOST_SUITE_BYTES) if data is None else data, path).split("\n")
    return ()


def _with_excerpt(problem: Problem, lines: Sequence[str]) -> Problem:
    if problem.line is None or problem.column is None or not 0 < problem.line <= len(lines):
        return problem
    line, before = lines[problem.line - 1], problem.column - 1
    if not line.strip() or before > len(line):
        return problem
    if len(line) <= LONGEST_EXCERPT:
        return replace(problem, excerpt=LineExcerpt(line, before))
    start = max(0, before - LONGEST_EXCERPT // 2)
    end = start + LONGEST_EXCERPT
    left, right = "…" if start else "", "…" if end < len(line) else ""
    return replace(problem, excerpt=LineExcerpt(f"{left}{line[start:end]}{right}", before - start + len(left)))
