"""An agent that is a function of this process, for notebooks and tests: `highbar.run(suite, my_function)`.

A function of a notebook cannot be imported anywhere else. The price: a call that blocks cannot be ended, only left
behind, and a function that ends the process ends everything. Suites and the command line run agents in a separate
process instead.
"""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from highbar.running.agents.replies import read_attempt
from highbar.running.calls import AgentCall, Attempt
from highbar.running.child.finding import has_scenario_parameter, is_async
from highbar.running.child.values import describe_error, plain_value
from highbar.running.standing_still import StandingStill
from highbar.scarcity import NO_THREAD
from highbar.suite.parts import Agent


class InsideAgent:
    """Calls a function: an async one in the event loop, a sync one in threads."""

    start = 8
    ahead = False

    def __init__(self, function: Callable[..., Any], agent: Agent) -> None:
        self.function = function
        self.agent = agent
        self.is_async = is_async(function)
        self.most = 64 if self.is_async else 32
        self.takes_scenario = has_scenario_parameter(function)
        self._threads = None if self.is_async else ThreadPoolExecutor(self.most, "highbar-agent")
        self._still = StandingStill()

    async def __aenter__(self) -> Self:
        await self._still.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._still.__aexit__()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def allow(self, at_once: int) -> None:
        """Do nothing: no question is handed over ahead."""

    async def call(self, call: AgentCall) -> Attempt:
        """Make one attempt. Whatever the function raises is an error of the agent."""
        began, start = time.monotonic(), time.perf_counter()
        try:
            async with self._still.timeout(call.timeout) as limit:
                value = await self._value(call)
        except BaseException as error:  # the user's code runs here: its SystemExit must not end the run
            if isinstance(error, asyncio.CancelledError) and _is_canceled():
                raise
            if isinstance(error, TimeoutError) and limit.expired():
                return Attempt("error", reason=f"timed out after {call.timeout:g} s")
            if isinstance(error, _NoThread):
                return Attempt("infrastructure", reason=NO_THREAD)
            reason = str(error) if isinstance(error, _AgentExit) else describe_error(error)
            return Attempt("error", reason=reason, latency_ms=self._latency(began, start))
        return self._read(value, self._latency(began, start))

    def _latency(self, began: float, start: float) -> float | None:
        """Milliseconds since the start; None if this process stood still meanwhile."""
        return None if self._still.has_since(began) else (time.perf_counter() - start) * 1000

    def _read(self, value: Any, latency: float | None) -> Attempt:
        """The attempt that returned this value. Only plain values are accepted: other classes may behave in any way."""
        faults: list[str] = []
        attempt = read_attempt(plain_value(value, faults), self.agent, latency)
        return Attempt("error", attempt.reply, f"malformed reply: {faults[0]}", latency) if faults else attempt

    async def _value(self, call: AgentCall) -> Any:
        # Deep copies: what the function changes must not affect later questions or the grading.
        asked: Any = call.text if call.text is not None else copy.deepcopy(list(call.messages))
        more = {"scenario": copy.deepcopy(dict(call.scenario))} if self.takes_scenario else {}
        if self._threads is None:
            return await self.function(asked, **more)
        loop, is_refused = asyncio.get_running_loop(), False
        try:
            called = loop.run_in_executor(
                self._threads, lambda: None if is_refused else _guarded(self.function, asked, more)
            )
        except RuntimeError as error:  # no new thread could be started, but an earlier one may still take the call
            is_refused = True
            raise _NoThread from error
        return await called


def _guarded(function: Callable[..., Any], asked: Any, more: dict[str, Any]) -> Any:
    """Call the function, and turn SystemExit, KeyboardInterrupt and the like into an Exception."""
    try:
        return function(asked, **more)
    except Exception:
        raise
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the function
        raise _AgentExit(describe_error(error)) from error


class _NoThread(Exception):
    """This system allows no more threads, so the function was not called."""


class _AgentExit(Exception):
    """The function raised SystemExit or another BaseException; the message describes it."""


def _is_canceled() -> bool:
    """Whether the run canceled this call, rather than code of the function."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
