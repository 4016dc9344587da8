"""One call of a user's function, in this thread → the message with its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any

from highbar.running.child import frames
from highbar.running.child.clocks import perf_counter
from highbar.running.child.values import describe_error, reply


def call_function(
    function: Callable[..., Any], arguments: Sequence[Any], call: int, *, largest: int, context: Context
) -> bytes:
    """Call the function, and return the message with its result. The latency is that of the function alone.

    The function runs in a copy of the context, so that no call sees the context variables that another one set.
    """
    end = 0.0
    start = perf_counter()
    try:
        value = context.copy().run(function, *arguments)
        end = perf_counter()
        return reply(call, (end - start) * 1000, value, largest)
    except BaseException as error:  # noqa: BLE001  # SystemExit and KeyboardInterrupt are errors of the function as well
        latency = ((end or perf_counter()) - start) * 1000
        return frames.encoded(frames.RAISED, call, latency, describe_error(error))
