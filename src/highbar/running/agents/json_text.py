"""Bytes that an agent sent → a JSON value, decoded strictly."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec

from highbar.running.agents.replies import DEEPEST_VALUE, MalformedReply, shown


def decode_reply(data: bytes | str) -> Any:
    """The JSON value. Raises MalformedReply if it is cut, not UTF-8, too deeply nested, or has NaN or a key twice."""
    try:
        value = msgspec.json.decode(data)
        if isinstance(value, dict | list):
            _refuse_repeated_keys(data.decode() if isinstance(data, bytes) else data)
    except RecursionError:
        raise MalformedReply(f"the JSON is nested deeper than {DEEPEST_VALUE} levels") from None
    except MalformedReply:
        raise
    except (ValueError, msgspec.DecodeError):
        return _decode_slowly(data)
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise MalformedReply(f"an object has the key {shown(twice)} twice")
    return found


# msgspec is the faster parser, but it silently takes the last of two values. So the text is parsed again for that.
_refuse_repeated_keys = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_int=str, parse_float=str).decode


def _decode_slowly(data: bytes | str) -> Any:
    """Decode with Python's own parser, which says what is wrong, and accepts unpaired surrogates.

    `replies.text` refuses those later, with a reason that people understand.
    """
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_float=_fraction)
    except RecursionError:
        raise MalformedReply(f"the JSON is nested deeper than {DEEPEST_VALUE} levels") from None
    except UnicodeDecodeError as error:
        raise MalformedReply(f"it is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise MalformedReply(f"it is not JSON: {error.msg} at character {error.pos}") from None
    except MalformedReply:
        raise
    except ValueError:  # for example an integer with thousands of digits
        raise MalformedReply("it is not JSON that can be read") from None


def _fraction(digits: str) -> float:
    if (number := float(digits)) in (float("inf"), float("-inf")):
        raise MalformedReply(f"the number {digits[:60]} is out of range")
    return number


def _no_constant(name: str) -> Any:
    raise MalformedReply(f"{name} is not JSON")


STRICT = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_int=str, parse_float=str)
"""Decodes one JSON value in the middle of a text, just as strictly. Numbers become texts. Raises ValueError."""
