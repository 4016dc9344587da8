"""Standard output and standard error: what they can show, and writing to them without losing a failure."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import BinaryIO, TextIO

from highbar.errors import Problem, ReportError
from highbar.report import Display
from highbar.report.visible import visible

_WIDTH = 80
_NARROWEST = 40
_WIDEST = 140
_PLAIN = str.maketrans(
    {"≥": ">=", "≤": "<=", "≠": "!=", "–": "-", "…": "...", "·": "-", "×": "*", "÷": "/", "✗": "x", "→": "->", "│": "|"}
    | {bar: str(height) for height, bar in enumerate("▁▂▃▄▅▆▇█", 1)}
)


def standard_input() -> BinaryIO | None:
    """The bytes of standard input; None if it is closed."""
    return sys.stdin.buffer if sys.stdin else None


def print_text(text: str) -> None:
    """Write and flush all of `text` to standard output. Raises ReportError on failure, so that no report is lost."""
    stream = sys.stdout
    if stream is None:
        raise ReportError("standard output is closed")
    try:
        stream.write(_encodable(text, stream))
        stream.flush()
    except (OSError, ValueError) as error:
        _abandon(stream)
        raise ReportError(f"standard output could not be written: {_cause(error)}") from error


def say(message: str) -> None:
    """Write one line to standard error, with control characters made visible."""
    _write_error(visible(message) + "\n")


def send_commands(lines: str) -> None:
    """Write commands for the CI runner, already encoded, to standard error, which the runner reads too."""
    _write_error(lines)


def say_problems(problems: Iterable[Problem]) -> None:
    """Write all problems to standard error, each with its place and hint."""
    from highbar.report.problems import problem_lines  # only if something is wrong

    _write_error("".join(f"{line}\n" for line in problem_lines(problems, display(sys.stderr))))


def _write_error(text: str) -> None:
    """Write to standard error. A failure is ignored: nowhere is left to report it."""
    stream = sys.stderr
    with suppress(OSError, ValueError, AttributeError):
        stream.write(_encodable(text, stream))
        stream.flush()


def display(stream: TextIO | None, *, width: int | None = None, verbose: bool = False) -> Display:
    """What the screen behind a stream can show; `width` overrides that of the terminal.

    Color only on a terminal that supports it or if FORCE_COLOR is set; never if NO_COLOR is set.
    """
    size = shutil.get_terminal_size((_WIDTH, 24))
    terminal = stream is not None and stream.isatty()
    forced = os.environ.get("FORCE_COLOR", "0") not in ("", "0")
    colored = forced or (terminal and os.environ.get("TERM") != "dumb")
    return Display(
        width=width or min(max(size.columns, _NARROWEST), _WIDEST),
        color=colored and not os.environ.get("NO_COLOR"),
        height=size.lines if terminal or "LINES" in os.environ else None,  # nothing scrolls out of a file
        verbose=verbose,
    )


def _encodable(text: str, stream: TextIO) -> str:
    """`text`, with plain replacements if the stream's encoding lacks some of its characters."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAIN).encode(encoding, "backslashreplace").decode(encoding)
    return text


def _abandon(stream: TextIO) -> None:
    """Send the rest of the buffer to the null device.

    Otherwise Python flushes it again at exit, fails again, and exits with a code of its own.
    """
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _cause(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
