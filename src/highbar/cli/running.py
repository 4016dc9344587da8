"""A run as its user sees it: a line of progress, Ctrl-C in two stages, and what was done at the end."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from highbar.cli import streams
from highbar.language.phrases import count
from highbar.report.visible import visible
from highbar.run import running
from highbar.run.progress import PLAIN_EVERY, ProgressState, cost_text, duration_text, line
from highbar.run.stopping import StopRequest

if TYPE_CHECKING:  # of what a run gives
    from highbar.run.preparing import Prepared
    from highbar.run.running import Done

_EVERY = 0.2
_LONG = 60.0
"""Seconds from which on it matters how long a run took."""
_ERASE = "\r\x1b[K"


def run_in_terminal(prepared: Prepared, *, quiet: bool) -> tuple[Done, int | None]:
    """Carry out a run, and say what it did. Returns the number of the signal that ended it, too. Raises InputError."""
    stop = StopRequest()
    with _stopping(stop) as received, _shown(prepared.progress, quiet=quiet):
        done = running.carry_out(prepared, stop, count_failures=not quiet)
    by = received[0] if received and done.document.state == "interrupted" else None
    if by is not None or not quiet:
        for said in _said(done):
            streams.say(said)
    return done, by


@contextmanager
def _stopping(stop: StopRequest) -> Iterator[list[int]]:
    """The first Ctrl-C begins nothing more and waits for what runs; the second, or SIGTERM, stops at once."""
    received: list[int] = []

    def request(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        stop.request()
        if number == signal.SIGTERM:
            stop.request()
        elif len(received) == 1:
            streams.say("highbar: finishing what runs; press Ctrl-C again to stop at once")

    try:
        before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: its signals are not ours to take
        yield received
        return
    try:
        yield received
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


@contextmanager
def _shown(state: ProgressState, *, quiet: bool) -> Iterator[None]:
    """Show progress on standard error: one line that changes, or on anything but a terminal a line now and then."""
    stream = sys.stderr
    if quiet or stream is None:
        yield
        return
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    done = threading.Event()
    show = _draw if terminal else _print
    showing = threading.Thread(target=_until, args=(done, show, state, stream), daemon=True)
    showing.start()
    try:
        yield
    finally:
        done.set()
        showing.join()


def _until(
    done: threading.Event,
    show: Callable[[threading.Event, ProgressState, TextIO], None],
    state: ProgressState,
    stream: TextIO,
) -> None:
    with suppress(OSError, ValueError):  # a line that cannot be shown is no error
        show(done, state, stream)


def _draw(done: threading.Event, state: ProgressState, stream: TextIO) -> None:
    while not done.wait(_EVERY):
        width = streams.display(stream).width - 1
        stream.write(_ERASE + visible(line(state, time.monotonic(), width)))
        stream.flush()
    stream.write(_ERASE)
    stream.flush()


def _print(done: threading.Event, state: ProgressState, stream: TextIO) -> None:
    while not done.wait(PLAIN_EVERY):
        stream.write(visible(line(state, time.monotonic())) + "\n")
        stream.flush()


def _said(done: Done) -> Iterator[str]:
    """What a run did, for people."""
    document, summary = done.document, done.summary
    counts = document.done
    parts = [count(counts.answered, "answer"), count(counts.errors, "error")]
    if counts.undecided:
        parts.append(f"{counts.undecided} without an answer")
    cost = cost_text(done.progress)
    spent = f", {cost}" if cost is not None and cost != "cost unknown" else ""
    took = f" in {duration_text(summary.seconds)}" if summary.seconds >= _LONG else ""
    yield f"{count(counts.trials, 'trial')}{took}: {', '.join(parts)}{spent}"
    if document.state in ("budget", "time"):
        yield f"stopped: {summary.reason or document.state}"
    if summary.is_loop_slow:
        yield "note: this machine was busy; measured latencies may be too long"
    yield f"run folder: {done.folder}"
    if document.state != "complete":
        yield f"to go on: highbar run --resume {shlex.quote(str(done.folder))}"
