"""Functions of checks (`python: module:function`) in a separate process.

A function that calls `os._exit(0)` in our process would end `highbar` with the exit code of a pass.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Self

from highbar.checks.applying import FunctionFailed
from highbar.errors import InputError, Problem
from highbar.running.child import frames
from highbar.running.child.process import LONGEST_END, LONGEST_START, FunctionProcess
from highbar.running.standing_still import StandingStill
from highbar.running.watched import Elsewhere, Fact, facts_in

LONGEST_CALL = 30.0
"""Seconds that a function of a check may take."""
_LARGEST = 16 * 2**20
"""Bytes that a function may return."""
_LONGEST_FAREWELL = 2.0
"""Seconds that the process may take to exit, for example for exit handlers of the functions."""
_LONGEST_DYING = 5.0
"""Seconds that a process which closed its pipe may take to exit."""
_LOOK = 0.5
"""Seconds between two looks at whether we stood still; less than `standing_still` calls that."""


class CheckFunctions:
    """Returns functions by name that run in the other process: `functions("quality:is_polite")(answer)`.

    Modules are searched in the folder of the suite, then among installed ones. A call raises FunctionFailed if the
    function raises, ends its process, or takes longer than `limit` seconds. Use it with `with`, and in one thread.

    With `elsewhere`, the functions run in a copy of the repository, and `facts` has what they read outside of it.
    """

    def __init__(self, folder: Path, limit: float = LONGEST_CALL, elsewhere: Elsewhere | None = None) -> None:
        self._setup: dict[str, Any] = {"role": "checks", "folder": str(folder.absolute()), "largest": _LARGEST}
        self._elsewhere = elsewhere
        if elsewhere is not None:
            self._setup["watch"] = elsewhere.setup
        self.facts: list[Fact] = []
        self._limit = limit
        self._process: FunctionProcess | None = None
        self._reader = frames.MessageReader(_LARGEST)
        self._calls = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(_LONGEST_FAREWELL)

    def __call__(self, name: str) -> Callable[[Mapping[str, Any]], Any]:
        """The function with this name. A missing one fails only when it is called; see `refuse_missing`."""
        return partial(self._call, name)

    def refuse_missing(self, names: Iterable[str]) -> None:
        """Raise InputError with every function that cannot be used, and why."""
        problems = [problem for name in dict.fromkeys(names) if (problem := self._problem(name)) is not None]
        if problems:
            raise InputError(*problems)

    def _problem(self, name: str) -> Problem | None:
        try:
            kind, _, _, value = self._exchange([name], LONGEST_START)
        except FunctionFailed as error:
            return Problem("check.not-loaded", f"the check {name} cannot be loaded: its module {error}")
        match kind, value:
            case frames.ANSWERED, None:
                return None
            case frames.REFUSED, {"message": str(text), "hint": hint, "file": file, "line": line}:
                return Problem("check.not-loaded", text, file=file, line=line, hint=hint)
        return Problem("check.not-loaded", f"the check {name} cannot be loaded")

    def _call(self, name: str, answer: Mapping[str, Any]) -> Any:
        kind, _, _, value = self._exchange([name, answer], self._limit)
        match kind, value:
            case frames.ANSWERED, _:
                return value
            case frames.MALFORMED, [_, str(fault)]:
                raise FunctionFailed(f"returned something else than plain values: {fault}")
            case frames.RAISED, str(text):
                raise FunctionFailed(f"raised {text}")
            case frames.TOO_LARGE, _:
                raise FunctionFailed(f"returned more than {_LARGEST // 2**20} MiB")
            case frames.REFUSED, {"message": str(text)}:
                raise FunctionFailed(f"cannot be used: {text}")
        raise FunctionFailed("gave no answer")

    # --- the process -----------------------------------------------------------------------------

    def _exchange(self, request: list[Any], limit: float) -> frames.Message:
        """Send a request and return its answer. If there is none, end the process and raise FunctionFailed."""
        self._calls += 1
        try:
            process = self._process or self._start_process()
            message = frames.encoded(frames.CALL, self._calls, 0.0, request)
            return self._answer(process, message, limit)
        except TimeoutError:
            self._end()
            raise FunctionFailed(f"took longer than {limit:g} s") from None
        except EOFError:
            raise FunctionFailed(f"ended its process: {self._end(_LONGEST_DYING)}") from None
        except (frames.BrokenMessage, OSError) as error:
            self._end()
            raise FunctionFailed(f"broke its process: {error}") from error
        except BaseException:  # such as Ctrl-C: a late answer must not be taken for the answer to the next request
            self._end()
            raise

    def _start_process(self) -> FunctionProcess:
        self._reader = frames.MessageReader(_LARGEST)
        there = self._elsewhere
        folder, environment = (None, None) if there is None else (there.folder, there.environment())
        self._process = FunctionProcess(self._setup, folder=folder, environment=environment)
        return self._process

    def _answer(self, process: FunctionProcess, request: bytes, limit: float) -> frames.Message:
        """Write the request, and read its answer, for `limit` seconds without the time in which we stood still.

        Raises EOFError if the process closes its pipe before that.
        """
        received: list[frames.Message] = []
        still, began = StandingStill(), time.monotonic()

        def receive(message: frames.Message) -> None:
            if message[0] == frames.NOTED:
                self.facts += facts_in(message)
            else:
                received.append(message)

        # Reads while it still writes: otherwise two full pipes would make both processes wait forever.
        rest = memoryview(request)
        while not received:
            ready = _wait_for(process, still.due(began, limit), writing=bool(rest))
            if process.requests in ready and rest:
                with suppress(BrokenPipeError):  # the end of the replies, read below, says how the process ended
                    rest = rest[os.write(process.requests, rest) :]
            if process.replies in ready and not self._reader.read(process.replies, receive):
                raise EOFError
        if len(received) > 1 or received[0][1] != self._calls:
            raise frames.BrokenMessage("an answer that nobody asked for")
        return received[0]

    def _end(self, patience: float = 0.0) -> str:
        """End the process and everything that it started; return how. It first has `patience` seconds to exit."""
        process, self._process = self._process, None
        if process is None:
            return "it could not be started"
        process.close_requests()
        how = process.how_it_ended() if process.ended_within(patience) else "it closed its pipe"
        process.end()
        if not process.ended_within(LONGEST_END):
            process.kill_guardian()
        process.close()
        return how


def _wait_for(process: FunctionProcess, limit: float, *, writing: bool) -> set[int]:
    """The pipes that are ready, if any is soon. Raises TimeoutError after the limit, a time of the monotonic clock."""
    waiting = select.poll()  # not `select`, which fails for file descriptors from 1,024 on
    waiting.register(process.replies, select.POLLIN)
    if writing:
        waiting.register(process.requests, select.POLLOUT)
    left = limit - time.monotonic()
    ready = waiting.poll(min(max(0.0, left), _LOOK) * 1000)
    if not ready and left <= 0:
        raise TimeoutError
    return {file for file, _ in ready}
