"""A run in the terminal: a progress line, Ctrl-C in two stages, and a summary at the end."""

from __future__ import annotations

import json
import os
import secrets
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from textwrap import wrap
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

from highbar.cli import streams
from highbar.cli.guard import Stopped, stopping_signals
from highbar.cli.streams import DRAWN_EVERY, in_background
from highbar.errors import ReportError
from highbar.language.phrases import count
from highbar.report.visible import cut, visible
from highbar.running.execution import FinishedRun, run_prepared
from highbar.running.grading import says_failed
from highbar.running.progress import COST_UNKNOWN, PLAIN_EVERY, ProgressState, cost_text, duration_text, progress_line
from highbar.running.stopping import NothingCalled, StopRequest
from highbar.scarcity import machine_fault
from highbar.store.run_document import RESULTS, JudgeOfRun, is_run_folder

if TYPE_CHECKING:  # only for annotations
    from highbar.running.deciding import UntilDecided
    from highbar.running.preparing import Prepared
    from highbar.running.summary import Summary

_LONG = 60.0
"""Seconds: the summary says how long a run took only if it took at least this long."""
_MOST_OUTCOMES = 20
"""Trials that are listed after a run of a part of the suite."""
_LONGEST_OUTCOME = 300
"""Characters of a trial's outcome in that list."""
_MOST_OPEN = 8
"""Open rules that the progress shows."""
_ERASE = "\r\x1b[J"
"""Moves to the start of the line and erases everything below."""


def run_in_terminal(
    prepared: Prepared, *, quiet: bool, until: UntilDecided | None = None
) -> tuple[FinishedRun, int | None]:
    """Carry out a run and print a summary. Also returns the number of the signal that ended it. Raises InputError."""
    if until is not None and not quiet:
        from highbar.cli.deciding import expected_lines  # most runs run every trial

        for text in expected_lines(prepared, until.policy):
            streams.say(text)
    stop = StopRequest()
    with _stop_on_signals(stop) as received, _without_commands(), _show_progress(prepared.progress, quiet=quiet):
        done = _run(prepared, stop, until, quiet=quiet)
    if done is None:
        # Nothing is recorded yet, so the signal gets its usual effect: the handlers of before are back in place.
        signal.raise_signal(received[0])
        raise NothingCalled
    # A signal that came after the last trial has interrupted nothing.
    by = received[0] if received and done.document.state == "interrupted" else None
    if by is not None or not quiet:
        for text in _summary_lines(done):
            streams.say(text)
    return done, by


def _run(prepared: Prepared, stop: StopRequest, until: UntilDecided | None, *, quiet: bool) -> FinishedRun | None:
    """What the run did; None if it was stopped before it could call anything."""
    try:
        return run_prepared(prepared, stop, count_failures=not quiet, until=until)
    except NothingCalled:
        return None
    except BaseException as error:
        if not is_run_folder(prepared.path):
            raise
        go_on = _how_to_go_on(prepared.path)
        lack = str(error) if isinstance(error, ReportError) else machine_fault(error)
        if lack is not None and not isinstance(error, Stopped):  # a disk that is full, for example
            raise ReportError(f"{lack}; {go_on}") from error
        if stop.stage:
            streams.say(go_on)
        raise


@contextmanager
def _stop_on_signals(stop: StopRequest) -> Iterator[list[int]]:
    """On the first Ctrl-C, start nothing new and wait for what runs; on the second, or SIGTERM or SIGHUP, stop at once.

    Yields the list of the signals received so far.
    """
    received: list[int] = []

    def request(number: int, frame: FrameType | None) -> None:
        received.append(number)
        stop.request()
        if number != signal.SIGINT:
            stop.request()
        elif len(received) == 1:
            streams.say("highbar: finishing what runs; press Ctrl-C again to stop at once", after_ctrl_c=True)
        previous = before[signal.Signals(number)]
        # While answers are graded, for example, nothing watches for requests: only the earlier handler can stop it.
        if stop.stage == 2 and not stop.is_watched and callable(previous):
            previous(number, frame)

    # Before the first is replaced: `request` may be called while the second is.
    before = {number: signal.getsignal(number) for number in stopping_signals()}
    try:
        for number in before:
            signal.signal(number, request)
    except ValueError:  # not the main thread: its signals are not ours to take
        yield received
        return
    try:
        yield received
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


@contextmanager
def _without_commands() -> Iterator[None]:
    """Stop GitHub from executing what an agent prints: `::error::` in its output is text, not a command."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        yield
        return
    token = secrets.token_hex(16)  # random, so that the agent cannot print the line that turns commands on again
    streams.send_commands(f"::stop-commands::{token}\n")
    try:
        yield
    finally:
        streams.send_commands(f"::{token}::\n")


@contextmanager
def _show_progress(state: ProgressState, *, quiet: bool) -> Iterator[None]:
    """Show progress on standard error: redrawn in place on a terminal, else a new line now and then."""
    stream = sys.stderr
    if quiet or stream is None:
        yield
        return
    terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
    show = _draw if terminal else _print
    with in_background(lambda done: show(done, state, stream)):
        yield


def _draw(done: threading.Event, state: ProgressState, stream: TextIO) -> None:
    # The cursor stays on the last line that was drawn, so erasing several lines first moves it up to the first.
    erase = _ERASE
    while not done.wait(DRAWN_EVERY):
        width = streams.display(stream).width - 1
        lines = [progress_line(state, time.monotonic(), width)]
        lines += [part for text in _open_rules(state) for part in wrap(text, width, subsequent_indent="    ")]
        stream.write(erase + "\n".join(map(visible, lines)))
        stream.flush()
        erase = f"\x1b[{len(lines) - 1}A{_ERASE}" if len(lines) > 1 else _ERASE
    stream.write(erase)
    stream.flush()


def _print(done: threading.Event, state: ProgressState, stream: TextIO) -> None:
    seen: set[str] = set()
    while not done.wait(PLAIN_EVERY):
        line = progress_line(state, time.monotonic(), left_out=seen)
        if cost_text(state) == COST_UNKNOWN:
            seen.add(COST_UNKNOWN)  # once is enough
        stream.writelines(visible(text) + "\n" for text in (line, *_open_rules(state)))
        stream.flush()


def _open_rules(state: ProgressState) -> list[str]:
    """With --until-decided, a line for each rule that is still open; else empty."""
    standing = state.standing
    if standing is None:
        return []
    if standing.problem is not None:
        return [f"  not judged yet: {standing.problem}"]
    from highbar.report.early_words import open_line  # most runs run every trial

    lines = [f"  {open_line(rule)}" for rule in standing.open[:_MOST_OPEN]]
    more = len(standing.open) - len(lines)
    return [*lines, f"  … and {more} more"] if more else lines


def _summary_lines(done: FinishedRun) -> Iterator[str]:
    """The summary of a run."""
    document, summary = done.document, done.summary
    counts = document.done
    parts = [count(counts.answered, "answer"), count(counts.errors, "error")]
    is_decided = document.state == "decided"
    if counts.undecided:
        parts.append(f"{counts.undecided} {'not needed' if is_decided else 'without an answer'}")
    cost = cost_text(done.progress)
    spent = f", {cost}" if cost is not None and cost != COST_UNKNOWN else ""
    took = f" in {duration_text(summary.seconds)}" if summary.seconds >= _LONG else ""
    yield f"{count(counts.trials, 'trial')}{took}: {', '.join(parts)}{spent}"
    if not counts.answered and not counts.errors and summary.no_answer is not None:
        yield f"nothing was answered: {summary.no_answer}"
    if summary.same_error is not None and counts.errors == counts.trials == summary.ended:
        yield f"note: every call ended in the same error: {cut(visible(summary.same_error), _LONGEST_OUTCOME)}"
        yield "try the agent and its settings with: highbar agent try TEXT"
    judge = document.judge
    if judge is not None:
        yield f"judge: {_judge_words(judge)}"
    if judge is not None and judge.failed and not judge.trials and summary.judge_no_answer is not None:
        yield f"the judge answered nothing: {summary.judge_no_answer}"
    if document.state in ("budget", "time"):
        yield f"stopped: {summary.reason or document.state}"
    if is_decided and not summary.began:
        yield "nothing was called: the verdict is certain"
    yield from _notes(summary)
    yield f"run folder: {done.folder}"
    unknown = document.state == "budget" and done.progress.cost_unknown  # then no larger budget helps
    is_open = counts.undecided and not unknown and not is_decided
    if is_open or document.state == "interrupted" or (judge is not None and judge.failed):
        yield _how_to_go_on(done.folder) + (" --budget '$…'" if document.state == "budget" else "")


def _notes(summary: Summary) -> Iterator[str]:
    """What a user should know of the machine and the servers."""
    if (allowed := summary.allowance) is not None:
        yield f"note: the agent's server allowed {allowed}: --concurrency {allowed.at_once} would do"
    if (allowed := summary.judge_allowance) is not None:
        yield f"note: the judge's server allowed {allowed}: `concurrency: {allowed.at_once}` under `judge` would do"
    if summary.is_loop_slow:
        yield "note: this machine was busy; measured latencies may be too long"
    if summary.shortage is not None:
        yield f"note: {summary.shortage}"
    for process in summary.escaped:
        yield f"note: the agent left a process behind that could not be ended: {process}"


def _judge_words(judge: JudgeOfRun) -> str:
    parts = [f"{count(judge.trials, 'trial')}, {count(judge.statements, 'statement')}"]
    if judge.failed:
        parts.append(f"{judge.failed} without a judgment")
    if judge.canaries is not None:
        parts.append(f"{judge.canaries.wrong} of {judge.canaries.statements} canaries wrong")
    if judge.canaries is not None and judge.canaries.failed:
        parts.append("not believed")
    if judge.tokens_used is not None:
        parts.append(f"{judge.tokens_used:,} tokens")
    return ", ".join(parts)


def outcomes(folder: Path) -> Iterator[str]:
    """A line for each of the first trials and its outcome, for a run of a part of the suite, which gets no verdict."""
    with (folder / RESULTS).open(encoding="utf-8") as stream:
        for text in islice(stream, _MOST_OUTCOMES):
            row = json.loads(text)
            yield f"  {row['id']}, trial {row['trial']}: {_outcome(row)}"
        more = sum(1 for _ in stream)
    if more:
        yield f"  … and {more} more in {folder / RESULTS}"


def _outcome(row: Mapping[str, Any]) -> str:
    if row.get("unjudged") and not row.get("error"):
        return f"undecided: {row['unjudged']}"
    if not says_failed(row):
        return "passed"
    missed = row["missed"].items() if isinstance(row.get("missed"), dict) else ()
    reasons = [f"error: {row['error']}"] if row.get("error") else []
    reasons += [f"violated: {name}" for name in row.get("violations", ())]
    reasons += [f"{name}: {reason}" for name, reason in missed]
    return f"failed: {'; '.join(reasons)}"[:_LONGEST_OUTCOME] if reasons else "failed"


def _how_to_go_on(folder: Path) -> str:
    return f"to go on: highbar run --resume {shlex.quote(str(folder))}"
