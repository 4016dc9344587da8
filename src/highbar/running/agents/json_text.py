"""Bytes that an agent sent → the JSON value that they are, strictly."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from highbar.running.agents.replies import DEEPEST_VALUE, MalformedReply


def decoded(data: bytes | str) -> Any:
    """The JSON value. Raises MalformedReply if it is none: cut, not UTF-8, NaN, nested without end."""
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise MalformedReply(f"the JSON is nested deeper than {DEEPEST_VALUE} levels") from None
    except (ValueError, msgspec.DecodeError):
        return _decoded_slowly(data)


def _decoded_slowly(data: bytes | str) -> Any:
    """What Python's own reader makes of it, which says what is wrong, and takes half of a surrogate pair for a text.

    That one is refused by those who read texts: with a reason that people understand.
    """
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        return json.loads(text, parse_constant=_no_constant, parse_float=_fraction)
    except RecursionError:
        raise MalformedReply(f"the JSON is nested deeper than {DEEPEST_VALUE} levels") from None
    except UnicodeDecodeError as error:
        raise MalformedReply(f"it is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise MalformedReply(f"it is not JSON: {error.msg} at character {error.pos}") from None
    except MalformedReply:
        raise
    except ValueError:  # such as a whole number with thousands of digits
        raise MalformedReply("it is not JSON that can be read") from None


def _fraction(digits: str) -> float:
    if (number := float(digits)) in (float("inf"), float("-inf")):
        raise MalformedReply(f"the number {digits[:60]} is out of range")
    return number


def _no_constant(name: str) -> Any:
    raise MalformedReply(f"{name} is not JSON")
