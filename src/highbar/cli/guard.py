"""Run one command line and return its exit code. 0, 1 and 3 are verdicts, so no failure may exit with them.

0  pass      1  fail      2  nothing could be judged      3  inconclusive
4  internal error, the machine lacks something, or a report could not be written
129, 130, 143  the terminal was closed, interrupted, terminated
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from types import FrameType

from highbar.errors import InputError, Problem, ReportError
from highbar.interrupts import interrupt_all
from highbar.scarcity import machine_fault

FAILED = 1
REFUSED = 2
INCONCLUSIVE = 3
INTERNAL = NOT_WRITTEN = 4
KILLED_BY = 128
"""Plus the number of the signal: the exit code that a shell gives a process killed by it."""
REPORTS_BEGUN = "highbar.reports_begun"
"""The key in click's `meta` that is set once the report files say that they are of this run."""
_OBJECTS_AT_ONCE = 100_000
"""New objects between two searches for cycles: a check makes half as many, with hardly any cycle among them."""


class Stopped(BaseException):
    """A signal asked the process to end. A BaseException, so that no `except Exception` swallows it."""


def main() -> int:
    """The entry point of the process: run `highbar` with its arguments, and end the process with the exit code.

    If a debugger or profiler watches the process, or a thread must be waited for, it returns the code instead.
    """
    code = run_guarded(sys.argv[1:])
    if not _is_watched() and not _has_threads():
        _end_now(code)
    return code


def run_guarded(arguments: Sequence[str]) -> int:
    """Run `highbar` with the arguments and return the exit code, without ending the process."""
    received: list[int] = []
    code = INTERNAL
    # A signal passes every other handler up to here, and then decides the exit code.
    with suppress(Stopped), _few_collections(), _signals(received):
        code = _run_command(list(arguments), received)
    return _say_stopped(received[0]) if received else code


def _is_watched() -> bool:
    """Whether a debugger, a profiler or an interactive session continues after the command."""
    if sys.flags.interactive or sys.flags.inspect or sys.gettrace() or sys.getprofile():
        return True
    # Since 3.12, cProfile and others register here instead. Python has six slots for such tools.
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(monitoring.get_tool(place) for place in range(6))


def _has_threads() -> bool:
    """Whether a thread runs that Python waits for at exit."""
    return any(not thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())


def _end_now(code: int) -> None:
    """End the process without tearing down the interpreter and DuckDB, which takes a tenth of a small check.

    Exit functions still run (coverage saves its data there, multiprocessing waits for its children), and the streams
    are flushed. If a flush fails, it returns, and Python ends the process with its own exit code.
    """
    atexit._run_exitfuncs()  # noqa: SLF001 - as multiprocessing calls it; once run they are gone, so none runs twice
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


def _run_command(arguments: list[str], received: list[int]) -> int:
    try:
        # A broken installation must end as an internal error, not with Python's own exit code 1, which means a fail.
        from highbar.cli.app import dispatch  # imported inside the `try` for that reason

        return dispatch(arguments)
    except InputError as error:
        if (lack := machine_fault(error)) is not None:
            return _say_failure(f"{lack} ({error.problems[0].message})" if error.problems else lack)
        return _say_refusal(error.problems, arguments)
    except ReportError as error:
        return _say_failure(str(error))
    except Stopped:
        raise
    except BaseException as error:  # noqa: BLE001 - nothing at all may leave with the exit code of a verdict
        # An engine may turn `Stopped` into an error of its own. The signal that was received counts, not that error.
        return INTERNAL if received else _say_crash(error)


@contextmanager
def _few_collections() -> Iterator[None]:
    """Collect garbage every `_OBJECTS_AT_ONCE` objects, not every 700, which saves a fortieth of a small check."""
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS_AT_ONCE, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def _signals(received: list[int]) -> Iterator[None]:
    """Raise `Stopped` on the signals that stop a command, and append the signal's number to `received`."""

    def stop(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        interrupt_all()
        raise Stopped

    try:
        before = {number: signal.signal(number, stop) for number in stopping_signals()}
    except ValueError:  # not the main thread: its signals are not ours to take
        yield
        return
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


def stopping_signals() -> tuple[signal.Signals, ...]:
    """The signals that stop a command. A hang-up is not one of them if it is ignored, as below `nohup`."""
    hang_up: signal.Signals | None = getattr(signal, "SIGHUP", None)  # not on every system
    if hang_up is None or signal.getsignal(hang_up) == signal.SIG_IGN:
        return (signal.SIGINT, signal.SIGTERM)
    return (signal.SIGINT, signal.SIGTERM, hang_up)


def _say_refusal(problems: Iterable[Problem], arguments: list[str]) -> int:
    """Print all problems to stderr, and a no-verdict document in the requested format to stdout.

    For JSON, stderr stays empty: the document contains the problems. For text, stdout stays empty.
    """
    from highbar.cli import streams  # imported here, so that a broken installation can still report itself
    from highbar.report import REPORTERS, report_formats, reporter  # as above

    wanted = _format(arguments)
    if wanted != "json":
        streams.say_problems(problems)
    if wanted == "text" or (wanted not in REPORTERS and wanted not in report_formats()):
        return REFUSED
    try:
        streams.print_text(reporter(wanted).refusal(problems))
    except InputError:  # the format comes from a broken package; the problems are on stderr already
        return REFUSED
    except ReportError as error:
        return _say_failure(str(error))
    return REFUSED


def _format(arguments: list[str]) -> str:
    """The requested format, searched in the raw arguments, since these may be invalid; `text` by default."""
    named = [second for first, second in pairwise([*arguments, ""]) if first == "--format"]
    named += [one.partition("=")[2] for one in arguments if one.startswith("--format=")]
    return named[-1] if named else "text"


def _say_failure(message: str) -> int:
    from highbar.cli import streams  # as above

    streams.say(f"highbar: {message}")
    return INTERNAL


def _say_stopped(number: int) -> int:
    from highbar.cli import streams  # as above

    streams.say(f"highbar: stopped by {signal.Signals(number).name}", after_ctrl_c=number == signal.SIGINT)
    return KILLED_BY + number


def _say_crash(error: BaseException) -> int:
    if os.environ.get("HIGHBAR_DEBUG"):
        import traceback  # only for debugging

        traceback.print_exception(error)
    if (lack := machine_fault(error)) is not None:
        return _say_failure(lack)
    return _say_failure(f"internal error: {type(error).__name__}: {error} (HIGHBAR_DEBUG=1 shows where it arose)")
