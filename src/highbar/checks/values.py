"""JSON values: read from a reply, reached by pointers, compared exactly.

Numbers are compared by their decimal values, so that 1 equals 1.0. A number never equals text or true.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from highbar.checks.limits import DEEPEST_VALUE
from highbar.checks.tree import Number, Pointer
from highbar.documents.limits import MOST_DIGITS

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)$", re.MULTILINE)
_INDEX = re.compile("0|[1-9][0-9]{0,9}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BAD_ESCAPE = re.compile("~(?![01])")
SameText = Callable[[str, str], bool]
"""How two texts are compared: plainly or strictly."""
ABSENT = object()
"""What a pointer to nothing finds: null is a value."""


class NotJson(ValueError):
    """A reply is not JSON; the message says why."""


class RepeatedKey(NotJson):
    """An object has the same key twice, and parsers disagree about which value counts."""


class Unreadable(ValueError):
    """A JSON value cannot be read: it is nested too deeply, or has a number beyond all bounds."""


def json_of_reply(text: str) -> Any:
    """The JSON value of a reply, or else of its only fenced block. Raises NotJson or Unreadable."""
    try:
        return decode_json(text)
    except NotJson:
        blocks = fenced_blocks(text)
        if len(blocks) == 1:
            return decode_json(blocks[0])
        if len(blocks) > 1:
            raise NotJson(f"the reply has {len(blocks)} fenced blocks, wanted one") from None
        raise


def decode_json(text: str) -> Any:
    """The JSON value of `text`, with exact numbers. Strict: no NaN, no duplicate keys. Raises NotJson or Unreadable."""
    try:
        value = json.loads(
            text,
            parse_int=_whole,
            parse_float=_fraction,
            parse_constant=_no_constant,
            object_pairs_hook=_unique,
        )
    except RecursionError:
        raise Unreadable(f"the JSON is nested deeper than {DEEPEST_VALUE} levels") from None
    except (NotJson, Unreadable):
        raise
    except ValueError as error:
        raise NotJson(f"the reply is not JSON: {error}") from None
    refuse_depth(value)
    return value


def _whole(digits: str) -> Number:
    return int(digits) if len(digits) <= MOST_DIGITS else Decimal(digits)  # int() refuses thousands of digits


def _fraction(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:
        raise Unreadable(f"the number {digits[:60]} is beyond all bounds") from None


def _no_constant(name: str) -> Any:
    raise NotJson(f"{name} is not JSON")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise RepeatedKey(f"the key {twice[:60]!a} occurs twice")
    return found


def fenced_blocks(text: str) -> list[str]:
    r"""The contents of the fenced blocks of a Markdown text; one that is never closed does not count.

    >>> fenced_blocks("So:\n```json\n[1]\n```")
    ['[1]\n']
    """
    blocks: list[str] = []
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1].startswith(opened[1]) and not fence[2].strip():
            blocks.append(text[opened.end() + 1 : fence.start()])
            opened = None
    return blocks


def refuse_depth(value: Any) -> None:
    """Raise Unreadable if a value is nested too deeply, or contains itself."""
    # Level by level, since recursion would overflow the stack on the very values that this refuses.
    level = [value]
    for _ in range(DEEPEST_VALUE):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise Unreadable(f"the value is nested deeper than {DEEPEST_VALUE} levels")


def _inside(value: Any) -> Sequence[Any]:
    if isinstance(value, Mapping):
        return [inner for inner in value.values() if isinstance(inner, Mapping | list | tuple)]
    return [inner for inner in value if isinstance(inner, Mapping | list | tuple)] if _is_list(value) else ()


def texts_within(value: Any) -> Iterator[str]:
    """Every text in a value, including keys, and every number as text."""
    stack = [value]
    while stack:
        found = stack.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, Mapping):
            yield from (name for name in found if isinstance(name, str))
            stack.extend(reversed(list(found.values())))
        elif _is_list(found):
            stack.extend(reversed(found))
        elif isinstance(found, int | float | Decimal) and not isinstance(found, bool):
            yield number_text(found)


def replace_surrogates(value: Any) -> Any:
    """The same value with U+FFFD for every half of a surrogate pair, which has no UTF-8; texts keep their length."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {replace_surrogates(name): replace_surrogates(inner) for name, inner in value.items()}
    return [replace_surrogates(inner) for inner in value] if _is_list(value) else value


def number_text(value: float | Decimal) -> str:
    """A number as text; above about 480 digits rounded to 21, since Python refuses to write thousands of them."""
    if isinstance(value, int) and value.bit_length() > 4 * MOST_DIGITS:
        return f"{'-' if value < 0 else ''}{Decimal(value):.20E}"
    return str(value)


def json_number(value: Any) -> Number | None:
    """A JSON number, exact; None for anything else. A float becomes the shortest decimal that reads back as it."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return Decimal(repr(value)) if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return value if value.is_finite() else None
    return value if isinstance(value, int) else None


def read_pointer(text: str) -> Pointer | str:
    """The parts of a JSON pointer, or what is wrong with it (as text).

    >>> read_pointer("/a~1b/0"), read_pointer("")
    (('a/b', '0'), ())
    """
    if not text:
        return ()
    if not text.startswith("/"):
        return "a JSON pointer starts with /"
    if _BAD_ESCAPE.search(text):
        return "in a JSON pointer ~ is written ~0, and a / in a name is written ~1"
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/"))


def at_pointer(value: Any, pointer: Pointer) -> Any:
    """The value at a pointer, or ABSENT."""
    for part in pointer:
        if isinstance(value, Mapping):
            value = value.get(part, ABSENT)
        elif _is_list(value) and _INDEX.fullmatch(part) and int(part) < len(value):
            value = value[int(part)]
        else:
            return ABSENT
    return value


def same(first: Any, second: Any, texts: SameText) -> bool:
    """Whether two JSON values are equal at every depth; `texts` compares texts."""
    if isinstance(first, str) or isinstance(second, str):
        return isinstance(first, str) and isinstance(second, str) and texts(first, second)
    if isinstance(first, Mapping) or isinstance(second, Mapping):
        return (
            isinstance(first, Mapping)
            and isinstance(second, Mapping)
            and first.keys() == second.keys()
            and all(same(first[name], second[name], texts) for name in first)
        )
    if _is_list(first) or _is_list(second):
        return (
            _is_list(first)
            and _is_list(second)
            and len(first) == len(second)
            and all(same(one, other, texts) for one, other in zip(first, second, strict=True))
        )
    one, other = json_number(first), json_number(second)
    if one is not None or other is not None:
        return one == other
    return type(first) is type(second) and first == second


def same_items(first: Any, second: Any, texts: SameText) -> bool:
    """Whether two lists have the same items, each equally often, in any order."""
    if not (_is_list(first) and _is_list(second)) or len(first) != len(second):
        return False
    left = list(second)
    for item in first:
        place = next((i for i, other in enumerate(left) if same(item, other, texts)), None)
        if place is None:
            return False
        del left[place]
    return True


def kind(value: Any) -> str:
    """The kind of a JSON value in one word; empty for anything else."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float | Decimal):
        return "number"
    return "mapping" if isinstance(value, Mapping) else "list" if _is_list(value) else ""


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
