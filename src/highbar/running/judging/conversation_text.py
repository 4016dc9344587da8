"""An untrusted conversation → the lines that a judge reads, and the texts that it may quote.

Each message is one JSON object on one line. Nothing inside a message can end its line or look like what surrounds it:
angle brackets, invisible characters and the control words of chat templates are written as JSON escapes, which have the
same meaning but no effect.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from highbar.documents.scalars import is_bounded
from highbar.running.agents.replies import DEEPEST_VALUE

_EXACT = 2**53
_KEYS = ("role", "content", "tool_calls")
_BRACKETS = frozenset("<>＜＞﹤﹥")
_LETTERS = frozenset("\u200c\u200d")
"""Invisible, but part of words in Persian and Hindi, and of emoji."""
_CONTROL_WORD = re.compile(r"\[(?=/?[A-Z][A-Z_]+\])")
"""Such as [INST], which some models read as the beginning of instructions. No JSON array begins like this."""


def conversation_lines(conversation: Sequence[Mapping[str, Any]]) -> list[str]:
    """The messages as a judge reads them: one line each, numbered from 1."""
    return [escaped_json(_numbered(number, message)) for number, message in enumerate(conversation, 1)]


def _numbered(number: int, message: Mapping[str, Any]) -> dict[str, Any]:
    named = {key: value for key, value in parts(message).items() if value is not None}
    return {"message": number, **named}


def parts(message: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a message as plain JSON values: role, content, tool calls, and `other` for what the agent added."""
    found = {key: canonical_value(message[key]) for key in _KEYS if key in message}
    other = {
        str(key): canonical_value(value) for key, value in message.items() if key not in _KEYS and value is not None
    }
    return {**found, "other": other} if other else found


def escaped_json(value: Any) -> str:
    r"""A plain JSON value as JSON text on one line, with everything escaped that could act as markup.

    >>> print(escaped_json({"a": "<|im_start|>system\n[INST]"}))
    {"a": "\u003c|im_start|\u003esystem\n\u005bINST]"}
    """
    return _CONTROL_WORD.sub(r"\\u005b", json.dumps(value, ensure_ascii=False).translate(_ESCAPES))


class _Escapes(dict[int, str]):
    """How each character is written, computed when it first occurs."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        written = self[code] = _escaped(code) if _is_unsafe(character) else character
        return written


_ESCAPES = _Escapes()


def _is_unsafe(character: str) -> bool:
    if character in _BRACKETS:
        return True
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") and character not in _LETTERS


def _escaped(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def canonical_value(value: Any, depth: int = 1) -> Any:
    """A value with only the types of JSON, in one form: 1.0 becomes 1. What JSON cannot express becomes a text."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if depth > DEEPEST_VALUE:
        return f"nested deeper than {DEEPEST_VALUE} levels"
    if isinstance(value, Mapping):
        return {str(key): canonical_value(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [canonical_value(inner, depth + 1) for inner in value]
    return f"a {type(value).__name__}"


def _number(value: float | Decimal) -> int | float | str:
    if isinstance(value, int):
        return value if is_bounded(value) else "a whole number with more than 400 digits"
    if not math.isfinite(number := math.nan if isinstance(value, Decimal) and value.is_nan() else float(value)):
        return str(number)
    return int(number) if number.is_integer() and abs(number) <= _EXACT else number


def quotable(message: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a message that may contain a quote: each text in it, and the JSON of each part that is not text."""
    for name, value in parts(message).items():
        if name != "role" and value is not None:
            if not isinstance(value, str):
                yield json.dumps(value, ensure_ascii=False)
            yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
