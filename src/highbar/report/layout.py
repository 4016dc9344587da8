"""Lines for a terminal: aligned columns, wrapped text, problems, and color if the screen has it.

All functions but `problem_lines` expect text that went through `visible` already, so that the only escape sequences
are our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import wrap
from types import MappingProxyType

from highbar.errors import LineExcerpt, Problem
from highbar.report import PAGE, Display
from highbar.report.visible import cells, cut, visible

_CODES = MappingProxyType({"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"})
_GAP = "  "
_NARROWEST = 20


def paint(text: str, styles: str, display: Display) -> str:
    """`text` in the named styles (`bold red`); plain if the screen has no color."""
    if not display.color or not text:
        return text
    codes = ";".join(_CODES[style] for style in styles.split())
    return f"\x1b[{codes}m{text}\x1b[0m"


def title(text: str, display: Display) -> list[str]:
    """A blank line and the heading of a section."""
    return ["", paint(text, "bold", display)]


def paragraph(text: str, indent: int, display: Display) -> list[str]:
    """`text` wrapped at spaces to the display's width; a longer word stays whole."""
    width = max(display.width - indent, 20)
    return [" " * indent + line for line in wrap(text, width, break_long_words=False, break_on_hyphens=False)]


def columns(rows: Iterable[Sequence[str]], indent: int, display: Display, widest: int = 48) -> list[str]:
    """The rows with aligned cells, each cut at `widest`, except that the last cell of a row wraps.

    Rows may have different lengths: the last cell of a short row extends across the columns of the others.
    """
    return [line for block in _blocks(rows, indent, display, widest) for line in block]


def _blocks(rows: Iterable[Sequence[str]], indent: int, display: Display, widest: int) -> list[list[str]]:
    """The lines of each row."""
    table = [([cut(cell, widest) for cell in row[:-1]], row[-1]) for row in rows]
    count = max((len(row) for row, _ in table), default=0)
    widths = [max(cells(row[place]) for row, _ in table if len(row) > place) for place in range(count)]
    found: list[list[str]] = []
    for row, tail in table:
        head = " " * indent + "".join(_pad(cell, width) + _GAP for cell, width in zip(row, widths, strict=False))
        found.append(_with_tail(head, tail, display))
    return found


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]], display: Display) -> list[str]:
    """The rows below a header; the first column is cut so that the others fit. Empty if there are no rows."""
    lines = [header, *rows]
    room = _room_for_titles(lines, display)
    first, *rest = columns([(cut(line[0], room), *line[1:]) for line in lines], 2, display)
    return [paint(first, "dim", display), *rest] if rest else []


def titled_table(header: Sequence[str], rows: Iterable[Sequence[str]], display: Display) -> list[list[str]]:
    """The lines of the header, then of each row; a title that is too long gets lines of its own above its row."""
    lines = [header, *rows]
    room = _room_for_titles(lines, display)
    long = [cells(line[0]) > room for line in lines]
    shortened = [("" if over else line[0], *line[1:]) for line, over in zip(lines, long, strict=True)]
    blocks = _blocks(shortened, 2, display, widest=room)
    return [
        [*(paragraph(line[0], 2, display) if over else ()), *block]
        for line, over, block in zip(lines, long, blocks, strict=True)
    ]


def _room_for_titles(lines: Sequence[Sequence[str]], display: Display) -> int:
    """How wide the first column may be for the others to fit."""
    header = lines[0]
    # A row that is shorter than the header has a sentence as its last cell, which must not widen a column.
    full = [line for line in lines if len(line) == len(header)]
    others = sum(max(cells(line[place]) for line in full) + len(_GAP) for place in range(1, len(header)))
    return max(display.width - 2 - others, _NARROWEST)


def titled(rows: Sequence[tuple[str, str, str]], display: Display) -> list[str]:
    """For each row a mark, a title, and a text beside it; below it if the title takes more than about half a line."""
    widest = display.width // 2 + 2
    width = max((cells(name) for _, name, _ in rows if cells(name) <= widest), default=2)
    lines: list[str] = []
    for mark, name, text in rows:
        head = f"{mark} {_pad(name, width)}{_GAP}"
        if cells(name) > width:
            first, *rest = paragraph(name, cells(mark) + 1, display)
            lines += [mark + first[cells(mark) :], *rest]
            head = " " * cells(head[: width + cells(mark) + 1 + len(_GAP)])
        lines += _with_tail(head, text, display)
    return lines


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cells(text))


def _with_tail(head: str, tail: str, display: Display) -> list[str]:
    """The head with the tail wrapped beside it, or below it if less than a third of the width is left."""
    room = display.width - cells(head)
    if cells(tail) <= room:
        return [(head + tail).rstrip()]
    if room < display.width // 3:
        return [head.rstrip(), *paragraph(tail, min(8, display.width // 8), display)]
    first, *rest = wrap(tail, room, break_long_words=False, break_on_hyphens=False)
    return [head + first, *(" " * cells(head) + line for line in rest)]


# --- problems ---------------------------------------------------------------------------------


def problem_lines(problems: Iterable[Problem], display: Display = PAGE) -> list[str]:
    """For each problem `file:line:column: message`, then the line of the file, the hint and its example, if any."""
    lines: list[str] = []
    for problem in problems:
        place = problem.place_text
        # The colon that follows the place is escaped with it: after a file named `:`, the two would be a CI command.
        where = visible(f"{place}:").removesuffix(":")
        lines.append((paint(where, "bold", display) + ": " if place else "") + visible(problem.coded_message))
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
