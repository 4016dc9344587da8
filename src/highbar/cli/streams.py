"""Standard output and standard error: what they can show, writing without losing a failure, and a progress bar."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, TextIO

from highbar.errors import InputError, Problem, ReportError
from highbar.report import Display
from highbar.report.visible import visible

if TYPE_CHECKING:  # only a command that reads rows needs it
    from highbar.model.job import JobWatch


_WIDTH = 80
_NARROWEST = 40
_WIDEST = 140
_PLAIN = str.maketrans(
    {"≥": ">=", "≤": "<=", "≠": "!=", "–": "-", "…": "...", "·": "-", "×": "*", "÷": "/", "✗": "x", "→": "->", "│": "|"}
    | {bar: str(height) for height, bar in enumerate("▁▂▃▄▅▆▇█", 1)}
)
_PATIENCE = 1.0
DRAWN_EVERY = 0.2
"""Seconds between two drawings on a terminal."""
_BAR_WIDTH = 30
_BLOCK = 6
_ERASE = "\r\x1b[K"


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


def print_described(files: Iterable[str], describe: Callable[[str, Display], str]) -> int:
    """Print the description of each file; if any has problems, print nothing and raise InputError with all of them."""
    texts: list[str] = []
    problems: list[Problem] = []
    for file in files:
        try:
            texts.append(describe(file, display(sys.stdout)))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(*problems)
    print_text("\n".join(texts))
    return 0


def say(message: str, *, after_ctrl_c: bool = False) -> None:
    """Write one line to standard error, with control characters made visible.

    `after_ctrl_c`: a terminal has shown ^C on its present line, so a new one begins.
    """
    begin = "\n" if after_ctrl_c and sys.stderr is not None and sys.stderr.isatty() else ""
    _write_error(f"{begin}{visible(message)}\n")


def send_commands(lines: str) -> None:
    """Write commands for the CI runner, already encoded, to standard error, which the runner reads too."""
    _write_error(lines)


def say_problems(problems: Iterable[Problem]) -> None:
    """Write all problems to standard error, each with its place and hint."""
    from highbar.report.layout import problem_lines  # only if something is wrong

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
    has_color = forced or (terminal and os.environ.get("TERM") != "dumb")
    return Display(
        width=width or min(max(size.columns, _NARROWEST), _WIDEST),
        color=has_color and not os.environ.get("NO_COLOR"),
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


# --- a progress bar for reads that take longer than a second ----------------------------------


@contextmanager
def watching(*, quiet: bool) -> Iterator[JobWatch]:
    """Show a job's progress bar and its notes on standard error; if `quiet`, only the urgent notes."""
    from highbar.model.job import JobWatch  # only a command that reads rows needs it

    with progress_bar(quiet=quiet) as progress:
        yield JobWatch(progress, say=None if quiet else say, say_urgent=say if quiet else None)


@contextmanager
def progress_bar(*, quiet: bool, doing: str = "reading") -> Iterator[Callable[[float], None] | None]:
    """Yield a function to call with the share that is done; None if no bar is shown. Erases the bar at the end.

    A block moves as long as no share is known. `doing` says what takes so long.
    """
    stream = sys.stderr
    if quiet or stream is None or not stream.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    share = [0.0]
    with in_background(lambda done: _draw_until(done, share, stream, visible(doing))):
        yield lambda done_share: share.__setitem__(0, done_share)


@contextmanager
def in_background(show: Callable[[threading.Event], None]) -> Iterator[None]:
    """Run `show` in a thread until the end of the block, when the event that it gets is set."""
    done = threading.Event()

    def run() -> None:
        with suppress(OSError, ValueError):  # progress that cannot be shown is no error
            show(done)

    thread = threading.Thread(target=run, daemon=True)
    try:
        thread.start()
    except RuntimeError:  # this system allows no more threads
        yield
        return
    try:
        yield
    finally:
        done.set()
        thread.join()


def _draw_until(done: threading.Event, share: list[float], stream: TextIO, doing: str) -> None:
    """Redraw at fixed times, not on each report: engines report progress rarely, and for some of their work never."""
    start = time.monotonic()
    if done.wait(_PATIENCE):
        return
    while not done.wait(DRAWN_EVERY):
        seconds = time.monotonic() - start
        stream.write(f"{_ERASE}{doing} [{_bar(share[0], seconds)}] {seconds:.0f} s")
        stream.flush()
    stream.write(_ERASE)
    stream.flush()


def _bar(share: float, seconds: float) -> str:
    """A bar of the share that is done, or a moving block if that is unknown."""
    if share > 0:
        return ("=" * round(min(share, 1.0) * _BAR_WIDTH)).ljust(_BAR_WIDTH)
    place = round(seconds / DRAWN_EVERY) % (_BAR_WIDTH - _BLOCK + 1)
    return (" " * place + "=" * _BLOCK).ljust(_BAR_WIDTH)
