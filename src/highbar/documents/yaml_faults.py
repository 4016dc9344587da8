"""An error of a YAML parser in, a problem in plain words out: tabs, indentation, colons, quotes and brackets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from highbar.errors import Problem

if TYPE_CHECKING:
    import yaml

_MISALIGNED = ("expected key", "expected '-'", "expected <block end>", "document start")
"""Parts of the parser's messages (Python and C) about a line that belongs to no open block."""
_ITEM = re.compile(r"\s*-\s+")
_HAS_VALUE = re.compile(r"\s*(?:-\s+)*[^\s:#][^:#]*:\s+[^\s#]")
_NO_SPACE = re.compile(r"\s*[A-Za-z_][A-Za-z0-9_@^]*:[^\s:]")
_KEY = re.compile(r"\s*(?:-\s+)*[^\s:#\[{][^:#]*:(?:\s|$)")
_SECOND_COLON = re.compile(r"\s*(?:-\s+)*[^:]*:\s+(.*)")


def explain_yaml(lines: Sequence[str], error: yaml.MarkedYAMLError, file: str) -> Problem:
    """The problem behind an error of the parser, at the place that must be changed."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return Problem("file.not-yaml", f"this is not YAML: {error.problem}", file)
    line, column = min(mark.line, len(lines) - 1), mark.column
    found = (
        _tab(lines, line)
        or _after_quote(lines, line, column, error.problem or "")
        or _indentation(lines, line, error.problem or "")
        or _colon(lines, line, error.problem or "")
        or _start(error, lines)
        or _escape(line, column, error.problem or "")
        or _character(lines, line, column, error.problem or "")
    )
    if found is None:
        reason = ", ".join(part for part in (error.context, error.problem) if part)
        return Problem("file.not-yaml", f"this is not YAML: {reason}", file, line + 1, column + 1)
    message, hint, at_line, at_column = found
    return Problem("file.not-yaml", message, file, at_line + 1, at_column + 1, hint)


_Fault = tuple[str, str | None, int, int]
"""Message, hint, and the line and column of the place, from 0."""


def _tab(lines: Sequence[str], line: int) -> _Fault | None:
    indentation = lines[line][: _indent(lines[line], " \t")]
    if "\t" not in indentation:
        return None
    message = "this line is indented with a tab, and YAML takes only spaces"
    return message, "replace each tab by two spaces", line, indentation.index("\t")


def _escape(line: int, column: int, problem: str) -> _Fault | None:
    if "unknown escape character" not in problem:
        return None
    message = "in double quotes, a backslash must begin an escape that YAML knows"
    return message, r"write patterns in single quotes: '\d+'", line, column


def _indentation(lines: Sequence[str], line: int, problem: str) -> _Fault | None:
    """A line that is indented by more or less than any line that it could belong to."""
    own = _indent(lines[line])
    before = next((number for number in range(line - 1, -1, -1) if _is_content(lines[number])), None)
    if before is None:
        return None
    if "mapping values are not allowed" in problem:
        item = _ITEM.match(lines[before])
        above = item.end() if item else _indent(lines[before])  # the keys of an item begin after its dash
        if own <= above or not _HAS_VALUE.match(lines[before]):
            return None
        message = "wrong indentation: this line is indented deeper than the one before it, which has a value already"
        return message, f"indent it by {_spaces(above)}, or remove the value of line {before + 1}", line, own
    if not any(part in problem for part in _MISALIGNED) or lines[line].lstrip()[:1] in ("}", "]", ""):
        return None
    open_at = _open_blocks(lines, line)
    if own in open_at:
        return None
    *others, last = sorted(open_at)
    wanted = f"{', '.join(map(str, others))} or {last} spaces" if others else _spaces(last)
    message = f"wrong indentation: this line is indented by {_spaces(own)}, and no line above lines up with it"
    return message, f"indent it by {wanted}", line, own


def _open_blocks(lines: Sequence[str], line: int) -> set[int]:
    """The indentations of the blocks above that are still open: no line further left has ended them."""
    found: set[int] = set()
    for number in range(line - 1, -1, -1):
        indent = _indent(lines[number])
        if _is_content(lines[number]) and (not found or indent < min(found)):
            item = _ITEM.match(lines[number])
            found |= {indent, *([item.end()] if item else [])}
            if indent == 0:
                break
    return found


def _colon(lines: Sequence[str], line: int, problem: str) -> _Fault | None:
    """A key without a colon, a colon without a space after it, or a text with a colon inside."""
    before = next((number for number in range(line - 1, -1, -1) if _is_content(lines[number])), None)
    if "mapping values are not allowed" in problem:
        if before is not None and _NO_SPACE.match(lines[before]):
            at = lines[before].index(":")
            return "there is no space after the colon", f"write {_with_space(lines[before])}", before, at
        if before is not None and not _KEY.match(lines[before]) and _indent(lines[before]) < _indent(lines[line]):
            key = lines[before].strip()[:40]
            return "there is no colon after this key", f"write {key}:", before, _indent(lines[before])
        second = _SECOND_COLON.match(lines[line])
        if second and ": " in second[1]:
            inner = second[1][:40].strip()
            hint = f"write {{ {inner} }} for a key and its value, or {_quoted(inner)} for a text"
            return "there is a second colon on this line", hint, line, second.start(1)
    if "could not find expected ':'" in problem and before is not None:
        key = lines[before].strip()[:40]
        hint = f"write {key}: and its value, or - {key} in a list"
        return "there is no colon after this key", hint, before, _indent(lines[before])
    return None


def _quoted(text: str) -> str:
    return f'"{text}"' if '"' not in text else "'{}'".format(text.replace("'", "''"))


def _after_quote(lines: Sequence[str], line: int, column: int, problem: str) -> _Fault | None:
    """A text that goes on after its closing quote."""
    before = lines[line][:column].rstrip()
    if not any(part in problem for part in _MISALIGNED) or before[-1:] not in ('"', "'"):
        return None
    start = before.index(before[-1])
    text = lines[line][start : start + 40].strip()
    return "this text goes on after its closing quote", f"put all of it in quotes: {_quoted(text)}", line, start


def _with_space(line: str) -> str:
    key, _, value = line.strip()[:60].partition(":")
    return f"{key}: {value}"


def _start(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> _Fault | None:
    """A quote or a bracket that is not closed; the place is where it opens."""
    mark = error.context_mark
    if mark is None or error.problem is None or not 0 <= mark.line < len(lines):
        return None
    if "unexpected end of stream" in error.problem:
        return "the quote that opens here is never closed", "close it at the end of its text", mark.line, mark.column
    if "',' or '" in error.problem:
        bracket = "}" if "'}'" in error.problem else "]"
        opening = "{" if bracket == "}" else "["
        message = f"the '{opening}' that opens here is not closed, or there is no comma between two of its entries"
        return message, f"close it with '{bracket}', or add the comma", mark.line, mark.column
    return None


def _character(lines: Sequence[str], line: int, column: int, problem: str) -> _Fault | None:
    """A text that starts with a character that means something else in YAML."""
    if "expected alphabetic or numeric character" in problem:  # an alias or an anchor without a name
        column -= 1
    elif "cannot start any token" not in problem:
        return None
    character = lines[line][column : column + 1]
    if not character.isprintable() or not character:
        return None
    text = re.split(r"\s+#|[,\]}]", lines[line][column:])[0].strip()[:40]
    return f"a value cannot start with '{character}' in YAML", f'put it in quotes: "{text}"', line, column


def _indent(line: str, blanks: str = " ") -> int:
    return len(line) - len(line.lstrip(blanks))


def _is_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _spaces(number: int) -> str:
    return "1 space" if number == 1 else f"{number} spaces"
