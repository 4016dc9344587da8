"""Messages between the process of the user's functions and ours: (kind, call, number, value), with their length first.

A function shares its process with the code that writes these messages, so the pipe may contain anything. Messages are
decoded strictly, and the process ends if one cannot be decoded.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Message = tuple[int, int, float, Any]
"""The kind, the number of the call, the latency in milliseconds if the message has one, and the value."""

# To the process.
SETUP = 1  # what to load; the value is a mapping, see __main__
CALL = 2  # the value is the list of arguments; for functions of checks, the name and the argument
CANCEL = 3  # a call that runs: True ends it (overdue), False leaves it alone in a thread, None also in a loop
ALLOW = 4  # the number of the call is how many may run at once

# From the process.
READY = 10  # the value is a mapping, see __main__
REFUSED = 11  # the function cannot be used; the value is a mapping for a Problem
ANSWERED = 12  # the value is what the function returned
MALFORMED = 13  # the value is [the plain values in what it returned, what is wrong with the rest]
RAISED = 14  # the value is the exception, in words
TOO_LARGE = 15
CANCELED = 16  # the value says whether a thread still runs the call
DELAYS = 17  # the value is a list of milliseconds by which the loop was late
NOTED = 18  # the value is a list of facts about what was read, see watching
LOADING = 19  # our own modules are loaded, and the user's are next
THREADS = 20  # the system allows no more threads; the number of the call is how many calls may run at once, perhaps 0
NOT_STARTED = 21  # the process could not be started; the value says why

LARGEST = 2**31
"""Bytes of a message's value, by default."""
_MARGIN = 2**16  # bytes: room for messages other than replies, if replies are limited to a few bytes
_JSON = 1  # code of our MessagePack extension: JSON text of a value that MessagePack cannot express
_LENGTH = 4
_writing = threading.RLock()
_READ = 2**18  # bytes at once


class BrokenMessage(Exception):
    """What was read is not a message."""


def _as_builtin(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} is no plain value")


_encode = msgspec.msgpack.Encoder(enc_hook=_as_builtin, decimal_format="number").encode


def _from_extension(code: int, data: memoryview) -> Any:
    if code != _JSON:
        raise ValueError(f"an extension with the code {code}")
    return json.loads(bytes(data))


_decode = msgspec.msgpack.Decoder(Message, ext_hook=_from_extension).decode


def encoded(kind: int, call: int, number: float = 0.0, value: Any = None) -> bytes:
    """The bytes of a message, with its length first."""
    try:
        body = _encode((kind, call, number, value))
    except (UnicodeEncodeError, OverflowError):  # an unpaired surrogate, or an integer of more than 64 bits
        text = json.dumps(value, default=_as_builtin).encode()
        body = _encode((kind, call, number, msgspec.msgpack.Ext(_JSON, text)))
    return len(body).to_bytes(_LENGTH, "little") + body


def write_message(file: int, message: bytes) -> None:
    """Write a whole message to a file that blocks, whichever thread calls."""
    data = memoryview(message)
    with _writing:
        while data:
            data = data[os.write(file, data) :]


class MessageReader:
    """Bytes in, messages out. `largest` is the number of bytes that a reply may have."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest + _MARGIN
        self._bytes = bytearray()

    def read(self, file: int, receive: Callable[[Message], None]) -> bool:
        """Read once from the file, and pass every complete message to `receive`. Returns False at the end of the file.

        Raises BrokenMessage if the bytes are not a message, and BlockingIOError if there is nothing to read yet.
        """
        data = os.read(file, _READ)
        self._bytes += data
        for message in self._complete():
            receive(message)
        return bool(data)

    def _complete(self) -> list[Message]:
        """Remove every complete message from the bytes, and return them."""
        found, start, held = [], 0, self._bytes
        with memoryview(held) as view:
            while len(view) - start >= _LENGTH:
                length = int.from_bytes(view[start : start + _LENGTH], "little")
                if length > self._largest:
                    raise BrokenMessage(f"a message of {length} bytes")
                end = start + _LENGTH + length
                if end > len(view):
                    break
                found.append(_decoded(view[start + _LENGTH : end]))
                start = end
        if start:
            del held[:start]
        return found


def _decoded(body: memoryview) -> Message:
    try:
        message: Message = _decode(body)
    except (ValueError, RecursionError) as error:  # ValueError: also what msgspec raises
        raise BrokenMessage(str(error)) from error
    return message
