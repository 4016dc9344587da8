"""Call a user's function, and make plain values and words of what it returned or raised, whatever its classes do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import Context
from typing import Any

from highbar.running.child import frames
from highbar.running.child.clocks import perf_counter

LONGEST_REASON = 500
"""Characters of the text of an exception."""
DEEPEST = 100
"""Nested mappings and lists: more than any reply may have, and few enough for the stack."""
_LONGEST_FILE = 100
"""Characters of the name of a file that a reason names."""
_AROUND = 64  # bytes of a message beside its value


def reply(call: int, latency: float, value: Any, largest: int) -> bytes:
    """The message that a function returned this value; TOO_LARGE without the value if it has over `largest` bytes."""
    kind: int = frames.ANSWERED
    if type(value) is str:
        if len(value) > largest:
            return frames.encoded(frames.TOO_LARGE, call, latency)
    else:
        faults: list[str] = []
        value = plain_value(value, faults)
        if faults:
            kind, value = frames.MALFORMED, [value, faults[0]]
    try:
        message = frames.encoded(kind, call, latency, value)
    except ValueError:  # Python refuses to write an integer of more than 4,300 digits
        message = frames.encoded(frames.MALFORMED, call, latency, [None, "a number has too many digits"])
    return message if len(message) <= largest + _AROUND else frames.encoded(frames.TOO_LARGE, call, latency)


def plain_value(value: Any, faults: list[str], depth: int = 0) -> Any:
    """The value with only the types of JSON. A value of another type becomes None, and a message in `faults`.

    An object can lie about its `__class__`, but not about its type. Subclasses are converted by the methods of the
    plain type, since their own may do anything.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if issubclass(kind, str):
        return str.__getitem__(value, slice(None))
    if issubclass(kind, int):
        return int.__int__(value)
    if issubclass(kind, float):
        return float.__float__(value)
    if depth == DEEPEST:
        faults.append(f"it is nested deeper than {DEEPEST} levels")
    elif issubclass(kind, dict):
        return {_key(key, faults): plain_value(inner, faults, depth + 1) for key, inner in dict.items(value)}
    elif issubclass(kind, list | tuple):
        return [plain_value(inner, faults, depth + 1) for inner in _items(value)]
    else:
        faults.append(f"found a {_name(kind)}, wanted text or a mapping of plain values")
    return None


def _items(value: Any) -> Iterable[Any]:
    return list.__iter__(value) if issubclass(type(value), list) else tuple.__iter__(value)


def _key(key: Any, faults: list[str]) -> str:
    if issubclass(type(key), str):
        return str.__getitem__(key, slice(None))
    faults.append(f"found a {_name(type(key))} as a key, wanted text")
    return ""


def describe_error(error: BaseException) -> str:
    """The class of an exception and its message, shortened. Nothing that its own methods raise gets out."""
    try:
        text = str.__getitem__(str(error), slice(LONGEST_REASON))
    except BaseException:  # noqa: BLE001  # the user's own __str__ can raise anything
        text = "its message cannot be shown"
    name = _name(type(error))
    where = _raised_at(error)
    return (f"{name}: {text}" if text else name)[: LONGEST_REASON - len(where)] + where


def _raised_at(error: BaseException) -> str:
    """The file and line that raised it; empty if that is our own code."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    # If the function takes other arguments, the call itself fails, in our code.
    if trace is None or trace.tb_frame.f_globals.get("__package__") == __package__:
        return ""
    # A module that cannot be compiled: Python's import system raises, and the message has the line.
    if trace.tb_frame.f_code.co_filename.startswith("<frozen"):
        return ""
    file = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f" ({file[:_LONGEST_FILE]}:{trace.tb_lineno})"


def _name(kind: type) -> str:
    """The real name of a class, which its metaclass cannot fake."""
    name: str = type.__dict__["__name__"].__get__(kind)
    return str.__getitem__(name, slice(100))


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
