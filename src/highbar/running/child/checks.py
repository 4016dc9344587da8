"""Call the functions of checks, one after the other in the main thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any

from highbar.running.child import frames, watching
from highbar.running.child.finding import NoFunction, find_check
from highbar.running.child.values import call_function


def serve(
    folder: str,
    requests: int,
    replies: int,
    largest: int,
    reader: frames.MessageReader,
    received: Sequence[frames.Message],
) -> None:
    """Carry out the messages until there are no more. The first of them have been `received` already."""
    functions: dict[str, Callable[..., Any]] = {}

    def answer(call: int, name: str, arguments: list[Any]) -> bytes:
        try:
            if name not in functions:
                functions[name] = find_check(name, folder)
        except NoFunction as refused:
            return frames.encoded(frames.REFUSED, call, 0.0, refused.fields)
        if not arguments:  # asks only whether the function can be used
            return frames.encoded(frames.ANSWERED, call)
        return call_function(functions[name], arguments, call, largest=largest, context=copy_context())

    def receive(message: frames.Message) -> None:
        _, call, _, (name, *arguments) = message
        reply = answer(call, name, arguments)
        watching.note_modules()
        frames.write_message(replies, reply)

    for message in received:
        receive(message)
    while reader.read(requests, receive):
        pass
