"""Problems for a terminal. A separate module, so that a wrong call loads no more than it needs."""

from __future__ import annotations

from collections.abc import Iterable

from highbar.errors import LineExcerpt, Problem
from highbar.report import PAGE, Display
from highbar.report.layout import paint
from highbar.report.visible import cells, visible


def problem_lines(problems: Iterable[Problem], display: Display = PAGE) -> list[str]:
    """For each problem `file:line:column: message`, then the line of the file, the hint and its example, if any."""
    lines: list[str] = []
    for problem in problems:
        place = problem.place_text
        # The colon that follows the place is escaped with it: after a file named `:`, the two would be a CI command.
        where = visible(f"{place}:").removesuffix(":")
        lines.append((paint(where, "bold", display) + ": " if place else "") + visible(problem.message))
        if problem.excerpt:
            lines += _excerpt(problem.excerpt, problem.line)
        if problem.hint:
            lines.append(f"{paint('hint:', 'green', display)} {visible(problem.hint)}")
        if problem.example:
            lines += [f"    {visible(line)}" for line in problem.example.splitlines()]
    return lines


def _excerpt(excerpt: LineExcerpt, number: int | None) -> list[str]:
    """The line of the file with its number, and a line with a caret below the place."""
    margin = f"  {number or ''} | "
    caret = " " * cells(visible(excerpt.text[: excerpt.before]))
    return [f"{margin}{visible(excerpt.text)}", f"{' ' * (len(margin) - 2)}| {caret}^"]
